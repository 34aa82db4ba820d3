"""Experiments in Python, and JSON that Ragas saved, in an editor."""

from __future__ import annotations

import json

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = "- name: ticket\n  content: |\n    {{ escape_special_characters(text) }}\n"
EVALS = """
from promptls import Dataset, MetricResult, experiment, load

@experiment()
async def triage(row, prompt_file):
    return {**row, "length": MetricResult(len(load(prompt_file).format(text=row["text"])), "characters")}

def load_dataset():
    return Dataset("tickets", data=[{"id": 1, "text": "abc"}, {"id": 2, "text": "abcde"}])
"""


async def test_an_experiment_in_python_is_offered_over_its_prompts_and_run(code: Editor) -> None:
    uri = code.open("triage.yml.j2", PROMPT)
    assert await code.lenses(uri) == ["Preview"]
    evals = code.write("evals.py", EVALS)
    change = types.FileEvent(evals, types.FileChangeType.Created)
    code.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))

    async def lenses() -> list[str]:
        return await code.lenses(uri)

    await eventually(lenses, lambda found: found == ["Preview", "Run triage"])
    result = await code.command("runExperiment", uri=uri, experiment="triage")
    assert (result.rows, result.failed, result.scores.length) == (2, 0, 4.0)
    await eventually(lenses, lambda found: found == ["Preview", "Run triage", "length 4"])


async def test_json_that_ragas_saved_is_checked_and_previewed(code: Editor) -> None:
    saved = {"type": "Prompt", "format_version": "1.0", "instruction": "Is {a} {{% x", "examples": [{}]}
    uri = code.open("judge.json", json.dumps(saved))
    found = await code.rules(uri, ["invalid-saved-prompt"] * 2)
    assert {each.message for each in found} == {"example 1 has no `input`", "example 1 has no `output`"}
    code.replace(uri, "[{}]", "[]")
    assert await code.rules(uri, []) == []
    # An experiment in a folder beside this one takes prompts, too.
    assert (await code.lenses(uri))[0] == "Preview"
    made = await code.command("preview", uri=uri)
    assert "Is <a> {% x" in json.dumps(made, default=vars)


async def test_json_of_other_programs_is_left_alone(code: Editor) -> None:
    uri = code.open("package.json", json.dumps({"name": "{{ a", "instruction": "{%"}))
    assert await code.rules(uri, []) == []
    assert await code.lenses(uri) == []
