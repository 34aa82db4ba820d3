"""Wrong arguments of a call.

## What it does

Compares arguments with parameters: too many, too few, unknown or repeated arguments of filters, tests,
Jinja's functions, macros, functions of the `functions` file, and functions that a Python program passes to
the template. A missing argument of a macro is a hint: it is undefined inside of the macro. Also reports
numbers and lists that are passed to `escape_special_characters`, lists that are passed to `range`, texts where
a filter takes a number, and a separator that is joined by a list.

In a Python program, reports wrong uses of promptls, Prompt Poet and Ragas that are certain without running
it: unknown arguments of their classes, functions and metrics, a decorator of a metric without its call, a
value that a metric does not allow, a metric's `score` with wrong arguments, an `arun` or `ascore` that
nothing awaits, a comparison of a score with a value that its metric does not allow, a prompt of a metric that
asks for such values or that Python fills in before `score`, braces in a prompt that are no fields, a path of
a prompt file that differs from an existing one by a typo, wrong fields of the models of a prompt class, a
metric class whose columns, methods or prompts Ragas refuses, scores that no metric of an evaluation has,
columns that no row of the program's dataset has, a key that only one of its rows has and misspells, an
experiment that returns no mapping, unknown fields and wrong types in samples, and metrics that need a column
which no sample has; and a `Prompt` of Prompt Poet with data that cannot be copied, a limit that is no number,
a truncation step over the limit, its properties when they are called, its methods when they are not,
`truncate` ahead of `tokenize`, keys of its parts, attributes of its messages, and anything but messages where
a model gets them.

## Why is this bad?

Rendering fails with a TypeError when the call is reached.

## Example

```yaml
- name: ticket
  content: |
    {{ text | truncate(lenght=100) }}
                       ^^^^^^ wrong-arguments: `truncate` has no argument `lenght`; did you mean `length`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text | truncate(length=100) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from promptls.lint.analysis.literal_types import LiteralTypes
from promptls.lint.analysis.loop_names import looped_names, looped_paths
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.names.file_names import FileNames, chunk_bindings
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import BINDING_KINDS, Binding, chunk_events
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import KnownFunction
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.builtins import (
    FILTERS,
    FUNCTIONS,
    TESTS,
    Signature,
    Taken,
    filter_signature,
    test_signature,
)
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Test,
)
from promptls.syntax.jinja.problems import expressions_in, has_tag_problem, refused_arguments, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.format import plural
from promptls.text.positions import Span
from promptls.workspace.contract import calls_to, functions_path
from promptls.workspace.python_functions import functions_in


def mismatches(
    signature: Signature, arguments: tuple[Expression, ...], place: Span, *, lacking: Severity | None = None
) -> Iterator[Finding]:
    """Yield the problems of the arguments of a call whose name is at `place`.

    Unpacked arguments may have any value, so problems that they could resolve are not reported. `lacking` is
    the severity of a missing required argument if that is not an error.
    """
    if any(refused_arguments(arguments)):
        return  # an error for any function, and reported as such
    positional = [each for each in arguments if not isinstance(each, Keyword)]
    named = [each for each in arguments if isinstance(each, Keyword) and not each.name.startswith("*")]
    is_unpacking = any(isinstance(each, Keyword) and each.name.startswith("*") for each in arguments)
    placed = [each for each in signature.parameters if each.kind in {"any", "place"}]
    takes_rest = any(each.kind == "rest" for each in signature.parameters)
    if len(positional) > len(placed) and not takes_rest:
        yield Finding(positional[len(placed)].span, _too_many(signature.name, len(placed), len(positional)))
    filled = {each.name for each in placed[: len(positional)]}
    takes_named = any(each.kind == "named" for each in signature.parameters)
    by_name = [each.name for each in signature.parameters if each.kind in {"any", "keyword"}]
    for keyword in named:
        span = Span(keyword.span.start, keyword.span.start + len(keyword.name))
        if keyword.name in filled and keyword.name in by_name:
            yield Finding(span, f"`{keyword.name}` is given twice")
        elif keyword.name not in by_name and not takes_named:
            yield _unknown(signature, keyword.name, span, [name for name in by_name if name not in filled])
        filled.add(keyword.name)
    if is_unpacking:
        return
    missing = [each for each in signature.parameters if each.is_required and each.name not in filled]
    unknown = [each for each in named if each.name not in by_name]
    if missing and not (unknown and not takes_named):
        yield Finding(place, _too_few(signature.name, missing), severity=lacking)


def _too_many(name: str, limit: int, positional: int) -> str:
    taken = f"at most {plural(limit, 'argument')}" if limit else "no arguments"
    return f"`{name}` takes {taken}, and {positional} {'is' if positional == 1 else 'are'} given"


def _too_few(name: str, missing: list[Taken]) -> str:
    names = ", ".join(f"`{each.name}`" for each in missing)
    return f"`{name}` lacks the argument{'' if len(missing) == 1 else 's'} {names}"


def _unknown(signature: Signature, name: str, span: Span, known: list[str]) -> Finding:
    return misspelled(span, f"`{signature.name}` has no argument `{name}`", name, known)


@dataclass(frozen=True, slots=True)
class Callee:
    """The signature of a called name, if it is known, or the macros of an imported file.

    `lacking` is the severity of a missing argument; None for an error.
    """

    signature: Signature | None = None
    is_macro: bool = False
    lacking: Severity | None = None
    members: Mapping[str, Callee] = field(default_factory=dict)

    @property
    def takes_caller(self) -> bool:
        """Whether a `call` block can call it."""
        taken = self.signature.parameters if self.signature else ()
        return any(each.name == "caller" or each.kind == "named" for each in taken)


Callees: TypeAlias = Mapping[str, Callee]
"""The known callees, by the name that the file calls."""


@chunk_fact
def chunk_calls(chunk: Chunk) -> tuple[tuple[int, str, Call], ...]:
    """Return the calls of names and of attributes of names: the offset of the tag, the name, the call."""
    found = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            owner = node.function.target if isinstance(node.function, Attribute) else node.function
            if isinstance(owner, Name):
                found.append((start, owner.name, node))
    return tuple(found)


called_names: Final = summary(lambda chunk: frozenset(name for _, name, _ in chunk_calls(chunk)), union)
"""The names that a piece calls, or whose attributes it calls."""


def bound_names(names: FileNames) -> frozenset[str]:
    """Return all names that the file binds in any way."""
    return union([names.bound_names(kind) for kind in BINDING_KINDS])


def callees_of(file: File, called: frozenset[str]) -> Callees:
    """Return the callees of the called names that have a single meaning in the whole file, by name."""
    names = file.template.names
    imported, macros = names.bound_names("import"), _own_macros(file.template.source.root)
    otherwise = union([names.bound_names(kind) for kind in BINDING_KINDS if kind not in {"macro", "import"}])
    found: dict[str, Callee] = {
        name: callee
        for name in (called & macros.keys()) - imported - otherwise
        if (callee := macros[name]) is not None
    }
    bindings: dict[str, list[Binding]] = {}
    if not called.isdisjoint(imported):
        for binding in names.bindings_of("import"):
            bindings.setdefault(binding.name, []).append(binding)
    for name in (called & bindings.keys()) - macros.keys() - otherwise:
        if len(bindings[name]) == 1:
            callee = _imported(file, bindings[name][0])
            if callee is not None:
                found[name] = callee
    rest = called - bindings.keys() - macros.keys() - otherwise
    functions_file = functions_path(file.snapshot, file.path) if rest else None
    functions = functions_in(functions_file) if functions_file else None
    for function in functions or ():
        if function.name in rest:
            is_known = bool(function.signature) and not function.decorators and function.name not in found
            signature = Signature(function.name, function.parameters) if is_known else None
            found[function.name] = Callee(signature)
    for name in rest - found.keys():
        signature = _given_function(file, name)
        if signature is not None:
            found[name] = Callee(signature)
    return found


def _given_function(file: File, name: str) -> Signature | None:
    """Return the signature of a function that all programs pass to the template under a name."""
    given = [dict(call.given).get(name) for call in calls_to(file.snapshot, file.path)]
    first = given[0] if given else None
    is_same = isinstance(first, KnownFunction) and all(each == first for each in given)
    return Signature(name, first.parameters) if isinstance(first, KnownFunction) and is_same else None


def _imported(file: File, binding: Binding) -> Callee | None:
    """Return the callee of an imported name."""
    statement = statement_at(file.template, binding.span.start)
    node = statement.template if statement else None
    if statement is None or not isinstance(node, Constant) or not isinstance(node.value, str):
        return None
    reference = TemplateReference(statement.keyword, node.value, node.span)
    target = file.snapshot.resolve(file.path, reference)
    template = file.snapshot.template(target) if target else None
    if template is None:
        return None
    if statement.keyword == "import":
        names = template.names.bound_names("macro")
        members = {name: callee for name in names if (callee := _exported(template, name))}
        return Callee(members=members)
    exported = next((each.name for each in statement.imported if each.alias == binding.name), None)
    return _exported(template, exported) if exported else None


def _exported(template: Template, name: str) -> Callee | None:
    """Return a macro of another file if its name has no other meaning there."""
    return None if name in template.names.bound_names("set") else _own_macros(template.source.root).get(name)


def is_call_block(chunk: Chunk, tag_start: int, call: Call) -> bool:
    """Return whether the call is that of a `{% call %}` block, which passes a `caller`."""
    for tag in chunk.tags:
        if tag.span.start == tag_start and tag.kind == "statement":
            statement = tag_tree(tag).statement
            return statement.keyword == "call" and any(each is call for each in statement.expressions)
    return False


_IMPLIED: Final = frozenset({"varargs", "kwargs", "caller"})
"""Names whose use in a macro makes the macro accept further arguments."""


@chunk_fact
def _macros(chunk: Chunk) -> dict[int, Signature]:
    """Return the signatures of macros that begin and end in the chunk, by the offset of their names."""
    found: dict[int, Signature] = {}
    implied = [
        (event.span.start, event.name)
        for event in chunk_events(chunk)
        if event.action == "read" and event.name in _IMPLIED
    ]
    for pair in chunk_blocks(chunk).pairs:
        if pair.keyword != "macro":
            continue
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        statement = tag_tree(opening).statement
        read = {name for start, name in implied if opening.span.start <= start < closing.span.start}
        taken = [
            Taken(each.name, each.name, is_required=each.default is None) for each in statement.parameters
        ]
        if "varargs" in read:
            taken.append(Taken("varargs", "*varargs", "rest"))
        if "kwargs" in read:
            taken.append(Taken("kwargs", "**kwargs", "named"))
        if "caller" in read and all(each.name != "caller" for each in taken):
            taken.append(Taken("caller", "caller", "keyword"))
        place = statement.name_span.shifted(opening.span.start)
        found[place.start] = Signature(statement.name, tuple(taken))
    return found


def _chunk_macros(chunk: Chunk) -> dict[str, Callee | None]:
    """Return the macros that the chunk binds; None for one that ends in another chunk or is redefined."""
    found: dict[str, Callee | None] = {}
    signatures = _macros(chunk)
    for binding in chunk_bindings(chunk):
        if binding.kind == "macro":
            signature = None if binding.name in found else signatures.get(binding.span.start)
            found[binding.name] = Callee(signature, is_macro=True, lacking="hint") if signature else None
    return found


def _joined_macros(macros: list[dict[str, Callee | None]]) -> dict[str, Callee | None]:
    joined: dict[str, Callee | None] = {}
    for each in macros:
        for name, callee in each.items():
            joined[name] = None if name in joined else callee
    return joined


_own_macros: Final = summary(_chunk_macros, _joined_macros)
"""The macros of a piece by name; None for ambiguous ones and those that span several chunks."""


_RECURSIVE: Final = re.compile(r"\brecursive\s*[-+]?%\}$")
_OWN_NAMES: Final = frozenset({"for", "macro", "call", "block", "set", "filter", "with"})


def wrong_loop_calls(chunk: Chunk) -> Iterator[Finding]:
    """Yield the calls of `loop` in non-recursive loops, and those without exactly one argument."""
    if "loop" not in chunk.text:
        return
    for start, node in expressions_in(chunk):
        if not isinstance(node, Call) or not isinstance(node.function, Name) or node.function.name != "loop":
            continue
        place = node.function.span.shifted(start)
        opening = _loop_around(chunk, start)
        if opening is None:
            continue
        if not _RECURSIVE.search(opening.text):
            if tag_tree(opening).problems:
                continue
            end = opening.span.start + len(opening.text[: opening.inner_end].rstrip())
            fix = Fix("Make the loop `recursive`", (Edit(Span(end, end), " recursive"),), preferred=True)
            yield Finding(place, "only a `recursive` loop can be called", (fix,))
        elif not node.arguments:
            yield Finding(place, "`loop` takes the list of the next level, and nothing is given")
        elif len(node.arguments) > 1 and not any(isinstance(each, Keyword) for each in node.arguments):
            message = f"`loop` takes 1 argument, and {len(node.arguments)} are given"
            yield Finding(node.arguments[1].span.shifted(start), message)


def _loop_around(chunk: Chunk, offset: int) -> Tag | None:
    """Return the loop tag that `loop` in a tag refers to; None outside of the chunk or if unclear."""
    inner: tuple[int, str] | None = None
    for pair in chunk_blocks(chunk).pairs:
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        inside = opening.span.start < offset < closing.span.start
        if inside and pair.keyword in _OWN_NAMES and (inner is None or pair.opening > inner[0]):
            inner = (pair.opening, pair.keyword)
            if pair.keyword == "for" and pair.middles and offset > chunk.tags[pair.middles[0]].span.start:
                inner = (pair.opening, "else")
    return chunk.tags[inner[0]] if inner is not None and inner[1] == "for" else None


_OWN: Final = {
    **{name: FUNCTIONS[name][0] for name in ("range", "lipsum", "cycler", "joiner")},
    "escape_special_characters": Signature(
        "escape_special_characters", (Taken("string", "string", is_required=True),)
    ),
}
"""The global functions of Jinja, except for `dict` and `namespace`, which take any keyword arguments."""


@rule(severity="error", kinds=JINJA_KINDS)
def wrong_arguments(file: File) -> Iterator[Finding]:
    """Yield the wrong arguments of calls, filters and tests."""
    yield from _of_filters_and_tests(file)
    if called_names(file.chunks):
        callees = _callees(file)
        for located in file.chunks.where(called_names):
            for finding in _of_calls(located.chunk, callees):
                yield finding.shifted(located.start)
        yield from _wrong_types(file)


_ESCAPE: Final = "escape_special_characters"


def _wrong_types(file: File) -> Iterator[Finding]:
    """Yield the numbers and lists that `escape_special_characters` gets, and the lists that `range` gets."""
    called = called_names(file.chunks) & {_ESCAPE, "range"} - bound_names(file.template.names)
    types = LiteralTypes(file) if called else None
    for located in file.chunks.where(called_names) if types is not None else ():
        for start, name, call in chunk_calls(located.chunk):
            argument = call.arguments[0] if len(call.arguments) == 1 else None
            if (
                name not in called
                or types is None
                or argument is None
                or isinstance(call.function, Attribute)
            ):
                continue
            begin = located.start + start
            text = file.template.source.slice(argument.span.shifted(begin))
            known = types.type_of(argument)
            span = argument.span.shifted(begin)
            if name == _ESCAPE and known in {int, float, bool, list, tuple, dict}:
                written = (
                    text if known in {int, float, bool} else f"{_ESCAPE}({_grouped(argument, text)} | string)"
                )
                fix = Fix.change_to(call.span.shifted(begin), written)
                yield Finding(span, f"`{_ESCAPE}` takes a text, and this is {_KINDS_OF[known]}", (fix,))
            elif name == _ESCAPE and known is None and _is_looped(file, argument, text):
                message = f"`{_ESCAPE}` takes a text, and a loop iterates over this"
                yield Finding(span, message, severity="hint")
            elif name == "range" and (known in {list, tuple, dict} or _is_list(file, call, begin, text)):
                written = f"{_grouped(argument, text)} | length"
                fix = Fix.change_to(span, written, preferred=True)
                yield Finding(span, f"`range` takes a number, and this is {_KINDS_OF[known or list]}", (fix,))


_KINDS_OF: Final[dict[type, str]] = {
    bool: "a boolean",
    dict: "a mapping",
    float: "a number",
    int: "a number",
    list: "a list",
    tuple: "a tuple",
}


def _grouped(node: Expression, text: str) -> str:
    return text if isinstance(node, Name | Attribute | Item | Call | Collection) else f"({text})"


def _is_looped(file: File, argument: Expression, text: str) -> bool:
    """Return whether a loop iterates over the same variable or attribute."""
    root: Expression = argument
    while isinstance(root, Attribute):
        root = root.target
    if not isinstance(root, Name) or root.name in {
        key.name for key in file.template.declarations.inputs or ()
    }:
        return False
    if isinstance(argument, Name):
        return argument.name in looped_names(file.chunks) - file.template.names.all_bound_names
    return isinstance(argument, Attribute) and text in looped_paths(file.chunks)


def _indexed_in(chunk: Chunk) -> frozenset[tuple[str, str]]:
    """Return the expressions that a variable indexes, each with that variable."""
    return frozenset(
        (chunk.text[start + node.target.span.start : start + node.target.span.end], node.key.name)
        for start, node in expressions_in(chunk)
        if isinstance(node, Item) and isinstance(node.key, Name)
    )


_indexed: Final = summary(_indexed_in, union)


def _is_list(file: File, call: Call, begin: int, text: str) -> bool:
    """Return whether a loop over `range(x)` reads `x[i]`, another loop iterates over `x`, or a call gives a list."""
    argument = call.arguments[0]
    statement = statement_at(file.template, begin + call.span.start)
    if not isinstance(argument, Name | Attribute):
        return False
    counter = statement.targets[0] if statement is not None and statement.keyword == "for" else None
    if isinstance(counter, Name) and (text, counter.name) in _indexed(file.chunks):
        return True
    if not isinstance(argument, Name):
        return False
    calls = calls_to(file.snapshot, file.path) if argument.name in file.template.names.input_names else ()
    given = [dict(each.given).get(argument.name) for each in calls]
    is_given = any(each is not None and each.kind == "list" for each in given)
    return is_given or argument.name in looped_names(file.chunks)


_MAP: Final = Signature(
    "map",
    (Taken("attribute", "attribute", "keyword", is_required=True), Taken("default", "default", "keyword")),
)
"""The signature of `map` if no filter is named."""


@each_chunk
def _of_filters_and_tests(chunk: Chunk) -> Iterator[Finding]:
    """Yield the wrong arguments of filters and tests."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in FILTERS:
            by_attribute = node.name == "map" and all(isinstance(each, Keyword) for each in node.arguments)
            signature = _MAP if by_attribute else filter_signature(node.name)
        elif isinstance(node, Test) and node.name in TESTS:
            signature = test_signature(node.name)
        else:
            continue
        if signature.parameters or node.arguments:
            found = [*mismatches(signature, node.arguments, node.name_span)]
            if not found and isinstance(node, Filter):
                found = [*_of_wrong_kind(chunk, start, node, signature)]
            if not found or any(
                has_tag_problem(chunk, tag.span) for tag in chunk.tags_at(Span(start, start + 1))
            ):
                continue
            for finding in found:
                yield finding.shifted(start)
    yield from wrong_loop_calls(chunk)


_NUMBERS: Final = frozenset(
    {("batch", "linecount"), ("center", "width"), ("round", "precision"), ("slice", "slices")}
    | {("truncate", "leeway"), ("truncate", "length"), ("wordwrap", "width")}
)
"""The parameters of filters that are numbers."""
_LETTERS: Final = re.compile(r"\w+")


def _of_wrong_kind(chunk: Chunk, start: int, node: Filter, signature: Signature) -> Iterator[Finding]:
    """Yield the texts that a filter takes as numbers, and a separator that `join` takes for the list."""
    placed = [each.name for each in signature.parameters if each.kind in {"any", "place"}]
    positional = [each for each in node.arguments if not isinstance(each, Keyword)]
    given: dict[str, Expression] = dict(zip(placed, positional, strict=False))
    given |= {each.name: each.value for each in node.arguments if isinstance(each, Keyword)}
    for name, value in given.items():
        if isinstance(value, Constant) and isinstance(value.value, str) and (node.name, name) in _NUMBERS:
            number = value.value.strip()
            fixes = (Fix.change_to(value.span, number, preferred=True),) if number.isdecimal() else ()
            yield Finding(value.span, f"`{name}` is a number, and this is a text", fixes)
    between = node.target
    text = between.value if isinstance(between, Constant) and node.name == "join" else None
    if between is not None and isinstance(text, str) and not _LETTERS.fullmatch(text):
        items = positional[0] if len(node.arguments) == len(positional) == 1 else None
        if items is not None and not isinstance(items, Constant):
            texts = [chunk.text[start + each.span.start : start + each.span.end] for each in (items, between)]
            fix = Fix.change_to(node.span, f"{_grouped(items, texts[0])} | join({texts[1]})", preferred=True)
            message = "the list and the separator of `join` are swapped"
            yield Finding(between.span, message, (fix,), severity="warning")


def _callees(file: File) -> dict[str, Callee]:
    """Return the callees of the names that the file calls, if each has a single meaning in the whole file."""
    names_called = called_names(file.template.source.root)
    own = names_called & _OWN.keys() - bound_names(file.template.names)
    return {**callees_of(file, names_called), **{name: Callee(_OWN[name]) for name in own}}


def _of_calls(chunk: Chunk, callees: Mapping[str, Callee]) -> Iterator[Finding]:
    """Yield the wrong arguments of calls in the chunk."""
    for start, name, call in chunk_calls(chunk):
        callee = callees.get(name)
        function = call.function
        if isinstance(function, Attribute):
            callee = callee.members.get(function.name) if callee else None
        if callee is None or callee.signature is None:
            continue
        place = function.name_span if isinstance(function, Attribute) else function.span
        for finding in mismatches(callee.signature, call.arguments, place, lacking=callee.lacking):
            yield finding.shifted(start)
        if callee.is_macro and not callee.takes_caller and is_call_block(chunk, start, call):
            message = f"`{callee.signature.name}` never uses `caller`, and a `call` block passes one"
            yield Finding(place.shifted(start), message)
