"""The truncation lab's result: its shape as JSON, which the command line prints and the panel draws.

All counts are tokens; all shares are between 0 and 1; lists named by turns hold one item for each
turn of the chat, in order. Every text is a user's or a template's: whoever shows it escapes it.
"""

from __future__ import annotations

from typing import TypedDict


class PieceJson(TypedDict):
    """One part of one of the chat's prompts; the same part in another turn is the same piece."""

    name: str
    role: str
    tokens: int
    priority: float | None
    """`truncation_priority`; null where it is no number."""


class ChatJson(TypedDict):
    """A chat that was simulated."""

    name: str
    """What it comes from: `row 3`, or the sample's name."""
    source: str
    """Where that is: the dataset's file, `the examples`, …"""
    generated: int
    """How many of its turns, the last ones, were made up because the data has no more."""
    pieces: list[PieceJson]
    turns: list[list[int]]
    """The prompt of each turn before truncation: indices into `pieces`, in order."""
    tokens: list[int]
    """The tokens of each turn's prompt before truncation."""
    cached: list[int]
    """How many of them would be read from the cache if nothing were ever removed."""


class TurnsJson(TypedDict):
    """The turns of the first chat under one limit and step."""

    tokens: list[int]
    """Tokens that the model gets."""
    cached: list[int]
    """How many of them are read from the cache; 0 in the first turn."""
    lost: list[int]
    """Tokens that were removed."""
    removed: list[list[int]]
    """The removed parts of each turn, as runs: the first and the last place, the first and the last, …

    A place is an index, from 0, into the chat's `turns` of that turn.
    """
    failed: list[int]
    """The turns, from 0, that cannot be truncated: Prompt Poet raises an error for them."""


class CellJson(TypedDict):
    """One limit with one step, over all chats."""

    limit: int
    step: int
    cacheRate: float
    """The share of the tokens, from each chat's second turn on, that is read from the cache."""
    keptRate: float
    """The share of what fits under the limit that is kept."""
    lost: int
    """Tokens removed, all turns together."""
    needless: int
    """How many of them would have fitted: the price of a large step."""
    breaks: int
    """Turns in which other parts are removed than in the turn before: the cache starts again there."""
    score: float
    """`cacheRate` + `keptRate`: the step with the highest is the best one."""
    failures: list[str]
    """Why some turns cannot be truncated, each reason once; empty as a rule."""
    turns: TurnsJson


class BestJson(TypedDict):
    """The step that is best under a limit."""

    limit: int
    step: int | None
    """Null where no step is better than another: nothing is removed, or nothing can be."""
    reason: str
    """Why, in one or two sentences for people."""


class CacheJson(TypedDict):
    """The rules of the prefix cache that was simulated."""

    name: str
    """`exact`, `openai`, `anthropic`, `google`, `deepseek` or `vllm`."""
    least: int
    """Tokens that a shared beginning must have to be kept at all."""
    block: int
    """Tokens are kept in multiples of so many."""
    words: str


class UnstableJson(TypedDict):
    """Where the prompts of the first chat differ ahead of what is cut, so that no step can help."""

    part: str
    """The first part that differs between two turns."""
    tokens: int
    """Tokens ahead of it, which are all that a cache can read."""


class LabJson(TypedDict):
    """The whole result."""

    path: str
    encoding: str
    approximate: bool
    """Whether the counts are those of the nearest encoding, because the model's own is not public."""
    input: str
    """The input that grows, turn by turn."""
    inputs: list[str]
    """The inputs that could grow instead."""
    limit: int | None
    """The present token limit, of the header or the settings."""
    step: int | None
    """The present truncation step."""
    cache: CacheJson
    chats: list[ChatJson]
    """The chats, the one whose turns the cells hold first; the others without `pieces` and `turns`."""
    limits: list[int]
    """The limits that were tried, the smallest first."""
    steps: list[int]
    """All steps that were tried under any limit, the smallest first."""
    cells: list[CellJson]
    """For each limit all of its steps, the smallest first."""
    best: list[BestJson]
    """For each limit the best step."""
    advice: str
    """The best step under the present limit, or under the one that serves best, with the reason."""
    unstable: UnstableJson | None
