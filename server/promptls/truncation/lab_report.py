"""The truncation lab's result: its JSON format, which the command line prints and the panel displays.

All counts are tokens; all shares are between 0 and 1; lists named by turns contain one item for each turn of
the chat, in order. All texts come from users or templates and must be escaped for display.
"""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict


class PieceJson(TypedDict):
    """One part of one of the chat's prompts; the same part in different turns is one piece."""

    name: str
    role: str
    tokens: int
    priority: float | None
    """`truncation_priority`; null if it is not a number."""


class ChatJson(TypedDict):
    """A chat that was simulated."""

    name: str
    """The origin of the chat: `row 3`, or the sample's name."""
    source: str
    """The file of the origin: the dataset's file, `the examples`, …"""
    generated: int
    """The number of turns at the end that were generated because the data has no more messages."""
    pieces: list[PieceJson]
    turns: list[list[int]]
    """The prompt of each turn before truncation: indices into `pieces`, in order."""
    tokens: list[int]
    """The tokens of each turn's prompt before truncation."""
    cached: list[int]
    """The number of tokens that would be read from the cache without truncation."""


class TurnsJson(TypedDict):
    """The turns of the first chat under one limit and step."""

    tokens: list[int]
    """The number of tokens that the model receives."""
    cached: list[int]
    """The number of these tokens that are read from the cache; 0 in the first turn."""
    lost: list[int]
    """The number of removed tokens."""
    removed: list[list[int]]
    """The removed parts of each turn, as runs: the first and the last index, the first and the last, …

    An index is a 0-based position in the chat's `turns` of that turn.
    """
    failed: list[int]
    """The 0-based turns that cannot be truncated, because Prompt Poet raises an error."""


class CellJson(TypedDict):
    """One limit with one step, over all chats."""

    limit: int
    step: int
    cacheRate: float
    """The share of tokens read from the cache, from each chat's second turn on."""
    keptRate: float
    """The share of the tokens that fit under the limit that is not removed."""
    lost: int
    """The number of tokens removed over all turns."""
    needless: int
    """The number of removed tokens that would have fitted: the cost of a large step."""
    breaks: int
    """The number of turns in which different parts are removed than in the previous turn.

    In such a turn, the cache starts over.
    """
    score: float
    """`cacheRate` + `keptRate`: the step with the highest is the best one."""
    failures: list[str]
    """The distinct reasons why turns cannot be truncated; usually empty."""
    turns: TurnsJson


class BestJson(TypedDict):
    """The best step under a limit."""

    limit: int
    step: int | None
    """Null if nothing is removed, or if some turns cannot be truncated."""
    reason: str
    """The reason, in one or two sentences."""


class CacheJson(TypedDict):
    """The rules of the prefix cache that was simulated."""

    name: str
    """`exact`, `openai`, `anthropic`, `google`, `deepseek` or `vllm`."""
    least: int
    """The minimum length of a shared beginning that is cached, in tokens."""
    block: int
    """The granularity of the cache: it stores multiples of this many tokens."""
    description: str


class UnstableJson(TypedDict):
    """The place where the prompts of the first chat differ before any truncation, so that no step helps."""

    part: str
    """The first part that differs between two turns."""
    tokens: int
    """The number of tokens before it, which is the most that a cache can read."""


class MeasuredCacheJson(TypedDict):
    """What the provider reported in the last run of the prompt's experiment that used a prefix cache."""

    run: str
    models: list[str]
    cacheRate: float
    """The share of all input tokens that were read from the cache."""


class LabJson(TypedDict):
    """The complete result."""

    path: str
    encoding: str
    approximate: bool
    """Whether the counts are those of the nearest encoding, because the model's own is not public."""
    input: str
    """The input that grows in each turn."""
    inputs: list[str]
    """The inputs that could grow instead."""
    limit: int | None
    """The current token limit, from the header or the settings."""
    step: int | None
    """The current truncation step."""
    cache: CacheJson
    chats: list[ChatJson]
    """The chats, starting with the one whose turns are in the cells; the others lack `pieces` and `turns`."""
    limits: list[int]
    """The limits that were tried, in ascending order."""
    steps: list[int]
    """All steps that were tried under any limit, in ascending order."""
    cells: list[CellJson]
    """For each limit all of its steps, in ascending order."""
    best: list[BestJson]
    """For each limit the best step."""
    advice: str
    """The best step under the current limit, or under the limit with the best score, with the reason."""
    unstable: UnstableJson | None
    measured: NotRequired[MeasuredCacheJson | None]
