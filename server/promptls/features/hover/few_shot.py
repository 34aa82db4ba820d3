"""A few-shot example in a list that a template goes over: what it was found to be worth."""

from __future__ import annotations

from promptls.features.example_worth import known_worths
from promptls.features.hover.hover import Hover, code
from promptls.workspace.snapshot import Snapshot


def hover_few_shot(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """What is known of the example at `offset`; None where nothing is."""
    found = [each for each in known_worths(snapshot, path) if each.example.span.contains(offset)]
    if not found:
        return None
    example = found[0].example
    texts = [f"example {example.number}", *worth_texts(snapshot, path, offset)]
    return Hover(example.span, "\n\n".join(texts))


def worth_texts(snapshot: Snapshot, path: str, offset: int) -> list[str]:
    """The verdicts on the example at `offset`, one for each experiment that left it out."""
    return [
        f"left out of {code(each.experiment)}{', stale' if each.stale else ''}: {each.words}"
        for each in known_worths(snapshot, path)
        if each.example.span.contains(offset)
    ]
