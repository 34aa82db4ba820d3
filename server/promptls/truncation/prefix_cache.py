"""What a provider reads again of a prompt whose beginning it has read before.

The figures are those that the providers publish, as of 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from promptls.truncation.turns import Piece, SharedTokens


class PrefixCache(NamedTuple):
    """The rules of one provider's cache."""

    name: str
    least: int
    """Tokens that a shared beginning must have to be kept at all."""
    block: int
    """Tokens are kept in multiples of so many."""
    words: str
    """The rules as a sentence says them."""

    def readable(self, shared: int) -> int:
        """Return how many of `shared` tokens, equal from the first one, are read from the cache."""
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
"""The caches by the names that users choose them by; `exact` is a cache without any such rule."""

DEFAULT_CACHE: Final = "exact"


def cache_of(model: str | None) -> PrefixCache:
    """Return the cache of the provider in `provider:model`, else the one without any rule."""
    provider = (model or "").partition(":")[0]
    return CACHES.get(provider, CACHES[DEFAULT_CACHE])


def shared_prefix(
    pieces: Sequence[Piece], before: Sequence[int], now: Sequence[int], shared_tokens: SharedTokens
) -> int:
    """Return how many tokens two prompts have in common from their first one, counted part by part."""
    shared = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            is_same_role = pieces[old].role == pieces[new].role
            return shared + (shared_tokens(old, new) if is_same_role else 0)
        shared += pieces[new].tokens
    return shared
