"""Find the Python calls that load a template with data, and their keys, by parsing; they are not run."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from promptls.security.files import read_bytes
from promptls.semantic.types.assignability import (
    NOTHING,
    KnownFunction,
    KnownValue,
    constant,
    either,
    rows,
)
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.python_places import NOT_PYTHON, parse_python
from promptls.text.positions import Span, line_starts
from promptls.workspace.disk import MAX_BYTES, SKIPPED_FOLDERS
from promptls.workspace.python_functions import parameters_of
from promptls.workspace.python_scopes import Scope, attribute_value, meaning_in, scopes_of

_MAX_STEPS: Final = 20


def given_shape(node: ast.expr, scope: Scope, depth: int = 0) -> Shape:
    """Return the shape of an expression's value; unknown if it is not literal.

    Values of a mapping whose keys are not literal are represented by an `element` without a shape.
    """
    if depth > _MAX_STEPS:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            return _of_name(name, scope, depth)
        case ast.Lambda(args=arguments):
            return KnownFunction(parameters=parameters_of(arguments))
        case ast.Constant(value=value):
            return constant(value)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return rows(given_shape(item, scope, depth + 1) for item in items)
        case ast.ListComp(elt=item):
            return rows([given_shape(item, scope, depth + 1)])
        case ast.IfExp(body=one, orelse=other):
            return either([given_shape(each, scope, depth + 1) for each in (one, other)])
        case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
            return _of_dict(node, scope, depth)
        case ast.Call(func=ast.Name(id=name)):
            function = scope.function_of(name)
            made = function.returns if function is not None else ast.Name(_RETURNED.get(name, name))
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
    if function is not None:
        return KnownFunction(parameters=parameters_of(function.args), returned=_returned(function, scope))
    shape = annotated_shape(scope.annotation_of(name), scope)
    return UNKNOWN if shape.kind in {"list", "mapping"} and name in scope.touched else shape


def _returned(function: ast.FunctionDef, scope: Scope) -> Shape:
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
    if depth > _MAX_STEPS:
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
    for key, value in _entries(node):
        if isinstance(key, str):
            keys[key] = given_shape(value, scope, depth + 1)
        else:  # it may also contain any of the preceding keys
            keys = dict.fromkeys(keys, UNKNOWN)
            is_open = True
    return Shape("mapping", keys=tuple(sorted(keys.items())), element=UNKNOWN if is_open else None)


def _entries(node: ast.Dict | ast.Call) -> Iterator[tuple[object, ast.expr]]:
    """Yield the literal keys of a dict with their values; None for any other key."""
    if isinstance(node, ast.Call):
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords)
        return
    for key, value in zip(node.keys, node.values, strict=True):
        yield key.value if isinstance(key, ast.Constant) else None, value


_SAME_PATH: Final = frozenset({"str", "Path", "PurePath", "abspath", "realpath", "fspath", "normpath"})
"""Functions that return the path that is passed to them."""
_SAME_METHODS: Final = frozenset({"resolve", "absolute", "as_posix", "__str__"})


def literal_path(
    node: ast.expr, value_of: Callable[[str], ast.expr | None], file: str, depth: int = 0
) -> str | None:
    """Return the path that an expression in the Python file `file` evaluates to, or None if unknown.

    `value_of` returns the value of a name, or of `self.name`.
    """
    if depth > _MAX_STEPS:
        return None

    def inner(other: ast.expr) -> str | None:
        return literal_path(other, value_of, file, depth + 1)

    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id="__file__"):
            return file
        case ast.Name(id=name):
            value = value_of(name)
            return None if value is None else inner(value)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _join([inner(left), inner(right)])
        case ast.Attribute(value=value, attr="parent"):
            return _parent(inner(value))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            value = value_of(f"{name}.{attribute}")
            return None if value is None else inner(value)
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _of_call(function, arguments, inner)
        case _:
            return None


def _of_call(
    function: ast.expr, arguments: list[ast.expr], inner: Callable[[ast.expr], str | None]
) -> str | None:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in _SAME_METHODS and isinstance(function, ast.Attribute) and not arguments:
        return inner(function.value)
    if not arguments or any(isinstance(argument, ast.Starred) for argument in arguments):
        return None
    if name == "dirname" and len(arguments) == 1:
        return _parent(inner(arguments[0]))
    is_of_text = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)
    if name in {"Path", "PurePath"} or (name == "join" and not is_of_text):
        return _join([inner(argument) for argument in arguments])
    if name == "joinpath" and isinstance(function, ast.Attribute):
        return _join([inner(function.value), *map(inner, arguments)])
    return inner(arguments[0]) if name in _SAME_PATH and len(arguments) == 1 else None


def _join(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return os.path.join(*known) if len(known) == len(parts) else None  # noqa: PTH118 - not a path of this machine


def _parent(path: str | None) -> str | None:
    return None if path is None else str(Path(path).parent)


_ENVIRONMENTS: Final = frozenset(
    {"Environment", "SandboxedEnvironment", "ImmutableSandboxedEnvironment", "NativeEnvironment"}
)
_PACKAGE_FOLDER: Final = "templates"
"""The default folder of a package's templates in Jinja."""


def is_get_template(node: ast.expr | None) -> bool:
    """Return whether an expression is a call that gets a template from a Jinja environment."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get_template"
        and len(node.args) == 1
        and not node.keywords
    )


def loaded_template(node: ast.Call, scope: Scope, file: str) -> str | None:
    """Return the path of the template that a call of `get_template` loads; None if its folder is unknown."""
    assert isinstance(node.func, ast.Attribute)
    name = literal_path(node.args[0], meaning_in(scope), file)
    environment = value_meant(node.func.value, scope)
    if name is None or not isinstance(environment, ast.Call) or _name(environment) not in _ENVIRONMENTS:
        return None
    loader = next((each.value for each in environment.keywords if each.arg == "loader"), None)
    loader = value_meant(loader, scope) if loader is not None else None
    folder = _folder_of(loader, scope, file) if isinstance(loader, ast.Call) else None
    return None if folder is None else str(PurePosixPath(folder) / name)


def value_meant(node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the value of a name or attribute; any other expression is returned unchanged."""
    if isinstance(node, ast.Name):
        return scope.value_of(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return attribute_value(scope, node.value.id, node.attr)
    return node


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _folder_of(loader: ast.Call, scope: Scope, file: str) -> str | None:
    """Return the folder that a loader of files or of a package searches; None for other calls."""
    texts: list[str | None] = []
    for each in (*loader.args, *(keyword.value for keyword in loader.keywords if keyword.arg != "encoding")):
        folders = each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each]
        texts += [literal_path(folder, meaning_in(scope), file) for folder in folders]
    match _name(loader), texts:
        case "FileSystemLoader", [str() as folder]:
            return folder
        case "PackageLoader", [str() as package, *rest] if None not in rest:
            return str(PurePosixPath(package.replace(".", "/"), *(map(str, rest or [_PACKAGE_FOLDER]))))
    return None


_LOADERS: Final = frozenset({"Prompt"})
"""Names of classes that load a template: Prompt Poet's class."""
_CALL_MARKS: Final = ("template_path", "raw_template", "get_template")
"""Every file with such a call contains one of these strings, or the words of `promptls.load`."""
_LOAD: Final = re.compile(r"\bload\b")
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
    """The values by their keys, as far as they are literal."""
    is_jinja: bool = False
    """Whether Jinja renders the template directly, without Prompt Poet."""
    is_failing: bool = False
    """Whether the call is in a test that expects an error."""


class RawTemplate(NamedTuple):
    """The expression of a template that a program passes as text, its scope, and its call.

    The call's `template` is empty. The call is None if its data is unknown.
    """

    node: ast.expr
    scope: Scope
    call: TemplateCall | None


def python_paths_by_folder(roots: Iterable[str], shallow: Container[str] = ()) -> Iterator[list[str]]:
    """Yield the Python files below each root by folder, except in hidden and package folders.

    Roots that are `shallow` are only searched down to their direct subfolders.
    """
    for root in roots:
        for current, folders, files in os.walk(root):
            is_deepest = root in shallow and current != root
            folders[:] = sorted(
                name
                for name in folders
                if not (is_deepest or name.startswith(".") or name in SKIPPED_FOLDERS)
            )
            yield [str(Path(current) / name) for name in sorted(files) if name.endswith(".py")]


def scanned_calls(
    roots: Iterable[str], calls: dict[str, tuple[TemplateCall, ...]], shallow: Container[str] = ()
) -> Iterator[None]:
    """Fill `calls` with the calls in each Python file below `roots` that has any.

    Pauses after each file and each folder, so that a server can do other work in between.
    """
    for paths in python_paths_by_folder(roots, shallow):
        for path in paths:
            found = calls_in_file(path)
            if found:
                calls[path] = found
            yield
        yield


def calls_in_file(path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in the Python file at `path`; none if it cannot be read or parsed."""
    try:
        content = read_bytes(path, MAX_BYTES)
    except OSError:
        return ()
    return calls_in_text(content.decode("utf-8", errors="replace"), path)


def raw_templates_in(text: str, path: str) -> tuple[RawTemplate, ...]:
    """Return the templates that calls of Prompt Poet's class in Python source pass as text."""
    if _RAW not in text:
        return ()
    try:
        tree = ast.parse(text)
        return tuple(_raw_templates(tree, text, path))
    except NOT_PYTHON:
        return ()


def calls_in_text(text: str, path: str) -> tuple[TemplateCall, ...]:
    """Return the result of `calls_in`, without parsing source that does not mention templates."""
    may_call = any(mark in text for mark in _CALL_MARKS) or (_LIBRARY in text and _LOAD.search(text))
    return calls_in(text, path) if may_call else ()


def calls_in(text: str, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in the Python source of the file at `path`."""
    try:
        tree = ast.parse(text)
        return tuple(_calls(tree, text, path))
    except NOT_PYTHON:
        return ()


def data_of(node: ast.Call) -> tuple[ast.expr, ...] | None:
    """Return the expressions whose keys are the data of a call; the call itself represents its keywords.

    None if the data of the call is unknown.
    """
    if _python_calls_name(node.func) == "render":
        unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
        is_known = not any(isinstance(each, ast.Starred) for each in node.args)
        return (*node.args, *unpacked, node) if is_known else None
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    return tuple(keyword.value for keyword in node.keywords if keyword.arg == "template_data") or None


def _raw_templates(tree: ast.Module, text: str, path: str) -> Iterator[RawTemplate]:
    failing = _failing_calls(tree)
    for scope in scopes_of(tree):
        for node in scope.calls:
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            raw = arguments.get(_RAW)
            if raw is None or _python_calls_name(node.func) not in _LOADERS:
                continue
            span = _name_span(node, text)
            data = data_of(node)
            if data is None and None not in arguments and "template_data" not in arguments:
                data = ()
            keys = None if data is None else _keys_of(data, node, scope)
            call = None
            if keys is not None and span is not None:
                argument = _values_by_key(keys, data or (), scope)
                call = TemplateCall(path, span[0], span[1], "", keys, argument, is_failing=node in failing)
            yield RawTemplate(raw, scope, call)


def _name_span(node: ast.Call, text: str) -> tuple[Span, int] | None:
    """Return the span of a call's name, and its zero-based line."""
    if node.func.end_col_offset is None:
        return None
    starts = line_starts(text)
    name = _python_calls_name(node.func)
    line = (node.func.end_lineno or node.lineno) - 1
    begin = starts[line] if line < len(starts) else 0
    # The parser counts bytes, and a name ends at its last byte.
    before = text[begin:].encode("utf-8", "surrogatepass")[: node.func.end_col_offset]
    end = begin + len(before.decode("utf-8", "replace"))
    return Span(end - len(name), end), line


def _calls(tree: ast.Module, text: str, path: str) -> Iterator[TemplateCall]:
    for raw in _raw_templates(tree, text, path) if _RAW in text else ():
        yield raw.call or TemplateCall(path, Span(0, 0), 0, "", frozenset())
    loads = _names_of_load(tree)
    failing = _failing_calls(tree)
    for scope in scopes_of(tree):
        for node in scope.calls:
            template, is_jinja = _template_of(node, scope, loads, path)
            if is_jinja and ".globals" in text:  # they may provide what the call does not
                continue
            data = data_of(node) if template else None
            keys = None if data is None else _keys_of(data, node, scope)
            span = _name_span(node, text) if template and keys is not None else None
            if template and keys is not None and span is not None:
                values = _values_by_key(keys, data or (), scope)
                yield TemplateCall(path, *span, template, keys, values, is_jinja, node in failing)


_ERROR_CHECKS: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
"""Functions of pytest and unittest that fail if the block below them raises no error."""


def _failing_calls(tree: ast.Module) -> frozenset[ast.AST]:
    """Return the expressions in blocks that must raise an error."""
    return frozenset(
        inner
        for block in ast.walk(tree)
        if isinstance(block, ast.With | ast.AsyncWith)
        and any(
            isinstance(each.context_expr, ast.Call)
            and _python_calls_name(each.context_expr.func) in _ERROR_CHECKS
            for each in block.items
        )
        for inner in ast.walk(block)
    )


def _python_calls_name(function: ast.expr) -> str:
    """Return the last component of the called name."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _template_of(node: ast.Call, scope: Scope, loads: frozenset[str], path: str) -> tuple[str | None, bool]:
    """Return the path of the template that a call passes data to, and whether Jinja loads it."""
    load = value_meant(node.func.value, scope) if isinstance(node.func, ast.Attribute) else None
    if _python_calls_name(node.func) == "render" and isinstance(load, ast.Call) and is_get_template(load):
        return loaded_template(load, scope, path), True
    loaded = _loaded(node, load, loads)
    return (None if loaded is None else literal_path(loaded, meaning_in(scope), path)), False


def _loaded(node: ast.Call, load: ast.expr | None, loads: frozenset[str]) -> ast.expr | None:
    """Return the expression for the path of the template that a call passes data to, if it is such a call.

    `load` is the object whose method is called.
    """
    name = _python_calls_name(node.func)
    if name in _LOADERS:
        arguments = {keyword.arg: keyword.value for keyword in node.keywords}
        return None if _UNKNOWN_KEYWORDS & arguments.keys() else arguments.get("template_path")
    if name != "render" or not isinstance(load, ast.Call) or ast.unparse(load.func) not in loads:
        return None
    if load.args:
        return load.args[0]
    return next((keyword.value for keyword in load.keywords if keyword.arg == "path"), None)


def _names_of_load(tree: ast.Module) -> frozenset[str]:
    """Return the names of the function `promptls.load` in a module."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(f"{each.asname or each.name}.load" for each in node.names if each.name == _LIBRARY)
        elif isinstance(node, ast.ImportFrom) and node.module == _LIBRARY and not node.level:
            names.update(each.asname or each.name for each in node.names if each.name == "load")
    return frozenset(names)


def _keys_of(data: tuple[ast.expr, ...], call: ast.Call, scope: Scope) -> frozenset[str] | None:
    """Return the keys of all the data of a call, or None if any of them are unknown."""
    found: set[str] = set()
    for each in data:
        keys = (
            frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
            if each is call
            else _keys(each, scope)
        )
        if keys is None:
            return None
        found |= keys
    return frozenset(found)


def _values_by_key(
    keys: frozenset[str], data: tuple[ast.expr, ...], scope: Scope
) -> tuple[tuple[str, Shape], ...]:
    """Return the values that a call passes, sorted by their keys; unknown if they are not literal."""
    found = dict.fromkeys(sorted(keys), UNKNOWN)
    for each in data:
        value = scope.constant_of(each.id) if isinstance(each, ast.Name) else each
        if isinstance(value, ast.Dict):
            found |= dict(given_shape(value, scope).keys)
        elif isinstance(value, ast.Call):
            keywords = {keyword.arg: given_shape(keyword.value, scope) for keyword in value.keywords}
            found |= {name: shape for name, shape in keywords.items() if name is not None}
    return tuple(found.items())


def _keys(node: ast.expr | None, scope: Scope) -> frozenset[str] | None:
    """Return the keys of a literal dict, or of a variable whose only value is one; None otherwise."""
    if isinstance(node, ast.Name):
        node = scope.constant_of(node.id)
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return frozenset(map(str, keys)) if all(isinstance(key, str) for key in keys) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        names = [keyword.arg for keyword in node.keywords]
        return None if node.args or None in names else frozenset(map(str, names))
    return None


_TEXT: Final = re.compile(r"""[rRuU]?('|"|\'{3}|"{3})(\w+)\1""")


def key_spans(text: str, call: TemplateCall, keys: tuple[str | None, ...]) -> tuple[Span, ...]:
    """Return the positions of one key in the data of a call, without quotes; `text` is the file's text.

    `keys` are those of the enclosing dicts, outermost first, and the key itself; None matches any key, and
    lists in between are ignored. Empty if the text is no longer the one in which the call was found.
    """
    if keys[0] is not None and keys[0] not in call.keys:
        return ()
    places = _Places(text)
    return tuple(
        span
        for each, scope in _data(text, call, places)
        for span in _keys_of_call(each, scope, places, keys, is_data=True)
    )


def _data(text: str, call: TemplateCall, places: _Places) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the expressions of the data of a call, with the scope of the call."""
    tree = parse_python(text)
    for scope in scopes_of(tree) if tree else ():
        for node in scope.calls:
            if places.end_of(node.func) == call.span.end:
                for each in data_of(node) or ():
                    yield each, scope
                return


def _keys_of_call(
    data: ast.expr, scope: Scope, places: _Places, keys: tuple[str | None, ...], *, is_data: bool = False
) -> Iterator[Span]:
    """Yield the positions of a key in an expression, as far as it is literal."""
    written = scope.constant_of(data.id) if isinstance(data, ast.Name) else data
    if isinstance(written, ast.Dict):
        for key, value in zip(written.keys, written.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if keys[0] in {None, key.value}:
                if len(keys) > 1:
                    yield from _keys_of_call(value, scope, places, keys[1:])
                elif (span := places.inside_quotes(key, key.value)) is not None:
                    yield span
    elif isinstance(written, ast.Call) and (is_data or _is_dict(written)):
        for keyword in written.keywords:
            if keyword.arg is not None and keys[0] in {None, keyword.arg}:
                start = places.offset(keyword.lineno, keyword.col_offset)
                yield from (
                    _keys_of_call(keyword.value, scope, places, keys[1:])
                    if len(keys) > 1
                    else (Span(start, start + len(keyword.arg)),)
                )
    elif isinstance(written, (ast.List, ast.Tuple, ast.ListComp)):
        for item in [written.elt] if isinstance(written, ast.ListComp) else written.elts:
            yield from _keys_of_call(item, scope, places, keys)


def _is_dict(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "dict" and not call.args


class _Places:
    """Converts the line and byte positions of Python's parser to offsets in code points."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = line_starts(text)

    def offset(self, line: int, column: int) -> int:
        begin = self._starts[min(line, len(self._starts)) - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        before = self._text[begin:end].encode("utf-8", "surrogatepass")[:column]
        return begin + len(before.decode("utf-8", "replace"))

    def end_of(self, node: ast.expr) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def inside_quotes(self, node: ast.expr, name: str) -> Span | None:
        """Return the span of a text inside its quotes, if it is written without escapes."""
        start = self.offset(node.lineno, node.col_offset)
        written = self._text[start : self.end_of(node)]
        match = _TEXT.fullmatch(written)
        if match is None or match.group(2) != name:
            return None
        return Span(start + match.start(2), start + match.end(2))
