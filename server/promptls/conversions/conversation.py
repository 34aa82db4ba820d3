"""What every form of a prompt is read into: messages with inputs, and what a header can say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


class Piece(NamedTuple):
    """A piece of a message: `text` as it stands, an expression that is an `input`, or a whole `tag`."""

    kind: Literal["text", "input", "tag"]
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message; its name is empty where the source has none."""

    role: str
    pieces: tuple[Piece, ...]
    name: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether the message is the same whatever the data is."""
        return all(piece.kind == "text" for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages, the header's keys, and in sentences what the source says that ours cannot."""

    messages: tuple[Message, ...]
    header: Mapping[str, Any] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


class Converted(NamedTuple):
    """The text of the made file, and in sentences what could not be carried over."""

    text: str
    lost: tuple[str, ...]
