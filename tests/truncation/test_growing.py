"""Which input is a chat, and its content at each turn."""

from __future__ import annotations

from typing import Any

import pytest

from promptls.truncation.simulation import (
    first_messages,
    growing_inputs,
    grown,
    made_up,
    messages_a_turn,
    turn_sizes,
)

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ({"messages": CHAT, "user": "Ann"}, ["messages"]),
        ({"documents": [{"title": "a"}] * 9, "chat_history": CHAT}, ["chat_history", "documents"]),
        ({"labels": ["a", "b", "c"], "items": CHAT}, ["items", "labels"]),
        ({"chat": {"messages": CHAT}}, ["chat.messages"]),
        ({"messages": [], "numbers": [1, 2], "text": "a"}, []),
    ],
)
def test_lists_of_messages_are_found_the_likeliest_first(data: dict[str, Any], names: list[str]) -> None:
    assert [each.name for each in growing_inputs(data)] == names


@pytest.mark.parametrize(
    ("messages", "count"),
    [(CHAT, 2), ([{"role": "user", "content": "a"}] * 3, 1), (["a", "b"], 1), ([{"text": "a"}], 1)],
)
def test_a_turn_of_several_authors_adds_a_reply_and_a_question(messages: list[Any], count: int) -> None:
    assert messages_a_turn(messages) == count


@pytest.mark.parametrize(
    ("count", "each", "sizes"), [(5, 2, (1, 3, 5)), (4, 2, (2, 4)), (3, 1, (1, 2, 3)), (1, 2, (1,))]
)
def test_the_last_turn_contains_all_messages(count: int, each: int, sizes: tuple[int, ...]) -> None:
    assert turn_sizes(count, each) == sizes


def test_messages_that_are_repeated_begin_differently() -> None:
    found = first_messages(CHAT, 5)
    assert list(found[:2]) == CHAT
    assert [message["content"] for message in found[2:]] == ["[3] Hi", "[4] Hello", "[5] Hi"]
    assert [message["role"] for message in found[2:]] == ["user", "assistant", "user"]
    assert first_messages(["a"], 3) == ("a", "[2] a", "[3] a")


def test_made_up_messages_have_the_form_of_the_placeholders() -> None:
    first, second = made_up([{"author": "<author>", "text": "<text>"}], 2)
    assert (first["author"], second["author"]) == ("user", "assistant")
    assert first["text"].startswith("[1] ")
    assert second["text"].startswith("[2] ")


def test_other_data_stay_as_they_are() -> None:
    data = {"chat": {"messages": CHAT, "title": "t"}, "user": "Ann"}
    assert grown(data, ("chat", "messages"), CHAT[:1]) == {
        "chat": {"messages": CHAT[:1], "title": "t"},
        "user": "Ann",
    }
    assert data["chat"] == {"messages": CHAT, "title": "t"}
