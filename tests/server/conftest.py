from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import pytest_lsp
from lsp_editor import Editor
from lsprotocol import types
from plain_client import Wire, WireToProcess, WireWithin
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client
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


CACHE = tempfile.TemporaryDirectory()
CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-m", "promptls"],
    client_factory=make_client,
    # What the server opens as a text must not end up in the developer's own cache.
    server_env={**os.environ, "XDG_CACHE_HOME": CACHE.name},
)


@pytest.fixture(scope="session", autouse=True)
def configured_servers(trusted_machine: None) -> None:
    """Have the servers read the decisions of the test session, and not those of the developer."""
    assert CONFIG.server_env is not None
    CONFIG.server_env["PROMPTLS_CONFIG_DIR"] = os.environ["PROMPTLS_CONFIG_DIR"]


@pytest_lsp.fixture(params=list(CLIENTS), config=CONFIG, scope="module")
async def client(
    lsp_client: LanguageClient, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[None]:
    """A server for the tests of one module, with each of the clients in turn."""
    await _initialize(lsp_client, CLIENTS[request.param], tmp_path_factory.mktemp(request.param))
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=CONFIG, scope="module")
async def vscode(lsp_client: LanguageClient, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """A server for the tests of one module, with VS Code of today alone."""
    await _initialize(lsp_client, VSCODE, tmp_path_factory.mktemp("code"))
    yield
    await lsp_client.shutdown_session()


async def _initialize(client: LanguageClient, capabilities: types.ClientCapabilities, root: Path) -> None:
    client.root = root
    params = types.InitializeParams(
        capabilities=capabilities,
        root_uri=root.as_uri(),
        workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
        initialization_options={"trusted": True} if capabilities is VSCODE else None,
    )
    client.answer = await client.initialize_session(params)


@pytest.fixture
def editor(client: LanguageClient) -> Iterator[Editor]:
    """A client of each kind, with an empty folder; at the end nothing must have popped up."""
    yield from _editor(client)


@pytest.fixture
def code(vscode: LanguageClient) -> Iterator[Editor]:
    """VS Code of today, for what does not depend on the client; at the end nothing must have popped up."""
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
    assert [message for message in popped_up if "promptls/shown" not in message] == []


@pytest_asyncio.fixture
async def wire() -> AsyncIterator[Wire]:
    """A server of the test's own in this process, spoken to in plain JSON."""
    wire = WireWithin()
    yield wire
    await wire.server.end()


@pytest_asyncio.fixture
async def process(tmp_path: Path) -> AsyncIterator[WireToProcess]:
    """A server of the test's own as a process, spoken to in plain JSON."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", stdin=-1, stdout=-1, stderr=-1, cwd=tmp_path
    )
    yield WireToProcess(process)
    if process.returncode is None:
        process.kill()
        await process.wait()
