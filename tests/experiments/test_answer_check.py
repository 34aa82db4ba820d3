from __future__ import annotations

import json

import pytest

from promptls.experiments.prompt_runner import AnswerCheck
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply

SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["A", "B"]}},
    "required": ["label"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"label": "A"}', None),
        ('{"label": "C"}', "'C' is not one of ['A', 'B']"),
        ("{}", "'label' is a required property"),
        ("", "no JSON: the answer is empty"),
        ('```json\n{"label": "A"}\n```', "no JSON: the answer is in a code fence"),
        ('{"label": "A"', "no JSON: the answer breaks off; a larger `max_tokens` may help"),
        ("Sure! Here", "no JSON: the answer begins with “Sure! Here”"),
        ('{"label": A}', "no JSON: expecting value at character 11"),
        ("[" * 100_000, "no JSON that can be read: it is nested too deeply"),
    ],
)
def test_an_invalid_answer_is_reported(answer: str, problem: str | None) -> None:
    assert AnswerCheck(is_json=True, schema=SCHEMA).problem(answer) == problem


def test_without_a_schema_any_json_will_do() -> None:
    assert AnswerCheck(is_json=True, schema=None).problem("[1]") is None
    assert AnswerCheck(is_json=True, schema=None).problem("one")
    assert AnswerCheck(is_json=False, schema=None).problem("one") is None


async def test_an_answer_of_the_wrong_form_is_a_row_that_says_so(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", metrics="metrics.py:length")
    text = folder.prompt.read_text("utf-8")
    declared = f"output_type: json\noutput_schema: {json.dumps(SCHEMA)}\noutput_key"
    folder.prompt.write_text(text.replace("output_key", declared), "utf-8")
    server.reply = lambda body: Reply('{"label": "A"}' if "2" in last_text(body) else "no")
    finished = await folder.ask()
    rows = table(finished)
    assert [bool(row["problem"]) for row in rows] == [True, False, True, True]
    assert {row["error"] for row in rows} == {""}
    assert [row["length"] for row in rows] == ["2", "14", "2", "2"]
    assert rows[1]["predicted_label"] == "A"
    assert finished.manifest["totals"]["invalid"] == 3
    response_format = server.requests[0]["response_format"]
    assert response_format["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}


async def test_json_without_a_schema_is_demanded_of_the_answer_alone(
    folder: Folder, server: ModelServer
) -> None:
    folder.serve(server).write(model="office")
    text = folder.prompt.read_text("utf-8")
    folder.prompt.write_text(text.replace("output_key", "output_type: json\noutput_key"), "utf-8")
    server.reply = lambda _body: Reply("[1, 2]")
    finished = await folder.ask()
    assert finished.manifest["totals"]["invalid"] == 0
    assert "response_format" not in server.requests[0]
