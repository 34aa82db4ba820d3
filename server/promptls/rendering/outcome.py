"""The outcome of a rendering job: a rendering or a failure, and the serialization of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from promptls.rendering.source_map.mapping import Segment

PackedMap: TypeAlias = Mapping[str, Any]
"""`files`, `iterations` and `paths` are tables; `text` and each of `parts` are the numbers of packed rows.

Without the map of the text, `text` is empty.
"""

_WIDTH: Final = 8
"""The number of numbers in a packed row."""


def packed_map(text: Iterable[Segment], parts: Sequence[Iterable[Segment]]) -> PackedMap:
    """Return the packed map of a rendered text and of the contents of its parts."""
    files: dict[str, int] = {}
    iterations: dict[tuple[str, ...], int] = {}
    paths: dict[str | None, int] = {None: 0}

    def rows(segments: Iterable[Segment]) -> list[int]:
        found: list[int] = []
        for segment in _merge(segments):
            found += (
                segment.start,
                segment.end,
                files.setdefault(segment.path, len(files)),
                segment.first,
                segment.last,
                int(segment.verbatim),
                iterations.setdefault(segment.iterations, len(iterations)),
                paths.setdefault(segment.data_path, len(paths)),
            )
        return found

    packed = {"text": rows(text), "parts": [rows(part) for part in parts]}
    return {
        **packed,
        "files": list(files),
        "iterations": [list(each) for each in iterations],
        "paths": list(paths),
    }


def _merge(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments, with neighbors that are contiguous in the template merged."""
    last: Segment | None = None
    for segment in segments:
        if last is not None and _continues(last, segment):
            last = last._replace(end=segment.end, last=segment.last)
            continue
        if last is not None:
            yield last
        last = segment
    if last is not None:
        yield last


def _continues(one: Segment, other: Segment) -> bool:
    return (
        one.verbatim
        and other.verbatim
        and one.path == other.path
        and one.last == other.first
        and one.end == other.start
        and one.iterations == other.iterations
    )


def rows_of(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the packed rows, which refer to file, iterations and path by their indices in the tables."""
    return zip(*[iter(numbers)] * _WIDTH, strict=True)


WhiteSpaceKind: TypeAlias = Literal[
    "stripped", "stripped at edge", "stripped marker", "blank line", "joined part", "joined repetition"
]


class WhiteSpace(NamedTuple):
    """White space of the template that a rendering strips, adds or lacks; `start` and `end` are offsets."""

    kind: WhiteSpaceKind
    """`stripped`, `stripped at edge` and `stripped marker` for the ends of a content, where `edge` means
    the first or last section of a part; `blank line` for a line of the rendering, which begins at `start`;
    `joined part` and `joined repetition` for a part at `start` that does not begin a line of the rendering
    the first time, or only later."""
    start: int
    end: int
    detail: Literal["", "start", "end", "after a value"] = ""
    """`start` or `end` of a content; `after a value` for a part that is joined to a value."""


def shallow_dict(record: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass instance by name; unlike `asdict`, their values are not copied."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


EVALUATION_FAILURE: Final = "evaluation prompt"
"""The kind of failures of OpenCompass; limitations of promptls alone are `unavailable`."""


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """One section of a part, with its own token count."""

    name: str
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """One part as sent to the model."""

    index: int
    name: str
    role: str
    content: Any
    """Text; or a list or mapping from the template instead."""
    tokens: int
    """0 if the content cannot be counted; the rendering's `problems` then contain the reason."""
    truncation_priority: Any
    kept: bool
    """Whether the part remains in the prompt after truncation."""
    sections: tuple[RenderedSection, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the part as JSON; its content is not copied."""
        return {**shallow_dict(self), "sections": list(map(shallow_dict, self.sections))}


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """An error that prevented a rendering, or a problem with one, and its location."""

    kind: str
    """`functions`, `data`, `load`, `render`, `sandbox`, `yaml`, `parts`, `tokens`, `truncation`,
    `prompt object`, `evaluation prompt`, `unavailable`, `encoding`, `timeout`, `memory` or `crash`."""
    message: str
    """The problem, with the loop iterations and the value responsible if known, and the remedy."""
    path: str | None = None
    line: int | None = None
    """0-based line of the file `path`."""
    rendered_line: int | None = None
    """0-based line of the rendered text."""
    excerpt: str | None = None
    """The rendered lines around `rendered_line`, numbered from 1."""
    span: tuple[int, int] | None = None
    """The offsets, in the file `path`, of the tag that printed the value responsible."""
    value: str | None = None
    """The value responsible."""
    escapable: bool = False
    """Whether `escape_special_characters` would fix the value."""
    whatever: bool = False
    """Whether the template's own text fails, regardless of its values."""
    any_word: bool = False
    """Whether it fails if each value prints a word."""
    iterations: tuple[str, ...] = ()
    """The loop iterations that it occurred in, outermost first, such as ``iteration 3 of `for x in y` ``."""
    reason: str = ""
    """The message without iterations and value, if it includes them."""
    include_line: int | None = None
    """0-based line of the include in the job's file that led to `path`, if that is a different file."""
    white_space: tuple[WhiteSpace, ...] = ()
    """The parts of the job's file that do not begin a line, if the rendered text is invalid."""

    def to_json(self) -> dict[str, Any]:
        """Return the failure as JSON."""
        return {"failure": asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderFailure:
        """Return the failure from the result of `to_json`."""
        fields = value["failure"]
        span = fields["span"]
        return cls(
            **{
                **fields,
                "iterations": tuple(fields["iterations"]),
                "span": None if span is None else tuple(span),
                "white_space": tuple(WhiteSpace(*each) for each in fields["white_space"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendered prompt: all its parts, and those that remain after truncation."""

    parts: tuple[RenderedPart, ...]
    string: str | None
    """The remaining parts as one text; None if a content is not text."""
    messages: list[dict[str, Any]]
    """The remaining parts as messages with `role` and `content`."""
    tokens: int
    """The tokens of all parts."""
    tokens_kept: int
    """The tokens of the remaining parts."""
    text: str
    """The output of Jinja, before it was parsed as YAML."""
    seconds: float
    """The duration of rendering and counting."""
    problems: tuple[RenderFailure, ...] = ()
    """Failures that Prompt Poet would raise later: in counting a part, joining the string, or truncating."""
    files: tuple[str, ...] = field(default=())
    """The absolute paths of all template files used."""
    viewer: dict[str, Any] | None = None
    """For an evaluation prompt, the rows with their prompts and in-context examples, as JSON for a page."""
    source_map: PackedMap | None = None
    """The origin of the text, and of the content of each part; only if the job requests it."""
    labels: tuple[dict[str, Any], ...] = ()
    """For an evaluation prompt that compares labels, the request to a model; only if the job requests it."""
    white_space: tuple[WhiteSpace, ...] = ()
    """The white space of the job's file that is stripped, added or missing."""

    def to_json(self) -> dict[str, Any]:
        """Return the rendering as JSON.

        Contents, messages and the source map are not copied.
        """
        shown = shallow_dict(self)
        del shown["labels"], shown["white_space"]
        problems = [asdict(problem) for problem in self.problems]
        return {**shown, "parts": [part.to_json() for part in self.parts], "problems": problems}


_DERIVED = "derived"
"""A placeholder for a string or for messages that can be derived from the remaining parts."""


def packed_outcome(outcome: Rendering | RenderFailure) -> dict[str, Any]:
    """Return the outcome as JSON that is much smaller than that of `to_json`."""
    if isinstance(outcome, RenderFailure):
        return outcome.to_json()
    string, messages = _derived(outcome.parts)
    return {
        **shallow_dict(outcome),
        "parts": [part.to_json() for part in outcome.parts],
        "string": _DERIVED if outcome.string == string else [outcome.string],
        "messages": _DERIVED if outcome.messages == messages else outcome.messages,
        "problems": [problem.to_json() for problem in outcome.problems],
    }


def unpacked_outcome(value: Mapping[str, Any]) -> Rendering | RenderFailure:
    """Return the outcome from the result of `packed_outcome`."""
    if "failure" in value:
        return RenderFailure.from_json(value)
    parts = tuple(
        RenderedPart(**{**part, "sections": tuple(RenderedSection(**each) for each in part["sections"])})
        for part in value["parts"]
    )
    string, messages = _derived(parts)
    return Rendering(
        **{
            **value,
            "parts": parts,
            "string": string if value["string"] == _DERIVED else value["string"][0],
            "messages": messages if value["messages"] == _DERIVED else value["messages"],
            "problems": tuple(map(RenderFailure.from_json, value["problems"])),
            "files": tuple(value["files"]),
            "labels": tuple(value["labels"]),
            "white_space": tuple(WhiteSpace(*each) for each in value["white_space"]),
        }
    )


def _derived(parts: Sequence[RenderedPart]) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the string and the messages derived from remaining parts with text content."""
    kept = [part for part in parts if part.kept]
    texts = [part.content for part in kept]
    string = "".join(texts) if all(isinstance(text, str) for text in texts) else None
    return string, [{"role": part.role, "content": part.content} for part in kept]
