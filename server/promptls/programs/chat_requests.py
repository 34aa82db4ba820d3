"""Diagnostics for chat requests through the package `openai`: options, messages and answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.lint.rules.parts.unknown_role import FOREIGN_ROLES
from promptls.programs.program import Program, is_open, suggest_literal
from promptls.settings.project import Project
from promptls.syntax.python_places import argument, arguments, last_name, text_of
from promptls.text.suggest import is_typo, only_typo

_CLIENTS: Final = frozenset({"AzureOpenAI", "OpenAI"})
"""Clients that do not wait; those that do are named like them, with `Async` in front."""
_NUMBERS: Final = frozenset({"max_completion_tokens", "max_tokens", "n", "seed", "temperature", "top_p"})
_TYPES: Final = {
    **dict.fromkeys(_NUMBERS, "number"),
    "response_format": "dict with a `type`",
    "tools": "list",
}
_OPTIONS: Final = frozenset({*_TYPES, "logprobs", "messages", "model", "stop", "stream", "tool_choice"})
"""Arguments of a request that are misspelled; there are more."""
_ROLES: Final = frozenset(Project().roles)
_KEYS: Final = {"role": "role", "content": "content text message"}
"""The keys of a message, and what other libraries call them."""
_ATTRIBUTES: Final = {
    ("client", "chat"): "chat",
    ("answer", "choices"): "choices",
    ("chunk", "choices"): "choices of a chunk",
    ("choice", "message"): "message",
    ("choice of a chunk", "delta"): "delta",
    ("message", "content"): "text",
    ("message", "tool_calls"): "calls",
    ("call", "function"): "function",
    ("function", "arguments"): "text",
}
"""What an attribute of a client, or of a part of an answer, is."""
_ELEMENTS: Final = {"choices": "choice", "choices of a chunk": "choice of a chunk", "calls": "call"}
_TEXTS: Final = {
    "answer": ".choices[0].message.content",
    "choice": ".message.content",
    "message": ".content",
    "chunk": ".choices[0].delta.content",
    "choice of a chunk": ".delta.content",
    "delta": ".content",
}
"""Where the text of an answer, or of a part of it, is."""
_MEANT: Final = {
    ("chat", "completion"): "completions",
    ("choice", "text"): "message.content",
    ("choice of a chunk", "message"): "delta",
}
"""Attributes that do not exist, and what is meant."""


def findings_in_chat_requests(program: Program) -> Iterator[Finding]:
    """Yield the requests that the package or the provider refuses, and what an answer does not have."""
    for node in program.nodes if "OpenAI" in program.text else ():
        match node:
            case ast.Call():
                yield from _request(program, node)
                if last_name(node.func) == "loads" and len(node.args) == 1:
                    yield from _whole(program, node.args[0])
            case ast.Await(value=ast.Call() as call) if (
                is_request(call) and _client(program, call) in _CLIENTS
            ):
                name = _client(program, call)
                yield Finding(program.span(call.func), f"an `{name}` does not wait; an `Async{name}` does")
            case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
                yield from _attribute(program, node, _kind(program, value))
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as name), ctx=ast.Load()):
                kind, message = _kind(program, value), f"an answer has attributes, and no keys: `.{name}`"
                if kind == "text":
                    message = "this is a text, which has no keys: `json.loads` reads one in JSON"
                if kind in {*_TEXTS, "call", "function", "text"}:
                    yield Finding(program.span(node.slice), message)


def is_request(call: ast.Call) -> bool:
    """Return whether a call is a chat request."""
    return last_name(call.func) == "create" and ast.unparse(call.func).endswith(".chat.completions.create")


def is_coroutine(program: Program, call: ast.Call) -> bool:
    """Return whether a call is a request of a client that waits."""
    return is_request(call) and _client(program, call).startswith("Async")


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
    given = arguments(call)
    path = ast.unparse(call.func) if "messages" in given else ""
    if path.endswith(".responses.create") and _client(program, call):
        place = next(program.span(each) for each in call.keywords if each.arg == "messages")
        yield Finding.suggest(place, "`responses` takes no `messages`", "input", preferred=True)
    if not is_request(call):
        return
    for keyword in call.keywords:
        name, value = keyword.arg or "model", program.resolved(keyword.value) or keyword.value
        meant = only_typo(name, _OPTIONS - given.keys()) if name not in _OPTIONS else None
        if meant is not None:
            message = f"a request has no argument `{name}`"
            yield Finding.suggest(program.span(keyword), message, meant, preferred=True)
        elif name in _TYPES and (text_of(value) is not None or (name, type(value)) == ("tools", ast.Dict)):
            fixes = (Fix.put_into_list(program.span(keyword.value)),) if isinstance(value, ast.Dict) else ()
            yield Finding(program.span(keyword.value), f"`{name}` is a {_TYPES[name]}", fixes)
    if "model" not in given and not is_open(call):
        yield Finding(program.span(call.func), "a request needs the name of a `model`")
    if "messages" in given:
        yield from _messages(program, given["messages"])


def _messages(program: Program, given: ast.expr) -> Iterator[Finding]:
    """Yield what is not a list of messages, and the wrong messages in it."""
    waiting, scope = [*program.values_of(given)], program.scope_of(given)
    messages: list[ast.expr] = []
    if isinstance(given, ast.Name):
        messages = [each for each in program.appended.get(given.id, ()) if program.scope_of(each) is scope]
        for node in program.nodes:
            match node:
                case ast.AugAssign(target=ast.Name(id=given.id), op=ast.Add(), value=added):
                    waiting += (
                        [ast.BinOp(added, ast.Add(), added)] if program.scope_of(added) is scope else []
                    )
    while waiting:
        match waiting.pop():
            case ast.Call(func=ast.Attribute(attr="append" | "extend" | "insert" as name) as called):
                message = f"`{name}` changes the list and returns nothing"
                yield Finding(program.places.attribute_span(called), message)
            case ast.List(elts=elements):
                messages += elements
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                waiting += [left, right]
                if isinstance(right, ast.Dict):
                    fix = Fix.put_into_list(span := program.span(right))
                    yield Finding(span, "a message is added to the others in a list", (fix,))
    for each in messages:
        yield from _message(program, each)


def _message(program: Program, node: ast.expr) -> Iterator[Finding]:
    """Yield what is wrong with one message."""
    if isinstance(node, ast.JoinedStr) or text_of(node) is not None:
        yield Finding(program.span(node), "a message is a dict with a `role` and a `content`")
    if not isinstance(node, ast.Dict):
        return
    places = {text_of(key): key for key in node.keys if key is not None}
    values = {text_of(key): value for key, value in zip(node.keys, node.values, strict=True)}
    for needed, others in _KEYS.items():
        near = [each for each in places if each and (is_typo(each, needed) or each in others.split())]
        if needed not in places and len(near) == 1:
            yield suggest_literal(program, places[near[0]], f"a message has no key `{near[0]}`", needed)
    role, content = values.get("role"), values.get("content")
    name = text_of(role)
    meant = FOREIGN_ROLES.get(name) or only_typo(name, _ROLES) if name and name not in _ROLES else None
    if role is not None and meant is not None:
        yield suggest_literal(program, role, f"no model knows the role `{name}`", meant)
    elif role is not None and name is None and text_of(content) in _ROLES:
        yield Finding(program.span(node), "the role and the content of this message are exchanged")
    if content is not None:
        yield from _whole(program, content)


def _whole(program: Program, node: ast.expr) -> Iterator[Finding]:
    """Yield an answer, or a part of one, in place of its text."""
    text = _TEXTS.get(_kind(program, node))
    if text is not None:
        fix = Fix(f"Insert `{text}`", (Edit.insert(program.span(node).end, text),), preferred=True)
        yield Finding(program.span(node), f"this is no text: that is `{ast.unparse(node)}{text}`", (fix,))


def _kind(program: Program, node: ast.expr | None, steps: int = 12) -> str:
    """Return what part of an answer an expression is; empty for others."""
    match node if steps else None:
        case ast.Await(value=ast.Call() as call) if is_coroutine(program, call):
            return _answer(call)
        case ast.Call(func=called) if last_name(called).removeprefix("Async") in _CLIENTS:
            return "client"
        case ast.Call() as call if is_request(call) and _client(program, call) in _CLIENTS:
            return _answer(call)
        case ast.Attribute(value=value, attr=name):
            return _ATTRIBUTES.get((_kind(program, value, steps - 1), name), "")
        case ast.Subscript(value=value, slice=ast.Constant(value=int())):
            return _ELEMENTS.get(_kind(program, value, steps - 1), "")
        case ast.Name(id=name) as variable:
            values, loops = program.values_of(variable), program.binders.get(name, ())
            if values == [None] and len(loops) == 1 and not isinstance(loops[0], ast.Assign):
                is_own = program.scope_of(loops[0].iter) is program.scope_of(variable)
                kind = _kind(program, loops[0].iter, steps - 1) if is_own else ""
                return "chunk" if kind == "stream" else _ELEMENTS.get(kind, "")
            return _kind(program, values[0], steps - 1) if len(values) == 1 else ""
    return ""


def _answer(call: ast.Call) -> str:
    """Return what a request returns: an `answer` or a `stream`; empty if that is not known."""
    stream = argument(call, "stream")
    if is_open(call) or not isinstance(stream, ast.Constant | None):
        return ""
    return "stream" if stream is not None and stream.value else "answer"


def _attribute(program: Program, node: ast.Attribute, kind: str) -> Iterator[Finding]:
    """Yield an attribute that a client, or a part of an answer, does not have."""
    span, message = program.places.attribute_span(node), f"`{ast.unparse(node.value)}` has no `{node.attr}`"
    meant = _MEANT.get((kind, node.attr))
    if kind in _ELEMENTS and not hasattr(list, node.attr):
        fix = Fix("Insert `[0]`", (Edit.insert(program.span(node.value).end, "[0]"),), preferred=True)
        yield Finding(span, f"{message}, as it is a list", (fix,))
    elif (kind, node.attr) == ("stream", "choices"):
        yield Finding(span, f"{message}: a loop over the stream gives chunks, which have")
    elif meant is not None:
        yield Finding.suggest(span, message, meant, preferred=True)
