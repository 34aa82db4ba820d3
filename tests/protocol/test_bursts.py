from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.protocol.bursts import Pace, gathered
from promptls.protocol.convert import span_of_json
from promptls.protocol.typed_together import typed_together
from promptls.syntax.source import Source
from promptls.text.lines import Unit

TEXT = '- name: a\r\n  content: "Hello {{ name }}"\n- name: ö\n  content: last'
LETTERS = st.lists(st.sampled_from([*"ab {}%\"'\nö🙂\r", "\r\n"]), max_size=3).map("".join)


def change(line: int, first: int, last: int, text: str) -> dict[str, Any]:
    place = {"start": {"line": line, "character": first}, "end": {"line": line, "character": last}}
    return {"range": place, "text": text}


def message(uri: str, version: int, *changes: dict[str, Any]) -> dict[str, Any]:
    params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
    return {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}


def one_by_one(source: Source, changes: list[dict[str, Any]], unit: Unit) -> Source:
    for each in changes:
        source = source.edited(span_of_json(source, each["range"], unit), each["text"])
    return source


@st.composite
def typing(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Changes near one place, and now and then one elsewhere or past an end."""
    line, column = draw(st.integers(0, 5)), draw(st.integers(0, 30))
    changes = []
    reach = draw(st.sampled_from([1, 1, 3]))
    for _ in range(draw(st.integers(1, 12))):
        first = max(0, column + draw(st.integers(-2, 2)))
        last = max(0, first + draw(st.sampled_from([0, 0, 0, 1, 2, -1])))
        text = draw(LETTERS)
        below = draw(st.sampled_from([0, 0, 0, 1]))
        made = change(line + draw(st.sampled_from([0] * (9 // reach) + [1, -1] * reach)), first, last, text)
        made["range"]["end"]["line"] += below
        changes.append(made)
        column = first + len(text)
    return changes


@given(
    st.sampled_from([TEXT, TEXT.replace("\r", ""), TEXT.replace("\n", "\r")]), typing(), st.sampled_from(Unit)
)
def test_changes_taken_together_leave_the_text_that_they_leave_one_by_one(
    text: str, changes: list[dict[str, Any]], unit: Unit
) -> None:
    source = Source.of(text)
    typed = typed_together(source, changes, unit)
    if typed is not None:
        together = source.edited(typed.span, typed.text)
        assert together.text == one_by_one(source, changes[: typed.changes], unit).text


def test_a_word_that_is_typed_and_mended_is_one_edit() -> None:
    source = Source.of(TEXT)
    typed = typed_together(
        source,
        [change(3, 15, 15, "w"), change(3, 16, 16, "o"), change(3, 16, 17, ""), change(3, 14, 16, "rd")],
        Unit.UTF16,
    )
    assert typed is not None
    assert typed.changes == 4
    assert source.slice(typed.span) == "t"
    assert typed.text == "rd"


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ([change(1, 11, 11, "\n"), change(2, 0, 0, "x"), change(0, 8, 9, "b")], 3),
        ([change(0, 9, 1, ""), change(1, 0, 0, "x")], 0),
        ([change(0, 9, 9, "x"), change(9, 0, 0, "y")], 1),
        ([change(0, 9, 9, "x"), {"text": "all of it"}], 1),
        ([{"text": "all of it"}, change(0, 9, 9, "x")], 0),
    ],
)
def test_changes_are_taken_together_as_far_as_they_stay_in_a_few_lines(
    changes: list[dict[str, Any]], taken: int
) -> None:
    typed = typed_together(Source.of(TEXT), changes, Unit.UTF16)
    assert (typed.changes if typed else 0) == taken


def test_what_is_typed_and_deleted_again_leaves_nothing_to_edit() -> None:
    typed = typed_together(Source.of(TEXT), [change(0, 9, 9, "\nx"), change(1, 0, 1, "")], Unit.UTF16)
    assert typed is not None
    assert (len(typed.text), typed.changes) == (1, 2)
    typed = typed_together(Source.of(TEXT), [change(0, 9, 9, "x"), change(0, 9, 10, "")], Unit.UTF16)
    assert typed is not None
    assert (typed.span.is_empty(), typed.text, typed.changes) == (True, "", 2)


CHANGE, PULL, CANCEL = (
    {"method": method} for method in ("textDocument/didChange", "textDocument/diagnostic", "$/cancelRequest")
)


@pytest.mark.parametrize(
    ("pieces", "goes_on"),
    [
        ([[CHANGE]], False),
        ([[CHANGE, PULL]], False),
        ([[CHANGE, CHANGE]], True),
        ([[CHANGE], [CHANGE]], True),
        ([[CHANGE, CHANGE, PULL]], False),
        ([[CHANGE, PULL, CHANGE, CANCEL, PULL]], True),
        ([[CHANGE, CHANGE], [PULL]], False),
        ([[CHANGE, CHANGE], []], False),
    ],
)
def test_a_burst_goes_on_until_somebody_asks_for_something(
    pieces: list[list[dict[str, Any]]], goes_on: bool
) -> None:
    pace = Pace()
    assert [pace.goes_on(piece) for piece in pieces][-1] is goes_on


@pytest.mark.parametrize(
    "other",
    [
        message("file:///b", 2, change(0, 1, 1, "x")),
        message("file:///a", 2, {"text": "all of it"}),
        message("file:///a", 2, {"range": {"start": {}, "end": {}}, "text": "x"}),
        {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}},
        {"jsonrpc": "2.0", "method": "textDocument/didChange"},
    ],
)
def test_only_changes_of_one_document_that_follow_one_another_are_gathered(other: dict[str, Any]) -> None:
    one, two, three = (message("file:///a", number, change(0, number, number, "x")) for number in (1, 2, 3))
    both = message("file:///a", 2, change(0, 1, 1, "x"), change(0, 2, 2, "x"))
    assert list(gathered([one, two, other, three])) == [both, other, three]
