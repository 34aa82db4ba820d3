"""Simulates a growing chat: its data at each turn, and what a limit and a step keep, remove and cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final, NamedTuple

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT, truncate
from promptls.truncation.prefix_cache import Chat, PrefixCache, SharedTokens, shared_prefix


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One turn's prompt after truncation."""

    kept: tuple[int, ...]
    """The indices of the parts that the model receives."""
    tokens: int
    """The number of tokens in these parts."""
    cached: int
    """The number of tokens read from the cache; 0 in the first turn."""
    lost: int
    """The number of tokens in the removed parts."""
    excess: int
    """The number of tokens over the limit before truncation."""
    failure: str | None = None
    """The reason why Prompt Poet fails to truncate this turn; the prompt is complete then."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """All turns of a chat under one limit and step."""

    turns: tuple[TurnResult, ...]
    breaks: int
    """The number of turns in which parts were removed that the previous turn had sent.

    In such a turn, the cache starts over.
    """

    @property
    def later(self) -> tuple[TurnResult, ...]:
        """The turns after the first, which can read from the cache."""
        return self.turns[1:]


def simulate(
    chat: Chat, limit: int, step: int | None, cache: PrefixCache, shared_tokens: SharedTokens
) -> Simulation:
    """Simulate Prompt Poet's truncation of each turn; a `limit` of -1 disables truncation."""
    turns: list[TurnResult] = []
    before: tuple[int, ...] = ()
    breaks = 0
    for pieces in chat.turns:
        retained, removed, failure = _truncate(chat, pieces, limit, step)
        now = tuple(pieces[place] for place in retained)
        tokens, total = chat.tokens(now), chat.tokens(pieces)
        shared = shared_prefix(chat.pieces, before, now, shared_tokens)
        excess = 0 if failure or limit == NO_LIMIT else max(0, total - limit)
        turns.append(TurnResult(retained, tokens, cache.readable(shared), total - tokens, excess, failure))
        breaks += not set(before).isdisjoint(pieces[place] for place in removed)
        before = now
    return Simulation(tuple(turns), breaks)


def _truncate(
    chat: Chat, pieces: Sequence[int], limit: int, step: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], str | None]:
    """Return the indices of the retained and the removed parts, and the reason of a failure.

    If Prompt Poet fails, all parts are retained.
    """
    priorities = [chat.pieces[index].priority for index in pieces]
    tokens = [chat.pieces[index].tokens for index in pieces]
    try:
        result = truncate(priorities, tokens, limit, step)
    except PromptPoetError as error:
        return tuple(range(len(pieces))), (), error.message
    return result.kept, result.removed, None


CHAT_NAMES: Final = ("messages", "history", "turns", "chat", "conversation", "dialogue", "dialog")
"""Words that indicate a chat in the name of an input."""
AUTHOR_KEYS: Final = ("role", "author", "sender", "speaker", "from", "name", "type")
TEXT_KEYS: Final = ("content", "text", "message", "body", "value", "msg", "utterance")

MADE_UP: Final = (
    "Hello, I need some help with my order.",
    "Of course. Could you tell me the number of the order, and what is wrong with it?",
    (
        "It is 48213. Two of the five parts are missing, and the box was open when it came. I would "
        "like to have the missing parts before the weekend, because the shelf is a present."
    ),
    (
        "I am sorry to hear that. I have looked at the order: the parts 3 and 4 were packed in a "
        "second box, which left our house a day later. It should be with you tomorrow before noon. "
        "If it is not, tell me, and I send both parts again by express, at no cost to you."
    ),
    "Good. Can I follow it?",
    "Yes. The link is in the mail that I have just sent to you. It is updated every hour.",
    (
        "The link says that the address is wrong. I moved last month, and thought that I had changed "
        "it everywhere. What do I do now? Somebody else lives there, and I have no number for them."
    ),
    (
        "Do not worry, I can change the address as long as the parcel has not left the depot, and it "
        "has not. Please write the new address with street, number, post code and city. I then "
        "confirm it here, and you get another mail with a new link. It will take one more day."
    ),
)
"""Messages of typical lengths, alternating between user and assistant."""


class GrowingInput(NamedTuple):
    """An input that contains a list of messages: the path to the list, and the list."""

    keys: tuple[str, ...]
    messages: Sequence[Any]

    @property
    def name(self) -> str:
        """The name as written in templates: `messages`, or `chat.messages`."""
        return ".".join(self.keys)


def growing_inputs(data: Mapping[str, Any]) -> tuple[GrowingInput, ...]:
    """Return the lists in the data that may be a chat, the most likely first."""
    found = [each for each in _lists(data, ()) if each.messages]
    return tuple(sorted(found, key=_unlikeliness))


def _lists(data: Mapping[Any, Any], keys: tuple[str, ...]) -> Iterator[GrowingInput]:
    for key, value in data.items():
        if not isinstance(key, str):
            continue
        if isinstance(value, list | tuple) and all(isinstance(item, str | dict) for item in value):
            yield GrowingInput((*keys, key), value)
        elif isinstance(value, dict) and not keys:
            yield from _lists(value, (key,))


def _unlikeliness(growing: GrowingInput) -> tuple[bool, bool, int]:
    name = growing.keys[-1].lower()
    is_named = any(word in name for word in CHAT_NAMES)
    return not is_named, author_key(growing.messages) is None, -len(growing.messages)


def author_key(messages: Sequence[Any]) -> str | None:
    """Return the key of the author, if all messages have it."""
    for key in AUTHOR_KEYS:
        if all(isinstance(message, dict) and key in message for message in messages):
            return key
    return None


def messages_a_turn(messages: Sequence[Any]) -> int:
    """Return how many messages a turn adds: two if there are several authors, for a reply and a question."""
    key = author_key(messages)
    if key is None:
        return 1
    return 2 if len({str(message[key]) for message in messages}) > 1 else 1


def grown(data: Mapping[str, Any], keys: Sequence[str], messages: Sequence[Any]) -> dict[str, Any]:
    """Return the data with other messages at the path `keys`."""
    first, *rest = keys
    below = data.get(first)
    value = grown(below if isinstance(below, dict) else {}, rest, messages) if rest else list(messages)
    return {**data, first: value}


def first_messages(messages: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return the first `count` messages.

    If there are fewer, they are repeated. Each repetition starts with its own number, so that no two
    beginnings are the same.
    """
    if count <= len(messages):
        return tuple(messages[:count])
    more = enumerate(islice(cycle(messages), count - len(messages)), start=len(messages) + 1)
    return (*messages, *(_mark(message, repetition) for repetition, message in more))


def made_up(messages: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return `count` placeholder messages of typical lengths in the format of `messages`."""
    found: list[Any] = []
    for index in range(count):
        text = f"[{index + 1}] {MADE_UP[index % len(MADE_UP)]}"
        pattern = messages[index % len(messages)]
        if isinstance(pattern, str):
            found.append(text)
            continue
        key, author = _text_key(pattern), author_key(messages)
        message = {**pattern, key: text} if key is not None else dict(pattern)
        if author is not None and author != key:
            message[author] = ("user", "assistant")[index % 2]
        found.append(message)
    return tuple(found)


def turn_sizes(count: int, each: int) -> tuple[int, ...]:
    """Return the number of messages at each turn, for `count` messages in total and `each` added by a turn.

    The last turn contains all messages.
    """
    return tuple(range((count - 1) % each + 1, count + 1, each))


def _mark(message: Any, repetition: int) -> Any:
    if isinstance(message, str):
        return f"[{repetition}] {message}"
    key = _text_key(message)
    return message if key is None else {**message, key: f"[{repetition}] {message[key]}"}


def _text_key(message: Mapping[Any, Any]) -> Any | None:
    """Return the key of a message's text: a common key, else that of its longest text."""
    texts = {key: value for key, value in message.items() if isinstance(value, str)}
    for key in TEXT_KEYS:
        if key in texts:
            return key
    return max(texts, key=lambda key: len(texts[key]), default=None)
