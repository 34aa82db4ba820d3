"""The problems of an OpenCompass configuration as a program: its imports, names and mappings."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from promptls.convert.python_interpreter import Files, Interpreter, Names
from promptls.convert.python_values import pieces_of
from promptls.dialects.opencompass.vocabulary import (
    EVALUATORS,
    INFERENCERS,
    MORE_INFERENCERS,
    RETRIEVERS,
    ROLE_SYNONYMS,
    TEMPLATE_TYPES,
)
from promptls.lint.analysis.typos import is_obvious_typo
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import Edit, Finding, Fix, Severity
from promptls.programs.configuration_tree import (
    CONFIGURATION_KEYS,
    DATASET_KEYS,
    OF_EVALUATION,
    ConfigurationTree,
    is_mapping,
)
from promptls.programs.configuration_values import value_problems
from promptls.syntax.python_places import PythonPlaces, text_of
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, nearest, only_typo

KNOWN_CLASSES: Final = frozenset({*INFERENCERS, *MORE_INFERENCERS, *RETRIEVERS, *TEMPLATE_TYPES})
"""The classes of OpenCompass that promptls knows."""
_CLASS: Final = re.compile(r"(?:Evaluator|Inferencer|Retriever|Dataset|Template)\Z")
"""The end of the names of classes of OpenCompass."""
_TYPED: Final = frozenset(
    {"prompt_template", "ice_template", "retriever", "inferencer"}
    | {"evaluator", "pred_postprocessor", "dataset_postprocessor"}
)
"""The keys whose mappings name a class or function of OpenCompass."""
_FUNCTIONS: Final = (
    "dict",
    "enumerate",
    "int",
    "len",
    "list",
    "open",
    "print",
    "range",
    "sorted",
    "str",
    "sum",
    "zip",
)
"""The functions of Python that configurations call."""
_MIN_NAMES: Final = 3
"""The minimum length of a list of names."""
_MIN_LONG: Final = 8
"""The minimum length of a key for a different letter to be a typo."""
_MIN_LENGTH: Final = 3
"""The minimum length of a key for it to be considered a typo."""
_JOINED: Final = re.compile(r"[\"']\s+[\"']")
"""The end of a string and the beginning of the next one."""
_OTHER_DATASET_KEYS: Final = frozenset({"abbr", "name", "path", "type", *DATASET_KEYS})
_MIN_DATASET_KEYS: Final = 2
"""The minimum number of known keys of a mapping that is a dataset."""


def program_problems(tree: ConfigurationTree, names: Names, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield wrong and repeated keys, missing commas, undefined names, and values of the wrong kind."""
    yield from _wrong_keys(tree)
    yield from _foreign_roles(tree)
    yield from _models_without_class(tree)
    yield from _repeated_keys(tree)
    yield from _repeated_labels(tree)
    yield from _joined_texts(tree)
    yield from _undefined_names(tree, names, interpreter)
    missing = [alias.name for node in interpreter.missing.values() for alias in node.names]
    if "*" not in missing:
        yield from _unread_lists(tree, names)
    yield from _nested_lists(tree, names)
    yield from _repeated_names(tree, names, interpreter)
    yield from _lost_keys(tree, interpreter)
    if not interpreter.missing:
        yield from _summarized_names(tree, names)
    yield from value_problems(tree)


def _wrong_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the misspelled keys of mappings, and what datasets, and the mappings in them, lack."""
    variables = dict(tree.named_values)
    named = [value for name, value in variables.items() if name.endswith("eval_cfg")]
    evaluations = {id(variables.get(each.id) if isinstance(each, ast.Name) else each) for each in named}
    inferences = _inferences(tree, variables)
    owners = {id(keyword.value): keyword.arg for keyword in tree.keywords}
    # The values of a table become datasets in a loop, which may add keys.
    in_tables = {id(each) for node in tree.all_of(ast.Dict) for each in node.values}
    for node in tree.mappings:
        keys = {keyword.arg for keyword in node.keywords}
        what, known = "", tuple[str, ...]()
        if len(keys & _OTHER_DATASET_KEYS) >= _MIN_DATASET_KEYS:
            what, known = "a dataset", DATASET_KEYS
        elif id(node) in evaluations:
            what, known = "an evaluation", OF_EVALUATION
        elif id(node) in inferences:
            what, known = "an `infer_cfg`", ("inferencer",)
        typos = [*_typos(node, what, known, tree.places)] or [*_misspelled_keys(node, tree.places)]
        yield from typos
        if not typos and None not in keys and id(node) not in in_tables:
            is_inference = id(node) in inferences
            missing = _missing_key(
                keys, owners.get(id(node)), is_inference=is_inference, is_excerpt=tree.is_excerpt
            )
            if missing is not None and missing[0] not in tree.keys_set_later:
                yield Finding(tree.span(node.func), missing[1], severity="error")


def _missing_key(
    keys: Collection[str | None], key: str | None, *, is_inference: bool, is_excerpt: bool
) -> tuple[str, str] | None:
    """Return a key that the mapping at `key` lacks, with a message about it; None if it lacks none."""
    if is_inference and "inferencer" not in keys:
        return (
            "inferencer",
            "there is no `inferencer` beside the retriever; `GenInferencer` generates an answer",
        )
    if {"type", "infer_cfg"} <= {*keys} and "reader_cfg" not in keys:
        return "reader_cfg", "a dataset needs a `reader_cfg`, which names the columns of its rows"
    if is_excerpt:
        return None
    if keys and key in _TYPED and "type" not in keys:
        return "type", f"`{key}` has no `type`, which says what OpenCompass makes of it"
    if {"infer_cfg", "reader_cfg"} <= {*keys} and "type" not in keys:
        return "type", "a dataset needs a `type`, the class that loads its rows"
    if {"reader_cfg", "eval_cfg"} <= {*keys} and "infer_cfg" not in keys:
        return "infer_cfg", "a dataset needs an `infer_cfg`, which has the prompt and the inferencer"
    return None


def _misspelled_keys(node: ast.Call, places: PythonPlaces) -> Iterator[Finding]:
    """Yield the keys that differ from one of OpenCompass by swapped, missing or doubled letters.

    Long keys may also differ by a letter.
    """
    keys = {keyword.arg for keyword in node.keywords}
    for keyword in node.keywords:
        key = keyword.arg
        if key is None or key in CONFIGURATION_KEYS or len(key) < _MIN_LENGTH:
            continue
        meant = [
            each
            for each in CONFIGURATION_KEYS - keys
            if key[0] == each[0]
            and is_typo(key, each)
            and (is_obvious_typo(key, each) or len(key) >= _MIN_LONG)
            and not key.startswith(each)
            and each != f"{key}s"
        ]
        if len(meant) == 1:
            # A class of the project may have an argument of that name.
            severity: Severity = "error" if meant[0] == "type" else "warning"
            message = f"OpenCompass has no key `{key}`"
            yield Finding.suggest(places.span(keyword), message, meant[0], preferred=True, severity=severity)


def _foreign_roles(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the `pred_role` of other libraries, and typos of `BOT`."""
    if "RawPromptTemplate" in tree.text:
        return  # Messages have roles such as `assistant`.
    texts = Counter(text.upper() for node in tree.all_of(ast.Constant) if (text := text_of(node)) is not None)
    for name, value in tree.named_values:
        role = str(value.value) if name == "pred_role" and isinstance(value, ast.Constant) else "BOT"
        known = role.upper()
        is_meant = ROLE_SYNONYMS.get(known) == "BOT" or is_typo(known, "BOT")
        if known != "BOT" and is_meant and texts[known] == 1:
            message = f"answers are in the turns of `BOT`, and `{role}` is no role of dialogues"
            fix = Fix("Change to `BOT`", (Edit(tree.span(value), '"BOT"'),), preferred=True)
            yield Finding(tree.span(value), message, (fix,), severity="warning")


def _models_without_class(tree: ConfigurationTree) -> Iterator[Finding]:
    is_whole = any((node.module or "").startswith("opencompass.") for node in tree.imports)
    if not is_whole or "type" in tree.keys_set_later:
        return
    for name, value in tree.named_values:
        for model in value.elts if name == "models" and isinstance(value, ast.List) else ():
            keys = {each.arg for each in model.keywords} if isinstance(model, ast.Call) else {None}
            if isinstance(model, ast.Call) and is_mapping(model) and keys.isdisjoint({"type", None}):
                yield Finding(tree.span(model.func), "a model needs a `type`, its class", severity="error")


def _inferences(tree: ConfigurationTree, variables: Mapping[str, ast.expr]) -> set[int]:
    """Return the ids of the `infer_cfg` of datasets with a retriever of OpenCompass.

    With one of the project, an inferencer may not be needed.
    """
    values = [keyword.value for keyword in tree.keywords if keyword.arg == "infer_cfg"]
    calls = [variables.get(each.id) if isinstance(each, ast.Name) else each for each in values]
    return {id(each) for each in calls if isinstance(each, ast.Call) and _has_known_retriever(each)}


def _has_known_retriever(node: ast.Call) -> bool:
    retrievers = [keyword.value for keyword in node.keywords if keyword.arg == "retriever"]
    types = [each for value in retrievers for each in ast.walk(value) if isinstance(each, ast.Name)]
    return any(each.id in KNOWN_CLASSES for each in types)


def _typos(node: ast.Call, what: str, known: tuple[str, ...], places: PythonPlaces) -> Iterator[Finding]:
    keys = {keyword.arg for keyword in node.keywords}
    for keyword in node.keywords:
        meant = only_typo(keyword.arg or "", (each for each in known if each not in keys))
        if meant is not None:
            message = f"{what} has no key `{keyword.arg}`"
            yield Finding.suggest(places.span(keyword), message, meant, preferred=True, severity="error")


def _repeated_keys(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the repeated keys of a call that its last one overrides."""
    for node in tree.all_of(ast.Call):
        times = Counter(keyword.arg for keyword in node.keywords)
        for keyword in node.keywords:
            if keyword.arg is not None and times.pop(keyword.arg, 0) > 1:
                is_literal = tree.text.startswith("{", tree.span(node).start)
                why = "and the first value is lost" if is_literal else "which Python refuses"
                message = f"`{keyword.arg}` is there twice, {why}"
                yield Finding(tree.span(keyword), message, severity="error")


def _repeated_labels(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the repeated labels of a template that the last one overrides."""
    for keyword in tree.keywords:
        labels = keyword.value if keyword.arg == "template" else None
        seen = set()
        for key in labels.keys if isinstance(labels, ast.Dict) else ():
            if isinstance(key, ast.Constant):
                if key.value in seen:
                    message = f"the label `{ast.unparse(key)}` is there twice, and the first one is lost"
                    yield Finding(tree.span(key), message, severity="error")
                seen.add(key.value)


def _joined_texts(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the names in a list of names that Python joins because a comma is missing between them."""
    columns = {id(value) for name, value in tree.named_values if name == "input_columns"}
    for node in tree.nodes:
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        if id(node) not in columns and (len(items) < _MIN_NAMES or not all(map(_is_word, items))):
            continue
        joined = [(each, _JOINED.search(tree.text, *tree.span(each))) for each in items]
        found = [(each, match) for each, match in joined if match is not None]
        for each, match in found if id(node) in columns or len(found) == 1 else ():
            if isinstance(each, ast.Constant):
                place = Span(match.start() + 1, match.start() + 1)
                fix = Fix("Insert a comma", (Edit(place, ","),), preferred=True)
                what = "column" if id(node) in columns else "text"
                message = f"without a comma, this is one {what}: `{each.value!s}`"
                yield Finding(tree.span(each), message, (fix,), severity="error")


def _is_word(node: ast.expr) -> bool:
    """Return whether an expression is a text without white space."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and not re.search(r"\s", node.value)


def _repeated_names(tree: ConfigurationTree, names: Names, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield the `abbr` that two datasets of a list have: the results of one replace those of the other."""
    if "model_dataset_combinations" in names:
        return  # Each model may have its own dataset of a name.
    own = {*tree.nodes}
    found: dict[ast.AST, Finding] = {}
    for name, items in names.items():
        if not name.endswith("datasets") or not isinstance(items, list) or id(items) in interpreter.doubted:
            continue
        datasets = {id(each): each for each in items if isinstance(each, dict) and "infer_cfg" in each}
        seen: set[str] = set()
        for each in datasets.values():
            abbr = each.get("abbr")
            if not isinstance(abbr, str) or id(each) in interpreter.doubted:
                continue
            places = [piece.node for piece in pieces_of(abbr) if piece.node in own]
            if abbr in seen and places and places[0] is not None:
                message = f"another dataset has the `abbr` `{abbr}`: their results are one file"
                found[places[0]] = Finding(tree.span(places[0]), message, severity="warning")
            seen.add(abbr)
    yield from found.values()


def _summarized_names(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the typos of the names of datasets in the `summarizer` of a run."""
    datasets, summarizer = names.get("datasets"), names.get("summarizer")
    if not isinstance(datasets, list) or not isinstance(summarizer, dict):
        return
    made = summarizer.get("summary_groups", [])
    groups = [each for each in made if isinstance(each, dict)] if isinstance(made, list) else []
    abbrs = [each.get("abbr") if isinstance(each, dict) else None for each in datasets]
    known = [each for each in (*abbrs, *(group.get("name") for group in groups)) if isinstance(each, str)]
    if len(known) < len(datasets) + len(groups) or not isinstance(made, list):
        return
    for items in (summarizer.get("dataset_abbrs"), *(each.get("subsets") for each in groups)):
        rows = items if isinstance(items, list) else []
        listed = [each[0] if isinstance(each, list | tuple) and each else each for each in rows]
        for name in (each for each in listed if isinstance(each, str) and each not in known):
            meant = only_typo(name, known)
            node = pieces_of(name)[0].node if meant is not None and meant not in listed else None
            place = tree.places.inside_quotes(node) if isinstance(node, ast.Constant) else None
            if meant is not None and place is not None and node in tree.nodes:
                message = f"no dataset of this run has the `abbr` `{name}`"
                yield Finding.suggest(place, message, meant, severity="warning")


def _lost_keys(tree: ConfigurationTree, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield the keys that the configuration reads of a mapping which does not have them."""
    own = {*tree.nodes}
    for node, (key, known) in interpreter.lost.items():
        if node not in own:
            continue
        span = tree.span(node.slice)
        message = f"a mapping that this reads has no `{key}`"
        meant = nearest(key, known)
        fix = Fix.change_to(Span(span.start + 1, span.end - 1), meant) if meant else None
        is_literal = text_of(node.slice) == key and len(key) + len("''") == span.end - span.start
        suggestion = f"; did you mean `{meant}`?" if meant else f": only {in_code(known)}"
        yield Finding(span, message + suggestion, (fix,) if fix and is_literal else (), severity="error")


def _undefined_names(tree: ConfigurationTree, names: Names, interpreter: Interpreter) -> Iterator[Finding]:
    """Yield the undefined names; in an excerpt, only those that are similar to a defined name."""
    if interpreter.missing:
        return
    # MMEngine removes the first `with read_base():` of a configuration, and reads its imports itself.
    first = next((each for each in tree.module.body if isinstance(each, ast.With)), None)
    removed = {*ast.walk(first.items[0])} if first is not None else set[ast.AST]()
    known = {*names, *_bound_names(tree)}
    keys = {id(keyword.value): keyword.arg for keyword in tree.keywords}
    fields = {id(node.value) for node in tree.all_of(ast.FormattedValue)}
    checked = {*keys, *map(id, _listed_values(tree))}
    for node in tree.all_of(ast.Name):
        if node.id in known or node.id.startswith("__") or node in removed:
            continue
        is_builtin = hasattr(builtins, node.id)
        if id(node) in fields:
            what = "this is Python's" if is_builtin else "nothing is named"
            message = f"{what} `{node.id}`: a field is in a text without `f`, or in two braces"
            yield Finding(tree.span(node), message, severity="error")
        elif not is_builtin and (id(node) in checked or not tree.is_excerpt):
            yield from _undefined_name(tree, node, keys.get(id(node)), known)


def _listed_values(tree: ConfigurationTree) -> Iterator[ast.expr]:
    """Yield the values of variables, and the lists in lists and in sums of lists."""
    for node in tree.nodes:
        if isinstance(node, ast.Assign | ast.Starred):
            yield node.value
            if isinstance(node.value, ast.BinOp):
                yield from (each for each in ast.walk(node.value) if isinstance(each, ast.Name))


def _undefined_name(
    tree: ConfigurationTree, node: ast.Name, key: str | None, known: Collection[str]
) -> Iterator[Finding]:
    meant = [each for each in known if is_typo(node.id, each)]
    if not meant and key in DATASET_KEYS and not tree.is_excerpt:
        meant = [each for each in known if key and each.endswith(key)]
    if not meant:
        meant = [each for each in _FUNCTIONS if is_typo(node.id, each)]
    span = tree.span(node)
    if len(meant) != 1:
        if not tree.is_excerpt:
            is_class = node.id in KNOWN_CLASSES or key == "type"
            what = f"the class `{node.id}` is not imported" if is_class else f"nothing is named `{node.id}`"
            yield Finding(span, what, severity="error")
        return
    right = meant[0]
    message = f"nothing is named `{node.id}`; did you mean `{right}`?"
    is_other = node.id in KNOWN_CLASSES or (_CLASS.search(node.id) and not _CLASS.search(right))
    if is_other and (imported := _import_of(tree, right)):
        span, right = imported, node.id
        message = f"OpenCompass has no class `{meant[0]}`; did you mean `{right}`?"
    yield Finding(span, message, (Fix.change_to(span, right),), severity="error")


def _unread_lists(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the list of a run whose name is a typo: OpenCompass reads only `datasets` and `models`."""
    for key, other in (("datasets", "models"), ("models", "datasets")):
        if key in names or other not in names:
            continue
        for node in tree.module.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name) as target, *_], value=ast.List(elts=items)) if (
                    is_typo(name, key)
                    and any(isinstance(each, ast.Call | ast.Dict | ast.Starred) for each in items)
                ):
                    message = f"OpenCompass reads `{key}` beside `{other}`, and not `{name}`"
                    yield Finding.suggest(tree.span(target), message, key, preferred=True, severity="error")


def _nested_lists(tree: ConfigurationTree, names: Names) -> Iterator[Finding]:
    """Yield the lists that the list of a run contains without `*`; OpenCompass does not look into them."""
    imported = {*_imported_lists(tree)}
    for key in ("datasets", "models"):
        whole = _only_list(tree, key)
        items = whole.elts if whole is not None else []
        match items:
            case [ast.BinOp(op=ast.Add()) as added] if whole is not None:
                operands = [part for part in ast.walk(added) if isinstance(part, ast.Name)]
                if any(isinstance(names.get(part.id), list) for part in operands):
                    span, inner = tree.span(whole), tree.span(added)
                    fix = Fix("Remove the brackets", (Edit(span, tree.text[inner.start : inner.end]),))
                    message = f"this sum is a list, and `{key}` a list of mappings"
                    yield Finding(span, message, (fix,), severity="error")
        for each in (item for item in items if isinstance(item, ast.Name)):
            value = names.get(each.id)
            is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
            if is_list or (value is None and each.id in imported):
                span = tree.span(each)
                fix = Fix("Insert `*`", (Edit.insert(span.start, "*"),), preferred=True)
                message = f"`{each.id}` is a list, and `{key}` a list of mappings: unpack it with `*`"
                yield Finding(span, message, (fix,), severity="error")


def _only_list(tree: ConfigurationTree, name: str) -> ast.List | None:
    """Return the list that is assigned to a variable; None if it is used otherwise, which may unpack it."""
    uses = [node for node in tree.all_of(ast.Name) if node.id == name]
    for node in tree.module.body if len(uses) == 1 else ():
        if isinstance(node, ast.Assign) and node.targets[0] is uses[0] and isinstance(node.value, ast.List):
            return node.value
    return None


def _imported_lists(tree: ConfigurationTree) -> Iterator[str]:
    """Yield the names of the lists of datasets and models that come from configurations of OpenCompass."""
    for node in tree.imports:
        for alias in node.names if (node.module or "").startswith("opencompass.configs.") else ():
            if alias.name.endswith("_datasets") or alias.name in {"datasets", "models"}:
                yield alias.asname or alias.name


def _import_of(tree: ConfigurationTree, name: str) -> Span | None:
    """Return the span of a name that is imported from OpenCompass."""
    for node in tree.imports:
        for alias in node.names if (node.module or "").startswith("opencompass.") else ():
            if alias.name == name and alias.asname is None:
                return tree.span(alias)
    return None


def _bound_names(tree: ConfigurationTree) -> Iterator[str]:
    """Yield every name that the program binds anywhere."""
    for node in tree.nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]


def missing_imports(
    interpreter: Interpreter, tree: ConfigurationTree, *, is_empty: bool
) -> Iterator[Finding]:
    """Yield the missing imports of configurations.

    A missing package is reported once, and only if the configuration is empty without it.
    """
    statements = {*map(id, tree.imports)}
    for module, statement in interpreter.missing.items():
        if id(statement) not in statements:
            continue
        span = tree.places.module_span(statement, module)
        if module.startswith(".") or interpreter.has_package(module):
            yield Finding(span, f"there is no configuration `{module}`")
        elif is_empty:
            is_empty = False
            package = module.partition(".")[0]
            message = (
                f"`{package}` is not found, so nothing is checked here: install it where promptls runs, or "
                "let the setting `opencompass` name the folder of its checkout"
            )
            yield Finding(span, message, severity="information")


def absent_names(interpreter: Interpreter, tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the imported names that a configuration does not set, if it sets a similar one."""
    for alias in tree.all_of(ast.alias):
        known = interpreter.absent.get(alias, ())
        close = [each for each in known if is_close(alias.name, each)]
        meant = only_typo(alias.name, known) or (close[0] if len(close) == 1 else None)
        if meant is not None:
            message = f"the imported configuration sets no `{alias.name}`"
            yield Finding.suggest(tree.span(alias), message, meant)


_PACKAGE: Final = "opencompass"
_CONFIGURATIONS: Final = f"{_PACKAGE}.configs"
_EVALUATORS: Final = f"{_PACKAGE}.openicl.icl_evaluator"
_MODULES: Final = (
    *(f"{_PACKAGE}.{name}" for name in ("datasets", "evaluator", "models", "summarizers", "utils")),
    f"{_PACKAGE}.utils.text_postprocessors",
    *(
        f"{_PACKAGE}.openicl.icl_{name}"
        for name in ("evaluator", "inferencer", "prompt_template", "raw_prompt_template", "retriever")
    ),
)
"""The modules of OpenCompass that configurations import."""
_STAR: Final = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+\*", re.MULTILINE)
_DEFINED: Final = re.compile(r"^(?:class|def|async def) (\w+)|^(\w+)\s*[:=]", re.MULTILINE)
_MAX_MODULES: Final = 1000


def absent_classes(tree: ConfigurationTree, files: Files) -> Iterator[Finding]:
    """Yield the imported names that no text of the module, or of what it imports with `*`, has."""
    for node in tree.module.body:
        module = node.module if isinstance(node, ast.ImportFrom) and not node.level else None
        if module is None or not isinstance(node, ast.ImportFrom) or module.startswith(_CONFIGURATIONS):
            continue
        if (meant := _misspelled_module(module, files)) is not None:
            finding = Finding(tree.places.module_span(node, module), f"there is no module `{module}`")
            finding = Finding.suggest(finding.span, finding.message, meant) if meant else finding
            yield replace(finding, severity="error")
            continue
        texts = _texts(module, files) if module.startswith(f"{_PACKAGE}.") else []
        for alias in node.names:
            span, message = tree.span(alias), f"`{module}` has no `{alias.name}`"
            if not texts:
                # A fork may have other classes, so that only a typo of one of these is reported.
                is_known = module != _EVALUATORS or alias.name in EVALUATORS
                meant = None if is_known else only_typo(alias.name, EVALUATORS)
                if meant is not None:
                    yield Finding.suggest(span, message, meant)
                continue
            written = re.compile(rf"\b{re.escape(alias.name)}\b")
            if alias.name == "*" or any(written.search(text) or "__getattr__" in text for text in texts):
                continue
            if files.module(f"{module}.{alias.name}") is None:
                known = [name for text in texts for found in _DEFINED.findall(text) for name in found if name]
                typos = [name for name in known if is_typo(alias.name, name)]  # many names end the same
                yield misspelled(span, message, alias.name, typos)


def _misspelled_module(module: str, files: Files) -> str | None:
    """Return the module of OpenCompass that a name means, or an empty text; None if the module may exist."""
    package, _, rest = module.partition(".")
    if package != _PACKAGE:
        return f"{_PACKAGE}.{rest}" if is_typo(package, _PACKAGE) and files.module(package) is None else None
    if module in _MODULES or files.module(module) is not None:
        return None
    return only_typo(module, _MODULES) or (None if files.module(_PACKAGE) is None else "")


def _texts(module: str, files: Files) -> list[str]:
    """Return the texts of a module and of all that it imports with `*`; nothing if one is not found."""
    waiting, found = [module], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = files.module(name)
        text = files.text(path) if path is not None else None
        if path is None or text is None or len(found) == _MAX_MODULES:
            return []
        found[name] = text
        steps = [*name.split("."), *([""] if path.endswith("__init__.py") else [])]
        for dots, inner in _STAR.findall(text):
            around = steps[: len(steps) - len(dots)] if dots else []
            waiting.append(".".join([*around, *([inner] if inner else [])]))
    return [*found.values()]
