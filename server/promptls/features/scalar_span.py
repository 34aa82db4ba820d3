"""Where the text of a YAML scalar stands, without its quotes."""

from __future__ import annotations

from promptls.meaning.template import Template
from promptls.text.span import Span


def bare_span(template: Template, span: Span, text: str) -> Span | None:
    """The span of a scalar without its quotes; None where it does not stand on one line."""
    written = template.source.slice(span)
    if written == text:
        return span
    if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"" and "\n" not in written:
        return Span(span.start + 1, span.end - 1)
    return None
