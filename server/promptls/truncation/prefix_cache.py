"""The prompts of a growing chat, turn by turn, and the prefix caches that reuse their beginning.

The figures are published by the providers, as of 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias


class Piece(NamedTuple):
    """One part of a prompt: parts with the same role and text are the same piece in every turn."""

    name: str
    role: str
    tokens: int
    priority: Any
    """The part's `truncation_priority`."""


SharedTokens: TypeAlias = Callable[[int, int], int]
"""A function that returns the number of leading tokens that two pieces, by index, have in common."""


@dataclass(frozen=True, slots=True)
class Chat:
    """The prompts of one chat. A turn is a sequence of piece indices, in the prompt's order."""

    name: str
    """The origin of the chat: `row 3`, or the sample's name."""
    source: str
    """The file of the origin, as shown to users."""
    generated: int
    """The number of turns at the end that were generated because the data has no more messages."""
    pieces: tuple[Piece, ...]
    turns: tuple[tuple[int, ...], ...]

    def tokens(self, turn: Sequence[int]) -> int:
        """Return the number of tokens of a prompt with these pieces."""
        return sum(self.pieces[index].tokens for index in turn)


def may_go(priority: Any) -> bool:
    """Return whether truncation may remove a part with this `truncation_priority`."""
    return isinstance(priority, int | float) and priority > 0


class PrefixCache(NamedTuple):
    """The rules of one provider's cache."""

    name: str
    least: int
    """The minimum length of a shared beginning that is cached, in tokens."""
    block: int
    """The granularity of the cache: it stores multiples of this many tokens."""
    description: str
    """The rules as part of a sentence."""

    def readable(self, shared: int) -> int:
        """Return how many of the first `shared` tokens, which are equal, are read from the cache."""
        return shared - shared % self.block if shared >= self.least else 0


CACHES: Final = {
    cache.name: cache
    for cache in (
        PrefixCache("exact", 0, 1, "every token of the shared beginning"),
        PrefixCache("openai", 1024, 128, "from 1,024 tokens on, in steps of 128"),
        PrefixCache("anthropic", 1024, 1, "from 1,024 tokens on"),
        PrefixCache("google", 4096, 1, "from 4,096 tokens on"),
        PrefixCache("deepseek", 64, 64, "in blocks of 64 tokens"),
        PrefixCache("vllm", 16, 16, "in blocks of 16 tokens"),
    )
}
"""The caches by the names that users select; `exact` is a cache without restrictions."""

DEFAULT_CACHE: Final = "exact"


def cache_of(model: str | None) -> PrefixCache:
    """Return the cache of the provider in `provider:model`, or `exact` by default."""
    return CACHES.get((model or "").partition(":")[0], CACHES[DEFAULT_CACHE])


def shared_prefix(
    pieces: Sequence[Piece], before: Sequence[int], now: Sequence[int], shared_tokens: SharedTokens
) -> int:
    """Return the number of leading tokens that two prompts have in common, counted part by part."""
    shared = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            is_same_role = pieces[old].role == pieces[new].role
            return shared + (shared_tokens(old, new) if is_same_role else 0)
        shared += pieces[new].tokens
    return shared
