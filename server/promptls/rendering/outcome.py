"""What rendering ends with: a rendering, or a failure. Both go through JSON unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from promptls.rendering.packed_map import PackedMap

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
        """The part as JSON; its content is the very one, and no copy."""
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
    turns: tuple[str, ...] = ()
    """The turns of loops that it happened in, such as ``turn 3 of `for x in y` ``, the outermost first."""
    reason: str = ""
    """The message without turns and value, where it names them."""
    include_line: int | None = None
    """0-based line of the include in the job's file that led to `path`, where that is another file."""

    def to_json(self) -> dict[str, Any]:
        """The failure as JSON."""
        return {"failure": asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderFailure:
        """The failure that `to_json` wrote."""
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
    """The kept parts as one text; None where a content is no text."""
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
        """The rendering as JSON; contents, messages and the source map are the very ones, and no copies."""
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
