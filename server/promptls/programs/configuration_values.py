"""Values and lists in an OpenCompass configuration in Python that are not what OpenCompass needs."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Final

from promptls.convert.python_values import pieces_of
from promptls.dialects.opencompass.vocabulary import ROLE_SYNONYMS
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.configuration_tree import ConfigurationTree, keys_of, texts_of, values_of
from promptls.syntax.python_places import text_of
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, only_typo

_MIN_NAMES: Final = 3
"""The minimum length of a list of names."""
_OF_CLASSES: Final = frozenset(
    {"evaluator", "inferencer", "retriever", "ice_template", "prompt_template"}
    | {"pred_postprocessor", "dataset_postprocessor"}
)
"""The keys whose values are mappings with a class or function as `type`."""
_OPTION_FUNCTIONS: Final = frozenset({"first_option_postprocess", "last_option_postprocess"})
_ARGUMENTS: Final[Mapping[str, str]] = {
    "first_option_postprocess": "options",
    "last_option_postprocess": "options",
    "match_answer_pattern": "answer_pattern",
    "think_pred_postprocess": "re_pattern",
    "xml_tag_postprocessor": "tag",
}
"""The functions of OpenCompass that clean answers and need an argument."""
_WITHOUT_FIELDS: Final = frozenset({"abbr", "name", "path"})
"""The keys of a dataset whose texts have no fields of OpenCompass."""
_OF_RUNS: Final = frozenset({"datasets", "models"})
_OF_ITEMS: Final = frozenset({"type", "abbr", "infer_cfg"})
_MIN_OPTIONS: Final = 2
"""The minimum number of options that a postprocessor or a text has."""
_OPTION: Final = re.compile(r"(\w*?)([A-Z])", re.ASCII)
_FIELD: Final = re.compile(r"(?<!\{)\{(\w+)\}(?!\})", re.ASCII)
_EXPRESSION: Final = re.compile(r"(?<!\{)\{(\w+)\.\w+\([^{}]*\)\}(?!\})", re.ASCII)
"""A call of a method in braces, as in an f-string."""
_DOUBLED: Final = re.compile(r"\{\{(\w+)\}\}", re.ASCII)


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


def _joined_texts(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the names in a list of names that Python joins because a comma is missing between them."""
    columns = {id(value) for name, value in tree.named_values if name == "input_columns"}
    for node in tree.nodes:
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        if id(node) not in columns and not (items and all(map(_is_word, items))):
            continue
        places = [(each, tree.places.missing_comma(each)) for each in items]
        found = [(each, place) for each, place in places if place is not None]
        is_list = len(found) == 1 and len(items) + len(found) >= _MIN_NAMES
        for each, place in found if id(node) in columns or is_list else ():
            if isinstance(each, ast.Constant):
                fix = Fix("Insert a comma", (Edit(place, ","),), preferred=True)
                what = "column" if id(node) in columns else "text"
                message = f"without a comma, this is one {what}: `{each.value!s}`"
                yield Finding(tree.span(each), message, (fix,))


def _is_word(node: ast.expr) -> bool:
    """Return whether an expression is a text without white space."""
    text = text_of(node)
    return text is not None and not re.search(r"\s", text)


def _tuples(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the commas that make the mapping in a variable a tuple, and texts that are sets."""
    for keyword in tree.keywords:
        if keyword.arg in {"prompt", "template"} and isinstance(keyword.value, ast.Set | ast.SetComp):
            labels = ", or labels with their texts" if keyword.arg == "template" else ""
            message = f"without labels, these braces make a set: a {keyword.arg} is a text{labels}"
            yield Finding(tree.span(keyword.value), message)
    for braces in tree.all_of(ast.Set):
        if {"role", "prompt"} & {*map(text_of, braces.elts)}:
            yield Finding(tree.span(braces), "these braces make a set: a turn has `:` after its keys")
    for node in tree.all_of(ast.Assign):
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Name) and target.id.endswith("_cfg") and isinstance(value, ast.Tuple)):
            continue
        if len(value.elts) == 1 and keys_of(value.elts[0]):
            after = tree.span(value.elts[0]).end
            comma = tree.text.find(",", after)
            span = Span(comma, comma + 1)
            fix = Fix("Remove the comma", (Edit(span, ""),), preferred=True)
            message = f"this comma makes `{target.id}` a tuple, which has no keys"
            yield Finding(span, message, (fix,))


def _classes(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the classes of OpenCompass that are written in place of a mapping with a `type`."""
    custom = {
        id(each)
        for mapping in tree.mappings
        if keys_of(mapping) & {"path", "data_type"}
        for each in mapping.keywords
    }
    for keyword in tree.keywords:
        value = keyword.value
        if id(keyword) in custom:
            continue  # OpenCompass makes the mapping of the evaluator of a custom dataset.
        if isinstance(value, ast.Call) and not value.args and not value.keywords:
            value = value.func
        if keyword.arg in _OF_CLASSES and isinstance(value, ast.Name) and value.id in tree.classes:
            span, name = tree.span(keyword.value), value.id
            fix = Fix(f"Change to `dict(type={name})`", (Edit(span, f"dict(type={name})"),), preferred=True)
            message = f"`{keyword.arg}` is a mapping with a `type`, and no class or object"
            yield Finding(span, message, (fix,))


def _arguments(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the functions of OpenCompass that clean answers, without the argument that they need."""
    for given in _postprocessors(tree):
        kind = given.get("type")
        needed = _ARGUMENTS.get(_class_in(tree, kind))
        if kind is not None and needed is not None and not given.keys() & {needed, None}:
            message = f"`{ast.unparse(kind)}` needs `{needed}`: without it, the evaluation fails"
            yield Finding(tree.span(kind), message)


def _postprocessors(tree: ConfigurationTree) -> Iterator[dict[str | None, ast.expr]]:
    """Yield the values in the mappings of functions that clean answers."""
    yield from map(values_of, tree.values_at("pred_postprocessor", "dataset_postprocessor"))


def _class_in(tree: ConfigurationTree, kind: ast.expr | None) -> str:
    """Return the name of a class or function that is imported from OpenCompass, or an empty text."""
    return kind.id if isinstance(kind, ast.Name) and kind.id in tree.classes else ""


def _patterns(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the literal patterns of answers that Python cannot compile, or that have no group."""
    for given in _postprocessors(tree):
        pattern = given.get("answer_pattern")
        text = text_of(pattern)
        is_pattern = _class_in(tree, given.get("type")) == "match_answer_pattern"
        if pattern is None or text is None or not is_pattern:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                has_group = re.compile(text).groups > 0
        except (re.error, RecursionError, OverflowError) as error:
            message = f"this is no regular expression: {error}"
            yield Finding(tree.span(pattern), message)
            continue
        if not has_group:
            message = "OpenCompass takes the first group of this pattern for the answer, and it has none"
            yield Finding(tree.span(pattern), message)


def _options(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the options of a postprocessor that lack the last ones of the columns `A`, `B`, …."""
    groups = _option_groups(tree.input_columns)
    (group,) = groups.values() if len(groups) == 1 else ([],)
    letters = "".join(name[-1] for name in group)
    offered = letters if ascii_uppercase.startswith(letters) else ""
    for given in map(values_of, tree.values_at("pred_postprocessor")):
        kind, options = given.get("type"), given.get("options")
        found = text_of(options)
        if not (isinstance(kind, ast.Name) and kind.id in _OPTION_FUNCTIONS):
            continue
        if options is None or found is None or len(found) < _MIN_OPTIONS:
            continue
        if offered.startswith(found) and found != offered:
            missing = in_code(offered[len(found) :])
            message = f"an answer {missing} is never found: the columns are `{group[0]}` to `{group[-1]}`"
            fix = Fix(f"Change to `{offered}`", (Edit(tree.span(options), f"'{offered}'"),))
            yield Finding(tree.span(options), message, (fix,), severity="warning")


def _option_groups(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns that are options, by what is in front of their letters."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        if (option := _OPTION.fullmatch(name)) is not None:
            groups.setdefault(option[1], []).append(name)
    return groups


def hidden_options(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the text that shows most of the options, if no text shows the others."""
    texts = [(node, text) for node in tree.all_of(ast.Constant) if (text := text_of(node)) is not None]
    if any(text.endswith("{") for _, text in texts):
        return  # Fields whose names are computed may be any column.
    fields = [{*_FIELD.findall(text), *_DOUBLED.findall(text)} for _, text in texts]
    shown = set[str]().union(*fields)
    for group in _option_groups(tree.input_columns).values():
        hidden = [name for name in group if name not in shown]
        is_complete = "".join(name[-1] for name in group) == ascii_uppercase[: len(group)]
        if not is_complete or not hidden or len(group) - len(hidden) < _MIN_OPTIONS:
            continue
        most = max(range(len(texts)), key=lambda index: len(fields[index] & {*group}))
        beside = next(name for name in group if name in shown)
        message = f"no text shows {in_code(hidden)} beside `{beside}`: the model does not see this option"
        yield Finding(tree.span(texts[most][0]), message, severity="warning")


def _lost_f(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the texts with variables in braces, and columns in two, that are no f-strings."""
    known = tree.columns
    imported = {each.asname or each.name for each in tree.all_of(ast.alias)}
    bound = (tree.bound_names | imported) - _formatted_names(tree)
    for written in tree.values_at("prompt", "template"):
        value = tree.resolved(written)
        if isinstance(value, ast.JoinedStr) and known:
            yield from _doubled_names(value, bound - known, tree)
        text = text_of(value)
        if text is None:
            continue
        names = [name for name in _FIELD.findall(text) if name in bound - known]
        if names and known & {*_DOUBLED.findall(text)}:
            yield _without_f(tree, value, f"`{{{names[0]}}}` reaches the model as it is")
    formatted = {id(part) for joined in tree.all_of(ast.JoinedStr) for part in joined.values}
    for node in tree.all_of(ast.Constant):
        found = _EXPRESSION.search(text_of(node) or "") if id(node) not in formatted else None
        if found is not None and found[1] in bound - known:
            yield _without_f(tree, node, f"`{found[0]}` is text")


def _without_f(
    tree: ConfigurationTree, text: ast.expr, effect: str, *, has_fix: bool = True, is_sure: bool = False
) -> Finding:
    """Return the finding for a text that lacks its `f`, with a fix if it is plain and on one line."""
    span = tree.span(text)
    written = tree.text[span.start : span.end]
    is_plain = has_fix and written.startswith(('"', "'")) and "\n" not in written
    fixes = (Fix.insert(span.start, "f", preferred=is_sure),) if is_plain else ()
    return Finding(span, f"without an `f` before this text, {effect}", fixes)


def _quoted_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the texts of prompts that are, or have in braces, the name of a text that nothing reads."""
    read = {node.id for node in tree.all_of(ast.Name) if isinstance(node.ctx, ast.Load)}
    texts = {
        name
        for name, values in tree.variables.items()
        if not all(isinstance(value, ast.List | ast.Dict) for value in values)
    }
    for value in tree.values_at("prompt", "template"):
        if (name := text_of(value)) in texts - read:
            span = tree.span(value)
            fix = Fix.change_to(span, name, preferred=True)
            message = f"this text is the name of a variable, which nothing reads; did you mean `{name}`?"
            yield Finding(span, message, (fix,))
        unread = [each for each in _FIELD.findall(name or "") if each in texts - read - tree.columns]
        if unread and unread[0] not in _formatted_names(tree):
            yield _without_f(tree, value, f"`{{{unread[0]}}}` reaches the model as it is", has_fix=False)


def _doubled_names(text: ast.JoinedStr, names: frozenset[str], tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the variables that an f-string has in two braces."""
    whole = tree.span(text)
    for field in _DOUBLED.finditer(tree.text, whole.start, whole.end):
        around = tree.text[field.start() - 1] + tree.text[field.end()]
        if field[1] in names and around != "{}":
            span = Span(*field.span())
            message = f"`{{{field[1]}}}` reaches the model as it is: a variable is in one pair of braces"
            fix = Fix.change_to(span, f"{{{field[1]}}}")
            yield Finding(span, message, (fix,))


def _lost_targets(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the texts with the variable of their comprehension in braces that are no f-strings."""
    known = tree.columns | _formatted_names(tree)
    for node in tree.nodes:
        if not isinstance(node, ast.DictComp | ast.ListComp):
            continue
        targets = {
            each.id
            for made in node.generators
            for each in ast.walk(made.target)
            if isinstance(each, ast.Name)
        }
        values = [*ast.walk(node.value if isinstance(node, ast.DictComp) else node.elt)]
        inside = {id(part) for each in values if isinstance(each, ast.JoinedStr) for part in each.values}
        for value in values:
            text = text_of(value) if id(value) not in inside else None
            names = _FIELD.findall(text or "")
            lost = [each for each in names if each in targets - known]
            if lost and isinstance(value, ast.expr):
                effect = f"`{{{lost[0]}}}` reaches the model as it is"
                yield _without_f(tree, value, effect, has_fix=tree.bound_names.issuperset(names))


def _formatted_names(tree: ConfigurationTree) -> set[str]:
    """Return the names that `format` and `replace` fill in later, in texts that are written elsewhere."""
    found: set[str] = set()
    for call in tree.all_of(ast.Call):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        given = [*call.args, *(each.value for each in call.keywords if each.arg is None)]
        if method == "format":
            found |= {each.arg for each in call.keywords if each.arg}
        if method in {"format", "format_map"} and (method == "format_map" or len(given) > len(call.args)):
            found |= {node.id for node in tree.all_of(ast.Name)}  # the mapping is not read
        if method == "replace":
            found |= {name for each in given for text in texts_of(each) for name in _FIELD.findall(text)}
    return found


def _unfilled_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the names and paths of datasets with variables in braces that are no f-strings."""
    for mapping in tree.mappings:
        if not {"infer_cfg", "reader_cfg"} & keys_of(mapping):
            continue
        for keyword in mapping.keywords:
            text = text_of(keyword.value) if keyword.arg in _WITHOUT_FIELDS else None
            name = next((each for each in _FIELD.findall(text or "") if each in tree.bound_names), None)
            if name is not None:
                effect = f"`{{{name}}}` is a part of the `{keyword.arg}`"
                yield _without_f(tree, keyword.value, effect, is_sure=True)


def _unread_lists(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the list of a run whose name is a typo: OpenCompass reads only `datasets` and `models`."""
    missing = {alias.name for node in tree.interpreter.missing.values() for alias in node.names}
    for key, other in (("datasets", "models"), ("models", "datasets")):
        if key in tree.names or other not in tree.names or "*" in missing:
            continue
        for node in tree.module.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name) as target, *_], value=ast.List(elts=items)) if (
                    is_typo(name, key)
                    and any(isinstance(each, ast.Call | ast.Dict | ast.Starred) for each in items)
                ):
                    message = f"OpenCompass reads `{key}` beside `{other}`, and not `{name}`"
                    yield Finding.suggest(tree.span(target), message, key, preferred=True)


def _nested_lists(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the lists that the list of a run contains without `*`; OpenCompass does not look into them."""
    imported = {*_imported_lists(tree)}
    for key in ("datasets", "models"):
        whole = _only_list(tree, key)
        items = whole.elts if whole is not None else []
        match items:
            case [ast.BinOp(op=ast.Add()) as added] if whole is not None:
                operands = [part for part in ast.walk(added) if isinstance(part, ast.Name)]
                if any(isinstance(tree.names.get(part.id), list) for part in operands):
                    span, inner = tree.span(whole), tree.span(added)
                    fix = Fix("Remove the brackets", (Edit(span, tree.text[inner.start : inner.end]),))
                    message = f"this sum is a list, and `{key}` a list of mappings"
                    yield Finding(span, message, (fix,))
        for each in (item for item in items if isinstance(item, ast.Name)):
            value = tree.names.get(each.id)
            is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
            if is_list or (value is None and each.id in imported):
                span = tree.span(each)
                message = f"`{each.id}` is a list, and `{key}` a list of mappings: unpack it with `*`"
                yield Finding(span, message, (Fix.insert(span.start, "*"),))


def _only_list(tree: ConfigurationTree, name: str) -> ast.List | None:
    """Return the list that is assigned to a variable; None if it is used otherwise, which may unpack it."""
    uses = [node for node in tree.all_of(ast.Name) if node.id == name]
    for node in tree.module.body if len(uses) == 1 else ():
        if isinstance(node, ast.Assign) and node.targets[0] is uses[0] and isinstance(node.value, ast.List):
            return node.value
    return None


def _imported_lists(tree: ConfigurationTree) -> Iterator[str]:
    """Yield the names of the lists of datasets and models that come from configurations of OpenCompass."""
    for name, (module, alias) in tree.imported.items():
        is_list = alias.name.endswith("_datasets") or alias.name in {"datasets", "models"}
        if is_list and module.startswith("opencompass.configs."):
            yield name


def _repeated_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the `abbr` that two datasets or models of a list have: their results replace each other."""
    if "model_dataset_combinations" in tree.names:
        return  # Each model may have its own dataset of a name.
    own = {*tree.nodes}
    found: dict[ast.AST, Finding] = {}
    for name, items in tree.names.items():
        if not name.endswith(("datasets", "models")) or not isinstance(items, list):
            continue
        if id(items) in tree.interpreter.doubted:
            continue
        mark = "type" if name.endswith("models") else "infer_cfg"
        datasets = {id(each): each for each in items if isinstance(each, dict) and mark in each}
        seen: set[str] = set()
        for each in datasets.values():
            abbr = each.get("abbr")
            if not isinstance(abbr, str) or id(each) in tree.interpreter.doubted:
                continue
            places = [piece.node for piece in pieces_of(abbr) if piece.node in own]
            if abbr in seen and places and places[0] is not None:
                what = "model" if mark == "type" else "dataset"
                message = f"another {what} has the `abbr` `{abbr}`: their results are one file"
                found[places[0]] = Finding(tree.span(places[0]), message, severity="warning")
            seen.add(abbr)
    yield from found.values()


def _summarized_names(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the typos of the names of datasets in the `summarizer` of a run."""
    datasets, summarizer = tree.names.get("datasets"), tree.names.get("summarizer")
    if tree.interpreter.missing or not isinstance(datasets, list) or not isinstance(summarizer, dict):
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


def _extended(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the mapping that extends a list, which gets only its keys, and the list that is appended."""
    lists = {*_imported_lists(tree)} | {name for name, value in tree.names.items() if isinstance(value, list)}
    for node in tree.nodes:
        attribute = ""
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" as attribute) as method,
                args=[added],
            ):
                at = tree.places.attribute_span(method)
                fixes: tuple[Fix, ...] = (Fix.change_to(at, "append", preferred=True),)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=added):
                at, fixes = tree.span(added), (Fix.put_into_list(tree.span(added)),)
            case _:
                continue
        if attribute == "append" and name in _OF_RUNS and isinstance(added, ast.Name) and added.id in lists:
            message = f"`{added.id}` is a list, and `{name}` a list of mappings"
            yield Finding.suggest(at, message, "extend", preferred=True)
        elif attribute != "append" and name.endswith(("datasets", "models")) and _OF_ITEMS & keys_of(added):
            message = f"this adds the keys of the mapping to `{name}`, and not the mapping"
            yield Finding(at, message, fixes)


RUN_CHECKS: Final = (_unread_lists, _nested_lists, _repeated_names, _summarized_names, _extended)
"""The checks of lists that OpenCompass does not read, and of items that are wrong or replace each other."""
VALUE_CHECKS: Final = (
    *(_foreign_roles, _joined_texts, _tuples, _classes, _arguments, _patterns, _options, _lost_f),
    *(_lost_targets, _quoted_names, _unfilled_names),
)
"""The checks of tuples, classes and joined texts in place of other values, of options, and of lost `f`s."""
