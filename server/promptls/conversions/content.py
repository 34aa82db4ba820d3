r"""A message as the `content` of a part, so that Jinja, YAML and Prompt Poet give its text back.

Jinja reads `{{`, `{%` and `{#`: they are printed. YAML reads line breaks and control
characters: the text stands in a block, or in double quotes where a block cannot hold it.
Prompt Poet strips white space at both ends, and makes line breaks of `\n`: spaces there are
written `<|space|>` and line breaks `\n`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from promptls.conversions.conversation import Converted, Piece
from promptls.systems.prompt_poet.vocabulary import SPACE_MARKER

INDENTATION: Final = "    "
_JINJA: Final = re.compile(r"\{[{%#]")
_NOT_IN_BLOCK: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x85\x86-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
_NOT_IN_YAML: Final = re.compile("[\ud800-\udfff]")
_LOST_ESCAPES: Final = "a written `\\n` or `\\r` becomes a line break, which Prompt Poet makes of it"
_LOST_MARKER: Final = f"a written `{SPACE_MARKER}` becomes a space, which Prompt Poet makes of it"
_LOST_EDGE: Final = "tabs and other white space at the ends of a message, which Prompt Poet strips"
_LOST_CONTROLS: Final = "control characters in a message with inputs, which a YAML block cannot hold"
_LOST_SURROGATES: Final = "half characters (surrogates), which no file can hold"


def content(pieces: Iterable[Piece]) -> Converted:
    """What stands behind `content:` at a key in the second column, and what of the message is lost."""
    merged = _merged(pieces)
    lost: list[str] = []
    texts = [piece.text for piece in merged if piece.kind == "text"]
    if any("\\n" in text or "\\r" in text for text in texts):
        lost.append(_LOST_ESCAPES)
    if any(SPACE_MARKER in text for text in texts):
        lost.append(_LOST_MARKER)
    if any(_NOT_IN_YAML.search(text) for text in texts):
        lost.append(_LOST_SURROGATES)
        merged = [_without(piece, _NOT_IN_YAML) for piece in merged]
    # Jinja and YAML make one line end of all; Prompt Poet makes a carriage return of a written one.
    merged = [
        Piece("text", piece.text.replace("\r", "\\r")) if piece.kind == "text" else piece for piece in merged
    ]
    merged = _with_edges(merged, lost)
    if not merged:
        return Converted('""', tuple(lost))
    in_quotes = any(piece.kind == "text" and _NOT_IN_BLOCK.search(piece.text) for piece in merged)
    if in_quotes and all(piece.kind == "text" for piece in merged):
        return Converted(_quoted(merged), tuple(lost))
    if in_quotes:
        lost.append(_LOST_CONTROLS)
        merged = [_without(piece, _NOT_IN_BLOCK) for piece in merged]
    return Converted(_block(merged), tuple(lost))


def _merged(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with neighbouring texts as one, and without empty ones."""
    merged: list[Piece] = []
    for piece in pieces:
        if piece.kind == "text" and merged and merged[-1].kind == "text":
            merged[-1] = Piece("text", merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return merged


def _without(piece: Piece, pattern: re.Pattern[str]) -> Piece:
    return Piece("text", pattern.sub("", piece.text)) if piece.kind == "text" else piece


def _with_edges(pieces: list[Piece], lost: list[str]) -> list[Piece]:
    """The pieces with the white space at both ends written so that it is not stripped."""
    if pieces and pieces[0].kind == "text":
        text = pieces[0].text
        inner = text.lstrip()
        pieces[0] = Piece("text", _edge(text[: len(text) - len(inner)], lost) + inner)
    if pieces and pieces[-1].kind == "text":
        text = pieces[-1].text
        inner = text.rstrip()
        pieces[-1] = Piece("text", inner + _edge(text[len(inner) :], lost))
    return [piece for piece in pieces if piece.text]


def _edge(space: str, lost: list[str]) -> str:
    written = [{" ": SPACE_MARKER, "\n": "\\n"}.get(character, "") for character in space]
    if not all(written):
        lost.append(_LOST_EDGE)
    return "".join(written)


def _block(pieces: list[Piece]) -> str:
    text = _in_jinja(pieces)
    # What an input prints first could begin with spaces, which YAML would take for the indentation.
    header = "|2" if pieces[0].kind != "text" and "\n" in text else "|"
    lines = [f"{INDENTATION}{line}" if line else "" for line in text.split("\n")]
    return "\n".join([header, *lines])


def _quoted(pieces: list[Piece]) -> str:
    text = _in_jinja(pieces)
    quoted = json.dumps(text, ensure_ascii=False)
    return _NOT_IN_BLOCK.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted).replace("\x7f", "\\x7f")


def _in_jinja(pieces: list[Piece]) -> str:
    made = []
    for index, piece in enumerate(pieces):
        if piece.kind == "input":
            made.append(f"{{{{ escape_special_characters({piece.text}) }}}}")
        elif piece.kind == "tag":
            made.append(piece.text)
        else:
            text = _JINJA.sub(lambda match: f"{{{{ '{match.group()}' }}}}", piece.text)
            if text.endswith("{") and index + 1 < len(pieces):
                text = text[:-1] + "{{ '{' }}"
            made.append(text)
    return "".join(made)
