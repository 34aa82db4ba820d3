"""The class of Prompt Poet: every recorded case of the real one, and what only this class does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptls
from oracle import recorded
from promptls import tokens
from promptls.prompt_poet import LocalFSTemplateLoader, Prompt, TruncationError
from support.prompt_poet_cases import data_of, plain, written

WORDS: dict[str, Callable[[str], Any]] = {"words": str.split, "chars": list}
README = """
- name: system instructions
  role: system
  content: |
    Your name is {{ character_name }} and you are meant to be helpful and never harmful to humans.

- name: user query
  role: user
  content: |
   {{ username}}: {{ user_query }}

- name: response
  role: user
  content: |
    {{ character_name }}:
"""
DATA = {"character_name": "Cat", "username": "Jeff", "user_query": "Can you help me?"}


def _is_alone(case: Any) -> bool:
    """Return whether the template of a case includes no files."""
    return bool(case["template"]) and not case.get("files") and "include" not in case["template"]


CASES = recorded.parameters("prompt_poet")


@pytest.mark.parametrize("case", CASES)
def test_the_class_does_what_the_real_one_does(case: dict[str, Any], tmp_path: Path) -> None:
    _check_case(case, {"template_path": written(case, tmp_path)})


@pytest.mark.parametrize("case", [each for each in CASES if _is_alone(each.values[0])])
def test_a_raw_template_does_what_a_file_does(case: dict[str, Any]) -> None:
    _check_case(case, {"raw_template": case["template"]})


def _check_case(case: dict[str, Any], options: dict[str, Any]) -> None:
    given, expected = case.get("options", {}), case["expected"]
    encode = given.get("encode", "words")
    options |= {"encode_func": WORDS[encode]} if encode in WORDS else {"tiktoken_encoding_name": encode}
    if "space_marker" in given:
        options["space_marker"] = given["space_marker"]
    if "error" in expected:
        with pytest.raises(promptls.PromptError) as caught:
            Prompt(data_of(case), **options)
        assert caught.value.kind == expected["stage"]
        return
    prompt = Prompt(data_of(case), **options)
    assert plain(prompt.messages) == [
        {"role": part["role"], "content": part["content"]} for part in expected["parts"]
    ]
    if "tokenize_error" in expected:
        with pytest.raises(promptls.PromptError):
            prompt.tokenize()
        return
    prompt.tokenize()
    assert [len(part.tokens) for part in prompt.parts] == expected["token_counts"]
    assert len(prompt.tokens) == sum(expected["token_counts"])
    if "section_token_counts" in expected:
        assert prompt.get_section_token_counts() == expected["section_token_counts"]
    if "truncation" in expected:
        _check_truncation(prompt, given, expected["truncation"])


def _check_truncation(prompt: Prompt, given: dict[str, Any], expected: dict[str, Any]) -> None:
    limit, step, whole = given["token_limit"], given.get("truncation_step"), prompt.parts
    if "error" in expected:
        with pytest.raises(TruncationError):
            prompt.truncate(limit, step)
        return
    prompt.truncate(limit, step)
    assert prompt.parts == [whole[index] for index in expected["kept"]]
    assert len(prompt.tokens) == expected["tokens_after"]
    assert prompt.pretruncation_parts == whole


def test_the_first_example_of_the_readme_runs() -> None:
    prompt = promptls.Prompt(raw_template=README, template_data=DATA)
    assert [message["role"] for message in prompt.messages] == ["system", "user", "user"]
    assert prompt.messages[1]["content"] == "Jeff: Can you help me?"


def test_sections_of_the_readme_make_the_same_prompt(tmp_path: Path) -> None:
    case = next(each.values[0] for each in CASES if each.id == "readme-all")
    pieces = [piece for piece in case["template"].split("\n\n") if piece.strip()]
    (tmp_path / "sections").mkdir()
    for number, piece in enumerate(pieces):
        (tmp_path / "sections" / f"{number}.yml.j2").write_text(f"{piece}\n")
    names = [f"sections/{number}.yml.j2" for number in range(len(pieces))]
    entry = tmp_path / "chat.yml.j2"
    entry.write_text("\n\n".join(f"{{% include '{name}' %}}" for name in names))
    whole = Prompt(data_of(case), raw_template=case["template"])
    assert Prompt(data_of(case), entry).parts == whole.parts


def test_tokens_are_the_ids_of_the_parts() -> None:
    encoding = tokens.load("o200k_base")
    prompt = Prompt(raw_template=README, template_data=DATA)
    with pytest.raises(promptls.PromptError, match="call `tokenize"):
        _ = prompt.tokens
    prompt.tokenize()
    assert prompt.tokens == [token for part in prompt.parts for token in encoding.encode(part.content)]


@pytest.mark.parametrize("encode", [str.split, tokens.load("cl100k_base")])
def test_tokens_are_made_by_a_function_or_by_an_encoding(encode: Any) -> None:
    prompt = Prompt(raw_template="- name: a\n  content: one two three", template_data={}, encode_func=encode)
    prompt.tokenize()
    assert len(prompt.tokens) == 3


def test_a_special_token_cannot_be_tokenized() -> None:
    prompt = Prompt(raw_template="- name: a\n  content: <|endoftext|>", template_data={})
    with pytest.raises(promptls.PromptError, match="special token"):
        prompt.tokenize()


def test_lreplace_at_replaces_the_beginning_of_a_part() -> None:
    prompt = Prompt(raw_template=README, template_data=DATA, encode_func=str.split)
    prompt.tokenize()
    prompt.lreplace_at("Jeff:", "Dear Jeff and Joe:", 1)
    prompt.lreplace_at("nothing", "of this", 0)
    assert prompt.parts[1].content == "Dear Jeff and Joe: Can you help me?"
    assert len(prompt.parts[1].tokens) == 8
    assert prompt.parts[0].content.startswith("Your name is Cat")
    with pytest.raises(IndexError):
        prompt.lreplace_at("a", "b", 3)


def test_a_template_comes_from_a_path_a_package_or_a_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "my_templates" / "chat"
    package.mkdir(parents=True)
    (tmp_path / "my_templates" / "__init__.py").touch()
    (package / "a.yml.j2").write_text("- name: a\n  content: Hi {{ who }}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path / "my_templates")
    data = {"who": "you"}
    by_path = Prompt(data, "chat/a.yml.j2")
    by_package = Prompt(data, "chat/a.yml.j2", package_name="my_templates")
    by_loader = Prompt(data, template_loader=LocalFSTemplateLoader("chat/a.yml.j2"))
    assert {by_path.string, by_package.string, by_loader.string} == {"Hi you"}
    assert (by_path.template_dir, by_path.template_name) == ("chat", "a.yml.j2")
    assert by_path.template_id == by_loader.template_id == "chat/a.yml.j2"


@pytest.mark.parametrize(
    "given",
    [{}, {"raw_template": "- a", "template_path": "b"}, {"template_path": "a", "package_name": "no.x"}],
)
def test_one_template_must_be_given(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"template|package"):
        Prompt(template_data={}, **given)


def test_a_raw_template_runs_in_the_sandbox_and_includes_nothing() -> None:
    with pytest.raises(promptls.PromptError, match="sandbox"):
        Prompt({}, raw_template="- name: {{ ''.__class__ }}", logger=logging.getLogger())
    with pytest.raises(promptls.PromptError, match="Save the template to a file"):
        Prompt({}, raw_template="{% include 'a' %}")


def test_a_loaded_template_gives_token_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.yml.j2"
    path.write_text("- name: a\n  content: one\n- name: b\n  content: two words")
    prompt = promptls.load(path).render()
    encode = tokens.load("o200k_base").encode
    assert prompt.part_token_ids == (tuple(encode("one")), tuple(encode("two words")))
    assert prompt.token_ids == (*encode("one"), *encode("two words"))


def test_a_tag_ahead_of_the_first_key_does_not_hide_an_evaluation_prompt(tmp_path: Path) -> None:
    path = tmp_path / "a.yml.j2"
    path.write_text("{% raw %}infer_cfg:\n  prompt_template: 'Q: {q}'\n{% endraw %}")
    assert isinstance(promptls.load(path), promptls.EvaluationPrompt)
