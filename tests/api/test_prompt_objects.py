"""`promptls.Prompt`: what it accepts, what it renders to, and where it is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import promptls
from oracle import recorded
from promptls import Prompt
from promptls.dialects.ragas.prompt_object import format_prompt, read_prompt_object
from promptls.text.errors import UserError

FIELDS: dict[str, Any] = {
    "name": "triage",
    "instruction": "Sort the ticket.",
    "examples": [{"ticket": "It broke", "label": {"kind": "bug"}}],
    "input_keys": ["ticket"],
    "output_key": "label",
}


@pytest.mark.parametrize("case", recorded.parameters("ragas"))
def test_everything_about_a_prompt_object_is_as_in_ragas(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(ValidationError):
            Prompt(ragas_version=case["release"], **case["prompt"])
        return
    prompt = Prompt(ragas_version=case["release"], **case["prompt"])
    assert list(prompt.model_dump().items()) == list(expected["fields"].items())
    assert repr(prompt) == expected["repr"]
    assert prompt.to_string() == expected["to_string"]
    for index, example in enumerate(expected["examples"]):
        if "error" in example:
            with pytest.raises(ValueError, match="out of range"):
                prompt.get_example_str(index)
        else:
            assert prompt.get_example_str(index) == example["value"]
    if "error" in expected["format"]:
        with pytest.raises(ValueError, match=r"The data has|cannot be filled in"):
            prompt.format(**case["inputs"])
    else:
        assert prompt.format(**case["inputs"]).to_string() == expected["format"]["value"]
    if "error" in expected["save"]:
        with pytest.raises(UserError, match="cannot be saved"):
            prompt.save(tmp_path)
        return
    prompt.save(tmp_path)
    assert (tmp_path / expected["save"]["path"]).read_text("utf-8") == expected["save"]["content"]
    assert Prompt._load(prompt.language, prompt.name, tmp_path) == prompt


def test_the_snippets_of_the_documentation_run_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGAS_CACHE_HOME", str(tmp_path))
    qa_prompt = Prompt(
        name="question_generation",
        instruction="Generate a question for the given answer",
        examples=[
            {
                "answer": "The last Olympics was held in Tokyo, Japan.",
                "context": "The last Olympics was held in Tokyo, Japan. It is held every 4 years",
                "output": {"question": "Where was the last Olympics held?"},
            },
        ],
        input_keys=["answer", "context"],
        output_key="output",
        output_type="JSON",
    )
    value = qa_prompt.format(answer="This is an answer", context="This is a context")
    assert repr(value) == (
        "PromptValue(prompt_str='Generate a question for the given answer\\n\\nanswer: \"The last Olympics "
        'was held in Tokyo, Japan."\\ncontext: "The last Olympics was held in Tokyo, Japan. It is held every '
        '4 years"\\noutput: {"question": "Where was the last Olympics held?"}\\n\\nanswer: This is an answer'
        "\\ncontext: This is a context\\noutput: \\n')"
    )
    qa_prompt.save()
    assert (tmp_path / "english" / "question_generation.json").is_file()
    from promptls import RAGAS_CACHE_HOME

    loaded = Prompt._load(name="question_generation", language="english", cache_dir=RAGAS_CACHE_HOME)
    assert loaded == qa_prompt


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"RAGAS_CACHE_HOME": "/a/b", "XDG_CACHE_HOME": "/c"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/ragas"),
        ({"HOME": "/home/ann"}, "/home/ann/.cache/ragas"),
        ({"HOME": "/home/ann", "RAGAS_CACHE_HOME": "~/mine"}, "/home/ann/mine"),
    ],
)
def test_the_cache_folder_follows_the_environment(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAGAS_CACHE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert folder == promptls.RAGAS_CACHE_HOME


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instruction": ""}, "`instruction` cannot be empty"),
        ({"input_keys": None}, "input_keys\n.*this must be a list"),
        ({"output_key": ""}, "`output_key` cannot be empty"),
        ({"examples": [{"ticket": "a"}]}, "Example 1 has no `label`"),
        ({"examples": [{"ticket": "a", "label": "no JSON"}]}, "in example 1 is not valid JSON"),
        ({"ragas_version": "0.1.21", "output_type": "JSON"}, "`output_type` is `JSON`"),
    ],
)
def test_errors_are_reported_as_a_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Prompt(**{**FIELDS, **change})


def test_a_release_without_prompt_objects_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Ragas 0\.4\.3 has no prompt objects"):
        Prompt(**FIELDS, ragas_version="0.4.3")


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("0.1.0", 'Sort.\n\na: "x"\nb: {{}}\n\na: {a}\nb: \n'),
        ("0.1.3", 'Sort.\nOutput in only valid JSON format.\n\na: "x"\nb: {{}}\n\na: {a}\nb: \n'),
        (
            "0.1.7",
            'Sort.\n\nAs {{}}.\n\nExamples:\n\na: "x"\nb: ```{{}}```\n\nYour actual task:\n\na: {a}\nb: \n',
        ),
    ],
)
def test_releases_render_differently(release: str, text: str) -> None:
    prompt = Prompt(
        ragas_version=release,
        name="p",
        instruction="Sort.",
        output_format_instruction="As {}.",
        examples=[{"a": "x", "b": {}}],
        input_keys=["a"],
        output_key="b",
    )
    assert prompt.to_string() == text
    assert prompt.generate_examples() in text


def test_loading_a_file_that_is_no_prompt_fails_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "english").mkdir()
    (tmp_path / "english" / "broken.json").write_text("[1")
    (tmp_path / "english" / "list.json").write_text(json.dumps([1]))
    for name, said in [("missing", "cannot be loaded"), ("broken", "not JSON"), ("list", "no prompt object")]:
        with pytest.raises(UserError, match=said) as caught:
            Prompt._load("english", name, tmp_path)
        assert caught.value.place is not None
        assert str(caught.value.place.path).endswith(f"{name}.json")


def test_a_prompt_is_written_out_with_the_options_of_pydantic() -> None:
    prompt = Prompt(**FIELDS)
    assert prompt.model_dump(include={"name", "output_type"}) == {"name": "triage", "output_type": "json"}
    assert "language" not in prompt.model_dump(exclude_defaults=True)
    assert dict(prompt) == prompt.model_dump()
    written = prompt.json(exclude={"examples"}, indent=1)
    assert written == json.dumps(prompt.model_dump(exclude={"examples"}), indent=1)


def test_a_prompt_with_its_own_text_is_formatted_from_it() -> None:
    class Louder(Prompt):
        def to_string(self) -> str:
            return super().to_string().replace("Sort", "SORT {ticket}:")

    assert Louder(**FIELDS).format(ticket="Now").to_string().startswith("SORT Now: the ticket.")


def test_a_formatted_prompt_is_a_message_with_the_names_of_langchain() -> None:
    (message,) = Prompt(**FIELDS).format(ticket="Now").to_messages()
    assert (message.type, message.content) == ("human", message["content"])
    assert json.loads(json.dumps(message)) == {"role": "user", "content": message.content}


def test_no_input_can_be_called_as_the_prompt_itself() -> None:
    mapping = {"instruction": "Do it.", "input_keys": ["self"], "output_key": "out"}
    with pytest.raises(ValueError, match="Rename it"):
        format_prompt(read_prompt_object(mapping), {"self": "x"})


@pytest.mark.parametrize("key", ["name", "language", "output_type"])
def test_a_key_of_a_file_without_a_value_is_refused_as_ragas_does(key: str) -> None:
    mapping = {"instruction": "Do it.", "input_keys": ["a"], "output_key": "out", key: None}
    with pytest.raises(ValueError, match=f"`{key}` has no value"):
        read_prompt_object(mapping)


def test_half_of_a_character_in_an_example_cannot_be_written() -> None:
    prompt = Prompt(**{**FIELDS, "examples": [{"ticket": "\ud83d", "label": {"kind": "bug"}}]})
    for text in (prompt.to_string, prompt.generate_examples, lambda: prompt.get_example_str(0)):
        with pytest.raises(ValueError, match="a lone surrogate"):
            text()
