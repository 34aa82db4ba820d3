"""Diagnostics for the uses of Prompt Poet's class `Prompt` in a Python file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.syntax.python_places import PythonPlaces
from promptls.text.positions import Span
from promptls.text.suggest import nearest

CONSTRUCTOR: Final = (
    "template_data",
    "template_path",
    "template_loader",
    "package_name",
    "raw_template",
    "logger",
    "encode_func",
    "tiktoken_encoding_name",
    "token_limit",
    "truncation_step",
    "from_cache",
    "from_examples",
    "space_marker",
    "newline",
    "escaped_newline",
    "carriage_return",
    "escaped_carriage_return",
    "single_quote",
    "escaped_single_quote",
    "allow_token_overrides",
)
"""The parameters of Prompt Poet's `Prompt`, in order."""
TRUNCATE: Final = ("token_limit", "truncation_step")
"""The parameters of its `truncate`, in order."""
MEMBERS: Final = frozenset(
    {"get_section_token_counts", "lreplace_at", "messages", "parts", "pretruncation_parts"}
    | {"pretruncation_string", "pretruncation_tokens", "section_stats", "string", "template_data"}
    | {"template_dir", "template_id", "template_name", "template_package_name", "token_limit", "tokenize"}
    | {"tokens", "truncate"}
)
"""Its attributes."""
_MINIMUM: Final = {"token_limit": -1, "truncation_step": 1}
_NO_LIMIT: Final = -1
_ENCODINGS: Final = frozenset({"get_encoding", "encoding_for_model"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Meaning = Callable[[ast.expr], tuple[str, str]]


def findings_in_poet_calls(tree: ast.Module, places: PythonPlaces, meaning: _Meaning) -> Iterator[Finding]:
    """Yield the wrong uses of prompts; `meaning` returns the package and name of an expression."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | _Function):
            nodes = list(_own(scope))
            made = [node for node in nodes if isinstance(node, ast.Call) and _is_prompt(node, meaning)]
            for call in made:
                yield from _constructor(call, places, is_poet=meaning(call.func)[0] == "prompt_poet")
            if made:
                yield from _variables(scope, nodes, {id(call) for call in made}, places)


def _is_prompt(call: ast.Call, meaning: _Meaning) -> bool:
    package, name = meaning(call.func)
    given = {keyword.arg for keyword in call.keywords}
    is_template = bool(given & {"raw_template", "template_path", "template_loader"})
    return name == "Prompt" and (package == "prompt_poet" or (package == "promptls" and is_template))


def _constructor(call: ast.Call, places: PythonPlaces, *, is_poet: bool) -> Iterator[Finding]:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if is_poet:
        yield from _unknown(call, "Prompt", CONSTRUCTOR, places)
        encode = given.get("encode_func")
        if isinstance(encode, ast.Call) and _last_name(encode.func) in _ENCODINGS:
            span = places.span(encode)
            fix = Fix("Insert `.encode`", (Edit(Span(span.end, span.end), ".encode"),), preferred=True)
            yield Finding(span, "`encode_func` is a function: the `encode` of this encoding", (fix,))
    yield from _numbers(given, places)


def _variables(
    scope: ast.AST, nodes: list[ast.AST], made: set[int], places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the wrong uses of the variables of a scope that are bound once, to a prompt."""
    prompts: dict[str, ast.Call] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if id(call) in made:
                prompts[name] = call
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    for name, call in prompts.items():
        if bound.count(name) != 1:
            continue
        uses = [
            node
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        ]
        times = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(scope))
        is_elsewhere = times - 1 > len(uses)  # passed to a function, or read by one
        for use in uses:
            if use.attr not in MEMBERS and (meant := nearest(use.attr, MEMBERS)):
                end = places.span(use).end
                span = Span(end - len(use.attr), end)
                yield Finding.suggest(span, f"a prompt has no `{use.attr}`", meant, preferred=True)
        cuts = [
            node
            for node in nodes
            if isinstance(node, ast.Call) and node.func in uses and _last_name(node.func) == "truncate"
        ]
        is_counted = is_elsewhere or any(use.attr == "tokenize" for use in uses)
        for cut in cuts:
            yield from _truncate(cut, call, places, is_counted=is_counted)


def _truncate(cut: ast.Call, made: ast.Call, places: PythonPlaces, *, is_counted: bool) -> Iterator[Finding]:
    yield from _unknown(cut, "truncate", TRUNCATE, places)
    given = dict(zip(TRUNCATE, cut.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in cut.keywords if keyword.arg}
    yield from _numbers(given, places)
    is_open = any(keyword.arg is None for call in (cut, made) for keyword in call.keywords) or any(
        isinstance(each, ast.Starred) for each in (*cut.args, *made.args)
    )
    if is_open or not given.keys() <= {*TRUNCATE}:
        return
    before = dict(zip(CONSTRUCTOR, made.args, strict=False))
    before |= {keyword.arg: keyword.value for keyword in made.keywords if keyword.arg}
    limit = given.get("token_limit", before.get("token_limit"))
    if limit is None or _number(limit) == _NO_LIMIT:
        return
    if not is_counted:
        yield Finding(places.span(cut.func), "`truncate` needs the token counts: call `tokenize()` before it")
    if "truncation_step" not in {*given, *before}:
        yield Finding(places.span(cut.func), "`truncate` needs a `truncation_step`")


def _numbers(given: dict[str, ast.expr], places: PythonPlaces) -> Iterator[Finding]:
    for name, minimum in _MINIMUM.items():
        number = _number(given[name]) if name in given else None
        if number is not None and (number < minimum or number == 0):
            yield Finding(places.span(given[name]), f"`{name}` must be greater than 0")


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None


def _unknown(call: ast.Call, what: str, known: tuple[str, ...], places: PythonPlaces) -> Iterator[Finding]:
    given = {keyword.arg for keyword in call.keywords}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in known:
            continue
        span = places.span(keyword)
        message = f"`{what}` has no argument `{keyword.arg}`"
        meant = nearest(keyword.arg, [each for each in known if each not in given])
        yield Finding.suggest(span, message, meant, preferred=True) if meant else Finding(span, message)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or function, except those of functions in it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function):
            waiting += ast.iter_child_nodes(node)
