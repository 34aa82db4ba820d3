"""Diagnostics for the uses of Prompt Poet's class `Prompt` in a Python file."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, get_origin

from promptls.api.poet_prompt import Prompt
from promptls.dialects.prompt_poet.prompt_parts import PromptPart
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.own_classes import value_type
from promptls.programs.program import Program, is_open, suggest_literal, unknown_arguments
from promptls.security.files import is_file
from promptls.syntax.python_places import Function, arguments, constant_in, last_name, text_of
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.disk import ENDINGS
from promptls.workspace.python_data import is_record, object_class
from promptls.workspace.python_paths import literal_path
from promptls.workspace.python_scopes import returned_values

# promptls has the same class, with one more parameter.
_CONSTRUCTOR: Final = tuple(name for name in inspect.signature(Prompt).parameters if name != "sandboxed")
_REPLACE: Final = tuple(inspect.signature(Prompt.lreplace_at).parameters)[1:]
_TRUNCATE: Final = tuple(inspect.signature(Prompt.truncate).parameters)[1:]
_MEMBERS: Final = {name for name in dir(Prompt) if name[0] != "_"} | {"template_package_name", "token_limit"}
_METHODS: Final = {name for name in _MEMBERS if inspect.isfunction(getattr(Prompt, name, None))}
_OF_PARTS: Final = {field.name for field in fields(PromptPart)}
_OF_MESSAGES: Final = ("role", "content")
_MINIMUM: Final = {"token_limit": -1, "truncation_step": 1}
_NO_LIMIT: Final = -1
_NO_DICT: Final = (ast.List, ast.Tuple, ast.Set, ast.Constant, ast.JoinedStr, ast.ListComp, ast.SetComp)
_ENCODINGS: Final = frozenset({"get_encoding", "encoding_for_model"})


class _Prompt(NamedTuple):
    """What is known of a variable's prompt: the call that made it, and whether its class is Prompt Poet's."""

    made: ast.Call | None
    is_exact: bool


_Uses: TypeAlias = Mapping[ast.Attribute, _Prompt]
"""The attributes of variables that are prompts."""


def findings_in_poet_calls(program: Program) -> Iterator[Finding]:
    """Yield the wrong uses of prompts in a program."""
    if not program.imports.modules and all(name != "Prompt" for _, name in program.imports.names.values()):
        return
    modules = frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in program.module.body
        if isinstance(node, ast.Import)
        for alias in node.names
    )
    for call in program.calls:
        if _is_prompt(program, call):
            is_poet = program.meaning(call.func)[0] == "prompt_poet"
            yield from _constructor(program, call, is_poet=is_poet)
            if is_poet:
                yield from _data(program, call, modules)
                yield from _unpacked(program, call)
    uses: dict[ast.Attribute, _Prompt] = {}
    for node in program.nodes:
        yield from _replaced(program, node)
        if isinstance(node, ast.Attribute) and (prompt := _prompt(program, node.value)) is not None:
            uses[node] = prompt
    yield from _attributes(program, uses)
    for call in program.calls:
        if not isinstance(call.func, ast.Attribute) or call.func not in uses:
            continue
        if call.func.attr == "truncate":
            yield from _truncate(program, call, uses[call.func].made, ast.unparse(call.func.value))
        elif call.func.attr == "lreplace_at":
            yield from unknown_arguments(program, call, "`lreplace_at` has no argument `{}`", _REPLACE)


def _is_class(program: Program, node: ast.expr | None) -> bool:
    return node is not None and program.meaning(node) == ("prompt_poet", "Prompt")


def _prompt(program: Program, node: ast.AST) -> _Prompt | None:
    """Return what is known of the prompt that a variable is, if it is one; it must be bound once."""
    if not isinstance(node, ast.Name):
        return None
    made = program.resolved(node)
    called = made.value if isinstance(made, ast.Await) else made
    if isinstance(called, ast.Call):
        if called is made and _is_prompt(program, called):
            return _Prompt(called, is_exact=_is_class(program, called.func))
        function = program.function(called.func) or _method(program, called.func)
        return _built_by(program, function) if function is not None else None
    is_annotated = _is_class(program, program.scope_of(node).annotation_of(node.id))
    return _Prompt(None, is_exact=False) if is_annotated else None


def _method(program: Program, node: ast.expr) -> Function | None:
    """Return the method that `self.name` is, if the program has no other function of that name."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            named = [each for each in program.functions if each.name == name]
            outer = program.scope_of(named[0]).outer if len(named) == 1 else None
            return named[0] if outer is not None and isinstance(outer.node, ast.ClassDef) else None
    return None


def _built_by(program: Program, function: Function) -> _Prompt | None:
    """Return what is known of the prompt that a function returns, if it returns one.

    Its only `return` says so, or its annotation, which may mean a subclass.
    """
    values = returned_values(function)
    made = program.resolved(values[0]) if len(values) == 1 and not function.decorator_list else None
    is_exact = isinstance(made, ast.Call) and _is_class(program, made.func)
    return _Prompt(None, is_exact) if is_exact or _is_class(program, function.returns) else None


def _is_prompt(program: Program, call: ast.Call) -> bool:
    package, name = program.meaning(call.func)
    given = {keyword.arg for keyword in call.keywords}
    is_template = bool(given & {"raw_template", "template_path", "template_loader"})
    return name == "Prompt" and (package == "prompt_poet" or (package == "promptls" and is_template))


def _constructor(program: Program, call: ast.Call, *, is_poet: bool) -> Iterator[Finding]:
    given = arguments(call, _CONSTRUCTOR)
    if is_poet:
        yield from unknown_arguments(program, call, "`Prompt` has no argument `{}`", _CONSTRUCTOR)
        encode = given.get("encode_func")
        encoding = program.resolved(encode)
        if encode is not None and isinstance(encoding, ast.Call) and last_name(encoding.func) in _ENCODINGS:
            span = program.span(encode)
            message = "`encode_func` is a function: the `encode` of this encoding"
            yield Finding(span, message, (Fix.insert(span.end, ".encode"),))
        taken = {keyword.arg: keyword for keyword in call.keywords}
        for name, value in zip(_CONSTRUCTOR, call.args, strict=False):
            if name in taken and not isinstance(value, ast.Starred):
                message = f"`{name}` is given twice: it is also the argument at this place"
                yield Finding(program.span(value), message)
        if None not in taken and not call.args and not taken.keys() & {"raw_template", "template_path"}:
            message = "a prompt needs a template: `template_path` or `raw_template`"
            yield Finding(program.span(call.func), message)
    yield from _numbers(program, given)
    yield from large_step(program, given)
    for keyword in call.keywords:
        if keyword.arg == "raw_template":
            path = literal_path(keyword.value, program.scope_of(call), str(program.path))
            if path is not None and "\n" not in path and path.endswith(ENDINGS):
                message = "this is the path of a template, not its text: use `template_path`"
                yield Finding(
                    program.span(keyword.value),
                    message,
                    (Fix.change_to(program.span(keyword), "template_path"),),
                )
        elif keyword.arg == "template_path" and not isinstance(keyword.value, ast.Constant):
            path = literal_path(keyword.value, program.scope_of(call), str(program.path))
            if path is not None and Path(path).is_absolute() and not is_file(Path(path)):
                meant = near_file(Path(path), path, ENDINGS)
                if meant is not None:
                    missing, near = _below(path, program.path), _below(meant, program.path)
                    message = f"there is no file `{missing}`; did you mean `{near}`?"
                    yield Finding(program.span(keyword.value), message, severity="warning")


def _below(path: str, file: Path) -> str:
    """Return a path as seen from the folder of the program, if it is in it."""
    folder = file.parent
    return Path(path).relative_to(folder).as_posix() if folder in Path(path).parents else path


def _data(program: Program, call: ast.Call, modules: frozenset[str]) -> Iterator[Finding]:
    """Yield the data that is no dict, or that cannot be copied."""
    given = arguments(call, _CONSTRUCTOR).get("template_data")
    if given is None:
        return
    data = program.resolved(given)
    is_json = isinstance(data, ast.Call) and (
        ast.unparse(data.func) == "json.dumps" or last_name(data.func) == "model_dump_json"
    )
    if isinstance(data, _NO_DICT) or is_json:
        yield Finding(program.span(given), "`template_data` is a dict with the names that the template reads")
    yield from _no_data(program, given)
    for key in data.keys if isinstance(data, ast.Dict) else ():
        if isinstance(key, ast.Constant) and not isinstance(key.value, str):
            yield Finding(program.span(key), "the keys of `template_data` are names, and so texts")
    for value in data.values if isinstance(data, ast.Dict) else ():
        written = program.resolved(value)
        if isinstance(written, ast.GeneratorExp):
            message = "`Prompt` copies its data, and a generator cannot be copied: pass a list"
            yield Finding(program.span(value), message)
        elif isinstance(written, ast.Call) and ast.unparse(written.func) == "open":
            message = "`Prompt` copies its data, and an open file cannot be copied: pass its text"
            yield Finding(program.span(value), message)
        elif isinstance(value, ast.Name) and value.id in modules and program.is_global(value):
            message = "`Prompt` copies its data, and a module cannot be copied: pass the functions"
            yield Finding(program.span(value), message)


def _no_data(program: Program, given: ast.expr) -> Iterator[Finding]:
    """Yield an object or a function in place of the dict that it would make."""
    span, scope = program.span(given), program.scope_of(given)
    owner = object_class(given, scope)
    if owner is not None and is_record(owner):
        method = "model_dump()" if any(last_name(each) == "BaseModel" for each in owner.bases) else ""
        remedy = f"pass its `{method}`" if method else "pass `asdict(…)` of it"
        fixes: tuple[Fix, ...] = ()
        if method and isinstance(given, ast.Name):
            fixes = (Fix.insert(span.end, f".{method}", preferred=False),)
        yield Finding(span, f"`template_data` is a dict, and this a `{owner.name}`: {remedy}", fixes)
    elif isinstance(given, ast.Name) and scope.function_of(given.id) is not None:
        yield Finding(span, f"`template_data` is a dict, and `{given.id}` a function: call it")


def _unpacked(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield a dict of data that is unpacked into arguments which `Prompt` does not have."""
    for keyword in call.keywords:
        given = program.resolved(keyword.value)
        if keyword.arg is not None or given is keyword.value or not isinstance(given, ast.Dict):
            continue
        keys = [each.value for each in given.keys if isinstance(each, ast.Constant)]
        if keys and len(keys) == len(given.keys) and not {*keys} & {*_CONSTRUCTOR}:
            span = Span(program.span(keyword.value).start - len("**"), program.span(keyword.value).start)
            fixes: tuple[Fix, ...] = ()
            if program.text[span.start : span.end] == "**" and "template_data" not in arguments(
                call, _CONSTRUCTOR
            ):
                fixes = (Fix("Change to `template_data=`", (Edit(span, "template_data="),), preferred=True),)
            message = "`Prompt` takes the data of the template as `template_data`"
            yield Finding(program.span(keyword.value), message, fixes)


def _replaced(program: Program, node: ast.AST) -> Iterator[Finding]:
    """Yield what a method returns in place of the changed prompt, which is nothing."""
    match node:
        case ast.Assign(
            targets=[ast.Name() as target],
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as owner, attr="tokenize" | "truncate" as method)
            ),
        ):
            made = program.values_of(owner)
            if any(isinstance(each, ast.Call) and _is_prompt(program, each) for each in made):
                rest = Span(program.span(target).start, program.span(node.value).start)
                fix = Fix(f"Remove `{target.id} =`", (Edit(rest, ""),), preferred=target.id == owner.id)
                message = f"`{method}` changes the prompt and returns nothing"
                yield Finding(program.span(target), message, (fix,))


def _attributes(program: Program, uses: _Uses) -> Iterator[Finding]:
    """Yield the attributes that a prompt does not have, and those that are used as what they are not."""
    own = {use.attr for use in uses if not isinstance(use.ctx, ast.Load)}
    for use, prompt in uses.items():
        if use.attr in _MEMBERS or use.attr in own or use.attr.startswith("_"):
            continue
        message = f"a prompt has no `{use.attr}`"
        meant = nearest(use.attr, _MEMBERS)
        if meant is not None or prompt.is_exact:
            is_sure = is_typo(use.attr, meant or "")
            span = program.places.attribute_span(use)
            yield Finding.suggest(span, message, meant, preferred=is_sure)
    for call in program.calls:
        name = last_name(call.func)
        if call.func in uses and name in _MEMBERS - _METHODS:
            fix = program.without_call(call)
            message = f"`{name}` is a property, which is not called"
            yield Finding(fix.edits[0].span, message, () if call.args or call.keywords else (fix,))
    yield from _misused(program, uses)
    yield from _items(program, uses)
    yield from _as_other_type(program)


def _as_other_type(program: Program) -> Iterator[Finding]:
    """Yield the prompts that are used as a mapping, as a list or as messages."""
    functions = {each.name for each in program.functions}
    calls = [each for each in program.calls if last_name(each.func) in functions]
    own = {id(keyword) for call in calls for keyword in call.keywords}
    for node in program.nodes:
        match node:
            case ast.Subscript(value=ast.Name() as given, slice=ast.Constant(value=str() as key)):
                fixed, message = f".{key}" if key in _MEMBERS else "", "a prompt has attributes, and no keys"
                span = Span(program.span(node.value).end, program.span(node).end)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as given]):
                fixed = ""
                message = "a prompt has no length; its `tokens`, `parts` and `messages` have one"
                span = program.span(given)
            case ast.keyword(arg="messages", value=ast.Name() as given) if id(node) not in own:
                end = program.span(given).end
                fixed, message, span = ".messages", "this is the prompt, and not its messages", Span(end, end)
            case _:
                continue
        if _prompt(program, given) is not None:
            place = program.span(given) if span.is_empty() else span
            fix = Fix(f"Change to `{given.id}{fixed}`", (Edit(span, fixed),), preferred=True)
            yield Finding(place, message, (fix,) if fixed else ())


def _misused(program: Program, uses: _Uses) -> Iterator[Finding]:
    """Yield uncalled methods, and arguments of a model that are not messages."""
    for node in program.nodes:
        match node:
            case ast.Expr(value=ast.Attribute(attr=name) as use) if use in uses and name in _METHODS:
                span = program.places.attribute_span(use)
                yield Finding(span, f"`{name}` is not called", (Fix.insert(span.end, "()"),))
            case ast.keyword(arg="messages", value=ast.Attribute(attr=name) as use) if use in uses:
                if name in _NO_MESSAGES:
                    span = program.places.attribute_span(use)
                    message = f"this is the prompt as {_NO_MESSAGES[name]}"
                    yield Finding.suggest(span, message, "messages", preferred=True)
            case ast.Dict(values=values):
                for each in values:
                    if isinstance(each, ast.Attribute) and each.attr == "messages" and each in uses:
                        message = "these are messages, each with its role and its content"
                        yield Finding(program.span(each), message)
            case ast.keyword(
                arg="messages", value=ast.List(elts=[*_, ast.Attribute(attr="messages") as use])
            ):
                if use in uses:
                    message = "this is already a list: write `*` before it, or no brackets"
                    yield Finding(program.span(use), message)


_NO_MESSAGES: Final = {"string": "one text", "parts": "parts", "tokens": "tokens"}


def _items(program: Program, uses: _Uses) -> Iterator[Finding]:
    """Yield the attributes of messages, which are dicts, and the keys of parts, which have attributes."""
    targets: dict[tuple[int, str], str] = {}
    for node in program.nodes:
        match node:
            case (
                ast.comprehension(target=ast.Name() as target, iter=ast.Attribute(attr=attribute) as use)
                | ast.For(target=ast.Name() as target, iter=ast.Attribute(attr=attribute) as use)
            ) if use in uses:
                targets[id(program.scope_of(target)), target.id] = attribute

    def items_of(node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                scope = program.scope_of(node).scope_of(name)
                is_only = scope is not None and len(scope.values[name]) == 1
                return targets.get((id(scope), name), "") if is_only else ""
            case ast.Subscript(value=ast.Attribute(attr=name) as use, slice=index) if use in uses:
                return "" if isinstance(index, ast.Slice) else name
        return ""

    for node in program.nodes if uses else ():
        yield from _unknown_members(program, node, uses, items_of)
        match node:
            case ast.Attribute(value=value, attr="role" | "content" as name) if items_of(value) == "messages":
                span = Span(program.span(value).end, program.span(node).end)
                fix = Fix.change_to(span, f'["{name}"]', preferred=True)
                yield Finding(span, "a message is a dict", (fix,))
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as name)) if items_of(value) in {
                "parts",
                "pretruncation_parts",
            }:
                span = Span(program.span(value).end, program.span(node).end)
                fixes = (Fix.change_to(span, f".{name}", preferred=True),) if name.isidentifier() else ()
                yield Finding(span, "a part has attributes, and no keys", fixes)


def _unknown_members(
    program: Program, node: ast.AST, uses: _Uses, items_of: Callable[[ast.expr], str]
) -> Iterator[Finding]:
    """Yield what a property of a prompt, a message or a part does not have.

    `items_of` returns the property whose item an expression is.
    """
    match node:
        case ast.Attribute(value=ast.Attribute(attr=owner) as use, attr=name) if use in uses:
            kind = _type_of(owner)
            if kind is not None and not hasattr(kind, name):
                span = program.places.attribute_span(node)
                yield Finding(span, f"`{owner}` is a `{kind.__name__}`, which has no `{name}`")
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as name) as key, ctx=ast.Load()) if (
            items_of(value) == "messages" and name not in _OF_MESSAGES
        ):
            message = f"a message has no `{name}`, only `role` and `content`"
            yield suggest_literal(program, key, message, nearest(name, _OF_MESSAGES))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if (
            items_of(value) in {"parts", "pretruncation_parts"}
            and name not in _OF_PARTS
            and not name.startswith("_")
        ):
            span = program.places.attribute_span(node)
            yield Finding.suggest(span, f"a part has no `{name}`", nearest(name, _OF_PARTS))


def _type_of(name: str) -> type | None:
    """Return the type of a property of a prompt."""
    hint = value_type(Prompt, name)
    origin: object = get_origin(hint)
    kind = hint if origin is None else origin
    return dict if kind is Mapping else kind if isinstance(kind, type) else None


def _is_counted(scope: ast.AST, name: str, cut: ast.Call) -> bool:
    """Return whether something before a call, or in a loop around it, may count the tokens of a prompt."""
    loop = next((each for each in _loops(scope) if _contains(each, cut)), None)
    reads = _possible_counts(scope).get(name, ())
    place = (cut.lineno, cut.col_offset)
    return any(
        (each.lineno, each.col_offset) < place if loop is None else _contains(loop, each) for each in reads
    )


@lru_cache(maxsize=4)
def _loops(scope: ast.AST) -> tuple[ast.For | ast.AsyncFor | ast.While, ...]:
    """Return the loops of a scope, outer ones before those inside them."""
    return tuple(node for node in ast.walk(scope) if isinstance(node, ast.For | ast.AsyncFor | ast.While))


@lru_cache(maxsize=4)
def _possible_counts(scope: ast.AST) -> Mapping[str, Sequence[ast.Name]]:
    """Return where a scope reads each name, except for its attributes other than `tokenize`."""
    found: dict[str, list[ast.Name]] = {}
    for each in ast.walk(scope):
        if isinstance(each, ast.Attribute) and each.attr != "tokenize":
            continue
        for node in ast.iter_child_nodes(each):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
    return found


def _contains(outer: ast.stmt, inner: ast.expr) -> bool:
    """Return whether a statement is around an expression."""
    begins = (outer.lineno, outer.col_offset) <= (inner.lineno, inner.col_offset)
    ends = (inner.end_lineno or 0, inner.end_col_offset or 0)
    return begins and ends <= (outer.end_lineno or 0, outer.end_col_offset or 0)


def _truncate(program: Program, cut: ast.Call, made: ast.Call | None, name: str) -> Iterator[Finding]:
    """Yield the wrong arguments of `truncate`, and what it needs before it."""
    scope = program.scope_of(cut)
    if made is None or scope is not scope.scope_of(name):
        return
    yield from unknown_arguments(program, cut, "`truncate` has no argument `{}`", _TRUNCATE)
    given = arguments(cut, _TRUNCATE)
    yield from _numbers(program, given)
    if is_open(cut) or is_open(made) or not given.keys() <= {*_TRUNCATE}:
        return
    given = {**arguments(made, _CONSTRUCTOR), **given}
    limit = given.get("token_limit")
    if limit is None or _number(limit) == _NO_LIMIT:
        return
    needed = [] if "truncation_step" in given else ["a `truncation_step`"]
    if not _is_counted(scope.node, name, cut):
        needed.append("the token counts: call `tokenize()` before it")
    if needed:
        yield Finding(program.span(cut.func), f"`truncate` needs {' and '.join(needed)}")
    yield from large_step(program, given)


def large_step(program: Program, given: Mapping[str, ast.expr]) -> Iterator[Finding]:
    """Yield a step that is larger than the limit, with which a truncation removes more than may remain."""
    limit, step = (_number(program.resolved(given.get(name))) for name in _TRUNCATE)
    if limit is not None and step is not None and 0 < limit < step:
        message = f"each truncation removes {step} tokens or more, and only {limit} are allowed"
        yield Finding(program.span(given["truncation_step"]), message, severity="warning")


def _numbers(program: Program, given: Mapping[str, ast.expr]) -> Iterator[Finding]:
    for name, minimum in _MINIMUM.items():
        value = program.resolved(given.get(name))
        number = _number(value)
        if number is not None and (number < minimum or number == 0):
            yield Finding(program.span(given[name]), f"`{name}` must be greater than 0")
        elif isinstance(value, ast.JoinedStr) or text_of(value) is not None:
            yield Finding(program.span(given[name]), f"`{name}` is a number, and not a text")


def _number(node: ast.expr | None) -> int | None:
    value = constant_in(node)
    return value if isinstance(value, int) else None
