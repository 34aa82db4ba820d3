"""Problems of the data that a Python call passes to a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.lint.analysis.declared_types import misfit
from promptls.semantic.flow.shapes import resolved_uses
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.parts import chunk_items
from promptls.semantic.printed_inputs import printed_inputs
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import KnownValue, lacking, misfit_by_name
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.file_blocks import blocks_around, blocks_inside
from promptls.syntax.yaml.nodes import Sequence, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import certain_place, needed_shapes, needs_of
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot

_EXPECTED_KEY: Final = "expected_template_data_keys"


def expected_keys(template: Template) -> frozenset[str]:
    """Return the names that parts list under `expected_template_data_keys`."""
    return _expected(template.source.root)


def _in_chunk(chunk: Chunk) -> frozenset[str]:
    if _EXPECTED_KEY not in chunk.text:
        return frozenset()
    return frozenset(
        text
        for part in chunk_items(chunk).parts
        if isinstance(node := part.value(_EXPECTED_KEY), Sequence)
        for item in node.items
        if (text := scalar_text(item)) is not None
    )


_expected: Final = summary(_in_chunk, union)


class Objection(NamedTuple):
    """A problem of a call, concerning the key `name`.

    `span` is the place in the template that reads the key, or the beginning of the template. `detail`
    describes what is wrong with the value, or when a missing one is read. `meant` is the key that the call
    probably passes instead.
    """

    call: TemplateCall
    kind: Literal["missing", "misfit", "broken", "refused", "unread"]
    name: str
    span: Span
    detail: str = ""
    meant: str = ""


def call_objections(
    snapshot: Snapshot, path: str, template: Template, calls: Iterable[TemplateCall]
) -> Iterator[Objection]:
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
    start = Span(0, min(1, len(template.source)))
    for call in calls:
        if call.is_failing:
            continue
        passed = dict(call.given)
        when = dict(lacking(read, passed))
        unread = call.keys - known if needs.is_whole else frozenset()
        for name in sorted((needed - call.keys) | when.keys()):
            place = certain_place(snapshot, name, needs.by_name[name])
            if place is not None:
                meant = nearest(name, unread) or ""
                unread -= {meant}
                yield Objection(call, "missing", name, place, when.get(name, ""), meant)
        for name, problem, place in _misfits(template, read, passed):
            found = place or certain_place(snapshot, name, needs.by_name[name])
            if found is not None:
                yield Objection(call, "misfit", name, found, problem)
        for name, shape in passed.items() if not call.is_jinja else ():
            if isinstance(shape, KnownValue) and isinstance(shape.value, str) and name in read:
                yield from _broken(template, call, name, shape.value)
        for name in sorted(call.keys & INJECTED if not call.is_jinja else ()):
            yield Objection(call, "refused", name, start)
        for name in sorted(unread):
            yield Objection(call, "unread", name, start)


def _misfits(
    template: Template, read: Mapping[str, Shape], passed: Mapping[str, Shape]
) -> Iterator[tuple[str, str, Span | None]]:
    """Yield the values that do not fit how they are read, or are declared: the name, the problem, the place."""
    misfits = dict(misfit_by_name(read, passed))
    for name, problem in misfits.items():
        yield name, problem, _use(template, name, problem)
    for key in template.declarations.inputs or ():
        value = passed.get(key.name)
        if isinstance(value, KnownValue) and key.name not in misfits:
            problem = misfit(key.name, value.value, key.schema)
            if problem:
                yield key.name, problem, key.span


def _use(template: Template, name: str, problem: str) -> Span | None:
    """Return the only use of the key of an input that a value lacks, if that is its problem."""
    uses = [
        use.span
        for use in resolved_uses(template)
        if use.path[0].key == name and f"lacks `{use.path[-1].key}`" in problem
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
_WORDS: Final = {
    "|": "a line break in it ends this block",
    ">": "a line break in it ends this block",
    '"': "a quote or backslash in it ends these double quotes",
    "'": "a quote in it ends these single quotes",
    "": "it is not plain text in YAML",
}
_REMEDY: Final = ": write `content: |` and `escape_special_characters({})`"


def _broken(template: Template, call: TemplateCall, name: str, value: str) -> Iterator[Objection]:
    """Yield the place where the text, when printed, certainly makes the YAML of the prompt invalid."""
    if not _may_break(value):
        return
    for located in template.source.root.placed():
        for printed in printed_inputs(located.chunk) if name in located.chunk.text else ():
            style = printed.style or ""
            span = printed.span.shifted(located.start)
            is_plain = printed.name == name and not printed.keys and printed.expression == printed.span
            if is_plain and style in _FRAMES and _is_certain(template, name, span) and _breaks(style, value):
                yield Objection(call, "broken", name, span, _WORDS[style] + _REMEDY.format(name))
                return


def _may_break(value: str) -> bool:
    return any(character in value for character in "\n\"'\\:#[]{}&*!|>%@`")


def _is_certain(template: Template, name: str, span: Span) -> bool:
    """Return whether the place is always reached and prints the value of the input."""
    reference = next((each for each in template.names.references_of(name) if each.span == span), None)
    located = template.source.located(span.start)
    place = span.start - located.start
    is_in_block = any(block.span.contains(place) for block in blocks_inside(located.chunk))
    is_free = reference is not None and reference.binding is None
    return is_free and not is_in_block and not blocks_around(template.source, span.start)


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
