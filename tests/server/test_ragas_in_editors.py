"""Experiments in Python, and JSON saved by Ragas, in an editor."""

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
    found = await code.rules(uri, ["invalid-prompt-object"] * 2)
    assert {each.message.split(":")[0] for each in found} == {
        "example 1 has no `input`",
        "example 1 has no `output`",
    }
    code.replace(uri, "[{}]", "[]")
    assert await code.rules(uri, []) == []
    # An experiment in a folder beside this one takes prompts, too.
    assert (await code.lenses(uri))[0] == "Preview"
    made = await code.command("preview", uri=uri)
    assert "Is <a> {% x" in json.dumps(made, default=vars)


async def test_keys_of_json_that_ragas_saved_are_offered_and_explained(code: Editor) -> None:
    text = '{\n "instruction": "Is it?", "input_keys": ["a"], "output_key": "b",\n "out"\n}'
    uri = code.open("typed.json", text)
    place = code.at(uri, '"out|"')
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), place)
    found = await code.client.text_document_completion_async(params)

    item = next(each for each in found.items if each.label == "output_type")
    item.data = item.data or found.item_defaults.data
    reported = await code.client.completion_item_resolve_async(item)
    assert "Whether outputs are JSON" in str(reported.documentation)


async def test_json_of_other_programs_is_left_alone(code: Editor) -> None:
    uri = code.open("package.json", json.dumps({"name": "{{ a", "instruction": "{%"}))
    assert await code.rules(uri, []) == []
    assert await code.lenses(uri) == []


TICKETS = """\
{#---
input_keys: [text]
output_key: label
experiments:
  first: {dataset: tickets.csv, models: [echo], metrics: ["evals.py:right"]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
"""
READS = """\
from promptls import Dataset, discrete_metric, experiment

@discrete_metric(allowed_values=["yes", "no"])
def right(response, label):
    return "yes" if response == label else "no"

@experiment()
async def triage(row, prompt_file):
    return {"id": row["id"], "response": row["text"], "twice": 2 * row.get("text")}

tickets = Dataset.load("tickets", backend="local/csv", root_dir=".")
"""


async def test_header_python_and_columns_refer_to_each_other(code: Editor) -> None:
    code.write("evals.py", READS)
    code.write("tickets.csv", "id,text,label\n1,a,b\n")
    uri = code.open("tickets.yml.j2", TICKETS)
    changes = [types.FileEvent(code.write("evals.py", READS), types.FileChangeType.Changed)]
    code.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
    document = types.TextDocumentIdentifier(uri)

    async def defined(words: str) -> list[str]:
        params = types.DefinitionParams(document, code.at(uri, words))
        found = await code.client.text_document_definition_async(params) or []
        return [f"{each.target_uri.rsplit('/', 1)[1]}:{each.target_range.start.line}" for each in found]

    assert await defined("evals.py:ri|ght") == ["evals.py:3"]
    assert await defined("dataset: tick|ets") == ["tickets.csv:0"]
    assert await defined("characters(te|xt") == ["tickets.yml.j2:1"]

    async def places() -> list[str]:
        params = types.ReferenceParams(
            types.ReferenceContext(include_declaration=True), document, code.at(uri, "characters(te|xt")
        )
        found = await code.client.text_document_references_async(params) or []
        return sorted(f"{each.uri.rsplit('/', 1)[1]}:{each.range.start.line}" for each in found)

    everywhere = ["evals.py:8", "evals.py:8", "tickets.csv:0", "tickets.yml.j2:1", "tickets.yml.j2:8"]
    await eventually(places, lambda found: found == everywhere)

    edit = await code.client.text_document_rename_async(
        types.RenameParams(document, code.at(uri, "characters(te|xt"), "message")
    )
    edits = {
        change.text_document.uri.rsplit("/", 1)[1]: len(change.edits) for change in edit.document_changes
    }
    assert edits == {"evals.py": 2, "tickets.csv": 1, "tickets.yml.j2": 2}
