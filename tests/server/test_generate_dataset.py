from __future__ import annotations

import asyncio
import csv
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.library_documents import good_reply, write_documents
from support.model_server import ModelServer, Reply, model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = good_reply
        yield running


def arguments_of(editor: Editor, server: ModelServer, settings: str = "") -> dict[str, Any]:
    """Return the arguments for a dataset from documents in a new folder."""
    name = f"library_{server.url.rpartition(':')[2].partition('/')[0]}"
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n{settings}'
    folder = Path(editor.root) / name
    editor.write(f"{name}/promptls.toml", office)
    docs = write_documents(folder)
    return {
        "documents": [docs.as_uri()],
        "output": (folder / "tests.csv").as_uri(),
        "size": 4,
        "model": "office",
        "seed": 2,
        "embeddings": False,
    }


async def test_a_data_set_is_made_of_documents(code: Editor, server: ModelServer) -> None:
    arguments = arguments_of(code, server)
    planned = await code.command("generateDataset", **arguments, onlyPlan=True)
    assert (planned.rows, planned.calls) == (4, 4)
    assert planned.message == "4 queries; 4 calls to make, 0 already answered"
    assert server.requests == []

    made = await code.command("generateDataset", **arguments)

    assert (made.uri, made.rows, made.cancelled) == (arguments["output"], 4, False)
    with (Path(code.root) / made.uri.rpartition("/")[0].rpartition("/")[2] / "tests.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 4
    assert str(code.root) not in rows[0]["sources"]


async def test_one_that_costs_much_is_asked_about_first(code: Editor, server: ModelServer) -> None:
    questions: list[str] = []

    async def answered(params: types.ShowMessageRequestParams) -> Any:
        questions.append(params.message)

    code.client.protocol.fm._features[types.WINDOW_SHOW_MESSAGE_REQUEST] = answered
    refused = await code.command("generateDataset", **arguments_of(code, server, "input_price = 1000000\n"))
    assert (refused.cancelled, refused.rows) == (True, 0)
    assert refused.message == "Nothing was made, and nothing was spent."
    assert questions[0].startswith("The dataset takes 4 calls, for about $")
    assert server.requests == []


async def test_a_document_that_is_not_there_is_named(code: Editor, server: ModelServer) -> None:
    arguments = {**arguments_of(code, server), "documents": ["file:///nowhere/a.md"]}
    with pytest.raises(JsonRpcException, match="the document does not exist"):
        await code.command("generateDataset", **arguments)


async def test_it_needs_to_know_where_the_data_set_goes(code: Editor) -> None:
    with pytest.raises(JsonRpcException, match="needs the file of the dataset"):
        await code.command("generateDataset", documents=[])


async def test_it_ends_when_its_progress_is_cancelled_and_writes_nothing(
    code: Editor, server: ModelServer
) -> None:
    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    arguments = arguments_of(code, server)
    code.client.progress_reports.clear()
    making = asyncio.ensure_future(code.command("generateDataset", **arguments))

    async def begun() -> list[Any]:
        return [token for token in code.client.progress_reports if server.requests]

    (token,) = await eventually(begun, bool)
    code.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    made = await asyncio.wait_for(making, 20)
    release.set()

    assert (made.cancelled, made.uri) == (True, "")
    assert not list(Path(code.root).glob(f"{arguments['output'].split('/')[-2]}/tests.csv"))
    assert code.client.progress_reports[token][-1].kind == "end"
