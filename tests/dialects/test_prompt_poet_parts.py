"""The parts that Prompt Poet makes of the rendered YAML, and its errors."""

from __future__ import annotations

from typing import Any

import pytest

from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import (
    PromptPart,
    count_part,
    count_parts,
    join_contents,
    messages,
)
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, parse_parts, template_data


def parts(text: str, **data: Any) -> tuple[PromptPart, ...]:
    return parse_parts(text, template_data(data))


def failure(text: str, **data: Any) -> PromptPoetError:
    with pytest.raises(PromptPoetError) as caught:
        parts(text, **data)
    return caught.value


def words(text: str) -> int:
    return len(text.split())


def test_content_is_stripped_and_a_marked_space_stays() -> None:
    (part,) = parts('- name: a\n  content: "  <|space|>now<|space|>\\n"')
    assert part.content == " now "


def test_a_written_line_break_becomes_a_real_one() -> None:
    (part,) = parts("- name: a\n  content: one\\ntwo")
    assert part.content == "one\ntwo"


def test_a_part_without_a_role_is_the_users() -> None:
    assert messages(parts("- name: a\n  content: hi")) == [{"role": "user", "content": "hi"}]


def test_contents_are_joined_without_separator() -> None:
    assert join_contents(parts("- {name: a, content: one}\n- {name: b, content: two}")) == "onetwo"


def test_content_that_is_no_text_stays_in_messages_and_has_no_string() -> None:
    found = parts("- name: a\n  content: [1, yes]")
    assert messages(found) == [{"role": "user", "content": [1, True]}]
    with pytest.raises(PromptPoetError, match="is a list, not text"):
        join_contents(found)


@pytest.mark.parametrize("text", ["[]", "{}", "''"])
def test_an_empty_collection_is_a_prompt_without_parts(text: str) -> None:
    assert parts(text) == ()


def test_a_prompt_without_parts_cannot_be_counted() -> None:
    with pytest.raises(PromptPoetError, match="no parts"):
        count_parts((), words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The rendered document is empty"),
        ("name: a", "is a mapping, not a list"),
        ("hello", "is a text, not a list"),
        ("- hello", "Item 1 of the list of parts is a text, not a mapping"),
        ("- {name: a, content: b}\n-", "Item 2 of the list of parts is empty"),
        ("- content: b", "Part 1 has no `name`"),
        ("- role: user", "Part 1 has no `name` and `content`"),
        ("- name: a", "The part 'a' has no `content`"),
        ("- {name: a, contnet: b}", "unknown key `contnet`: did you mean `content`"),
        ("- {name: a, content: b, 3: c}", "the key 3, not a text"),
        ("- {name: a, content: b, tokens: [1]}", "presets `tokens`"),
        ("- {name: a, sections: []}", "The part 'a' has empty `sections`"),
        ("- {name: a, sections: {b: c}}", "`sections` that are not a list"),
        ("- {name: a, content: b, sections: [{name: c, content: d}]}", "both `content` and `sections`"),
        ("- {name: a, sections: [x]}", "Section 0 of the part 'a' is not a mapping"),
        ("- {name: a, sections: [{content: x}]}", "Section 0 of the part 'a' has no `name`"),
        ("- {name: a, sections: [{name: x}]}", "Section 0 of the part 'a' has no `content`"),
        ("- {name: a, sections: [{name: x, content: 1}]}", "has content that is not text but int"),
        ("- {sections: [{name: x, content: y}]}", "Part 1 has no `name`"),
    ],
)
def test_a_wrong_part_is_refused(text: str, message: str) -> None:
    assert message in failure(text).message


def test_a_wrong_part_is_placed_in_the_rendered_text() -> None:
    found = failure("- name: a\n  content: b\n\n- name: c\n  contnet: d")
    assert found.rendered_line == 4
    assert found.excerpt is not None
    assert ">    5 |   contnet: d" in found.excerpt


def test_a_yaml_error_names_its_place_and_shows_it() -> None:
    found = failure("- name: a\n  content: one: two")
    assert (found.kind, found.rendered_line, found.rendered_column) == ("yaml", 1, 14)
    assert found.excerpt == "     1 | - name: a\n>    2 |   content: one: two"


def test_lines_end_where_yaml_ends_them() -> None:
    assert failure("a\u2028b\u0085c: \x07").rendered_line == 2


def test_a_date_that_does_not_exist_is_a_failure() -> None:
    assert failure("- {name: a, content: 2024-02-31}").kind == "yaml"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("sections: [a]", "AttributeError"),
        ("other: 1\nsections: [a]", "TypeError"),
        ("!!set {sections}", "AttributeError"),
        ("sections", "TypeError"),
        ("5", "TypeError"),
    ],
)
def test_a_document_without_list_fails_as_in_prompt_poet(text: str, cause: str) -> None:
    with pytest.raises(PromptPoetError, match="not a list") as caught:
        parts(text)
    assert caught.value.cause == cause


@pytest.mark.parametrize("opener", ["[", "- ", "{a: ", "? "])
def test_nesting_that_would_crash_the_process_is_refused(opener: str) -> None:
    with pytest.raises(PromptPoetError, match="nested more than 500 deep"):
        document.load(opener * 100_000)


def test_many_brackets_side_by_side_are_no_nesting() -> None:
    assert document.load("[]" + " # [" * 1000) == []
    assert len(document.load("- []\n" * 1000)) == 1000


def test_section_line_breaks_survive_and_the_ends_are_stripped() -> None:
    (part,) = parts(
        "- name: a\n  sections:\n  - name: s\n    content: |\n      <|space|>one\n"
        "  - name: t\n    content: |\n      two\n"
    )
    assert part.content == "one\ntwo"
    assert part.sections is not None
    assert [section.content for section in part.sections] == [" one\n", "two\n"]


def test_sections_are_counted_by_themselves() -> None:
    (part,) = parts("- {name: a, sections: [{name: s, content: hel}, {name: t, content: lo you}]}")
    counted = count_part(part, words)
    assert (counted.tokens, counted.sections) == (2, (1, 2))


def test_preset_tokens_of_a_section_fail_only_when_counted() -> None:
    (part,) = parts("- {name: a, sections: [{name: s, content: one, tokens: [7, 8]}]}")
    with pytest.raises(PromptPoetError, match="presets `tokens`"):
        count_part(part, words)
    assert count_part(part, words, allow_token_overrides=True).sections == (2,)


def test_preset_tokens_are_counted_where_they_are_allowed() -> None:
    options = RenderOptions(allow_token_overrides=True)
    (part,) = parse_parts("- {name: a, content: b, tokens: [1, 2, 3]}", {}, options)
    assert count_part(part, words).tokens == 3


def test_expected_names_must_be_in_the_data() -> None:
    text = "- {name: a, content: b, expected_template_data_keys: [who, token_limit]}"
    assert "expects `who` in the template data" in failure(text).message
    assert len(parts(text, who="me")) == 1


def test_expected_names_as_one_text_are_read_letter_by_letter() -> None:
    found = failure("- {name: a, content: b, expected_template_data_keys: who}", w=1, h=1)
    assert "expects `o`" in found.message
    assert "Write the names as a list" in found.message
