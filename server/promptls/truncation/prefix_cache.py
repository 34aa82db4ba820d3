"""Prefix caches of providers, which reuse the beginning of an earlier prompt.

The figures are published by the providers, as of 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from promptls.truncation.turns import Piece, SharedTokens


class PrefixCache(NamedTuple):
    """The rules of one provider's cache."""

    name: str
    least: int
    """The minimum length of a shared beginning that is cached, in tokens."""
    block: int
    """The granularity of the cache: it stores multiples of this many tokens."""
    words: str
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
    provider = (model or "").partition(":")[0]
    return CACHES.get(provider, CACHES[DEFAULT_CACHE])


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
