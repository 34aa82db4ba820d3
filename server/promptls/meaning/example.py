"""An example that a prompt file declares, and what is known of it for as long as nobody edits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from typing_extensions import TypeVarTuple, Unpack

from promptls.meaning.object_data import holds_printed
from promptls.syntax.yaml.nodes import Entry, Mapping, key_text
from promptls.text.span import Span

Given = TypeVarTuple("Given")
Fact = TypeVar("Fact")


class Example(NamedTuple):
    """One of the examples: its number in the list, from 1, its keys with their places, and its data.

    Only those that are mappings count.
    """

    number: int
    node: Mapping
    data: dict[str, Any]

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.node.span

    @property
    def first_key(self) -> Span:
        """Where its first key stands; of one without keys, where it stands itself."""
        return self.entries[0].key.span if self.entries else self.span

    @property
    def has_printed_keys(self) -> bool:
        """Whether Jinja prints one of its keys, so that none can be said to be missing."""
        return any(key_text(entry) is None for entry in self.entries)

    def is_printed(self, key: str) -> bool:
        """Whether Jinja prints anything into the value of a key, so that its data is not the real one."""
        values = (entry.value for entry in self.entries if key_text(entry) == key)
        return any(map(holds_printed, values))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its keys with their values."""
        return self.node.entries


def kept_with_example(
    derive: Callable[[Example, Unpack[Given]], Fact],
) -> Callable[[Example, Unpack[Given]], Fact]:
    """`derive`, computed once for what is given beside an example, and kept for as long as nobody edits that.

    It is a function of the example's keys and data, and says nothing of its number and its place. Only what
    was asked last is kept: what is given may be another text with each letter typed.
    """

    def once(example: Example, *given: Unpack[Given]) -> Fact:
        core = example.node.core
        kept = core.kept
        if kept is None:
            kept = core.kept = {}
        known: Any = kept.get(derive)
        if known is None or known[0] != given:
            known = kept[derive] = (given, derive(example, *given))
        return known[1]  # type: ignore[no-any-return]  # put there above

    return once
