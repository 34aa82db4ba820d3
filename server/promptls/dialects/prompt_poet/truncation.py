"""Truncation of parts to a token limit. Source: the cache-aware truncation of Prompt Poet 0.0.52.

Removal happens in multiples of a step, so that a growing conversation has the same prefix for several
turns, and can use the model's prefix cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from promptls.dialects.prompt_poet.failures import PromptPoetError

NO_LIMIT = -1
"""The token limit that means no limit."""


@dataclass(frozen=True, slots=True)
class Block:
    """Adjacent parts of one truncation priority, from index `left` to `right`, inclusive."""

    left: int
    right: int
    priority: Any
    tokens: int


@dataclass(frozen=True, slots=True)
class Truncation:
    """The result of truncation: indices of remaining and removed parts, and tokens before and after."""

    kept: tuple[int, ...]
    removed: tuple[int, ...]
    tokens_before: int
    tokens_after: int


def truncate(
    priorities: Sequence[Any],
    tokens: Sequence[int],
    token_limit: int,
    truncation_step: int | None,
    presets: Sequence[Any] = (),
) -> Truncation:
    """Truncate parts, from each part's truncation priority and tokens, in document order.

    `presets` are the `tokens` that the template itself sets for its parts; None for a part without them.

    Raises PromptPoetError of kind `truncation` for a limit or step below 1, a priority that is not a number,
    preset tokens of a remaining part that are not a list, and if more than `token_limit` tokens remain after
    removing every removable part.
    """
    everything = tuple(range(len(tokens)))
    total = sum(tokens)
    if token_limit == NO_LIMIT:
        return Truncation(everything, (), total, total)
    if token_limit < 1:
        raise PromptPoetError("truncation", f"The token limit is {token_limit}: it must be 1 or more.")
    if truncation_step is None:
        raise PromptPoetError(
            "truncation", "There is a token limit but no truncation step: give both.", cause="TypeError"
        )
    if truncation_step < 1:
        raise PromptPoetError(
            "truncation", f"The truncation step is {truncation_step}: it must be 1 or more."
        )
    blocks = truncation_blocks(priorities, tokens)
    to_remove = math.ceil(max(0, total - token_limit) / truncation_step) * truncation_step
    removed = _removed(blocks, tokens, to_remove)
    after = total - sum(tokens[index] for index in removed)
    for index, preset in enumerate(presets):
        # Prompt Poet concatenates the tokens of all remaining parts, which works only for lists.
        if index not in removed and preset and not isinstance(preset, list):
            raise PromptPoetError(
                "truncation",
                f"Part {index + 1} presets `tokens` that are no list but a value of type "
                f"{type(preset).__name__}, so what is left cannot be joined: write a list of ids.",
                cause="TypeError",
            )
    if after > token_limit:
        why = "no part has a positive `truncation_priority`" if not blocks else "nothing more may be removed"
        raise PromptPoetError(
            "truncation",
            f"The prompt cannot be brought under its limit of {token_limit} tokens: {after} are left, and "
            f"{why}. Raise the limit, or give more parts a `truncation_priority`.",
            cause="TruncationError",
        )
    kept = tuple(index for index in everything if index not in removed)
    return Truncation(kept, tuple(sorted(removed)), total, after)


def truncation_blocks(priorities: Sequence[Any], tokens: Sequence[int]) -> list[Block]:
    """Return the removable blocks in the order of removal: by highest priority, then document order.

    Raises PromptPoetError of kind `truncation` for a priority that is not a number.
    """
    blocks: list[Block] = []
    for priority, run in groupby(range(len(tokens)), key=lambda index: priorities[index]):
        indices = list(run)
        blocks.append(Block(indices[0], indices[-1], priority, sum(tokens[index] for index in indices)))
    try:
        return sorted(
            (block for block in blocks if block.priority > 0), key=lambda block: block.priority, reverse=True
        )
    except TypeError as error:
        raise PromptPoetError(
            "truncation",
            f"A `truncation_priority` is no number ({error}): write it without quotes.",
            cause="TypeError",
        ) from error


def _removed(blocks: Sequence[Block], tokens: Sequence[int], to_remove: int) -> set[int]:
    """Return the indices to remove until `to_remove` tokens are reached or all blocks are removed."""
    removed: set[int] = set()
    if not to_remove:
        return removed
    gone = 0
    for block in blocks:
        if gone + block.tokens <= to_remove:
            removed.update(range(block.left, block.right + 1))
            gone += block.tokens
        else:
            for index in range(block.left, block.right + 1):
                removed.add(index)
                gone += tokens[index]
                if gone >= to_remove:
                    break
        if gone >= to_remove:
            break
    return removed
