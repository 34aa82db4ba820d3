"""The library as a program uses it, compared with Prompt Poet."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import promptls

CHAT = """\
- name: rules
  role: system
  content: Be {{ tone }}.
{% for turn in turns %}
- name: turn
  truncation_priority: 1
  content: |
    {{ escape_special_characters(turn) }}
{% endfor %}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the files of a project, and return the path of the first."""
    changes = iter(range(1, 1000))

    def write(main: str, **others: str) -> Path:
        for name, text in {"main": main, **others}.items():
            path = tmp_path / f"{name}.yml.j2"
            path.write_text(text, "utf-8")
            # Each writing is a second later than the last, whatever the clock of the disk can tell.
            second = 1_700_000_000 + next(changes)
            os.utime(path, (second, second))
        return tmp_path / "main.yml.j2"

    return write


def words(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def test_a_prompt_has_parts_text_messages_and_counts(write: Callable[..., Path]) -> None:
    prompt = promptls.load(write(CHAT)).render(tone="calm", turns=["Hi\nyou", "Go on"])

    assert [(part.name, part.role, part.content) for part in prompt.parts] == [
        ("rules", "system", "Be calm."),
        ("turn", "user", "Hi\nyou"),
        ("turn", "user", "Go on"),
    ]
    assert prompt.string == "Be calm.Hi\nyouGo on"
    assert prompt.messages[0] == {"role": "system", "content": "Be calm."}
    assert (prompt.tokens.parts, prompt.tokens.total) == ((3, 3, 2), 8)


def test_counts_of_sections_are_shown_beside_those_of_their_part(write: Callable[..., Path]) -> None:
    text = "- name: a\n  sections:\n  - {name: x, content: one two}\n  - {name: y, content: ' three'}\n"

    counts = promptls.load(write(text), encoding=words).render().tokens

    assert (counts.parts, counts.sections) == ((2,), ((2, 1),))


def test_inputs_may_come_as_a_mapping_and_by_name(write: Callable[..., Path]) -> None:
    template = promptls.load(write("- name: a\n  content: '{{ data }}{{ tone }}'\n"))

    assert template.render({"data": 1, "tone": 2}, tone=3).string == "13"


def test_truncation_returns_a_new_prompt_and_starts_from_the_whole_one(write: Callable[..., Path]) -> None:
    template = promptls.load(write(CHAT), encoding=words, token_limit=3, truncation_step=1)
    prompt = template.render(tone="calm", turns=["a", "b", "c"])

    left = prompt.truncate()

    assert [part.content for part in left.parts] == ["Be calm.", "c"]
    assert [part.content for part in left.removed] == ["a", "b"]
    assert (left.tokens.total, prompt.tokens.total) == (3, 5)
    assert left.truncate(4).string == "Be calm.bc"
    assert left.truncate(-1).parts == prompt.parts


def test_a_repeated_part_is_counted_where_it_is_retained(write: Callable[..., Path]) -> None:
    prompt = promptls.load(write(CHAT), encoding=words).render(tone="x", turns=["a b", "a b", "c"])

    assert prompt.truncate(5, 1).tokens.parts == (2, 2, 1)


def test_texts_are_encoded_once(write: Callable[..., Path]) -> None:
    calls: list[str] = []

    def encode(text: str) -> list[int]:
        calls.append(text)
        return words(text)

    template = promptls.load(write(CHAT), encoding=encode)
    for turns in (["a"], ["a", "b"], ["a", "b", "a"]):
        _ = template.render(tone="calm", turns=turns).truncate(100, 1).tokens

    assert calls == ["Be calm.", "a", "b"]


def test_another_encoding_can_be_asked_for(write: Callable[..., Path]) -> None:
    prompt = promptls.load(write("- name: a\n  content: Zwölf Boxkämpfer jagen Viktor\n")).render()

    assert (prompt.count("gpt-4").total, prompt.tokens.total) == (12, 9)
    assert prompt.count("cl100k_base") == prompt.count("gpt-4")
    assert prompt.count(words).total == 4
    with pytest.raises(promptls.PromptError, match="Did you mean 'o200k_base'"):
        prompt.count("o200k_bas")


def test_changed_files_are_seen_and_others_are_compiled_once(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("{% include 's.yml.j2' %}", s="- name: a\n  content: one\n")
    template = promptls.load(path)
    assert template.render().string == "one"

    from jinja2 import Environment

    compiled: list[str | None] = []
    real = Environment.compile

    def compile_(self: Environment, source: Any, name: Any = None, *rest: Any, **options: Any) -> Any:
        compiled.append(name)
        return real(self, source, name, *rest, **options)

    monkeypatch.setattr(Environment, "compile", compile_)
    assert promptls.load(path).render().string == template.render().string == "one"
    assert compiled == []
    write("{% include 's.yml.j2' %}", s="- name: a\n  content: two\n")
    assert template.render().string == "two"
    assert promptls.load(path).render().string == "two"
    assert sorted(filter(None, compiled)) == ["main.yml.j2", "s.yml.j2"]


def test_what_an_imported_file_sets_is_one_renderings_own(write: Callable[..., Path]) -> None:
    template = promptls.load(
        write(
            "{% import 'm.yml.j2' as m %}- name: a\n  content: 'is {{ m.next() }}'\n",
            m="{% set n = namespace(i=0) %}{% macro next() %}{% set n.i = n.i + 1 %}{{ n.i }}{% endmacro %}",
        )
    )

    assert [template.render().string for _ in range(3)] == ["is 1"] * 3


def test_a_template_renders_in_many_threads(write: Callable[..., Path]) -> None:
    template = promptls.load(write(CHAT))

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: template.render(tone=number, turns=[]).string, range(64)))

    assert made == [f"Be {number}." for number in range(64)]


def test_the_data_stay_as_they_are(write: Callable[..., Path]) -> None:
    turns = ["a"]

    promptls.load(write("- name: a\n  content: '{{ turns.append(1) }}'\n")).render(turns=turns)

    assert turns == ["a"]


@pytest.mark.parametrize(
    ("text", "data", "kind", "place", "message"),
    [
        ("- name: a\n  content: {{ x\n", {}, "load", "main.yml.j2:2", "unexpected end of template"),
        ("{% include 'gone.j2' %}", {}, "render", "main.yml.j2:1", "There is no file `gone.j2`"),
        ("{% include 's.yml.j2' %}", {}, "render", "s.yml.j2:2", "'user' is undefined"),
        ("a\n{{ x.__class__ }}", {"x": 1}, "sandbox", "main.yml.j2:2", "sandbox of the template forbids"),
        ("\n- name: {{ x }}\n  content: {{ y }}\n", {"x": 1, "y": "a: b"}, "yaml", "main.yml.j2:3", "YAML"),
        ("\n- nme: a\n  content: b\n", {}, "parts", "main.yml.j2:2", "did you mean `name`"),
        ("\n- name: a\n  content: {{ f() }}\n", {"f": lambda: "a: b"}, "yaml", "main.yml.j2", "line 3 of it"),
        ("- a", {"token_limit": 3}, "data", "main.yml.j2", "rename this input"),
    ],
)
def test_a_failure_names_file_line_and_remedy(
    write: Callable[..., Path], text: str, data: dict[str, Any], kind: str, place: str, message: str
) -> None:
    path = write(text, s="\n{{ user.name }}")

    with pytest.raises(promptls.PromptError) as caught:
        promptls.load(path).render(data)

    failure = caught.value
    assert str(failure).startswith(f"{path.parent / place}: ")
    assert message in str(failure)
    assert failure.kind == kind
    name, _, line = place.partition(":")
    assert (failure.path, failure.line) == (str(path.parent / name), int(line) if line else None)


def test_a_function_of_the_caller_is_not_called_again_to_find_the_line(write: Callable[..., Path]) -> None:
    called: list[int] = []
    template = promptls.load(write("- name: a\n  content: {{ f() }}{{ x }}\n"))

    with pytest.raises(promptls.PromptError):
        template.render(f=lambda: called.append(1), x="a: b")

    assert called == [1]


def test_values_appear_in_the_excerpt_only(write: Callable[..., Path]) -> None:
    template = promptls.load(write("- name: a\n  content: {{ x }}\n"))

    with pytest.raises(promptls.PromptError) as caught:
        template.render(x="the customer's words: here")

    assert "customer" not in str(caught.value)
    assert "customer" in (caught.value.excerpt or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "gpt-99"}, "no model with a known encoding"),
        ({"encoding": 3}, "of type int: pass an encoding's"),
    ],
)
def test_an_unknown_encoding_is_rejected_when_loading(
    write: Callable[..., Path], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(promptls.PromptError, match=message):
        promptls.load(write(CHAT), **options)


@pytest.mark.parametrize("path", ["gone.yml.j2", ".", "a\0b"])
def test_a_file_that_is_not_there_is_one_failure(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(promptls.PromptError, match="There is no template"):
        promptls.load(path)


def test_a_prompt_stays_with_the_folder_that_it_was_loaded_from(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write("{% include 's.yml.j2' %}", s="- name: a\n  content: one\n").parent
    monkeypatch.chdir(folder)
    template = promptls.load("main.yml.j2")

    monkeypatch.chdir("/")

    assert template.render().string == "one"
    assert template.path == folder / "main.yml.j2"


def test_a_failure_comes_back_from_another_process(write: Callable[..., Path]) -> None:
    with pytest.raises(promptls.PromptError) as caught:
        promptls.load(write("{% if %}"))

    again = pickle.loads(pickle.dumps(caught.value))

    assert (str(again), again.kind, again.line) == (str(caught.value), "load", 1)


def test_importing_promptls_imports_nothing_else_of_it() -> None:
    code = "import sys, promptls; print(*(name for name in sys.modules if name.startswith('promptls.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == []


def test_every_name_that_is_offered_is_there() -> None:
    assert [name for name in promptls.__all__ if getattr(promptls, name, None) is None] == []
