"""Find the Python calls that load a template with data, and their keys, by parsing; they are not run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from promptls.security.files import read_bytes
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.python_places import PythonPlaces, parse_python
from promptls.text.positions import Span
from promptls.workspace.disk import MAX_BYTES, python_paths_by_folder
from promptls.workspace.python_paths import is_get_template, literal_path, loaded_template, value_meant
from promptls.workspace.python_scopes import Scope, last_name, meaning_in, scopes_of
from promptls.workspace.python_shapes import given_shape

Found = TypeVar("Found")

_LOADERS: Final = frozenset({"Prompt"})
"""Names of classes that load a template: Prompt Poet's class."""
_CALL_MARKS: Final = ("template_path", "raw_template", "get_template")
"""Every file with such a call contains one of these strings, or the words of `promptls.load`."""
_LOAD: Final = re.compile(r"\bload\b")
_RAW: Final = "raw_template"
_ONCE: Final = 2
"""How often the name of a variable occurs that is set and read once."""
_MAX_STEPS: Final = 5
"""How many variables and functions are followed to the data of a call."""
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
    allows_tokens: bool = False
    """Whether parts of the template may have `tokens`."""


class RawTemplate(NamedTuple):
    """The expression of a template that a program passes as text, its scope, and its call.

    The call's `template` is empty. The call is None if its data is unknown.
    """

    node: ast.expr
    scope: Scope
    call: TemplateCall | None


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
    return _found(_raw_templates, text, path) if _RAW in text else ()


def calls_in_text(text: str, path: str) -> tuple[TemplateCall, ...]:
    """Return the result of `calls_in`, without parsing source that does not mention templates."""
    may_call = any(mark in text for mark in _CALL_MARKS) or (_LIBRARY in text and _LOAD.search(text))
    return calls_in(text, path) if may_call else ()


def calls_in(text: str, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in the Python source of the file at `path`."""
    return _found(_calls, text, path)


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
    failing = _failing_calls(tree)
    for scope in scopes_of(tree):
        for node in scope.calls:
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            raw = arguments.get(_RAW)
            if raw is None or last_name(node.func) not in _LOADERS:
                continue
            data = data_of(node)
            if data is None and None not in arguments and "template_data" not in arguments:
                data = ()
            keys = None if data is None else _keys_of(data, node, scope)
            call = None
            if keys is not None:
                span, line = _name_place(node, places)
                argument = _values_by_key(keys, data or (), scope)
                call = TemplateCall(path, span, line, "", keys, argument, is_failing=node in failing)
            yield RawTemplate(raw, scope, call)


def _name_place(node: ast.Call, places: PythonPlaces) -> tuple[Span, int]:
    """Return the span of a call's name, and its zero-based line."""
    end = places.span(node.func).end
    return Span(end - len(last_name(node.func)), end), (node.func.end_lineno or node.lineno) - 1


def _calls(tree: ast.Module, places: PythonPlaces, path: str) -> Iterator[TemplateCall]:
    for raw in _raw_templates(tree, places, path) if _RAW in places.text else ():
        yield raw.call or TemplateCall(path, Span(0, 0), 0, "", frozenset())
    loads = _names_of_load(tree)
    failing = _failing_calls(tree)
    for scope in scopes_of(tree):
        for node in scope.calls:
            template, is_jinja = _template_of(node, scope, loads, path)
            if is_jinja and ".globals" in places.text:  # they may provide what the call does not
                continue
            data = data_of(node) if template else None
            keys = None if data is None else _keys_of(data, node, scope)
            if template and keys is not None:
                span, line = _name_place(node, places)
                values = _values_by_key(keys, data or (), scope)
                is_failing, allows = node in failing, _allows_tokens(node)
                yield TemplateCall(path, span, line, template, keys, values, is_jinja, is_failing, allows)


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
        for block in ast.walk(tree)
        if isinstance(block, ast.With | ast.AsyncWith)
        and any(
            isinstance(each.context_expr, ast.Call) and last_name(each.context_expr.func) in _ERROR_CHECKS
            for each in block.items
        )
    )


def _failing_calls(tree: ast.Module) -> frozenset[ast.AST]:
    """Return the expressions in blocks that must raise an error."""
    return frozenset(inner for block in failing_blocks(tree) for inner in ast.walk(block))


def _template_of(node: ast.Call, scope: Scope, loads: frozenset[str], path: str) -> tuple[str | None, bool]:
    """Return the path of the template that a call passes data to, and whether Jinja loads it."""
    load = value_meant(node.func.value, scope) if isinstance(node.func, ast.Attribute) else None
    if last_name(node.func) == "render" and isinstance(load, ast.Call) and is_get_template(load):
        return loaded_template(load, scope, path), True
    loaded = _loaded(node, load, loads)
    return (None if loaded is None else literal_path(loaded, meaning_in(scope), path)), False


def _loaded(node: ast.Call, load: ast.expr | None, loads: frozenset[str]) -> ast.expr | None:
    """Return the expression for the path of the template that a call passes data to, if it is such a call.

    `load` is the object whose method is called.
    """
    name = last_name(node.func)
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
        value, around = _written(each, scope)
        if isinstance(value, ast.Dict):
            found |= dict(given_shape(value, around).keys)
        elif isinstance(value, ast.Call):
            keywords = {keyword.arg: given_shape(keyword.value, around) for keyword in value.keywords}
            found |= {name: shape for name, shape in keywords.items() if name is not None}
    return tuple(found.items())


def _keys(node: ast.expr | None, scope: Scope) -> frozenset[str] | None:
    """Return the keys of a literal dict, also in a variable or from a function; None for anything else."""
    node, _ = _written(node, scope)
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return frozenset(map(str, keys)) if all(isinstance(key, str) for key in keys) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        names = [keyword.arg for keyword in node.keywords]
        return None if node.args or None in names else frozenset(map(str, names))
    return None


def _written(node: ast.expr | None, scope: Scope) -> tuple[ast.expr | None, Scope]:
    """Return the value of a variable, or what a call of a function of the module returns, and its scope.

    The function must have no decorator, and one `return`. None if nothing is known of the variable.
    """
    for _ in range(_MAX_STEPS):
        match node:
            case ast.Name(id=name):
                node = scope.constant_of(name)
            case ast.Call(func=ast.Name(id=name)) if (function := scope.function_of(name)) is not None:
                inner = next((each for each in scope.module.inner if each.node is function), None)
                if inner is None or (node := _returned(function, inner)) is None:
                    return None, scope
                scope = inner
            case _:
                break
    return node, scope


def _returned(function: ast.FunctionDef, scope: Scope) -> ast.expr | None:
    """Return the dict of the only `return` of a function, also in a variable that nothing else reads."""
    nodes = list(ast.walk(function))
    returned = [each.value for each in nodes if isinstance(each, ast.Return | ast.Yield)]
    node = returned[0] if len(returned) == 1 else None
    if isinstance(node, ast.Name):
        reads = [each for each in nodes if isinstance(each, ast.Name) and each.id == node.id]
        node = scope.value_of(node.id) if len(reads) == _ONCE else None
    return node if isinstance(node, ast.Dict) else None


def key_spans(text: str, call: TemplateCall, keys: tuple[str | None, ...]) -> tuple[Span, ...]:
    """Return the positions of one key in the data of a call, without quotes; `text` is the file's text.

    `keys` are those of the enclosing dicts, outermost first, and the key itself; None matches any key, and
    lists in between are ignored. Empty if the text is no longer the one in which the call was found.
    """
    if keys[0] is not None and keys[0] not in call.keys:
        return ()
    places = PythonPlaces(text)
    return tuple(
        span
        for each, scope in _data(call, places)
        for span in _keys_of_call(each, scope, places, keys, is_data=True)
    )


def _data(call: TemplateCall, places: PythonPlaces) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the expressions of the data of a call, with the scope of the call."""
    tree = parse_python(places.text)
    for scope in scopes_of(tree) if tree else ():
        for node in scope.calls:
            if places.span(node.func).end == call.span.end:
                for each in data_of(node) or ():
                    yield each, scope
                return


def _keys_of_call(
    data: ast.expr, scope: Scope, places: PythonPlaces, keys: tuple[str | None, ...], *, is_data: bool = False
) -> Iterator[Span]:
    """Yield the positions of a key in an expression, as far as it is literal."""
    written, scope = _written(data, scope)
    if isinstance(written, ast.Dict):
        for key, value in zip(written.keys, written.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if keys[0] in {None, key.value}:
                if len(keys) > 1:
                    yield from _keys_of_call(value, scope, places, keys[1:])
                elif (span := places.inside_quotes(key)) is not None:
                    yield span
    elif isinstance(written, ast.Call) and (is_data or _is_dict(written)):
        for keyword in written.keywords:
            if keyword.arg is not None and keys[0] in {None, keyword.arg}:
                yield from (
                    _keys_of_call(keyword.value, scope, places, keys[1:])
                    if len(keys) > 1
                    else (places.span(keyword),)
                )
    elif isinstance(written, (ast.List, ast.Tuple, ast.ListComp)):
        for item in [written.elt] if isinstance(written, ast.ListComp) else written.elts:
            yield from _keys_of_call(item, scope, places, keys)


def _is_dict(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "dict" and not call.args
