"""The result of a rendering: the rendering or a failure, and how both travel from the worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from promptls.rendering.source_map.rendered import Segment

PackedMap: TypeAlias = Mapping[str, Any]
"""`files`, `turns` and `paths` are tables; `text` and each of `parts` are the numbers of rows.

Without the map of the text, `text` is empty.
"""

_WIDTH: Final = 8
"""How many numbers a row has."""


def packed_map(text: Iterable[Segment], parts: Sequence[Iterable[Segment]]) -> PackedMap:
    """Return the map of a rendered text and of the contents of its parts."""
    files: dict[str, int] = {}
    turns: dict[tuple[str, ...], int] = {}
    paths: dict[str | None, int] = {None: 0}

    def rows(segments: Iterable[Segment]) -> list[int]:
        found: list[int] = []
        for segment in _merged(segments):
            found += (
                segment.start,
                segment.end,
                files.setdefault(segment.path, len(files)),
                segment.first,
                segment.last,
                int(segment.verbatim),
                turns.setdefault(segment.turns, len(turns)),
                paths.setdefault(segment.data_path, len(paths)),
            )
        return found

    packed = {"text": rows(text), "parts": [rows(part) for part in parts]}
    return {**packed, "files": list(files), "turns": [list(each) for each in turns], "paths": list(paths)}


def _merged(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments, with neighbours that are one stretch of the template as one."""
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
        and one.turns == other.turns
    )


def rows_of(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the rows as they are packed: of file, turns and path, the places in their tables."""
    return zip(*[iter(numbers)] * _WIDTH, strict=True)


EVALUATION_FAILURE: Final = "evaluation prompt"
"""The kind of what OpenCompass fails at; what only promptls cannot do here is `unavailable`."""


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """One section of a part, with its own token count."""

    name: str
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """One part as the model gets it."""

    index: int
    name: str
    role: str
    content: Any
    """Text; or the list or mapping that the template gave instead."""
    tokens: int
    """0 where the content cannot be counted: then the rendering's `problems` say why."""
    truncation_priority: Any
    kept: bool
    """Whether the token limit leaves the part in the prompt."""
    sections: tuple[RenderedSection, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the part as JSON; its content is the very one, and no copy."""
        return {
            "index": self.index,
            "name": self.name,
            "role": self.role,
            "content": self.content,
            "tokens": self.tokens,
            "truncation_priority": self.truncation_priority,
            "kept": self.kept,
            "sections": [asdict(section) for section in self.sections],
        }


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """Why there is no rendering, or what is wrong with one, and where."""

    kind: str
    """`functions`, `data`, `load`, `render`, `sandbox`, `yaml`, `parts`, `tokens`, `truncation`,
    `prompt object`, `evaluation prompt`, `unavailable`, `encoding`, `timeout`, `memory` or `crash`."""
    message: str
    """What is wrong, with the turns and the value that did it where they are known, and what to do."""
    path: str | None = None
    line: int | None = None
    """0-based line of the file `path`."""
    rendered_line: int | None = None
    """0-based line of the rendered text."""
    excerpt: str | None = None
    """The rendered lines around `rendered_line`, numbered from 1."""
    span: tuple[int, int] | None = None
    """The offsets, in the file `path`, of the tag that printed the value that is to blame."""
    value: str | None = None
    """That value."""
    mended: bool = False
    """Whether the value would do no harm behind `escape_special_characters`."""
    whatever: bool = False
    """Whether it is the template's own text that fails, whatever its values print."""
    any_word: bool = False
    """Whether it fails as soon as each value prints a word."""
    turns: tuple[str, ...] = ()
    """The turns of loops that it happened in, such as ``turn 3 of `for x in y` ``, the outermost first."""
    reason: str = ""
    """The message without turns and value, where it names them."""
    include_line: int | None = None
    """0-based line of the include in the job's file that led to `path`, where that is another file."""

    def to_json(self) -> dict[str, Any]:
        """Return the failure as JSON."""
        return {"failure": asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderFailure:
        """Return the failure that `to_json` wrote."""
        fields = value["failure"]
        span = fields["span"]
        return cls(
            **{**fields, "turns": tuple(fields["turns"]), "span": None if span is None else tuple(span)}
        )


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendered prompt: all its parts, and what is left of them under the token limit."""

    parts: tuple[RenderedPart, ...]
    string: str | None
    """The kept parts as one text; None if a content is no text."""
    messages: list[dict[str, Any]]
    """The kept parts as messages with `role` and `content`."""
    tokens: int
    """Tokens of all parts."""
    tokens_kept: int
    """Tokens of the kept parts."""
    text: str
    """What Jinja made, before it was read as YAML."""
    seconds: float
    """How long rendering and counting took."""
    problems: tuple[RenderFailure, ...] = ()
    """What Prompt Poet would fail at later: counting a part, joining the string, truncating."""
    files: tuple[str, ...] = field(default=())
    """Absolute paths of every template file that took part."""
    viewer: dict[str, Any] | None = None
    """Of an evaluation prompt, the rows with their prompts and in-context examples, for a page."""
    source_map: PackedMap | None = None
    """Where the text, and the content of each part, comes from; only where the job asks for it."""

    def to_json(self) -> dict[str, Any]:
        """Return the rendering as JSON.

        Contents, messages and the source map are the very ones, and no copies.
        """
        return {
            "parts": [part.to_json() for part in self.parts],
            "string": self.string,
            "messages": self.messages,
            "tokens": self.tokens,
            "tokens_kept": self.tokens_kept,
            "text": self.text,
            "seconds": self.seconds,
            "problems": [asdict(problem) for problem in self.problems],
            "files": list(self.files),
            "viewer": self.viewer,
            "source_map": self.source_map,
        }


_DERIVED = "derived"
"""Stands for a string or for messages that the kept parts tell."""


def packed_outcome(outcome: Rendering | RenderFailure) -> dict[str, Any]:
    """Return the outcome as JSON, a good deal smaller than `to_json` makes it."""
    if isinstance(outcome, RenderFailure):
        return outcome.to_json()
    string, messages = _derived(outcome.parts)
    return {
        "parts": [
            (
                part.name,
                part.role,
                part.content,
                part.tokens,
                part.truncation_priority,
                part.kept,
                [(section.name, section.content, section.tokens) for section in part.sections],
            )
            for part in outcome.parts
        ],
        "string": _DERIVED if outcome.string == string else [outcome.string],
        "messages": _DERIVED if outcome.messages == messages else outcome.messages,
        "tokens": outcome.tokens,
        "tokens_kept": outcome.tokens_kept,
        "text": outcome.text,
        "seconds": outcome.seconds,
        "problems": [problem.to_json() for problem in outcome.problems],
        "files": outcome.files,
        "viewer": outcome.viewer,
        "source_map": outcome.source_map,
    }


def unpacked_outcome(value: Mapping[str, Any]) -> Rendering | RenderFailure:
    """Return the outcome that `packed_outcome` wrote."""
    if "failure" in value:
        return RenderFailure.from_json(value)
    parts = tuple(
        RenderedPart(
            index,
            name,
            role,
            content,
            tokens,
            priority,
            kept,
            tuple(RenderedSection(*each) for each in sections),
        )
        for index, (name, role, content, tokens, priority, kept, sections) in enumerate(value["parts"])
    )
    string, messages = _derived(parts)
    return Rendering(
        parts=parts,
        string=string if value["string"] == _DERIVED else value["string"][0],
        messages=messages if value["messages"] == _DERIVED else value["messages"],
        tokens=value["tokens"],
        tokens_kept=value["tokens_kept"],
        text=value["text"],
        seconds=value["seconds"],
        problems=tuple(map(RenderFailure.from_json, value["problems"])),
        files=tuple(value["files"]),
        viewer=value["viewer"],
        source_map=value["source_map"],
    )


def _derived(parts: Sequence[RenderedPart]) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the string and the messages that kept parts of usual kinds make."""
    kept = [part for part in parts if part.kept]
    texts = [part.content for part in kept]
    string = "".join(texts) if all(isinstance(text, str) for text in texts) else None
    return string, [{"role": part.role, "content": part.content} for part in kept]
