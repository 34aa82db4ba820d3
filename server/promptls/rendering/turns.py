"""The prompts of growing chats, rendered for the truncation lab. Runs in the worker's process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from promptls.dialects.prompt_poet.environment import CompiledTemplates
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import PromptPart, count_part
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, render
from promptls.rendering.functions_file import StandIn, load_functions
from promptls.rendering.job import LabChat, LabRequest, RenderJob
from promptls.rendering.outcome import RenderFailure
from promptls.text.format import in_code
from promptls.tokens import count, load
from promptls.truncation.candidates import Findings, LabQuestion, explore
from promptls.truncation.lab_report import LabJson
from promptls.truncation.prefix_cache import CACHES, Chat, Piece, may_go
from promptls.truncation.simulation import (
    first_messages,
    growing_inputs,
    grown,
    made_up,
    messages_a_turn,
    turn_sizes,
)


class ChatPieces:
    """Numbers the distinct parts of one chat's prompts, and stores their texts."""

    def __init__(self, encoding: str) -> None:
        """Count tokens in the encoding, or the encoding of the model, of this name."""
        self._encoding = encoding
        self._indices: dict[tuple[str, str, str, str], int] = {}
        self._pieces: list[Piece] = []
        self._texts: list[str] = []
        self._shared: dict[tuple[int, int], int] = {}

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces so far, by their numbers."""
        return tuple(self._pieces)

    def turn(self, parts: Iterable[PromptPart]) -> tuple[int, ...]:
        """Return the numbers of a prompt's pieces.

        Raises PromptPoetError for a part that cannot be counted.
        """
        return tuple(map(self._index_of, parts))

    def tokens(self, turn: Iterable[int]) -> int:
        """Return the token count of a prompt with these pieces."""
        return sum(self._pieces[index].tokens for index in turn)

    def _index_of(self, part: PromptPart) -> int:
        role, name = str(part.role), str(part.name)
        key = (role, name, repr(part.truncation_priority), str(part.content))
        if (known := self._indices.get(key)) is not None:
            return known
        counted = count_part(part, self._count, allow_token_overrides=True)
        self._pieces.append(Piece(name, role, counted.tokens, part.truncation_priority))
        self._texts.append(str(part.content))
        self._indices[key] = index = len(self._pieces) - 1
        return index

    @property
    def _count(self) -> partial[int]:
        return partial(count, encoding=self._encoding)

    def shared_tokens(self, first: int, second: int) -> int:
        """Return the length in tokens of the common prefix of two pieces."""
        key = (min(first, second), max(first, second))
        if key not in self._shared:
            self._shared[key] = self._common(self._texts[first], self._texts[second])
        return self._shared[key]

    def _common(self, first: str, second: str) -> int:
        encoding = load(self._encoding)
        ones, others = encoding.encode_ordinary(first), encoding.encode_ordinary(second)
        different = (
            place for place, (one, other) in enumerate(zip(ones, others, strict=False)) if one != other
        )
        return next(different, min(len(ones), len(others)))


LEAST_TURNS: Final = 12
"""The minimum number of turns of a chat, unless specified."""
MAX_TURNS: Final = 120
"""The maximum number of turns of a chat that is grown well beyond its limit."""
TIMES_LIMIT: Final = 3
"""The multiple of its limit that a chat is grown to."""

Notify = Callable[[str, int, int], None]
"""A progress callback: the current activity, the amount done, and the total."""


class NoChatError(Exception):
    """The prompt has no growing chat; the message contains the remedy."""


class _Growth(NamedTuple):
    """The input that grows: its keys, and the names of all candidates."""

    keys: tuple[str, ...]
    names: tuple[str, ...]


def explore_turns(request: LabRequest, notify: Notify) -> LabJson | RenderFailure:
    """Return the result of the truncation lab for the chats of `request`, or the reason why there is none."""
    job = request.job
    functions = load_functions(job.functions, job.unsaved)
    if isinstance(functions, RenderFailure):
        return functions
    renderer = _Renderer(job, {**{name: StandIn(name) for name in job.stand_ins}, **functions})
    try:
        growth = _growth(request, renderer)
        chats = [_grow(each, growth, request, renderer, notify) for each in request.chats]
    except PromptPoetError as error:
        return RenderFailure(error.kind, error.message, error.path or job.path, error.line)
    except NoChatError as error:
        return RenderFailure("truncation", str(error), job.path)
    question = LabQuestion(_limit(job), job.truncation_step, request.limits, request.steps)
    cache = CACHES[request.cache]
    shared = [pieces.shared_tokens for _, pieces in chats]
    found = explore([chat for chat, _ in chats], question, cache, shared, partial(notify, "steps"))
    return _as_json(request, growth, found)


class _Renderer:
    """Renders one template, compiled once, with different data."""

    def __init__(self, job: RenderJob, functions: Mapping[str, Any]) -> None:
        self._job = job
        self._functions = functions
        self._unsaved = {**job.unsaved, job.path: job.text}
        self._compiled = CompiledTemplates()

    def parts(self, data: Mapping[str, Any]) -> tuple[PromptPart, ...]:
        """Return the prompt's parts; raises PromptPoetError."""
        return render(
            self._job.path,
            {**self._functions, **data},
            unsaved=self._unsaved,
            options=RenderOptions(token_limit=self._job.token_limit),
            compiled=self._compiled,
        ).parts


def _growth(request: LabRequest, renderer: _Renderer) -> _Growth:
    """Return the input that grows: the requested one, or the first that adds parts which can be truncated."""
    first = request.chats[0]
    inputs = growing_inputs(first.data)
    names = tuple(each.name for each in inputs)
    if request.keys:
        if request.keys not in {each.keys for each in inputs}:
            known = f"the lists in the data are {in_code(names, ' and ')}" if names else "there is no list"
            raise NoChatError(f"`{'.'.join(request.keys)}` is not an input with a list of messages: {known}.")
        return _Growth(request.keys, names)
    if not inputs:
        raise NoChatError(
            "No input of this prompt is a list of messages, so no chat can grow: print the messages in a "
            "loop, one part each with a `truncation_priority`, and give a sample that has some."
        )
    before = _removable(renderer.parts(first.data))
    for each in inputs:
        longer = grown(first.data, each.keys, first_messages(each.messages, 2 * len(each.messages) + 1))
        if _removable(renderer.parts(longer)) > before:
            return _Growth(each.keys, names)
    raise NoChatError(
        f"No part with a `truncation_priority` is added when {in_code(names, ' or ')} grows: "
        "give the part of each message a `truncation_priority` of 1 or more."
    )


def _removable(parts: Sequence[PromptPart]) -> int:
    return sum(may_go(part.truncation_priority) for part in parts)


def _grow(
    chat: LabChat, growth: _Growth, request: LabRequest, renderer: _Renderer, notify: Notify
) -> tuple[Chat, ChatPieces]:
    """Return the chat's prompts, turn by turn."""
    found = next((each for each in growing_inputs(chat.data) if each.keys == growth.keys), None)
    messages = found.messages if found else ("",)
    pieces = ChatPieces(request.job.encoding)
    each = 2 if chat.is_made_up else messages_a_turn(messages)

    def turn(count: int) -> tuple[int, ...]:
        shown = made_up(messages, count) if chat.is_made_up else first_messages(messages, count)
        return pieces.turn(renderer.parts(grown(chat.data, growth.keys, shown)))

    existing = 0 if chat.is_made_up else len(turn_sizes(len(messages), each))
    first = (len(messages) - 1) % each + 1
    turn_count = request.turns or max(
        existing, _turns_to_show(turn, pieces, first, each, _limit(request.job))
    )
    turns = []
    for index in range(turn_count):
        turns.append(turn(first + index * each))
        notify(chat.name, index + 1, turn_count)
    return Chat(chat.name, chat.source, max(0, turn_count - existing), pieces.pieces, tuple(turns)), pieces


def _turns_to_show(
    turn: Callable[[int], tuple[int, ...]], pieces: ChatPieces, first: int, each: int, limit: int | None
) -> int:
    """Return the number of turns at which the chat reaches a multiple of its limit."""
    if limit is None:
        return LEAST_TURNS * 2
    few, more = (pieces.tokens(turn(first + count * each)) for count in (0, LEAST_TURNS))
    a_turn = max(1.0, (more - few) / LEAST_TURNS)
    return min(MAX_TURNS, max(LEAST_TURNS, math.ceil((TIMES_LIMIT * limit - few) / a_turn)))


def _limit(job: RenderJob) -> int | None:
    return job.token_limit if job.token_limit > 0 else None


def _as_json(request: LabRequest, growth: _Growth, found: Findings) -> LabJson:
    cache = CACHES[request.cache]
    return {
        "path": request.job.path,
        "encoding": request.job.encoding,
        "approximate": False,
        "input": ".".join(growth.keys),
        "inputs": list(growth.names),
        "limit": _limit(request.job),
        "step": request.job.truncation_step,
        "cache": {
            "name": cache.name,
            "least": cache.least,
            "block": cache.block,
            "description": cache.description,
        },
        "chats": found.chats,
        "limits": found.limits,
        "steps": found.steps,
        "cells": found.cells,
        "best": found.best,
        "advice": found.advice,
        "unstable": found.unstable,
    }
