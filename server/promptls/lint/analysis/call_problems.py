"""Problems of the data that a Python call passes to a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.vocabulary import EXPECTED_KEYS, ROLES
from promptls.lint.analysis.declared_types import mismatch
from promptls.semantic.flow.paths import Each
from promptls.semantic.flow.shapes import resolved_uses
from promptls.semantic.flow.use import Compared
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.parts import chunk_items
from promptls.semantic.printed_inputs import printed_inputs
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import (
    NOTHING,
    KnownFunction,
    KnownValue,
    Mismatch,
    either,
    lacking,
    mismatch_by_name,
)
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.file_blocks import blocks_around, blocks_inside
from promptls.syntax.jinja.nodes import Call, Constant, Filter, Name, Operation
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.yaml.nodes import Sequence, scalar_text
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.contract import calls_to, certain_place, needed_shapes, needs_of
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot


def expected_keys(template: Template) -> frozenset[str]:
    """Return the names that parts list under `expected_template_data_keys`."""
    return _expected(template.source.root)


def _in_chunk(chunk: Chunk) -> frozenset[str]:
    if EXPECTED_KEYS not in chunk.text:
        return frozenset()
    return frozenset(
        text
        for part in chunk_items(chunk).parts
        if isinstance(node := part.value(EXPECTED_KEYS), Sequence)
        for item in node.items
        if (text := scalar_text(item)) is not None
    )


_expected: Final = summary(_in_chunk, union)


class CallProblem(NamedTuple):
    """A problem of a call, concerning the key `name`.

    `span` is the place in the template that reads the key, or the beginning of the template. `detail`
    describes what is wrong with the value, or when a missing one is read. `meant` is the key that the call,
    or a mapping in the value, probably has instead. With `ends_block`, a line break in the value ends the block
    scalar that it is printed in.
    """

    call: TemplateCall
    kind: Literal["missing", "mismatch", "broken", "refused", "unread"]
    name: str
    span: Span
    detail: str = ""
    meant: str = ""
    ends_block: bool = False


def call_problems(
    snapshot: Snapshot, path: str, template: Template, calls: Iterable[TemplateCall]
) -> Iterator[CallProblem]:
    """Yield the problems of calls that load the template at `path`; none if it has syntax errors.

    Calls in tests that expect an error are skipped.
    """
    if template.syntax_problems:
        return
    needs = needs_of(snapshot, path)
    shapes = needed_shapes(snapshot, path)
    needed = {name for name in needs.by_name if not shapes.get(name, UNKNOWN).optional}
    read = {name: shape for name, shape in shapes.items() if name in needs.by_name}
    known = needs.by_name.keys() | expected_keys(template) | INJECTED
    typos = _typos_of_inputs(template, needs.by_name)
    start = Span(0, min(1, len(template.source)))
    for call in calls:
        if call.is_failing:
            continue
        passed = dict(call.given)
        when = dict(lacking(read, passed))
        unread = call.keys - known if needs.is_whole else frozenset()
        missing = sorted(((needed - call.keys) | when.keys()) - typos)
        for name in missing:
            place = certain_place(snapshot, name, needs.by_name[name])
            if place is not None:
                near = nearest(name, unread) or ""
                meant = near if nearest(near, missing) == name else ""  # else a typo of a different name
                unread -= {meant}
                yield CallProblem(call, "missing", name, place, when.get(name, ""), meant)
        for name, problem, place in _mismatches(template, read, passed, calls_to(snapshot, path)):
            found = place or certain_place(snapshot, name, needs.by_name[name])
            if found is not None:
                yield CallProblem(call, "mismatch", name, found, problem.message, problem.meant)
        for name, shape in passed.items() if not call.is_jinja else ():
            if isinstance(shape, KnownValue) and isinstance(shape.value, str) and name in read:
                yield from _broken(template, call, name, shape.value)
            yield from _wrong_arguments(template, call, name, shape)
        for name in sorted(call.keys & INJECTED if not call.is_jinja else ()):
            yield CallProblem(call, "refused", name, start)
        for name in sorted(unread if not call.has_fields else ()):
            yield CallProblem(call, "unread", name, start)


def _typos_of_inputs(template: Template, names: Iterable[str]) -> set[str]:
    """Return the names that are similar to an input that the template declares, which it reports itself."""
    declared = {key.name for key in template.declarations.inputs}
    known = {*declared, "loop"}
    return {name for name in names if declared and name not in declared and nearest(name, known)}


def _mismatches(
    template: Template, read: Mapping[str, Shape], passed: Mapping[str, Shape], calls: Iterable[TemplateCall]
) -> Iterator[tuple[str, Mismatch, Span | None]]:
    """Yield the values that do not fit how they are read, or are declared: the name, the problem, the place.

    `calls` are all calls that load the template.
    """
    yield from _unequal(template, passed, [dict(each.given) for each in calls])
    yield from _wrong_roles(template, passed)
    mismatches = dict(mismatch_by_name(read, passed))
    for name, problem in mismatches.items():
        yield name, problem, _use(template, name, problem.lacked)
    for key in template.declarations.inputs:
        value = passed.get(key.name)
        if isinstance(value, KnownValue) and key.name not in mismatches:
            declared = mismatch((key.name,), value.value, key.schema)
            if declared is not None:
                yield key.name, Mismatch(declared.message), key.span


def _unequal(
    template: Template, passed: Mapping[str, Shape], others: Iterable[Mapping[str, Shape]]
) -> Iterator[tuple[str, Mismatch, Span]]:
    """Yield the comparisons with texts that a value, or a function's result, never equals.

    A program that always passes the same text may be an example, so that one text alone is not reported.
    """
    compared = {name for name, shape in passed.items() if _options(shape) or isinstance(shape, KnownFunction)}
    if not compared:
        return
    found: list[tuple[str, Shape, Span, Iterable[Compared]]] = []
    for use in resolved_uses(template):
        name = use.path[0].key
        if isinstance(name, str) and len(use.path) == 1 and name in compared and use.compared:
            if isinstance(passed[name], KnownFunction):
                message = f"`{name}` is a function, and is compared with a value: `()` calls it"
                yield name, Mismatch(message), use.span
            elif all(_options(each.get(name, UNKNOWN)) for each in others):
                all_given = either([passed[name], *(each[name] for each in others)])
                found.append((name, all_given, use.span, use.compared))
    found += _results(template, passed)
    for name, shape, span, constants in found:
        possible = _options(shape)
        values = [each.value for each in constants]
        if possible and values and all(isinstance(each, str) and each not in possible for each in values):
            listed = in_code(sorted(possible), " or ")
            never = in_code(values, " or ")
            problem = Mismatch(f"`{name}` is {listed}, and never {never}")
            yield name.removesuffix("(…)"), problem, span


def _results(
    template: Template, passed: Mapping[str, Shape]
) -> Iterator[tuple[str, Shape, Span, Iterable[Compared]]]:
    """Yield what functions of the data return where it is compared with a constant."""
    bound = template.names.all_bound_names
    for located in template.source.root.placed():
        for start, node in expressions_in(located.chunk):
            match node:
                case (
                    Operation(
                        operators=("==" | "!=",), operands=(Call(function=Name(name=name)) as call, other)
                    )
                    | Operation(
                        operators=("==" | "!=",), operands=(other, Call(function=Name(name=name)) as call)
                    )
                ) if isinstance(other, Constant) and name not in bound:
                    shape = passed.get(name, UNKNOWN)
                    if isinstance(shape, KnownFunction):
                        span = call.span.shifted(start + located.start)
                        yield f"{name}(…)", shape.returned, span, (Compared(other.value, other.span),)


def _wrong_roles(
    template: Template, passed: Mapping[str, Shape]
) -> Iterator[tuple[str, Mismatch, Span | None]]:
    """Yield the texts that a part prints as its role, and that are typos of a role."""
    spans = [
        value.span.shifted(located.start)
        for located in template.source.root.placed()
        for part in chunk_items(located.chunk).parts
        if (value := part.value("role")) is not None
    ]
    for use in resolved_uses(template):
        name = use.path[0].key
        if not isinstance(name, str) or not any(span.covers(use.span.start) for span in spans):
            continue
        shapes = [passed.get(name, UNKNOWN)]
        for step in use.path[1:]:
            shapes = [inner for shape in shapes for inner in _inside(shape, step.key)]
        texts = [each.value for shape in shapes for each in _pieces(shape) if isinstance(each, KnownValue)]
        for text in (each for each in texts if isinstance(each, str) and each not in ROLES):
            meant = next((role for role in ROLES if is_typo(text, role)), None)
            if meant is not None:
                yield name, Mismatch(f"a role in `{name}` is `{text}`; did you mean `{meant}`?"), use.span


def _pieces(shape: Shape) -> tuple[Shape, ...]:
    return shape.alternatives if shape.kind == "union" else (shape,)


def _inside(shape: Shape, key: object) -> list[Shape]:
    pieces = _pieces(shape)
    if key is Each.ELEMENT:
        return [each.element for each in pieces if each.kind == "list" and each.element is not None]
    return [inner for each in pieces for name, inner in each.keys if name == key]


def _options(shape: Shape) -> frozenset[str]:
    """Return the texts that a value may be, if those are several and all; empty if it may be anything else."""
    pieces = shape.alternatives if shape.kind == "union" else ()
    inner = [each for piece in pieces for each in (piece.alternatives if piece.kind == "union" else (piece,))]
    texts = [each.value for each in inner if isinstance(each, KnownValue) and isinstance(each.value, str)]
    return frozenset(texts) if len(texts) == len(inner) else frozenset()


def _use(template: Template, name: str, key: str) -> Span | None:
    """Return the only use of this key of an input."""
    uses = [
        use.span
        for use in resolved_uses(template)
        if key and use.path[0].key == name and use.path[-1].key == key
    ]
    return uses[0] if len(uses) == 1 else None


_FRAMES: Final = {
    "|": "- content: |\n    {}\n  role: user\n",
    ">": "- content: >\n    {}\n  role: user\n",
    '"': '- content: "{}"\n  role: user\n',
    "'": "- content: '{}'\n  role: user\n",
    "": "- content: {}\n  role: user\n",
}
"""A part with a placeholder for the content, for each style of scalar."""
_CONTEXTS: Final = ("{}", "a {} b", "a{}.")
_ENDS_BLOCK: Final = "a line break in it ends this block"
_WORDS: Final = {
    "|": _ENDS_BLOCK,
    ">": _ENDS_BLOCK,
    '"': "a quote or backslash in it ends these double quotes",
    "'": "a quote in it ends these single quotes",
    "": "it is not plain text in YAML",
}
_BLOCK_STYLES: Final = frozenset({"|", ">"})
_REMEDY: Final = ": write `content: |` and `escape_special_characters({})`"


def _broken(template: Template, call: TemplateCall, name: str, value: str) -> Iterator[CallProblem]:
    """Yield the place where the text, when printed, certainly makes the YAML of the prompt invalid."""
    if not _may_break(value):
        return
    for located in template.source.root.placed():
        for printed in printed_inputs(located.chunk) if name in located.chunk.text else ():
            style = printed.style or ""
            span = printed.span.shifted(located.start)
            is_plain = printed.name == name and not printed.keys and printed.expression == printed.span
            if is_plain and style in _FRAMES and _is_certain(template, name, span) and _breaks(style, value):
                detail = _WORDS[style] + _REMEDY.format(name)
                yield CallProblem(call, "broken", name, span, detail, ends_block=style in _BLOCK_STYLES)
                return


_NO_TEXTS: Final = {"number": "a number", "boolean": "a boolean", "list": "a list", "mapping": "a mapping"}


def _wrong_arguments(
    template: Template, call: TemplateCall, name: str, shape: Shape
) -> Iterator[CallProblem]:
    """Yield where `escape_special_characters` certainly gets no text, or `join` the letters of a text."""
    what = "None" if shape == NOTHING else _NO_TEXTS.get(shape.kind)
    is_text = shape.kind == "text" and not (isinstance(shape, KnownValue) and not shape.value)
    for located in template.source.root.placed() if what or is_text else ():
        for start, node in expressions_in(located.chunk) if name in located.chunk.text else ():
            match node:
                case Call(function=Name(name="escape_special_characters"), arguments=(Name() as given,)) if (
                    what
                ):
                    kind: Literal["broken", "mismatch"] = "broken"
                    detail = f"`escape_special_characters` takes text, not {what}"
                case Filter(name="join", target=Name() as given, arguments=(_, *_)) if is_text:
                    kind = "mismatch"
                    detail = f"`{name}` is a text, and `join` puts its separator between the letters"
                case _:
                    continue
            span = given.span.shifted(start + located.start)
            if given.name == name and _is_certain(template, name, span):
                yield CallProblem(call, kind, name, span, detail)
                return


def _may_break(value: str) -> bool:
    return any(character in value for character in "\n\"'\\:#[]{}&*!|>%@`")


def _is_certain(template: Template, name: str, span: Span) -> bool:
    """Return whether the place is always reached and prints the value of the input."""
    reference = next((each for each in template.names.references_of(name) if each.span == span), None)
    located = template.source.located(span.start)
    place = span.start - located.start
    is_in_block = any(block.span.covers(place) for block in blocks_inside(located.chunk))
    is_free = reference is not None and reference.binding is None
    return is_free and not is_in_block and not blocks_around(template.source.root, span.start)


def _breaks(style: str, value: str) -> bool:
    """Return whether a text in a content of this style is invalid YAML whatever text surrounds it."""
    return not any(
        _is_valid(_FRAMES[style].replace("{}", around.replace("{}", value))) for around in _CONTEXTS
    )


def _is_valid(text: str) -> bool:
    try:
        loaded = document.load(text)
    except PromptPoetError:
        return False
    return isinstance(loaded, list)
