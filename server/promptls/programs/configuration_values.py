"""Values in an OpenCompass configuration in Python that are not what their keys need."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import takewhile
from string import ascii_uppercase
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.syntax.python_places import PythonPlaces, text_of
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, odd_keys

_CONFIGURATIONS: Final[Mapping[str, frozenset[str]]] = {
    "reader_cfg": frozenset({"input_columns", "output_column"}),
    "infer_cfg": frozenset({"ice_template", "prompt_template", "retriever", "inferencer"}),
    "eval_cfg": frozenset({"evaluator", "pred_role", "pred_postprocessor"}),
}
"""The mappings of a dataset, and the keys that show which one a mapping is."""
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
_MIN_OPTIONS: Final = 2
"""The end of the message about a column of options that no text shows."""
_OPTION: Final = re.compile(r"(\w*?)([A-Z])", re.ASCII)
_FIELD: Final = re.compile(r"(?<!\{)\{(\w+)\}(?!\})", re.ASCII)
_DOUBLED: Final = re.compile(r"\{\{(\w+)\}\}", re.ASCII)


def value_problems(own: ast.Module, places: PythonPlaces) -> Iterator[Finding]:
    """Yield tuples, classes and other mappings in place of mappings, missing options, and lost `f`s."""
    nodes = list(ast.walk(own))
    keywords = [node for node in nodes if isinstance(node, ast.keyword)]
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    yield from _tuples(assigned, places)
    yield from _classes(own, keywords, places)
    yield from _mistaken(keywords, assigned, places)
    yield from _misnamed(nodes, assigned, places)
    columns = [each for each in keywords if each.arg in {"input_columns", "output_column"}]
    yield from _arguments(own, keywords, places)
    yield from _patterns(own, keywords, places)
    yield from _options(keywords, columns, places)
    yield from _lost_f(nodes, columns, places)
    yield from _lost_targets(nodes, columns, places)
    yield from _quoted_names(nodes, places)
    yield from _unfilled_names(nodes, places)
    yield from _repeated_names(nodes, places)
    yield from _odd_keys(nodes, places)


def _tuples(assigned: list[ast.Assign], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the commas that make the mapping in a variable a tuple."""
    for node in assigned:
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Name) and target.id.endswith("_cfg") and isinstance(value, ast.Tuple)):
            continue
        if len(value.elts) == 1 and _keys(value.elts[0]):
            after = places.span(value.elts[0]).end
            comma = places.text.find(",", after)
            span = Span(comma, comma + 1)
            fix = Fix("Remove the comma", (Edit(span, ""),), preferred=True)
            message = f"this comma makes `{target.id}` a tuple, which has no keys"
            yield Finding(span, message, (fix,), severity="error")


def _imported(own: ast.Module) -> frozenset[str]:
    """Return the classes and functions of OpenCompass that a configuration imports."""
    return frozenset(
        alias.asname or alias.name
        for node in own.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("opencompass.")
        for alias in node.names
        if "configs" not in (node.module or "").split(".")
    )


def _classes(own: ast.Module, keywords: list[ast.keyword], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the classes of OpenCompass that are written in place of a mapping with a `type`."""
    classes = _imported(own)
    calls = [node for node in ast.walk(own) if isinstance(node, ast.Call)]
    custom = {id(each) for call in calls if _keys(call) & {"path", "data_type"} for each in call.keywords}
    for keyword in keywords:
        value = keyword.value
        if id(keyword) in custom:
            continue  # OpenCompass makes the mapping of the evaluator of a custom dataset.
        if isinstance(value, ast.Call) and not value.args and not value.keywords:
            value = value.func
        if keyword.arg in _OF_CLASSES and isinstance(value, ast.Name) and value.id in classes:
            span, name = places.span(keyword.value), value.id
            fix = Fix(f"Change to `dict(type={name})`", (Edit(span, f"dict(type={name})"),), preferred=True)
            message = f"`{keyword.arg}` is a mapping with a `type`, and no class or object"
            yield Finding(span, message, (fix,), severity="error")


def _mistaken(
    keywords: list[ast.keyword], assigned: list[ast.Assign], places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the variables given for a key of a dataset that hold the mapping of another key."""
    names = [node.targets[0].id for node in assigned if isinstance(node.targets[0], ast.Name)]
    keys = {
        node.targets[0].id: _keys(node.value)
        for node in assigned
        if isinstance(node.targets[0], ast.Name) and names.count(node.targets[0].id) == 1
    }
    for keyword in keywords:
        own = _CONFIGURATIONS.get(keyword.arg or "")
        if own is None or not isinstance(keyword.value, ast.Name):
            continue
        name = keyword.value.id
        given = keys.get(name, frozenset())
        other = next((each for each, marks in _CONFIGURATIONS.items() if given & marks), None)
        if other is None or given & own:
            continue
        message = f"`{keyword.arg}` gets a mapping with the keys of a `{other}`"
        meant = name.replace(other, keyword.arg or "")
        span = places.span(keyword.value)
        if meant != name and keys.get(meant, frozenset()) & own:
            yield Finding.suggest(span, message, meant, preferred=True, severity="error")
        else:
            yield Finding(span, message, severity="error")


def _misnamed(nodes: list[ast.AST], assigned: list[ast.Assign], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the keys of a dataset that hold the mapping of a key that it lacks."""
    names = [node.targets[0].id for node in assigned if isinstance(node.targets[0], ast.Name)]
    values = {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}
    for node in nodes:
        keys = _keys(node) if isinstance(node, ast.Call) else frozenset[str]()
        if not isinstance(node, ast.Call) or not {"type", "abbr"} <= keys or not keys & {*_CONFIGURATIONS}:
            continue
        for keyword in node.keywords:
            name = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
            value = values[name] if names.count(name) == 1 else keyword.value
            marks = _keys(value) if keyword.arg not in {None, *_CONFIGURATIONS} else frozenset[str]()
            meant = [each for each, own in _CONFIGURATIONS.items() if marks & own and each not in keys]
            if len(meant) == 1 and not is_typo(keyword.arg or "", meant[0]):
                message = f"`{keyword.arg}` holds the `{meant[0]}`, which this dataset lacks"
                yield Finding.suggest(
                    places.span(keyword), message, meant[0], preferred=True, severity="error"
                )


def _arguments(own: ast.Module, keywords: list[ast.keyword], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the functions of OpenCompass that clean answers, without the argument that they need."""
    imported = _imported(own)
    for keyword in keywords:
        call = keyword.value
        if keyword.arg not in {"pred_postprocessor", "dataset_postprocessor"} or not _keys(call):
            continue
        given = {each.arg: each.value for each in call.keywords} if isinstance(call, ast.Call) else {}
        kind = given.get("type")
        needed = _ARGUMENTS.get(kind.id) if isinstance(kind, ast.Name) and kind.id in imported else None
        if kind is not None and needed is not None and not given.keys() & {needed, None}:
            message = f"`{ast.unparse(kind)}` needs `{needed}`: without it, the evaluation fails"
            yield Finding(places.span(kind), message, severity="error")


def _patterns(own: ast.Module, keywords: list[ast.keyword], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the literal patterns of answers that Python cannot compile, or that have no group."""
    imported = _imported(own)
    for keyword in keywords:
        call = keyword.value
        if keyword.arg not in {"pred_postprocessor", "dataset_postprocessor"} or not isinstance(
            call, ast.Call
        ):
            continue
        given = {each.arg: each.value for each in call.keywords}
        kind, pattern = given.get("type"), given.get("answer_pattern")
        if not (isinstance(kind, ast.Name) and kind.id == "match_answer_pattern" and kind.id in imported):
            continue
        if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                has_group = re.compile(pattern.value).groups > 0
        except (re.error, RecursionError, OverflowError) as error:
            yield Finding(places.span(pattern), f"this is no regular expression: {error}", severity="error")
            continue
        if not has_group:
            message = "OpenCompass takes the first group of this pattern for the answer, and it has none"
            yield Finding(places.span(pattern), message, severity="error")


def _options(
    keywords: list[ast.keyword], columns: list[ast.keyword], places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the options of a postprocessor that lack the last ones of the columns `A`, `B`, …."""
    named = [_texts(each.value) for each in columns if each.arg == "input_columns"]
    letters = {"".join(takewhile(set(texts).__contains__, ascii_uppercase)) for texts in named}
    offered = letters.pop() if len(letters) == 1 else ""
    for keyword in keywords:
        call = keyword.value
        if keyword.arg != "pred_postprocessor" or not isinstance(call, ast.Call):
            continue
        given = {each.arg: each.value for each in call.keywords}
        kind, options = given.get("type"), given.get("options")
        if not (isinstance(kind, ast.Name) and kind.id in _OPTION_FUNCTIONS):
            continue
        found = options.value if isinstance(options, ast.Constant) else None
        if options is None or not isinstance(found, str) or len(found) < _MIN_OPTIONS:
            continue
        if offered.startswith(found) and found != offered:
            missing = in_code(offered[len(found) :])
            message = f"an answer {missing} is never found: the columns are `A` to `{offered[-1]}`"
            fix = Fix(f"Change to `{offered}`", (Edit(places.span(options), f"'{offered}'"),))
            yield Finding(places.span(options), message, (fix,), severity="warning")


def hidden_options(own: ast.Module, places: PythonPlaces) -> Iterator[Finding]:
    """Yield the text that shows most of the options, if no text shows the others."""
    nodes = list(ast.walk(own))
    keywords = [node for node in nodes if isinstance(node, ast.keyword)]
    columns = [each for each in keywords if each.arg in {"input_columns", "output_column"}]
    named = {tuple(_texts(each.value)) for each in columns if each.arg == "input_columns"}
    texts = [
        (node, node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if len(named) != 1 or any(text.endswith("{") for _, text in texts):
        return  # Fields whose names are computed may be any column.
    fields = [{*_FIELD.findall(text), *_DOUBLED.findall(text)} for _, text in texts]
    shown = set[str]().union(*fields)
    groups: dict[str, list[str]] = {}
    for name in named.pop():
        if (option := _OPTION.fullmatch(name)) is not None:
            groups.setdefault(option[1], []).append(name)
    for prefix, group in groups.items():
        hidden = [name for name in group if name not in shown]
        is_complete = "".join(name[-1] for name in group) == ascii_uppercase[: len(group)]
        if not is_complete or not hidden or len(group) - len(hidden) < _MIN_OPTIONS:
            continue
        most = max(range(len(texts)), key=lambda index: len(fields[index] & {*group}))
        names = in_code(hidden)
        message = f"no text shows {names} beside `{prefix}A`: the model does not see this option"
        yield Finding(places.span(texts[most][0]), message, severity="warning")


def _lost_f(nodes: list[ast.AST], columns: list[ast.keyword], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the texts with variables in braces, and columns in two, that are no f-strings."""
    known = {text for each in columns for text in _texts(each.value)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    bound -= _formatted_names(nodes)
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    for node in nodes:
        value = node.value if isinstance(node, ast.keyword) and node.arg in {"prompt", "template"} else None
        if isinstance(value, ast.Name):
            named = [each.value for each in assigned if ast.unparse(each.targets[0]) == value.id]
            value = named[0] if len(named) == 1 else None
        if isinstance(value, ast.JoinedStr) and known:
            yield from _doubled_names(value, bound - known, places)
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            continue
        names = [name for name in _FIELD.findall(value.value) if name in bound - known]
        if names and known & {*_DOUBLED.findall(value.value)}:
            span = places.span(value)
            is_plain = (
                places.text[span.start] in {'"', "'"} and "\n" not in places.text[span.start : span.end]
            )
            edit = Edit(Span(span.start, span.start), "f")
            fixes = (Fix("Insert `f`", (edit,)),) if is_plain else ()
            message = f"without an `f` before this text, `{{{names[0]}}}` reaches the model as it is"
            yield Finding(span, message, fixes, severity="error")


def _quoted_names(nodes: list[ast.AST], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the texts of prompts that are the name of a variable with a text that nothing reads."""
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    texts = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.List | ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        value = node.value if isinstance(node, ast.keyword) and node.arg in {"prompt", "template"} else None
        name = value.value if isinstance(value, ast.Constant) else None
        if value is not None and isinstance(name, str) and name in texts - read:
            fix = Fix.change_to(places.span(value), name, preferred=True)
            message = f"this text is the name of a variable, which nothing reads; did you mean `{name}`?"
            yield Finding(places.span(value), message, (fix,), severity="error")


def _doubled_names(text: ast.JoinedStr, names: set[str], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the variables that an f-string has in two braces."""
    whole = places.span(text)
    for field in _DOUBLED.finditer(places.text, whole.start, whole.end):
        around = places.text[field.start() - 1] + places.text[field.end()]
        if field[1] in names and around != "{}":
            span = Span(*field.span())
            message = f"`{{{field[1]}}}` reaches the model as it is: a variable is in one pair of braces"
            fix = Fix.change_to(span, f"{{{field[1]}}}")
            yield Finding(span, message, (fix,), severity="error")


def _lost_targets(
    nodes: list[ast.AST], columns: list[ast.keyword], places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the texts with the variable of their comprehension in braces that are no f-strings."""
    known = {text for each in columns for text in _texts(each.value)} | _formatted_names(nodes)
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
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
            if not isinstance(value, ast.Constant) or not isinstance(value.value, str) or id(value) in inside:
                continue
            names = _FIELD.findall(value.value)
            lost = [each for each in names if each in targets - known]
            if lost:
                span = places.span(value)
                fixes = (Fix("Insert `f`", (Edit(Span(span.start, span.start), "f"),)),)
                message = f"without an `f` before this text, `{{{lost[0]}}}` reaches the model as it is"
                is_plain = places.text[span.start] in {'"', "'"} and bound.issuperset(names)
                yield Finding(span, message, fixes if is_plain else (), severity="error")


def _formatted_names(nodes: list[ast.AST]) -> set[str]:
    """Return the names that `format` and `replace` fill in later, in texts that are written elsewhere."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    found: set[str] = set()
    for call in calls:
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        given = [*call.args, *(each.value for each in call.keywords if each.arg is None)]
        if method == "format":
            found |= {each.arg for each in call.keywords if each.arg}
        if method in {"format", "format_map"} and (method == "format_map" or len(given) > len(call.args)):
            found |= {node.id for node in nodes if isinstance(node, ast.Name)}  # the mapping is not read
        if method == "replace":
            found |= {name for each in given for text in _texts(each) for name in _FIELD.findall(text)}
    return found


def _unfilled_names(nodes: list[ast.AST], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the names and paths of datasets with variables in braces that are no f-strings."""
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        if not isinstance(node, ast.Call) or not {"infer_cfg", "reader_cfg"} & _keys(node):
            continue
        for keyword in node.keywords:
            text = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg not in _WITHOUT_FIELDS or not isinstance(text, str):
                continue
            name = next((each for each in _FIELD.findall(text) if each in bound), None)
            if name is not None:
                span = places.span(keyword.value)
                is_plain = places.text[span.start] in {'"', "'"}
                edit = Edit(Span(span.start, span.start), "f")
                fixes = (Fix("Insert `f`", (edit,), preferred=True),) if is_plain else ()
                message = f"without an `f` before this text, `{{{name}}}` is a part of the `{keyword.arg}`"
                yield Finding(span, message, fixes, severity="error")


def _repeated_names(nodes: list[ast.AST], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the `abbr` that two datasets of a list have: the results of one replace those of the other."""
    for node in nodes:
        if not isinstance(node, ast.List):
            continue
        datasets = [
            each for each in node.elts if isinstance(each, ast.Call) and {"abbr", "infer_cfg"} <= _keys(each)
        ]
        named = [each for call in datasets for each in call.keywords if each.arg == "abbr"]
        times = Counter(ast.dump(each.value) for each in named)
        seen: set[str] = set()
        for each in named:
            written = ast.dump(each.value)
            if isinstance(each.value, ast.Constant) and times[written] > 1 and written in seen:
                message = f"another dataset has the `abbr` `{each.value.value!s}`: their results are one file"
                yield Finding(places.span(each.value), message, severity="warning")
            seen.add(written)


def _odd_keys(nodes: list[ast.AST], places: PythonPlaces) -> Iterator[Finding]:
    """Yield the keys in a table of mappings that are typos of a key which all others have."""
    for node in nodes:
        rows = _rows(node)
        keys = [_keys(each) for each in rows]
        for index, name, meant in odd_keys(keys) if all(keys) else ():
            place = _key_place(rows[index], name, places)
            if place is not None:
                message = f"no other mapping here has `{name}`; did you mean `{meant}`?"
                fix = Fix.change_to(place, meant, preferred=True)
                yield Finding(place, message, (fix,), severity="warning")


def _rows(node: ast.AST) -> list[ast.expr]:
    """Return the values of a table: a list, or a mapping."""
    match node:
        case ast.List(elts=values) | ast.Dict(values=values):
            return values
        case ast.Call(func=ast.Name(id="dict")):
            return [each.value for each in node.keywords]
    return []


def _key_place(mapping: ast.expr, name: str, places: PythonPlaces) -> Span | None:
    if isinstance(mapping, ast.Call):
        return next((places.span(each) for each in mapping.keywords if each.arg == name), None)
    keys = mapping.keys if isinstance(mapping, ast.Dict) else []
    found = [each for each in keys if isinstance(each, ast.Constant) and each.value == name]
    return places.inside_quotes(found[0]) if found else None


def _keys(node: ast.expr) -> frozenset[str]:
    """Return the literal keys of a mapping."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return frozenset(each.arg for each in node.keywords if each.arg)
    if isinstance(node, ast.Dict):
        keys = [each.value for each in node.keys if isinstance(each, ast.Constant)]
        return frozenset(key for key in keys if isinstance(key, str))
    return frozenset()


def _texts(node: ast.expr) -> list[str]:
    """Return the literal texts in a list, or of one text."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [text for each in items if (text := text_of(each)) is not None]
