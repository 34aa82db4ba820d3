from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire, WireToProcess, opened

pytestmark = pytest.mark.usefixtures("real_starts")


async def test_the_server_leaves_with_0_after_shutdown_and_exit(
    process: WireToProcess, tmp_path: Path
) -> None:
    await process.begin(tmp_path)

    process.send(id=2, method="shutdown")
    assert (await process.answer(2))["result"] is None
    process.send(method="exit")

    assert await process.end() == 0


async def test_the_server_leaves_with_1_after_exit_alone(process: WireToProcess, tmp_path: Path) -> None:
    await process.begin(tmp_path)

    process.send(method="exit")

    assert await process.end() == 1


async def test_the_server_exits_when_the_client_has_exited(process: WireToProcess, tmp_path: Path) -> None:
    await process.begin(tmp_path)

    assert process.process.stdin is not None
    process.process.stdin.close()

    await process.end()


async def test_the_server_leaves_while_it_renders(process: WireToProcess, tmp_path: Path) -> None:
    await process.begin(tmp_path)
    process.send(
        method="textDocument/didOpen",
        params=opened(tmp_path, "- name: a\n  content: '{% for i in range(99999) %}{{ i }}{% endfor %}'\n"),
    )
    place = {"textDocument": {"uri": (tmp_path / "a.yml.j2").as_uri()}}
    process.send(id=2, method="textDocument/codeLens", params=place)
    await process.answer(2)

    process.send(id=3, method="shutdown")
    await process.answer(3)
    process.send(method="exit")

    assert await process.end() == 0


async def test_exit_alone_ends_the_session_too(process: WireToProcess, tmp_path: Path) -> None:
    await process.begin(tmp_path)
    process.send(method="textDocument/didOpen", params=opened(tmp_path, "- name: a\n  content: x\n"))
    arguments = [{"uri": (tmp_path / "a.yml.j2").as_uri()}]
    params = {"command": "promptls.preview", "arguments": arguments}
    process.send(id=2, method="workspace/executeCommand", params=params)
    shown = Path((await process.answer(2))["result"]["document"])
    assert shown.exists()

    process.send(method="exit")

    assert await process.end() == 1
    assert not shown.exists()


@pytest.mark.parametrize("capabilities", [{}, {"workspace": {"configuration": True}}])
async def test_the_server_leaves_with_0_if_exit_is_right_behind_shutdown(
    process: WireToProcess, tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    await process.begin(tmp_path, capabilities=capabilities)

    process.send(id=2, method="workspace/executeCommand", params={"command": "promptls.debugInformation"})
    process.send(id=3, method="shutdown")
    process.send(method="exit")

    assert await process.end() == 0


async def test_broken_messages_do_not_end_the_server(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)

    wire.write(b"Content-Length: 3\r\n\r\n{x}")
    wire.write(b"Content-Type: odd\r\ncontent-length: 2\r\n\r\n[]")
    wire.send(id=2, method="textDocument/hover", params={"textDocument": 7})
    assert "error" in await wire.answer(2)
    wire.send(id=3, method="textDocument/diagnostic", params={})
    assert "error" in await wire.answer(3)
    wire.send(id=4, method="nobody/knows")

    assert (await wire.answer(4))["error"]["code"] == -32601


async def test_a_client_that_never_sends_its_settings_is_served(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities={"workspace": {"configuration": True}})

    wire.send(
        method="textDocument/didOpen", params=opened(tmp_path, "- name: a\n  role: sytem\n  content: x\n")
    )

    while (message := await wire.receive()).get("method") != "textDocument/publishDiagnostics":
        pass
    assert [found["code"] for found in message["params"]["diagnostics"]] == ["unknown-role"]


@pytest.mark.parametrize("options", [{"trusted": False}, {"trusted": "yes"}])
async def test_an_untrusted_workspace_runs_no_experiment_and_asks_no_model(
    wire: Wire, tmp_path: Path, options: dict[str, Any]
) -> None:
    await wire.begin(tmp_path, initializationOptions=options)
    (tmp_path / "data.csv").write_text("text\nhello\n")
    text = "{#---\nexperiments: {e: {dataset: data.csv, models: [echo]}}\n---#}\n- {name: a, content: x}\n"
    wire.send(method="textDocument/didOpen", params=opened(tmp_path, text))

    arguments = [{"uri": (tmp_path / "a.yml.j2").as_uri()}]
    wire.send(
        id=2,
        method="workspace/executeCommand",
        params={"command": "promptls.runExperiment", "arguments": arguments},
    )

    assert "not trusted" in (await wire.answer(2))["error"]["message"]
    arguments = [{"documents": [tmp_path.as_uri()], "output": (tmp_path / "tests.csv").as_uri()}]
    wire.send(
        id=3,
        method="workspace/executeCommand",
        params={"command": "promptls.generateDataset", "arguments": arguments},
    )
    assert "not trusted" in (await wire.answer(3))["error"]["message"]
    assert not (tmp_path / "experiments").exists()


async def test_the_server_says_what_it_can_do(wire: Wire, tmp_path: Path) -> None:
    capabilities = {"textDocument": {"diagnostic": {}}, "general": {"positionEncodings": ["utf-8", "utf-16"]}}

    reported = (await wire.begin(tmp_path, capabilities=capabilities))["result"]["capabilities"]

    assert reported["positionEncoding"] == "utf-8"
    assert reported["textDocumentSync"] == {"openClose": True, "change": 2, "save": True}
    assert reported["diagnosticProvider"] == {
        "interFileDependencies": True,
        "workspaceDiagnostics": True,
        "workDoneProgress": True,
    }
    assert reported["executeCommandProvider"]["workDoneProgress"]
    offered = {name for name in reported if name.endswith("Provider")}
    assert offered >= {"codeActionProvider", "codeLensProvider", "definitionProvider", "hoverProvider"}


async def test_a_client_that_asks_for_no_diagnostics_is_offered_none(wire: Wire, tmp_path: Path) -> None:
    reported = (await wire.begin(tmp_path))["result"]["capabilities"]

    assert "diagnosticProvider" not in reported


async def test_changes_that_wait_lead_to_one_list_of_diagnostics(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    place = {"uri": (tmp_path / "a.yml.j2").as_uri()}
    wire.send(
        method="textDocument/didOpen", params=opened(tmp_path, "- name: a\n  content: x\n  role: user\n")
    )
    wire.send(id=2, method="textDocument/codeLens", params={"textDocument": place})
    await wire.answer(2)

    # One write, so that all of it waits when the server looks.
    frames = b""
    for version in range(2, 52):
        at = {"line": 2, "character": 8}
        change = {"range": {"start": at, "end": at}, "text": "x"}
        params = {"textDocument": {**place, "version": version}, "contentChanges": [change]}
        message = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}
        body = json.dumps(message).encode()
        frames += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    wire.write(frames)
    published = []
    while not published or published[-1] < 51:
        message = await wire.receive()
        if message.get("method") == "textDocument/publishDiagnostics":
            published.append(message["params"]["version"])

    assert published == [51]


async def test_settings_that_a_client_pushes_are_used(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    text = "- name: a\n  role: sytem\n  content: x\n"
    wire.send(method="textDocument/didOpen", params=opened(tmp_path, text))

    async def published() -> list[str]:
        while (message := await wire.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        return [found["code"] for found in message["params"]["diagnostics"]]

    assert await published() == ["unknown-role"]
    settings = {"promptls": {"rules": {"unknown-role": "off"}}}
    wire.send(method="workspace/didChangeConfiguration", params={"settings": settings})

    assert await published() == []
