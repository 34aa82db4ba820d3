"""Diagnostics for chat requests through the packages `openai` and `anthropic`: messages, options, answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.lint.rules.parts.unknown_role import FOREIGN_ROLES
from promptls.programs.program import Program, is_open, suggest_literal
from promptls.settings.project import Project
from promptls.syntax.python_places import argument, arguments, last_name, text_of
from promptls.text.format import in_code
from promptls.text.suggest import is_typo, only_typo

_CLIENTS: Final = frozenset({"Anthropic", "AzureOpenAI", "OpenAI"})
"""Clients that do not wait; those that do are named like them, with `Async` in front."""
_NUMBERS: Final = frozenset({"max_completion_tokens", "max_tokens", "n", "seed", "temperature", "top_p"})
_OPTIONS: Final = (
    _NUMBERS
    | {"frequency_penalty", "logprobs", "messages", "model", "presence_penalty"}
    | {"response_format", "stop", "stream", "stream_options", "tool_choice", "tools", "top_logprobs", "user"}
)
"""Arguments of a chat request that are misspelled; there are more."""
_REQUIRED: Final = {"chat": ("model", "messages"), "anthropic": ("model", "max_tokens", "messages")}
_CHANGES: Final = frozenset({"append", "extend", "insert"})
"""Methods that change a list and return nothing."""
_ROLES: Final = frozenset(Project().roles)
_CONTENT: Final = frozenset({"message", "text"})
"""Keys that other libraries use for the `content` of a message."""
_ATTRIBUTES: Final = {
    ("client", "chat"): "chat",
    ("answer", "choices"): "choices",
    ("chunk", "choices"): "chunk choices",
    ("choice", "message"): "message",
    ("chunk choice", "delta"): "delta",
    ("message", "content"): "text",
    ("delta", "content"): "text",
    ("message", "tool_calls"): "tool calls",
    ("tool call", "function"): "function",
    ("function", "arguments"): "text",
}
"""What an attribute of a client, or of a part of an answer, is."""
_ELEMENTS: Final = {
    "choices": "choice",
    "chunk choices": "chunk choice",
    "stream": "chunk",
    "tool calls": "tool call",
}
_TEXTS: Final = {
    "answer": ".choices[0].message.content",
    "choice": ".message.content",
    "message": ".content",
    "chunk": ".choices[0].delta.content",
    "chunk choice": ".delta.content",
    "delta": ".content",
}
"""Where the text of an answer, or of a part of it, is."""
_OTHERS: Final = {
    ("chat", "completion"): "completions",
    ("choice", "text"): "message.content",
    ("choice", "delta"): "message",
    ("chunk choice", "message"): "delta",
    ("chunk choice", "text"): "delta.content",
}
"""Attributes of other objects, and what is meant in their place."""
_MAX_STEPS: Final = 12


def findings_in_chat_requests(program: Program) -> Iterator[Finding]:
    """Yield the requests that a provider's package refuses, and what an answer does not have."""
    if not any(name in program.text for name in _CLIENTS):
        return
    for node in program.nodes:
        match node:
            case ast.Call(func=ast.Attribute()):
                yield from _request(program, node)
                yield from _parsed(program, node)
            case ast.Await(value=ast.Call() as call) if (
                request_of(program, call) and _client(program, call) in _CLIENTS
            ):
                message = f"a client of the class `{_client(program, call)}` does not wait"
                yield Finding(program.span(call.func), f"{message}; `Async{_client(program, call)}` does")
            case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
                yield from _attribute(program, node, _kind(program, value), name)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as name), ctx=ast.Load()):
                yield from _key(program, node, _kind(program, value), name)


def request_of(program: Program, call: ast.Call) -> str:
    """Return the interface that a call asks: `chat`, `responses` or `anthropic`; empty for other calls."""
    match call.func:
        case ast.Attribute(
            value=ast.Attribute(value=ast.Attribute(attr="chat"), attr="completions"), attr="create"
        ):
            return "chat"
        case ast.Attribute(value=ast.Attribute(attr="responses" | "messages" as owner), attr="create"):
            client = _client(program, call).removeprefix("Async")
            return {("messages", "Anthropic"): "anthropic", ("responses", "OpenAI"): owner}.get(
                (owner, client), ""
            )
    return ""


def is_coroutine(program: Program, call: ast.Call) -> bool:
    """Return whether a call is a request of a client that waits."""
    return bool(request_of(program, call)) and _client(program, call).startswith("Async")


def _client(program: Program, call: ast.Call) -> str:
    """Return the class of the client whose method is called, if it is one of the known ones."""
    owner: ast.expr = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    made = program.resolved(owner)
    name = last_name(made.func) if isinstance(made, ast.Call) else ""
    return name if name.removeprefix("Async") in _CLIENTS else ""


def _request(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the arguments of a request that are missing, misspelled or of the wrong type."""
    kind = request_of(program, call)
    if not kind:
        return
    given = arguments(call)
    for keyword in call.keywords:
        name, value = keyword.arg, program.resolved(keyword.value) or keyword.value
        if name is None:
            continue
        if kind == "chat" and name not in _OPTIONS and (meant := only_typo(name, _OPTIONS - given.keys())):
            message = f"a request has no argument `{name}`"
            yield Finding.suggest(program.span(keyword), message, meant, preferred=True)
        elif kind == "responses" and name == "messages":
            message = "`responses` takes the messages as its `input`"
            fix = Fix.change_to(program.span(keyword), "input", preferred=True)
            yield Finding(program.span(keyword), message, (fix,))
        elif name in _NUMBERS and text_of(value) is not None:
            yield Finding(program.span(keyword.value), f"`{name}` is a number, and not a text")
        elif kind == "chat" and name == "response_format" and text_of(value) is not None:
            yield Finding(program.span(keyword.value), "`response_format` is a dict with a `type`")
        elif name == "tools" and isinstance(value, ast.Dict):
            yield Finding(
                program.span(keyword.value), "`tools` is a list", _in_brackets(program, keyword.value)
            )
    if not is_open(call) and not call.args and (needed := _REQUIRED.get(kind)):
        missing = [each for each in needed if each not in given]
        if missing:
            yield Finding(program.span(call.func), f"a request needs {in_code(missing)}")
    messages = argument(call, "messages")
    if messages is not None:
        yield from _messages(program, messages)


def _in_brackets(program: Program, node: ast.expr) -> tuple[Fix, ...]:
    span = program.span(node)
    return (Fix("Add brackets", (Edit.insert(span.start, "["), Edit.insert(span.end, "]")), preferred=True),)


def _messages(program: Program, given: ast.expr) -> Iterator[Finding]:
    """Yield what is not a list of messages, and the wrong messages in it."""
    waiting: list[ast.expr | None] = [given]
    scope = program.scope_of(given)
    if isinstance(given, ast.Name):
        waiting = [*program.values_of(given)]
        for node in program.nodes:
            match node:
                case ast.AugAssign(target=ast.Name(id=given.id), op=ast.Add(), value=added):
                    if program.scope_of(added) is scope:
                        waiting.append(ast.BinOp(ast.List([]), ast.Add(), added))
        items = [each for each in program.appended.get(given.id, ()) if program.scope_of(each) is scope]
        for each in items:
            yield from _message(program, each)
    while waiting:
        match waiting.pop():
            case ast.Call(func=ast.Attribute(attr=name) as called) if name in _CHANGES:
                message = f"`{name}` changes the list and returns nothing"
                yield Finding(program.places.attribute_span(called), message)
            case ast.List(elts=elements):
                for each in elements:
                    yield from _message(program, each)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                if isinstance(right, ast.Dict):
                    message = "a message is added to the others in a list"
                    yield Finding(program.span(right), message, _in_brackets(program, right))
                waiting += [left, right]


def _message(program: Program, node: ast.expr) -> Iterator[Finding]:
    """Yield what is wrong with one message."""
    if isinstance(node, ast.JoinedStr) or text_of(node) is not None:
        yield Finding(program.span(node), "a message is a dict with a `role` and a `content`")
    if not isinstance(node, ast.Dict):
        return
    keys = {text: key for key in node.keys if key is not None and (text := text_of(key)) is not None}
    values = {text_of(key): value for key, value in zip(node.keys, node.values, strict=True)}
    for needed in ("role", "content"):
        near = [each for each in keys if is_typo(each, needed) or (needed == "content" and each in _CONTENT)]
        if needed not in keys and len(near) == 1:
            yield suggest_literal(program, keys[near[0]], f"a message has no key `{near[0]}`", needed)
    role, content = values.get("role"), values.get("content")
    name = text_of(role)
    if name is not None and role is not None and name not in _ROLES:
        meant = FOREIGN_ROLES.get(name) or only_typo(name, _ROLES)
        if meant is not None:
            yield suggest_literal(program, role, f"no model knows the role `{name}`", meant)
    elif text_of(content) in _ROLES and role is not None and name is None:
        yield Finding(program.span(node), "the role and the content of this message are exchanged")
    kind = _kind(program, content)
    if content is not None and kind in _TEXTS:
        yield _whole(program, content, kind, "the content of a message is a text")


def _whole(program: Program, node: ast.expr, kind: str, message: str) -> Finding:
    """Return the finding for an answer, or a part of one, in place of its text."""
    place = f"{ast.unparse(node)}{_TEXTS[kind]}"
    fix = Fix(
        f"Insert `{_TEXTS[kind]}`", (Edit.insert(program.span(node).end, _TEXTS[kind]),), preferred=True
    )
    return Finding(program.span(node), f"{message}, which here is `{place}`", (fix,))


def _parsed(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield an answer that is parsed as JSON in place of its text."""
    if last_name(call.func) == "loads" and len(call.args) == 1:
        kind = _kind(program, call.args[0])
        if kind in _TEXTS:
            yield _whole(program, call.args[0], kind, "`loads` takes a text")


def _kind(program: Program, node: ast.expr | None, steps: int = _MAX_STEPS) -> str:
    """Return what part of an answer an expression is; empty for others."""
    match node:
        case ast.Await(value=ast.Call() as call):
            return (
                _answer(call) if is_coroutine(program, call) and request_of(program, call) == "chat" else ""
            )
        case ast.Call(func=called):
            if last_name(called).removeprefix("Async") in _CLIENTS:
                return "client"
            is_chat = request_of(program, node) == "chat" and _client(program, node) in _CLIENTS
            return _answer(node) if is_chat else ""
        case ast.Attribute(value=value, attr=name) if steps:
            return _ATTRIBUTES.get((_kind(program, value, steps - 1), name), "")
        case ast.Subscript(value=value, slice=ast.Constant(value=int())) if steps:
            kind = _kind(program, value, steps - 1)
            return _ELEMENTS.get(kind, "") if kind != "stream" else ""
        case ast.Name(id=name) if steps:
            values = program.values_of(node)
            binders = program.binders.get(name, ())
            if values == [None] and len(binders) == 1 and not isinstance(binders[0], ast.Assign):
                is_own = program.scope_of(binders[0].iter) is program.scope_of(node)
                return _ELEMENTS.get(_kind(program, binders[0].iter, steps - 1), "") if is_own else ""
            return _kind(program, values[0], steps - 1) if len(values) == 1 else ""
    return ""


def _answer(call: ast.Call) -> str:
    """Return what a chat request returns: an `answer` or a `stream`; empty if that is not known."""
    stream = argument(call, "stream")
    if is_open(call):
        return ""
    if stream is None or (isinstance(stream, ast.Constant) and stream.value in {False, None}):
        return "answer"
    return "stream" if isinstance(stream, ast.Constant) else ""


def _attribute(program: Program, node: ast.Attribute, kind: str, name: str) -> Iterator[Finding]:
    """Yield an attribute that a part of an answer does not have."""
    span = program.places.attribute_span(node)
    if kind in {"choices", "chunk choices", "tool calls"} and not hasattr(list, name):
        fix = Fix("Insert `[0]`", (Edit.insert(program.span(node.value).end, "[0]"),), preferred=True)
        yield Finding(span, f"this is a list, which has no `{name}`", (fix,))
    elif kind == "stream" and name == "choices":
        yield Finding(span, "a stream has no `choices`: a loop over it gives its chunks, which have")
    elif (meant := _OTHERS.get((kind, name))) is not None:
        of = {"chat": "`chat`", "choice": "an answer"}.get(kind, "a chunk of a stream")
        yield Finding.suggest(span, f"{of} has no `{name}`", meant, preferred=True)


def _key(program: Program, node: ast.Subscript, kind: str, name: str) -> Iterator[Finding]:
    """Yield a key of what has attributes, or is a text."""
    span = program.span(node.slice)
    if kind == "text":
        yield Finding(span, "this is a text, which has no keys: `json.loads` reads one in JSON")
    elif kind in _TEXTS or kind in {"tool call", "function"}:
        yield Finding(span, f"an answer has attributes, and no keys: `.{name}`")
