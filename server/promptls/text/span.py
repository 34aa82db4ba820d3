"""Where something stands in a text.

An *offset* counts code points (characters of a Python string) from the start of a text;
a *span* is a half-open pair of offsets. Lines, columns and UTF-16 units exist only in
`promptls.text.lines`, and LSP positions only in the protocol package.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Span(NamedTuple):
    """The half-open stretch of a text from `start` up to, but not including, `end`."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """The same stretch in a text that begins `by` characters earlier."""
        return Span(self.start + by, self.end + by)

    def contains(self, offset: int) -> bool:
        """Whether `offset` stands in the span or right behind its last character."""
        return self.start <= offset <= self.end

    def is_empty(self) -> bool:
        """Whether the span holds no character."""
        return self.start == self.end


NOWHERE: Final = Span(0, 0)
"""The span of what stands nowhere in the text."""
