from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from promptls.ide.inlay_hints import inlay_hints
from promptls.rendering.samples import Sample
from promptls.text.positions import Span
from support.fixture import MAIN, opened
from support.rendered import rendered

PATH = str(Path("/project") / MAIN)


def hints(fixture: str, *, rendered_text: str | None = None) -> list[str]:
    """Return every hint after its line; `rendered_text` is an older text that was rendered."""
    snapshot, files = opened(fixture)
    latest = rendered(opened(rendered_text)[0] if rendered_text else snapshot, PATH)
    text = files[MAIN].text
    return [
        f"{text[: hint.offset].splitlines()[-1].strip()} <{hint.label}>"
        for hint in inlay_hints(snapshot, PATH, Span(0, len(text)), latest)
    ]


def test_each_part_has_its_tokens_behind_its_name() -> None:
    text = "- name: a\n  content: one two\n- role: user\n  name: 'b c'\n  content: |\n    {{ 7 }}\n"

    assert hints(text) == ["- name: a <2 tokens>", "name: 'b c' <1 token>"]


def test_a_loop_shows_how_often_and_from_least_to_most() -> None:
    loop = "{% for i in [1, 2, 3] %}\n- name: a\n  content: {{ 'x ' * i }}\n{% endfor %}\n"
    text = loop + "- name: b\n  content: y\n"

    assert hints(text) == ["- name: a <3 parts of 1-3 tokens>", "- name: b <1 token>"]


def test_a_computed_name_is_told_by_what_is_written_out_of_it() -> None:
    text = """\
{% for i in [1, 2] %}
- name: turn {{ i }}
  content: {{ 'x ' * i }}
- name: "{% if i == 1 %}first{% else %}next{% endif %} answer"
  content: y
{% endfor %}
- name: turns
  content: z
"""

    assert hints(text) == [
        "- name: turn {{ i }} <2 parts of 1-2 tokens>",
        '- name: "{% if i == 1 %}first{% else %}next{% endif %} answer" <2 parts of 1 token>',
        "- name: turns <1 token>",
    ]


def test_what_cannot_be_matched_shows_the_tokens_of_its_template() -> None:
    text = (
        "{% for i in [1, 2] %}\n- name: a{{ i }}\n  content: one {{ i }}\n"
        "- name: a{{ i }}b\n  content: one\n{% endfor %}\n"
    )

    assert hints(text) == ["- name: a{{ i }} <~4 tokens>", "- name: a{{ i }}b <~1 token>"]


def test_parts_of_includes_are_not_mixed_up_with_those_of_the_file() -> None:
    text = """\
-- main.yml.j2 --
{% include "tail.yml.j2" %}
- name: b
  content: one two three
- name: a
  content: four
-- tail.yml.j2 --
- name: a
  content: five six
"""

    assert hints(text) == ["- name: b <3 tokens>", "- name: a <~1 token>"]


def test_an_include_shows_the_tokens_of_the_parts_that_it_brings_in() -> None:
    text = """\
-- main.yml.j2 --
{% include "rules.yml.j2" %}
{% include "both.yml.j2" %}
- name: a
  content: four {% include "words.j2" %}
{% include "mixed.yml.j2" %}
{% if false %}{% include "never.yml.j2" %}{% endif %}
-- rules.yml.j2 --
- name: rules
  content: five six
-- both.yml.j2 --
- name: first
  content: one
{% include "second.yml.j2" %}
-- second.yml.j2 --
- name: second
  content: one two
-- words.j2 --
seven
-- mixed.yml.j2 --
- name: {{ computed }}
  content: three more words
-- never.yml.j2 --
- name: never
  content: left out
"""

    assert hints(text) == [
        "- name: a <2 tokens>",
        '{% include "rules.yml.j2" %} <2 tokens>',
        '{% include "both.yml.j2" %} <2 parts, 3 tokens>',
        '{% include "mixed.yml.j2" %} <3 tokens>',
        '{% if false %}{% include "never.yml.j2" %} <0 tokens>',
    ]


def test_a_part_that_was_inserted_since_does_not_shift_the_others() -> None:
    before = "- name: a\n  content: one\n- name: b\n  content: one two\n"
    now = "- name: new\n  content: three four five\n" + before

    assert hints(now, rendered_text=before) == ["- name: a <1 token>", "- name: b <2 tokens>"]


def test_cut_parts_say_so() -> None:
    text = """\
{#---
token_limit: 2
truncation_step: 1
---#}
- name: a
  content: one two
  truncation_priority: 1
- name: b
  content: three
"""

    assert hints(text) == ["- name: a <2 tokens, cut>", "- name: b <1 token>"]


def test_a_prompt_object_has_its_tokens_behind_the_instruction() -> None:
    text = "instruction: Do it.\ninput_keys: [a]\noutput_key: b\noutput_type: str\n"

    assert len(hints(text)) == 1


def test_a_broken_file_has_the_hints_of_its_template() -> None:
    assert hints("- name: a\n  content: one {{ two\n") == ["- name: a <~3 tokens>"]


def test_an_include_with_computed_names_shows_its_parts() -> None:
    text = """\
-- main.yml.j2 --
{% include "examples.yml.j2" %}
- name: question
  content: one
-- examples.yml.j2 --
{% for i in [1, 2] %}
- name: example {{ i }}
  content: one two
- name: answer {{ i }}
  content: one
{% endfor %}
"""

    assert hints(text) == [
        "- name: question <1 token>",
        '{% include "examples.yml.j2" %} <4 parts, 6 tokens>',
    ]


def test_an_include_whose_parts_may_be_of_another_file_has_no_hint() -> None:
    text = """\
-- main.yml.j2 --
{% include "a.yml.j2" %}
{% include "b.yml.j2" %}
-- a.yml.j2 --
- name: "{{ x }} a"
  content: one two
-- b.yml.j2 --
- name: "{{ x }}"
  content: one
"""

    assert hints(text) == []


def broken_hints(before: str, now: str) -> list[str]:
    """Return the hints of a text that fails to render, after a text that rendered."""
    earlier, later = opened(before)[0], opened(now)[0]
    text = later.open_files[PATH].template.source.text
    latest = rendered(later, PATH).after(rendered(earlier, PATH))
    return [
        f"{text[: hint.offset].splitlines()[-1].strip()} <{hint.label}>"
        for hint in inlay_hints(later, PATH, Span(0, len(text)), latest)
    ]


def test_unchanged_parts_and_includes_keep_their_counts_while_the_file_is_broken() -> None:
    text = """\
-- main.yml.j2 --
- name: a
  content: {{ 'x ' * 5 }}
- name: b
  content: one
{% include 'tail.yml.j2' %}
-- tail.yml.j2 --
- name: tail
  content: two three four
"""

    assert broken_hints(text, text.replace("one", "one {{ ")) == [
        "- name: a <5 tokens>",
        "- name: b <~2 tokens>",
        "{% include 'tail.yml.j2' %} <3 tokens>",
    ]


def test_a_changed_include_has_no_count_while_the_file_is_broken() -> None:
    text = """\
-- main.yml.j2 --
{% include 'tail.yml.j2' %}
- name: b
  content: one
-- tail.yml.j2 --
- name: tail
  content: two three four
"""

    hints_now = broken_hints(text, text.replace("one", "one {{ ").replace("two three", "two"))

    assert hints_now == ["- name: b <~2 tokens>"]


def test_counts_are_not_those_of_another_sample() -> None:
    before, now = opened("- name: a\n  content: {{ 1 }}\n")[0], opened("- name: a\n  content: {{ 1 \n")[0]
    latest = rendered(now, PATH)

    assert latest.after(rendered(before, PATH)).last is not None
    assert replace(latest, sample=Sample("other", "", {})).after(rendered(before, PATH)).last is None
