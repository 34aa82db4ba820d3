"""What a rule says of a name that is probably misspelt, and the fix for it."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.rules.rule import Edit, Finding, Fix
from promptls.text.nearest import is_close, nearest
from promptls.text.span import Span


def misspelt(span: Span, message: str, name: str, known: Iterable[str]) -> Finding:
    """A finding at `span`; where a known name is like `name`, it asks for that one and offers it.

    The fix is a preferred one where the two are very much alike.
    """
    meant = nearest(name, known)
    if meant is None:
        return Finding(span, message)
    fix = Fix(f"Change to `{meant}`", (Edit(span, meant),), preferred=is_close(name, meant))
    return Finding(span, f"{message}; did you mean `{meant}`?", (fix,))
