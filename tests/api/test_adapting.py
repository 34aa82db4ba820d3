"""`Prompt.adapt`: a model translates examples, which are stored where Ragas stores them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptls import Prompt
from promptls.text.errors import UsageError, UserError

FIELDS: dict[str, Any] = {
    "name": "triage",
    "instruction": "Sort the ticket.",
    "examples": [{"ticket": "It broke", "label": {"kind": "bug", "parts": ["the door", 2]}}],
    "input_keys": ["ticket"],
    "output_key": "label",
}
WORDS = {"It broke": "Es ist kaputt", "bug": "Fehler", "the door": "die Tür"}
GERMAN = [{"ticket": "Es ist kaputt", "label": {"kind": "Fehler", "parts": ["die Tür", 2]}}]


def german(request: str) -> str:
    _, _, text = request.partition("\n\n")
    for word, translation in WORDS.items():
        text = text.replace(word, translation)
    return text


class OfRagas:
    """A model with the interface of Ragas."""

    def generate_text(self, prompt: Any) -> Any:
        return SimpleNamespace(generations=[[SimpleNamespace(text=german(prompt.to_string()))]])


class OfPromptls:
    """A model with the interface of promptls."""

    max_at_once = 1

    async def complete(self, messages: Any, **_: Any) -> Any:
        return SimpleNamespace(text=german("\n\n" + messages[-1]["content"]))


@pytest.mark.parametrize("llm", [german, OfRagas(), OfPromptls()])
def test_a_model_translates_the_texts_of_the_examples_and_nothing_else(llm: Any, tmp_path: Path) -> None:
    prompt = Prompt(**FIELDS)
    assert prompt.adapt("german", llm, tmp_path) is prompt
    assert (prompt.language, prompt.examples, prompt.instruction) == ("german", GERMAN, "Sort the ticket.")
    assert prompt.adapt("german", None) is prompt


@pytest.mark.parametrize(
    ("release", "is_saved"), [("0.1.0", False), ("0.1.12", False), ("0.1.13", True), ("0.1.21", True)]
)
def test_what_was_adapted_is_kept_by_the_releases_that_keep_it(
    release: str, tmp_path: Path, *, is_saved: bool
) -> None:
    prompt = Prompt(ragas_version=release, **FIELDS)
    prompt.adapt("german", german, tmp_path)
    assert (tmp_path / "german/triage.json").exists() is is_saved
    if not is_saved:
        prompt.save(tmp_path)
    other = Prompt(ragas_version=release, **FIELDS)
    assert other.adapt("german", None, tmp_path) == prompt
    assert (other.language == "german") is is_saved


def test_the_model_is_named_as_everywhere(tmp_path: Path) -> None:
    prompt = Prompt(**FIELDS)
    assert prompt.adapt("dutch", "echo", tmp_path).examples == FIELDS["examples"]
    with pytest.raises(UsageError, match="there is no model `ecko`"):
        prompt.adapt("german", "ecko", tmp_path)
    with pytest.raises(UsageError, match="`llm` is int"):
        prompt.adapt("german", 5, tmp_path)


async def test_an_event_loop_may_run_already(tmp_path: Path) -> None:
    assert Prompt(**FIELDS).adapt("dutch", "echo", tmp_path).language == "dutch"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "is empty"),
        ("Nein.", "there is no JSON"),
        ('{"art": "Fehler", "parts": ["die Tür", 2]}', "the keys at its top are no longer `kind`, `parts`"),
        ('{"kind": "Fehler", "parts": ["die Tür"]}', "the list at `parts` no longer has 2 items"),
        ('{"kind": 5, "parts": ["die Tür", 2]}', "the value at `kind` is no longer text"),
    ],
)
def test_answers_that_cannot_be_used_leave_the_prompt_as_it_was(
    answer: str, why: str, tmp_path: Path
) -> None:
    requests: list[str] = []

    def llm(request: str) -> str:
        requests.append(request)
        return answer

    prompt = Prompt(**FIELDS)
    with pytest.raises(UserError, match=why):
        prompt.adapt("german", llm, tmp_path)
    assert (prompt.language, prompt.examples) == ("english", FIELDS["examples"])
    assert len(requests) >= 3


def test_an_output_that_is_a_text_with_json_stays_one(tmp_path: Path) -> None:
    example = {"ticket": "It broke", "label": '{"kind": "bug"}'}
    prompt = Prompt(**{**FIELDS, "examples": [example]})
    prompt.adapt("german", lambda request: f"Gern:\n```json\n{german(request)}\n```", tmp_path)
    assert json.loads(prompt.examples[0]["label"]) == {"kind": "Fehler"}
