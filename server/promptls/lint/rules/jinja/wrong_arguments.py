"""Wrong arguments of a call.

Compares arguments with parameters: too many, too few, unknown or repeated arguments of filters, tests,
Jinja's functions, methods of texts such as `replace`, macros, functions of the `functions` file, and functions
that a Python program passes to the template. A missing argument of a macro is a hint: it is undefined inside of the macro. So is
a variable that is passed as another parameter than that of its name. Also reports
numbers, lists and a single word in quotes that are passed to `escape_special_characters`, lists that are passed to `range`, texts where
a filter takes a number or a boolean, or a number of spaces as in `indent("4")`, a separator that is joined by a list, `indent` of the first line where
the tag is indented itself, a macro that always calls itself, a call of a variable that is set to a value, and
`range[3]`.

In a Python program, reports wrong uses of promptls, Prompt Poet and Ragas that are certain without running
it: unknown arguments of their classes, functions and metrics, a decorator of a metric without its call, a
value that a metric does not allow, a metric's `score` with wrong arguments, an `arun` or `ascore` that
nothing awaits, a comparison of a score with a value that its metric does not allow, a prompt of a metric that
asks for such values or that Python fills in before `score`, braces in a prompt that are no fields, a path of
a prompt file that differs from an existing one by a typo, wrong fields of the models of a prompt class, a
metric class whose columns, methods or prompts Ragas refuses, scores that no metric of an evaluation has,
columns that no row of the program's dataset has, a key that only one of its rows has and misspells, an
experiment that returns no mapping, unknown fields and wrong types in samples, and metrics that need a column
which no sample has, an evaluation of a list in place of a dataset; the result of a prompt class in a variable
without `await`, or with other fields than its output; and a `Prompt` of Prompt Poet with data that cannot be copied, a limit that is no number,
a truncation step over the limit, its properties when they are called, its methods when they are not,
`truncate` before `tokenize`, keys of its parts, attributes of its messages, other attributes and keys than they
have, its length, and anything but messages where a model gets them.

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
from typing import Final

from markupsafe import Markup

from promptls.lint.analysis.callees import (
    Callee,
    called_names,
    callees_of,
    chunk_calls,
    is_call_block,
    mismatches,
)
from promptls.lint.analysis.literal_types import LiteralTypes
from promptls.lint.analysis.loop_names import looped_names, looped_paths
from promptls.lint.analysis.unmatched_names import given_names
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk, each_chunk_given, rule
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk
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
from promptls.syntax.jinja.problems import expressions_in, has_tag_problem, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import calls_to

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
            fix = Fix("Make the loop `recursive`", (Edit.insert(end, " recursive"),), preferred=True)
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
    yield from _indexed_functions(file)
    if called_names(file.chunks):
        callees = _callees(file)
        for located in file.chunks.where(called_names):
            for finding in _of_calls(located.chunk, callees):
                yield finding.shifted(located.start)
        yield from _wrong_types(file)
        yield from _calls_of_values(file)


def _names_of_functions(file: File) -> frozenset[str]:
    """Return the functions of Jinja whose names the file and its callers use for nothing else."""
    return frozenset(_OWN) - file.template.names.all_bound_names - given_names(file)


@each_chunk_given(_names_of_functions)
def _indexed_functions(chunk: Chunk, functions: frozenset[str]) -> Iterator[Finding]:
    """Yield the functions with brackets in place of the parentheses of a call."""
    for start, node in expressions_in(chunk):
        match node:
            case Item(target=Name(name=name) as function) if name in functions:
                brackets = Span(function.span.end, node.span.end).shifted(start)
                inside = chunk.slice(brackets).strip()[1:-1]
                message = f"`{name}` is a function, and brackets do not call it"
                fix = Fix(f"Change to `{name}({inside})`", (Edit(brackets, f"({inside})"),), preferred=True)
                yield Finding(function.span.shifted(start), message, (fix,) if ":" not in inside else ())


_ESCAPE: Final = "escape_special_characters"


def _wrong_types(file: File) -> Iterator[Finding]:
    """Yield the numbers and lists that `escape_special_characters` gets, and the lists that `range` gets."""
    called = called_names(file.chunks) & {_ESCAPE, "range"} - file.template.names.all_bound_names
    if not called:
        return
    types = LiteralTypes(file)
    for located in file.chunks.where(called_names):
        for start, name, call in chunk_calls(located.chunk):
            if name in called and len(call.arguments) == 1 and not isinstance(call.function, Attribute):
                known = types.type_of(call.arguments[0])
                begin = located.start + start
                check = _escaped_value if name == _ESCAPE else _range_of_value
                for finding in check(file, call, begin, known):
                    yield finding.shifted(begin)


def _escaped_value(file: File, call: Call, begin: int, known: type | None) -> Iterator[Finding]:
    """Yield the argument of `escape_special_characters` if it is no text, or has nothing to escape."""
    argument = call.arguments[0]
    text = file.template.source.slice(argument.span.shifted(begin))
    if known in {int, float, bool, list, tuple, dict}:
        is_printed_alike = known in {int, float, bool}
        written = text if is_printed_alike else f"{_ESCAPE}({_grouped(argument, text)} | string)"
        message = f"`{_ESCAPE}` takes a text, and this is {_KINDS_OF[known]}"
        yield Finding(argument.span, message, (Fix.change_to(call.span, written),))
    elif isinstance(argument, Constant) and str(argument.value).isidentifier():
        message = "this text has nothing to escape"
        yield Finding.suggest(argument.span, message, str(argument.value), severity="warning")
    elif known is None and _is_looped(file, argument, text):
        message = f"`{_ESCAPE}` takes a text, and a loop iterates over this"
        yield Finding(argument.span, message, severity="hint")


def _range_of_value(file: File, call: Call, begin: int, known: type | None) -> Iterator[Finding]:
    """Yield the argument of `range` if it is a text or a list."""
    argument = call.arguments[0]
    text = file.template.source.slice(argument.span.shifted(begin))
    if isinstance(argument, Constant) and isinstance(argument.value, str):
        number = argument.value.strip()
        fix = Fix.change_to(argument.span, number, preferred=True)
        message = "`range` takes a number, and this is a text"
        yield Finding(argument.span, message, (fix,) if number.isdecimal() else ())
    elif known in {list, tuple, dict} or _is_list(file, call, begin, text):
        fix = Fix.change_to(argument.span, f"{_grouped(argument, text)} | length", preferred=True)
        message = f"`range` takes a number, and this is {_KINDS_OF[known or list]}"
        yield Finding(argument.span, message, (fix,))


def _calls_of_values(file: File) -> Iterator[Finding]:
    """Yield the calls of variables that the file sets to a text, a list or another value."""
    called = called_names(file.chunks) & file.template.names.bound_names("set")
    types = LiteralTypes(file) if called else None
    for located in file.chunks.where(called_names) if types is not None else ():
        for start, name, call in chunk_calls(located.chunk):
            known = types.type_of_name(name) if types is not None and name in called else None
            if not isinstance(call.function, Name) or known not in _KINDS_OF:
                continue
            span = call.function.span.shifted(located.start + start)
            message = f"`{name}` is {_KINDS_OF[known]}, and not a function"
            brackets = Span(call.function.span.end, call.span.end).shifted(located.start + start)
            written = file.template.source.slice(brackets)
            if not call.arguments:
                yield Finding(span, message, (Fix("Remove the brackets", (Edit(brackets, ""),)),))
            elif len(call.arguments) == 1 and known in {list, tuple, dict} and written.endswith(")"):
                item = f"[{written.strip()[1:-1]}]"
                yield Finding(span, message, (Fix(f"Change to `{name}{item}`", (Edit(brackets, item),)),))
            else:
                yield Finding(span, message)


_KINDS_OF: Final[dict[type, str]] = {
    bool: "a boolean",
    dict: "a mapping",
    float: "a number",
    int: "a number",
    list: "a list",
    Markup: "a text",
    tuple: "a tuple",
}


def _grouped(node: Expression, text: str) -> str:
    return text if isinstance(node, Name | Attribute | Item | Call | Collection) else f"({text})"


def _is_looped(file: File, argument: Expression, text: str) -> bool:
    """Return whether a loop iterates over the same variable or attribute."""
    root: Expression = argument
    while isinstance(root, Attribute):
        root = root.target
    if not isinstance(root, Name) or root.name in {key.name for key in file.template.declarations.inputs}:
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


def _method(name: str, *required: str, optional: tuple[str, ...] = ()) -> Signature:
    """Return the signature of a method without keyword arguments."""
    needed = [Taken(each, each, "place", is_required=True) for each in required]
    return Signature(name, (*needed, *(Taken(each, each) for each in optional)))


_OF_TEXTS: Final = {
    "endswith": _method("endswith", "suffix", optional=("start", "end")),
    "join": _method("join", "list"),
    "replace": _method("replace", "old", "new", optional=("count",)),
    "startswith": _method("startswith", "prefix", optional=("start", "end")),
}
"""The signatures of methods of texts."""


def _method_of_text(call: Call) -> Attribute | None:
    """Return the known method of a text that is called: that of a literal, or one that takes literals."""
    match call:
        case Call(function=Attribute(name=name, target=Constant(value=str())) as method) if name in _OF_TEXTS:
            return method
        case Call(function=Attribute(name="replace") as method, arguments=[Constant(value=str()), *_]):
            return method
    return None


@each_chunk
def _of_filters_and_tests(chunk: Chunk) -> Iterator[Finding]:
    """Yield the wrong arguments of filters, tests and methods of texts."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in FILTERS:
            by_attribute = node.name == "map" and all(isinstance(each, Keyword) for each in node.arguments)
            signature, place = _MAP if by_attribute else filter_signature(node.name), node.name_span
        elif isinstance(node, Test) and node.name in TESTS:
            signature, place = test_signature(node.name), node.name_span
        elif isinstance(node, Call) and (method := _method_of_text(node)) is not None:
            signature, place = _OF_TEXTS[method.name], method.name_span
        else:
            continue
        if signature.parameters or node.arguments:
            found = [*mismatches(signature, node.arguments, place)]
            if not found and isinstance(node, Filter):
                found = [*_of_wrong_kind(chunk, start, node, signature)]
            tag = chunk.tag_at(start) if found else None
            if tag is None or has_tag_problem(chunk, tag.span):
                continue
            for finding in found:
                yield finding.shifted(start)
    yield from wrong_loop_calls(chunk)
    yield from _endless_macros(chunk)


def _endless_macros(chunk: Chunk) -> Iterator[Finding]:
    """Yield the calls of a macro in itself, outside of conditions and loops."""
    pairs = chunk_blocks(chunk).pairs
    for pair in pairs if any(each.keyword == "macro" for each in pairs) else ():
        macro = tag_tree(chunk.tags[pair.opening]).statement.name
        inner = [
            range(each.opening, each.closing)
            for each in pairs
            if each.keyword in _OWN_NAMES | {"if"} and pair.opening < each.opening < pair.closing
        ]
        for place in range(pair.opening + 1, pair.closing if pair.keyword == "macro" else 0):
            tag = chunk.tags[place]
            if tag.kind != "output" or any(place in each for each in inner):
                continue
            match tag_tree(tag).statement.expressions:
                case (Call(function=Name(name=name, span=span)),) if name == macro:
                    yield Finding(span.shifted(tag.span.start), "this macro calls itself without an end")


_NUMBERS: Final = frozenset(
    {("batch", "linecount"), ("center", "width"), ("round", "precision"), ("slice", "slices")}
    | {("truncate", "leeway"), ("truncate", "length"), ("wordwrap", "width")}
)
"""The parameters of filters that are numbers."""
_INDENTATIONS: Final = frozenset({("indent", "width"), ("tojson", "indent")})
"""The parameters of filters that are a number of spaces, or the text in their place."""
_BOOLEANS: Final = frozenset({"blank", "boolean", "case_sensitive", "first", "killwords", "reverse"})
"""The parameters of filters that are true or false."""
_FLAGS: Final = {
    ("dictsort", "case_sensitive"): "by",
    ("max", "case_sensitive"): "attribute",
    ("min", "case_sensitive"): "attribute",
    ("sort", "reverse"): "attribute",
    ("truncate", "killwords"): "end",
    ("unique", "case_sensitive"): "attribute",
    ("wordwrap", "break_long_words"): "wrapstring",
}
"""The parameters of filters that are true or false, and which later one a text in their place is meant for."""
_SORTED_BY: Final = ("key", "value")
_TOLERANT: Final = frozenset({"dictsort", "truncate", "wordwrap"})
"""The filters that take any text for true."""
_PAIR: Final = 2
_LETTERS: Final = re.compile(r"\w+")
_CONDITION: Final = re.compile(r"[=<>!]")


def _given(signature: Signature, arguments: tuple[Expression, ...]) -> dict[str, Expression]:
    """Return the arguments of a call by the names of their parameters."""
    placed = [each.name for each in signature.parameters if each.kind in {"any", "place"}]
    positional = [each for each in arguments if not isinstance(each, Keyword)]
    named = {each.name: each.value for each in arguments if isinstance(each, Keyword)}
    return {**dict(zip(placed, positional, strict=False)), **named}


def _of_wrong_kind(chunk: Chunk, start: int, node: Filter, signature: Signature) -> Iterator[Finding]:
    """Yield the arguments of a filter that are not of the kind that it takes."""
    positional = [each for each in node.arguments if not isinstance(each, Keyword)]
    given = _given(signature, node.arguments)
    for name, value in given.items():
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            continue
        if value.value == "/n":
            message = "this is a slash and a letter, and not a line break"
            yield Finding.suggest(value.span, message, '"\\n"', severity="hint")
        elif (node.name, name) in _NUMBERS:
            number = value.value.strip()
            fixes = (Fix.change_to(value.span, number, preferred=True),) if number.isdecimal() else ()
            yield Finding(value.span, f"`{name}` is a number, and this is a text", fixes)
        elif name in _BOOLEANS and value.value.lower() in _FLAG_TEXTS:
            yield _flag(name, value, value.value)
        elif (node.name, name) in _INDENTATIONS and value.value.isdecimal():
            fix = Fix.change_to(value.span, value.value, preferred=True)
            message = "in quotes, this is what each line begins with, and not the number of spaces"
            yield Finding(value.span, message, (fix,), severity="warning")
        elif (node.name, name) == ("dictsort", "by") and value.value not in _SORTED_BY:
            meant = nearest(value.value, _SORTED_BY)
            fixed = f'"{meant}"' if meant else None
            yield Finding.suggest(value.span, "`by` is `key` or `value`", fixed, preferred=True)
        elif meant := _FLAGS.get((node.name, name)):
            message = (
                f"this is the `{name}` of `{node.name}`, which is true or false; did you mean `{meant}`?"
            )
            edit = Edit.insert(value.span.start, f"{meant}=")
            is_last = positional[-1:] == [value] and meant not in given
            fixes = (Fix(f"Make it the `{meant}`", (edit,)),) if is_last else ()
            yield Finding(value.span, message, fixes, severity="warning" if node.name in _TOLERANT else None)
    if node.name == "indent":
        yield from _indented_twice(chunk, start, node, given.get("first"))
    elif node.name in {"rejectattr", "selectattr"}:
        yield from _unnamed_test(node)
    elif node.name == "join":
        yield from _swapped_separator(chunk, start, node)


_FLAG_TEXTS: Final = {"false": "false", "no": "false", "true": "true", "yes": "true"}


def _flag(name: str, value: Constant, text: str) -> Finding:
    """Return the finding for a text in the place of a boolean."""
    fix = Fix.change_to(value.span, _FLAG_TEXTS[text.lower()], preferred=True)
    message = f"`{name}` is true or false, and any text is true"
    return Finding(value.span, message, (fix,), severity="warning")


_ORDERING: Final = frozenset({"<", "<=", ">", ">=", "ge", "greaterthan", "gt", "le", "lessthan", "lt"})
"""The tests that order two values."""


def _unnamed_test(node: Filter) -> Iterator[Finding]:
    """Yield a condition where `selectattr` takes an attribute, and a value where it takes the name of a test."""
    positional = [each for each in node.arguments if not isinstance(each, Keyword)]
    first = node.arguments[0] if node.arguments else None
    if isinstance(first, Constant) and isinstance(first.value, str) and _CONDITION.search(first.value):
        yield Finding(first.span, f'`{node.name}` takes an attribute, a test, a value: `("kind", "==", "a")`')
    test = positional[1] if len(positional) > 1 else None
    match positional:
        case (_, Constant(value=str() as order), Constant(value=str() as text) as bound) if (
            order in _ORDERING and text.replace(".", "", 1).isdecimal()
        ):
            # The attribute may be a text, too, such as a year.
            message = f"this is a text: `{order}` fails if the attribute is a number"
            yield Finding(bound.span, message, (Fix.change_to(bound.span, text),), severity="hint")
    if isinstance(test, Constant) and not isinstance(test.value, str):
        edit = Edit.insert(test.span.start, '"==", ')
        fix = Fix('Insert `"=="`', (edit,), preferred=True)
        message = f'the second argument of `{node.name}` is the name of a test, such as `"=="`'
        yield Finding(test.span, message, (fix,) if len(node.arguments) == len(positional) == _PAIR else ())


def _swapped_separator(chunk: Chunk, start: int, node: Filter) -> Iterator[Finding]:
    """Yield a separator that `join` gets in the place of the list."""
    match node:
        case Filter(target=Constant(value=str() as text) as between, arguments=(items,)) if not isinstance(
            items, Constant | Keyword
        ) and not _LETTERS.fullmatch(text):
            texts = [chunk.slice(each.span.shifted(start)) for each in (items, between)]
            fix = Fix.change_to(node.span, f"{_grouped(items, texts[0])} | join({texts[1]})", preferred=True)
            message = "the list and the separator of `join` are swapped"
            yield Finding(between.span, message, (fix,), severity="warning")


_END: Final = re.compile(r"\s*\+?\}\}")


def _indented_twice(chunk: Chunk, start: int, node: Filter, first: Expression | None) -> Iterator[Finding]:
    """Yield the `true` of an `indent` whose first line has the indentation of its tag already."""
    before = chunk.text[chunk.text.rfind("\n", 0, start) + 1 : start]
    is_indented = bool(before) and not before.strip(" ") and chunk.text.startswith("{{", start)
    is_last = _END.match(chunk.text, start + node.span.end) is not None
    is_trimmed = chunk.text.startswith("{{-", start)
    is_true = isinstance(first, Constant) and first.value is True
    if first is None or not is_true or not is_indented or not is_last or is_trimmed:
        return
    fixes: tuple[Fix, ...] = ()
    match node.arguments:
        case (width, second) if second is first:
            edit = Edit(Span(width.span.end, first.span.end), "")
            fixes = (Fix("Remove this argument", (edit,), preferred=True),)
    message = "the tag is indented already, so that the first line is indented twice"
    yield Finding(first.span, message, fixes, severity="warning")


def _callees(file: File) -> dict[str, Callee]:
    """Return the callees of the names that the file calls, if each has a single meaning in the whole file."""
    names_called = called_names(file.template.source.root)
    own = names_called & _OWN.keys() - file.template.names.all_bound_names
    return {**callees_of(file, names_called), **{name: Callee(_OWN[name]) for name in own}}


def _of_calls(chunk: Chunk, callees: Mapping[str, Callee]) -> Iterator[Finding]:
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
        if callee.is_macro:
            for finding in (
                *_swapped(callee.signature, call.arguments),
                *_quoted_flags(callee.signature, call.arguments),
            ):
                yield finding.shifted(start)
        if callee.is_macro and not callee.takes_caller and is_call_block(chunk, start, call):
            message = f"`{callee.signature.name}` never uses `caller`, and a `call` block passes one"
            yield Finding(place.shifted(start), message)


def _quoted_flags(signature: Signature, arguments: tuple[Expression, ...]) -> Iterator[Finding]:
    """Yield the texts such as `"false"` for parameters whose default is a boolean."""
    flags = {each.name for each in signature.parameters if _BOOLEAN_DEFAULT.search(each.text)}
    for name, value in _given(signature, arguments).items() if flags else ():
        match value:
            case Constant(value=str() as text) if name in flags and text.lower() in _FLAG_TEXTS:
                yield _flag(name, value, text)


_BOOLEAN_DEFAULT: Final = re.compile(r"=\s*(?:true|false)$", re.IGNORECASE)


def _swapped(signature: Signature, arguments: tuple[Expression, ...]) -> Iterator[Finding]:
    """Yield the variables that are passed as another parameter than that of their name, which gets another value."""
    names = [each.name for each in signature.parameters if each.kind in {"any", "place"}]
    given = dict(zip(names, (each for each in arguments if not isinstance(each, Keyword)), strict=False))
    for name, value in given.items():
        other = given.get(value.name) if isinstance(value, Name) and value.name != name else None
        if isinstance(value, Name) and other is not None and not isinstance(other, Name):
            message = f"`{value.name}` is passed as `{name}`, and the macro has a parameter `{value.name}`"
            yield Finding(value.span, message, severity="hint")
