"""One Jinja tag of a text, and the same tag after an edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from promptls.text.span import NOWHERE, Span

RAW_BEGIN: Final = re.compile(r"\{%[-+]?\s*raw\s*(-?)%\}")
_SIMPLE: Final = re.compile(r"[\w \t.,|=<>:~*/]+")
"""An inside of a tag in which nothing could open or close anything."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One Jinja tag: `{{ … }}`, `{% … %}`, `{# … #}`, or a whole raw block.

    `span` counts from the start of the scanned text; `inner_start` and `inner_end` bound
    what stands between the delimiters, counted from the start of the tag. `body` is the
    literal text of a raw block, counted like `span`. `unclosed` names the delimiter that is
    missing.
    """

    kind: str
    span: Span
    text: str
    inner_start: int
    inner_end: int
    trims_before: bool = False
    trims_after: bool = False
    unclosed: str = ""
    body: Span = NOWHERE

    def is_same(self, other: Tag) -> bool:
        """Whether the other tag is the same one, wherever the two stand."""
        return self.text == other.text and self.kind == other.kind and self.unclosed == other.unclosed

    def shifted(self, by: int) -> Tag:
        """The same tag in a text that begins `by` characters earlier."""
        start, end = self.span
        return Tag(
            self.kind,
            Span(start + by, end + by),
            self.text,
            self.inner_start,
            self.inner_end,
            self.trims_before,
            self.trims_after,
            self.unclosed,
            self.body if self.body is NOWHERE else self.body.shifted(by),
        )


def retyped(tag: Tag, edited: Span, text: str) -> Tag | None:
    """The tag with a span of its inside replaced by `text`; None where it may end elsewhere then.

    Where no quote, bracket or sign stands inside, the closing delimiter is the first one, as before.
    The span counts as `tag.span` does.
    """
    begin, end = edited.start - tag.span.start, edited.end - tag.span.start
    if tag.unclosed or tag.kind not in {"output", "statement"}:
        return None
    if begin < tag.inner_start or end > tag.inner_end:
        return None
    whole = tag.text[:begin] + text + tag.text[end:]
    inner_end = tag.inner_end + len(whole) - len(tag.text)
    if not _SIMPLE.fullmatch(tag.text, tag.inner_start, tag.inner_end):
        return None
    if not _SIMPLE.fullmatch(whole, tag.inner_start, inner_end) or RAW_BEGIN.match(whole):
        return None
    return Tag(
        tag.kind,
        Span(tag.span.start, tag.span.start + len(whole)),
        whole,
        tag.inner_start,
        inner_end,
        tag.trims_before,
        tag.trims_after,
    )
