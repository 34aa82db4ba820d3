"""The prompts of growing chats, rendered for the truncation lab. Runs in the worker's process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from promptls.rendering.chat_pieces import ChatPieces
from promptls.rendering.functions_file import load_functions
from promptls.rendering.job import RenderJob
from promptls.rendering.lab_request import LabChat, LabRequest
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.stand_in import stand_in
from promptls.systems.prompt_poet.environment import CompiledTemplates
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart
from promptls.systems.prompt_poet.render import RenderOptions, render
from promptls.truncation.growing import (
    growing_inputs,
    grown,
    lengthened,
    made_up,
    messages_a_turn,
    turn_sizes,
)
from promptls.truncation.lab import Findings, Question, explore
from promptls.truncation.prefix_cache import CACHES
from promptls.truncation.report import LabJson
from promptls.truncation.turns import Chat, may_go

LEAST_TURNS: Final = 12
"""How many turns a chat has at least, where nobody says how many."""
MOST_TURNS: Final = 120
"""How many turns it is given at most, so that it grows well over its limit."""
TIMES_LIMIT: Final = 3
"""How many times its limit it is to come to."""

Tell = Callable[[str, int, int], None]
"""Hears what is being done, how much of it is done, and of how much."""


class NoChatError(Exception):
    """The prompt has no chat that grows; the message says what to do."""


class _Growth(NamedTuple):
    """The input that grows: its keys, and the names of all that could."""

    keys: tuple[str, ...]
    names: tuple[str, ...]


def explore_turns(request: LabRequest, tell: Tell) -> LabJson | RenderFailure:
    """What the truncation lab finds for the chats of `request`, or why there is nothing to find."""
    job = request.job
    functions: Mapping[str, Callable[..., Any]] = {}
    if job.functions is not None:
        loaded = load_functions(job.functions, job.unsaved)
        if isinstance(loaded, RenderFailure):
            return loaded
        functions = loaded
    renderer = _Renderer(job, {**{name: stand_in(name) for name in job.stand_ins}, **functions})
    try:
        growth = _growth(request, renderer)
        chats = [_grow(each, growth, request, renderer, tell) for each in request.chats]
    except PromptPoetError as error:
        return RenderFailure(error.kind, error.message, error.path or job.path, error.line)
    except NoChatError as error:
        return RenderFailure("truncation", str(error), job.path)
    question = Question(_limit(job), job.truncation_step, request.limits, request.steps)
    cache = CACHES[request.cache]
    shared = [pieces.shared_tokens for _, pieces in chats]
    found = explore([chat for chat, _ in chats], question, cache, shared, partial(tell, "steps"))
    return _as_json(request, growth, found)


class _Renderer:
    """Renders one template with other data each time; it compiles once."""

    def __init__(self, job: RenderJob, functions: Mapping[str, Any]) -> None:
        self._job = job
        self._functions = functions
        self._unsaved = {**job.unsaved, job.path: job.text}
        self._compiled = CompiledTemplates()

    def parts(self, data: Mapping[str, Any]) -> tuple[PromptPart, ...]:
        """The prompt's parts; raises PromptPoetError."""
        return render(
            self._job.path,
            {**self._functions, **data},
            unsaved=self._unsaved,
            options=RenderOptions(token_limit=self._job.token_limit),
            compiled=self._compiled,
        ).parts


def _growth(request: LabRequest, renderer: _Renderer) -> _Growth:
    """The input that grows: the one that is asked for, else the first that adds parts which may be cut."""
    first = request.chats[0]
    inputs = growing_inputs(first.data)
    names = tuple(each.name for each in inputs)
    if request.keys:
        if request.keys not in {each.keys for each in inputs}:
            known = f"the lists in the data are {_listed(names, 'and')}" if names else "there is no list"
            raise NoChatError(f"`{'.'.join(request.keys)}` is no input with a list of messages: {known}.")
        return _Growth(request.keys, names)
    if not inputs:
        raise NoChatError(
            "No input of this prompt is a list of messages, so no chat can grow: print the messages in a "
            "loop, one part each with a `truncation_priority`, and give a sample that has some."
        )
    before = _removable(renderer.parts(first.data))
    for each in inputs:
        longer = grown(first.data, each.keys, lengthened(each.messages, 2 * len(each.messages) + 1))
        if _removable(renderer.parts(longer)) > before:
            return _Growth(each.keys, names)
    raise NoChatError(
        f"No part with a `truncation_priority` is added when {_listed(names, 'or')} grows: "
        "give the part of each message a `truncation_priority` of 1 or more."
    )


def _listed(names: Sequence[str], word: str) -> str:
    return f" {word} ".join(f"`{name}`" for name in names)


def _removable(parts: Sequence[PromptPart]) -> int:
    return sum(may_go(part.truncation_priority) for part in parts)


def _grow(
    chat: LabChat, growth: _Growth, request: LabRequest, renderer: _Renderer, tell: Tell
) -> tuple[Chat, ChatPieces]:
    """The chat's prompts, turn by turn."""
    found = next((each for each in growing_inputs(chat.data) if each.keys == growth.keys), None)
    messages = found.messages if found else ("",)
    pieces = ChatPieces(request.job.encoding)
    each = 2 if chat.is_made_up else messages_a_turn(messages)

    def turn(count: int) -> tuple[int, ...]:
        shown = made_up(messages, count) if chat.is_made_up else lengthened(messages, count)
        return pieces.turn(renderer.parts(grown(chat.data, growth.keys, shown)))

    given = 0 if chat.is_made_up else len(turn_sizes(len(messages), each))
    first = (len(messages) - 1) % each + 1
    wanted = request.turns or max(given, _turns_to_show(turn, pieces, first, each, _limit(request.job)))
    turns = []
    for number in range(wanted):
        turns.append(turn(first + number * each))
        tell(chat.name, number + 1, wanted)
    return Chat(chat.name, chat.source, max(0, wanted - given), pieces.pieces, tuple(turns)), pieces


def _turns_to_show(
    turn: Callable[[int], tuple[int, ...]], pieces: ChatPieces, first: int, each: int, limit: int | None
) -> int:
    """How many turns bring the chat to a multiple of its limit."""
    if limit is None:
        return LEAST_TURNS * 2
    few, more = (pieces.tokens(turn(first + number * each)) for number in (0, LEAST_TURNS))
    a_turn = max(1.0, (more - few) / LEAST_TURNS)
    return min(MOST_TURNS, max(LEAST_TURNS, math.ceil((TIMES_LIMIT * limit - few) / a_turn)))


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
        "cache": {"name": cache.name, "least": cache.least, "block": cache.block, "words": cache.words},
        "chats": found.chats,
        "limits": found.limits,
        "steps": found.steps,
        "cells": found.cells,
        "best": found.best,
        "advice": found.advice,
        "unstable": found.unstable,
    }
