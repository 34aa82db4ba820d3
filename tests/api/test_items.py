"""Reading a rendered text in chunks gives the same result as reading it at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptls.api import template as items
from promptls.api.template import load_items
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from support.example_counts import examples

PIECES = (
    "- name: a\n  content: one\n",
    "- name: b\n  content: |\n    two\n    - three\n\n",
    "- name: c\n  content: |+\n    kept\n\n\n",
    "- name: d\n  content: >-\n    folded\n    more\n",
    "- name: e\n  content: 'quoted\n  - over lines'\n",
    "- name: f\n  content: 'never closed\n",
    "- name: f\n  content: 'never\n- closed'\n",
    "- name: g\n  content: [1, 2\n- 3]\n",
    "- name: g\n  content: {a: 1\n",
    "- 1]\n",
    "- end'\n",
    "- name: h\n  content: &anchor x\n",
    "- name: i\n  content: *anchor\n",
    "- &anchor name: j\n",
    "- {name: k, content: l}\n",
    "- - m\n  - n\n",
    "- text\n",
    "- \n",
    "-\n",
    "-\t1\n",
    "-o\n",
    "- name: p\n  content:\n- q\n",
    "- name: r\u2028- s\n",
    "- name: t\r- u\r\n",
    "- name: '\u2028- v'\n",
    "- name: w\n  tokens: 2024-02-31\n",
    "- name: x\n  tokens: 2024-02-21\n",
    "- ? y\n  : z\n",
    "- 'key'\n  more\n",
    "- plain\n  goes on\n",
    "- plain\ngoes on\n",
    "- R&D &amp; more\n",
    "- !!set {a}\n",
    "- !tag a\n",
    "- a # comment\n# comment\n",
    "- a: |\n",
    "- a: |2\n      deep\n",
    '- a: "\\\n',
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "# comment\n",
    "\n",
    "   \n",
    "\t\n",
    "name: a\n",
    "\ufeff",
    "\x07",
    "'",
    "[",
    "]",
    " ",
    "- ",
    "- a",
    "\ud800",
)


def outcome(text: str, load: Any) -> Any:
    try:
        return repr(load(text))
    except PromptPoetError as error:
        return error.message, error.rendered_line, error.rendered_column, error.excerpt


@examples(400)
@given(st.lists(st.sampled_from(PIECES), max_size=6))
@example(["- name: f\n  content: 'never\n", "- name: r\u2028- s\n"])
def test_pieces_read_alone_are_the_items_of_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)

    # The second time, what could be kept is there.
    assert [outcome(text, load_items) for _ in range(2)] == [outcome(text, document.load)] * 2


@examples(150)
@given(st.text("-- \n\n:ab'\"[]{}|>&*#?,!.", max_size=40))
def test_any_text_is_read_as_a_whole_would_be(text: str) -> None:
    assert outcome("- a: b\n" + text, load_items) == outcome("- a: b\n" + text, document.load)


def test_a_piece_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "- name: only here\n  content: 1\n", "- name: only there\n  content: 2\n"
    load_items(first)
    read: list[str] = []
    monkeypatch.setattr(items.document, "load", lambda text: (read.append(text), [{"name": 1}])[1])

    load_items(first + second)

    assert read == [second]


def test_a_value_that_can_be_changed_belongs_to_one_reading() -> None:
    text = "- name: a\n  content: [1]\n"

    load_items(text + text)[0]["content"].append(2)
    first, second = load_items(text + text)
    first["content"].append(2)

    assert second == {"name": "a", "content": [1]}
