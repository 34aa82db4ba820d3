"""Models of the editor, requested by runs through the server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [text]
experiments:
  asks: {dataset: rows.csv, models: [vscode:house/small], metrics: [exact_match], concurrency: 2}
---#}
- name: system
  role: system
  content: Say it.
- name: question
  role: user
  content: "{{ text }}"
"""
ROWS = "id,text,expected\na,one,one\nb,two,two\n"


class House:
    """The editor's side: answers with the result of `reply`, and records the requests."""

    def __init__(self, client: LanguageClient) -> None:
        self.requests: list[Any] = []
        self.cancelled = 0
        self.hold = False
        self.error: dict[str, str] | None = None

        @client.feature("promptls/askModel")
        async def ask(params: Any) -> dict[str, Any]:
            self.requests.append(params)
            if self.hold:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
                    raise
            if self.error is not None:
                return {"error": self.error}
            text = params.messages[-1].content
            return {"text": text, "model": "small-1", "inputTokens": 7, "outputTokens": 1}


@pytest.fixture(scope="module")
def house(vscode: LanguageClient) -> House:
    return House(vscode)


def opened(editor: Editor, name: str) -> str:
    editor.write(f"{name}/rows.csv", ROWS)
    return editor.open(f"{name}/ask.yml.j2", PROMPT)


async def test_a_run_asks_the_models_of_the_editor(code: Editor, house: House) -> None:
    uri = opened(code, "asks")

    result = await code.command("runExperiment", uri=uri, yes=True)

    assert (result.rows, result.failed, result.scores.exact_match) == (2, 0, 1.0)
    assert {params.model for params in house.requests} == {"house/small"}
    assert [message.role for message in house.requests[0].messages] == ["system", "user"]
    table = (code.root / "asks" / "experiments").glob("*.csv")
    assert ",7,1," in next(iter(table)).read_text("utf-8")


@pytest.mark.parametrize(
    ("code_of_error", "words"),
    [
        ("notFound", "VS Code has no model `house/small`"),
        ("noPermissions", "promptls may not use the model `house/small` of VS Code"),
        ("blocked", "VS Code blocks requests to the model `house/small`"),
        ("failed", "the model `vscode:house/small` did not answer: it broke"),
    ],
)
async def test_a_refusal_of_the_editor_is_reported(
    code: Editor, house: House, code_of_error: str, words: str
) -> None:
    house.error = {"code": code_of_error, "message": "it broke" if code_of_error == "failed" else ""}
    try:
        with pytest.raises(JsonRpcException) as raised:
            await code.command("runExperiment", uri=opened(code, f"fails_{code_of_error}"), yes=True)
    finally:
        house.error = None

    assert words in raised.value.message


async def test_a_cancelled_run_cancels_what_the_editor_works_on(code: Editor, house: House) -> None:
    house.hold, before = True, len(house.requests)
    uri = opened(code, "cancels")
    running = asyncio.ensure_future(code.command("runExperiment", uri=uri, yes=True))

    async def requests() -> int:
        return len(house.requests) - before

    async def cancelled() -> int:
        return house.cancelled

    await eventually(requests, lambda count: count == 2)
    await code.command("cancelRun", uri=uri)
    result = await running
    house.hold = False

    assert result.cancelled
    await eventually(cancelled, lambda count: count == 2)


async def test_models_that_the_editor_offers_are_completed(code: Editor) -> None:
    code.client.protocol.notify("promptls/editorModels", {"models": ["house/small", "house/large"]})
    uri = code.open("completes/ask.yml.j2", PROMPT)
    position = code.at(uri, "models: [|vscode")
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), position)
    found = await code.client.text_document_completion_async(params)
    items = found.items if isinstance(found, types.CompletionList) else found or []

    assert {"vscode:house/small", "vscode:house/large"} <= {item.label for item in items}


async def test_verdicts_on_rows_are_reported_during_a_run(code: Editor, house: House) -> None:
    reported: list[Any] = []

    @code.client.feature("promptls/rowVerdicts")
    def tell(params: Any) -> None:
        reported.append(params)

    house.hold = True
    uri = code.write("follows/ask.yml.j2", PROMPT.replace("vscode:house/small]", "echo, vscode:house/small]"))
    code.write("follows/rows.csv", ROWS.replace("two,two", "two,other"))
    running = asyncio.ensure_future(code.command("runExperiment", uri=uri, yes=True, follow="here"))

    async def states() -> dict[int, str]:
        return {each.number: each.state for news in reported for each in news.verdicts}

    found = await eventually(states, lambda states: 1 in states)
    await code.command("cancelRun", uri=uri)
    await running
    house.hold = False

    assert found[1] == "passed"
    assert {news.follow for news in reported} == {"here"}
