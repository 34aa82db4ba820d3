"""Find the Python calls that load a template, the keys of their data and its shapes; nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from promptls.security.files import read_bytes
from promptls.semantic.types.assignability import NOTHING, KnownFunction, KnownValue, constant, either, rows
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.python_places import (
    PythonPlaces,
    argument,
    dict_items,
    is_dict,
    last_name,
    parse_python,
    statements_in,
)
from promptls.text.positions import Span
from promptls.workspace.python_data import DataEntry, entries_of
from promptls.workspace.python_functions import parameters_of
from promptls.workspace.python_paths import literal_path, loaded_template
from promptls.workspace.python_scopes import Scope, scopes_of

Found = TypeVar("Found")

_LOADERS: Final = frozenset({"Prompt"})
"""Names of classes that load a template: Prompt Poet's class."""
# Whole words. A pattern that begins with its letters is found many times faster than one with `\b` there.
_LOADS: Final = re.compile(r"Prompt(?<=\bPrompt)\b")
_RENDERS: Final = re.compile(r"render(?<=\brender)\b")
_LOAD: Final = re.compile(r"load(?<=\bload)\b")
_RAW: Final = "raw_template"
_LIBRARY: Final = "promptls"
_UNKNOWN_KEYWORDS: Final = frozenset({"package_name", "template_loader", "from_examples", "raw_template"})
"""Arguments that change the meaning of a path or of the data."""


class TemplateCall(NamedTuple):
    """A call in the Python file at `file` that loads the template `template` with data of these keys.

    The path is as written, or absolute if it is derived from `__file__`. `span` is that of the
    call's name, in code points; `line` is zero-based.
    """

    file: str
    span: Span
    line: int
    template: str
    keys: frozenset[str]
    given: tuple[tuple[str, Shape], ...] = ()
    """The literal values by their keys; others are unknown."""
    is_jinja: bool = False
    """Whether Jinja renders the template directly, without Prompt Poet."""
    is_failing: bool = False
    """Whether the call is in a test that expects an error."""
    allows_tokens: bool = False
    """Whether parts of the template may have `tokens`."""
    has_fields: bool = False
    """Whether the data are the fields of an object, which may have other uses."""


class RawTemplate(NamedTuple):
    """The expression of a template that a program passes as text, its scope, and its call.

    The call's `template` is empty. The call is None if its data is unknown.
    """

    node: ast.expr
    scope: Scope
    call: TemplateCall | None


def calls_in_file(path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in the Python file at `path`; none if it cannot be read or parsed."""
    try:
        content = read_bytes(path)
    except OSError:
        return ()
    return calls_in(content.decode("utf-8", errors="replace"), path)


def raw_templates_in(text: str, path: str) -> tuple[RawTemplate, ...]:
    """Return the templates that calls of Prompt Poet's class in Python source pass as text."""
    return _found(_raw_templates, text, path) if _RAW in text else ()


def calls_in(text: str, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in the Python source of the file at `path`, parsed only if it may have any."""
    may_call = (("template_path" in text or _RAW in text) and _LOADS.search(text)) or (
        ("get_template" in text or (_LIBRARY in text and _LOAD.search(text))) and _RENDERS.search(text)
    )
    return _found(_calls, text, path) if may_call else ()


def _found(
    search: Callable[[ast.Module, PythonPlaces, str], Iterator[Found]], text: str, path: str
) -> tuple[Found, ...]:
    """Return what a search finds in Python source; nothing if it cannot be parsed."""
    tree = parse_python(text)
    if tree is None:
        return ()
    try:
        return tuple(search(tree, PythonPlaces(text), path))
    except RecursionError:
        return ()


def data_of(node: ast.Call) -> tuple[ast.expr, ...] | None:
    """Return the expressions whose keys are the data of a call; the call itself represents its keywords.

    None if the data of the call is unknown.
    """
    if last_name(node.func) == "render":
        unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
        is_known = not any(isinstance(each, ast.Starred) for each in node.args)
        return (*node.args, *unpacked, node) if is_known else None
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    return tuple(keyword.value for keyword in node.keywords if keyword.arg == "template_data") or None


def _raw_templates(tree: ast.Module, places: PythonPlaces, path: str) -> Iterator[RawTemplate]:
    for scope in scopes_of(tree):
        for node in scope.calls:
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            raw = arguments.get(_RAW)
            if raw is None or last_name(node.func) not in _LOADERS:
                continue
            data = data_of(node)
            if data is None and None not in arguments and "template_data" not in arguments:
                data = ()
            yield RawTemplate(raw, scope, _call_of(node, "", data, scope, places, path))


def _call_of(
    node: ast.Call,
    template: str,
    data: tuple[ast.expr, ...] | None,
    scope: Scope,
    places: PythonPlaces,
    path: str,
) -> TemplateCall | None:
    """Return the call that loads a template; None if its data is unknown."""
    entries = None if data is None else _data_entries(data, node, scope)
    if entries is None:
        return None
    end = places.span(node.func).end
    return TemplateCall(
        file=path,
        span=Span(end - len(last_name(node.func)), end),
        line=(node.func.end_lineno or node.lineno) - 1,
        template=template,
        keys=frozenset(each.key for each in entries),
        given=_values(entries),
        is_failing=node in _failing_calls(scope.tree),
        allows_tokens=bool(template) and _allows_tokens(node),
        has_fields=any(each.place is None for each in entries),
    )


def _calls(tree: ast.Module, places: PythonPlaces, path: str) -> Iterator[TemplateCall]:
    for raw in _raw_templates(tree, places, path) if _RAW in places.text else ():
        yield raw.call or TemplateCall(path, Span(0, 0), 0, "", frozenset())
    for scope in scopes_of(tree):
        for node in scope.calls:
            template, is_jinja = _template_of(node, scope, path)
            if is_jinja and ".globals" in places.text:  # they may provide what the call does not
                continue
            call = _call_of(node, template, data_of(node), scope, places, path) if template else None
            if call is not None:
                yield call._replace(is_jinja=is_jinja)


def _allows_tokens(call: ast.Call) -> bool:
    """Return whether a call may set `allow_token_overrides`."""
    given = [each.value for each in call.keywords if each.arg == "allow_token_overrides"]
    return any(not isinstance(each, ast.Constant) or bool(each.value) for each in given)


_ERROR_CHECKS: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
"""Functions of pytest and unittest that fail if the block below them raises no error."""


def failing_blocks(tree: ast.Module) -> tuple[ast.With | ast.AsyncWith, ...]:
    """Return the blocks of a program that must raise an error."""
    return tuple(
        block
        for block in statements_in(tree)
        if isinstance(block, ast.With | ast.AsyncWith)
        and any(
            isinstance(each.context_expr, ast.Call) and last_name(each.context_expr.func) in _ERROR_CHECKS
            for each in block.items
        )
    )


@lru_cache(maxsize=4)
def _failing_calls(tree: ast.Module) -> frozenset[ast.AST]:
    """Return the expressions in blocks that must raise an error."""
    return frozenset(inner for block in failing_blocks(tree) for inner in ast.walk(block))


def _template_of(node: ast.Call, scope: Scope, path: str) -> tuple[str | None, bool]:
    """Return the path of the template that a call passes data to, and whether Jinja loads it."""
    load = scope.resolved(node.func.value) if isinstance(node.func, ast.Attribute) else None
    template = loaded_template(load, scope, path) if last_name(node.func) == "render" else None
    if template is not None:
        return template, True
    loaded = _loaded(node, load, scope)
    return (None if loaded is None else literal_path(loaded, scope, path)), False


def _loaded(node: ast.Call, load: ast.expr | None, scope: Scope) -> ast.expr | None:
    """Return the expression for the path of the template that a call passes data to, if it is such a call.

    `load` is the object whose method is called.
    """
    name = last_name(node.func)
    if name in _LOADERS:
        arguments = {keyword.arg: keyword.value for keyword in node.keywords}
        return None if _UNKNOWN_KEYWORDS & arguments.keys() else arguments.get("template_path")
    if name != "render" or not isinstance(load, ast.Call) or scope.meaning(load.func) != (_LIBRARY, "load"):
        return None
    return load.args[0] if load.args else argument(load, "path")


def _data_entries(data: tuple[ast.expr, ...], call: ast.Call, scope: Scope) -> list[DataEntry] | None:
    """Return the entries of all the data of a call, or None if any of them are unknown."""
    found: list[DataEntry] = []
    for each in data:
        named = [
            DataEntry(keyword.arg, keyword, keyword.value, scope) for keyword in call.keywords if keyword.arg
        ]
        entries = named if each is call else entries_of(each, scope)
        if entries is None:
            return None
        found += entries
    return found


def _values(entries: list[DataEntry]) -> tuple[tuple[str, Shape], ...]:
    """Return the values that a call passes, sorted by their keys; unknown if they are not literal."""
    found = {
        each.key: UNKNOWN if each.value is None else given_shape(each.value, each.scope) for each in entries
    }
    return tuple(sorted(found.items(), key=lambda item: item[0]))


def key_spans(text: str, call: TemplateCall, keys: tuple[str | None, ...]) -> tuple[Span, ...]:
    """Return the positions of one key in the data of a call, without quotes; `text` is the file's text.

    `keys` are those of the enclosing dicts, outermost first, and the key itself; None matches any key, and
    lists in between are ignored. Empty if the text is no longer the one in which the call was found.
    """
    if keys[0] is not None and keys[0] not in call.keys:
        return ()
    places = PythonPlaces(text)
    found: list[Span] = []
    for each in _entries_of_call(call, places):
        if keys[0] not in {None, each.key}:
            continue
        if len(keys) > 1:
            found += _inner_keys(each.value, each.scope, places, keys[1:])
        elif (span := _key_span(each.place, places)) is not None:
            found.append(span)
    return tuple(found)


def _entries_of_call(call: TemplateCall, places: PythonPlaces) -> list[DataEntry]:
    tree = parse_python(places.text)
    for scope in scopes_of(tree) if tree else ():
        for node in scope.calls:
            if places.span(node.func).end == call.span.end:
                return _data_entries(data_of(node) or (), node, scope) or []
    return []


def _key_span(place: ast.expr | ast.keyword | None, places: PythonPlaces) -> Span | None:
    """Return the position of a key that is written as a text or as an argument."""
    if isinstance(place, ast.keyword):
        return places.span(place)
    return places.inside_quotes(place) if isinstance(place, ast.Constant) else None


def _inner_keys(
    data: ast.expr | None, scope: Scope, places: PythonPlaces, keys: tuple[str | None, ...]
) -> Iterator[Span]:
    """Yield the positions of a key in the literal parts of a value."""
    written = scope.constant_of(data.id) if isinstance(data, ast.Name) else data
    if isinstance(data, ast.Name) and written is None:
        for each, caller in scope.arguments_for(data.id):
            if not isinstance(each, ast.Name):
                yield from _inner_keys(each, caller, places, keys)
    if isinstance(written, ast.List | ast.Tuple | ast.ListComp):
        for item in [written.elt] if isinstance(written, ast.ListComp) else written.elts:
            yield from _inner_keys(item, scope, places, keys)
        return
    for name, key, value in dict_items(written) if is_dict(written) else ():
        if name is None or keys[0] not in {None, name}:
            continue
        if len(keys) > 1:
            yield from _inner_keys(value, scope, places, keys[1:])
        elif (span := _key_span(key, places)) is not None:
            yield span


_MAX_DEPTH: Final = 20
_PER_CALL: Final = 5
"""The steps that following a parameter to the calls of its function counts as."""


def given_shape(node: ast.expr, scope: Scope, depth: int = 0) -> Shape:
    """Return the shape of an expression's value; unknown if it is not literal.

    Values of a mapping whose keys are not literal are represented by an `element` without a shape.
    """
    if depth > _MAX_DEPTH:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            return _of_name(name, scope, depth)
        case ast.Lambda():
            return KnownFunction(parameters=parameters_of(node))
        case ast.Constant(value=value):
            return constant(value)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return rows(given_shape(item, scope, depth + 1) for item in items)
        case ast.ListComp(elt=item):
            return rows([given_shape(item, scope, depth + 1)])
        case ast.IfExp(body=one, orelse=other):
            return either([given_shape(each, scope, depth + 1) for each in (one, other)])
        case _ if is_dict(node):
            return _of_dict(node, scope, depth)
        case ast.Call(func=ast.Name(id=name)):
            function = scope.function_of(name)
            made = (
                function.returns
                if isinstance(function, ast.FunctionDef)
                else ast.Name(_RETURNED.get(name, name))
            )
            return annotated_shape(made, scope)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _IN_PLACE:
            bound = scope.value_of(value.id) if isinstance(value, ast.Name) else None
            is_list = isinstance(bound, ast.List | ast.ListComp)
            return NOTHING if is_list or ast.unparse(node.func) == "random.shuffle" else UNKNOWN
    return _of_text(node, scope, depth)


def _of_text(node: ast.expr, scope: Scope, depth: int) -> Shape:
    """Return the shape of a text that is put together; unknown for other expressions."""
    match node:
        case ast.JoinedStr():
            return _text([_piece(each, scope, depth) for each in node.values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pieces = [_piece(each, scope, depth) for each in (left, right)]
            return _text(pieces) if any(pieces) else UNKNOWN
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str() as between), attr="join"), args=[items]
        ):
            return _joined_text(between, items, scope, depth)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="json"), attr="dumps"), args=[ast.Dict(keys=[_, *_])]
        ):
            return constant(f'{{"{ELSE}": {ELSE}}}')
    return UNKNOWN


def _of_name(name: str, scope: Scope, depth: int) -> Shape:
    value = scope.constant_of(name)
    if value is None:
        bound = scope.value_of(name)
        pieces = [bound.body, bound.orelse] if isinstance(bound, ast.IfExp) else [bound]
        if all(isinstance(each, ast.Constant | ast.JoinedStr) for each in pieces):
            value = bound  # which cannot be changed in place
    if value is not None:
        return given_shape(value, scope, depth + 1)
    function = scope.function_of(name)
    if isinstance(function, ast.FunctionDef):
        return KnownFunction(parameters=parameters_of(function), returned=_returned_shape(function, scope))
    failing = _failing_calls(scope.tree)
    passed = (
        given_shape(each, caller, depth + _PER_CALL)
        for each, caller in scope.arguments_for(name)
        if each not in failing
    )
    known = [shape for each in passed if (shape := _without_values(each)).kind != "unknown"]
    if known:
        return either(known)
    shape = annotated_shape(scope.annotation_of(name), scope)
    return UNKNOWN if shape.kind in {"list", "mapping"} and not scope.is_fixed(name) else shape


def _without_values(shape: Shape) -> Shape:
    """Return the shape of a value that others than the known callers of a function may pass."""
    if isinstance(shape, KnownValue):
        return Shape(shape.kind)
    return replace(
        shape,
        keys=tuple((key, _without_values(each)) for key, each in shape.keys),
        element=None if shape.element is None else _without_values(shape.element),
        alternatives=tuple(map(_without_values, shape.alternatives)),
    )


def _returned_shape(function: ast.FunctionDef, scope: Scope) -> Shape:
    """Return the shape of what a function returns, with its values if all of them are literal."""
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    shapes = [given_shape(each, scope) for each in values if isinstance(each, ast.Constant | ast.IfExp)]
    return either(shapes) if len(shapes) == len(values) and shapes else UNKNOWN


_RETURNED: Final = {"len": "int", "sorted": "list"}
"""The types that functions of Python return."""
_IN_PLACE: Final = frozenset({"append", "extend", "insert", "remove", "reverse", "shuffle", "sort"})
"""Methods of lists, and a function of `random`, that return None."""
_ANNOTATIONS: Final[Mapping[str, Shape]] = {
    "str": Shape("text"),
    "int": Shape("number"),
    "float": Shape("number"),
    "bool": Shape("boolean"),
    "list": Shape("list"),
    "List": Shape("list"),
    "dict": Shape("mapping", element=UNKNOWN),
    "Dict": Shape("mapping", element=UNKNOWN),
}


def annotated_shape(node: ast.expr | None, scope: Scope, depth: int = 0) -> Shape:
    """Return the shape of the values that an annotation describes; unknown if it is not a plain one."""
    if depth > _MAX_DEPTH:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            if name in _ANNOTATIONS:
                return _ANNOTATIONS[name]
            owner = scope.class_of(name)
            return _of_class(owner, scope, depth) if owner is not None else UNKNOWN
        case ast.Subscript(value=ast.Name(id="list" | "List"), slice=item):
            return rows([annotated_shape(item, scope, depth + 1)])
        case ast.Subscript(value=ast.Name(id="dict" | "Dict")):
            return _ANNOTATIONS["dict"]
    return UNKNOWN


def _of_class(owner: ast.ClassDef, scope: Scope, depth: int) -> Shape:
    """Return the shape of the instances of a dataclass, of named tuples and of typed dicts."""
    decorators = {ast.unparse(each).partition("(")[0] for each in owner.decorator_list}
    bases = {ast.unparse(each) for each in owner.bases}
    is_plain = (decorators <= {"dataclass", "dataclasses.dataclass"} and not bases) or (
        not decorators and bases in ({"TypedDict"}, {"typing.TypedDict"})
    )
    names = {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}
    if not is_plain or not (decorators or bases) or owner.keywords or "__getattr__" in names:
        return UNKNOWN
    fields = {
        node.target.id: annotated_shape(node.annotation, scope, depth + 1)
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return Shape("mapping", keys=tuple(sorted((dict.fromkeys(names, UNKNOWN) | fields).items())))


ELSE: Final = "…"
"""The placeholder in a text for pieces that are not literal."""
_BREAKING: Final = re.compile(r'[\n"]')


def _text(pieces: Iterable[str | None]) -> Shape:
    """Return the shape of a concatenation, with its value if all of it is known, or what may break YAML."""
    known = list(pieces)
    made = "".join(ELSE if piece is None else piece for piece in known)
    return constant(made) if None not in known or _BREAKING.search(made) else Shape("text")


def _piece(node: ast.expr, scope: Scope, depth: int) -> str | None:
    shape = given_shape(node, scope, depth + 1)
    return shape.value if isinstance(shape, KnownValue) and isinstance(shape.value, str) else None


def _joined_text(between: str, items: ast.expr, scope: Scope, depth: int) -> Shape:
    """Return the shape of `between.join(items)`; items that are not literal are assumed to be several."""
    if isinstance(items, ast.Name):
        items = scope.constant_of(items.id) or items
    if not isinstance(items, ast.List | ast.Tuple):
        return _text([None, between, None])
    pieces: list[str | None] = []
    for item in items.elts:
        pieces += [*([between] if pieces else []), _piece(item, scope, depth)]
    return _text(pieces)


def _of_dict(node: ast.Dict | ast.Call, scope: Scope, depth: int) -> Shape:
    keys: dict[str, Shape] = {}
    is_open = False
    for key, _, value in dict_items(node):
        if key is not None:
            keys[key] = given_shape(value, scope, depth + 1)
        else:  # it may also contain any of the preceding keys
            keys = dict.fromkeys(keys, UNKNOWN)
            is_open = True
    return Shape("mapping", keys=tuple(sorted(keys.items())), element=UNKNOWN if is_open else None)
