from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsp_editor import Editor
from lsprotocol import types
from plain_client import ServerWithin, Wire, WireToProcess
from pygls.io_ import run_async
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client
from vscode_capabilities import VSCODE

CLIENTS = {
    "vscode": VSCODE,
    "neovim": client_capabilities("neovim@v0.11.0"),
    "emacs": client_capabilities("emacs"),
}


def make_client() -> LanguageClient:
    client = make_test_lsp_client()
    client.refreshed = {}

    def plural(method: str) -> None:
        @client.feature(method)
        def refresh(*_params: Any) -> None:
            client.refreshed[method] = client.refreshed.get(method, 0) + 1

    plural(types.WORKSPACE_INLAY_HINT_REFRESH)
    plural(types.WORKSPACE_CODE_LENS_REFRESH)
    plural(types.WORKSPACE_FOLDING_RANGE_REFRESH)
    client.registered = []

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        client.registered += [registration.method for registration in params.registrations]

    client.changed = []

    @client.feature("promptls/changed")
    def changed(params: Any) -> None:
        client.changed.append(params.uri)

    return client


@pytest_asyncio.fixture(params=list(CLIENTS), scope="module", loop_scope="module")
async def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LanguageClient]:
    """Return a client of a server for the tests of one module, of each kind in turn."""
    async with _connected(CLIENTS[request.param], tmp_path_factory.mktemp(request.param)) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vscode(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LanguageClient]:
    """Return a client like the current VS Code for the tests of one module."""
    async with _connected(VSCODE, tmp_path_factory.mktemp("code")) as client:
        yield client


@asynccontextmanager
async def _connected(capabilities: types.ClientCapabilities, root: Path) -> AsyncIterator[LanguageClient]:
    client, within = make_client(), ServerWithin()
    client.protocol.set_writer(within)
    reading = asyncio.ensure_future(
        run_async(stop_event=threading.Event(), reader=within.output, protocol=client.protocol)
    )
    client.root = root
    params = types.InitializeParams(
        capabilities=capabilities,
        root_uri=root.as_uri(),
        workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
        initialization_options={"trusted": True} if capabilities is VSCODE else None,
    )
    client.answer = await client.initialize_session(params)
    yield client
    await client.shutdown_session()
    await within.server.end()
    reading.cancel()


@pytest.fixture
def editor(client: LanguageClient) -> Iterator[Editor]:
    """Return a client of each kind, with an empty folder; messages that popped up fail the test."""
    yield from _editor(client)


@pytest.fixture
def code(vscode: LanguageClient) -> Iterator[Editor]:
    """Return a client like the current VS Code, for tests that do not depend on the client; messages that
    popped up fail the test.
    """
    yield from _editor(vscode)


def _editor(client: LanguageClient) -> Iterator[Editor]:
    folder = client.root / f"test{len(list(client.root.iterdir()))}"
    folder.mkdir()
    editor = Editor(client, folder)
    yield editor
    for uri in editor.texts:
        editor.close(uri)
    editor.set_settings({})
    popped_up, client.messages[:] = [message.message for message in client.messages], []
    # A client that opens no documents is told where they are.
    assert [message for message in popped_up if "/shown/" not in message] == []


@pytest_asyncio.fixture
async def wire() -> AsyncIterator[Wire]:
    """Return a new server in this process that receives plain JSON."""
    within = ServerWithin()
    yield Wire(within.write, within.output)
    await within.server.end()


@pytest_asyncio.fixture
async def process(tmp_path: Path) -> AsyncIterator[WireToProcess]:
    """Start a new server process that receives plain JSON."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", stdin=-1, stdout=-1, stderr=-1, cwd=tmp_path
    )
    yield WireToProcess(process)
    if process.returncode is None:
        process.kill()
        await process.wait()
