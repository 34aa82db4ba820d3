"""The server executes nothing of a folder that neither the client nor the user trusts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from security.hostile import Hostile
from server.plain_client import WireToProcess
from support.waiting import wait_until

RUN = ["promptls.planExperiment", "promptls.runExperiment", "promptls.leaveOneOut"]
RENDER = ["promptls.preview", "promptls.tokens", "promptls.truncationLab"]
TRUST = {"title": "Trust"}
NOT_NOW = {"title": "Not now"}


class Client(WireToProcess):
    """A client of a user who gives one answer to every question, and counts them."""

    def __init__(self, process: asyncio.subprocess.Process, hostile: Hostile) -> None:
        super().__init__(process)
        self.hostile = hostile
        self.says: Any = None
        self.questions: list[str] = []
        self._number = 10

    async def receive(self) -> Any:
        message = await super().receive()
        if message.get("method") == "window/showMessageRequest":
            self.questions.append(message["params"]["message"])
            assert [each["title"] for each in message["params"]["actions"]] == ["Trust", "Not now"]
            self.send(id=message["id"], result=self.says)
        return message

    async def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return await self.answer(self._number)

    async def execute(self, command: str, **arguments: Any) -> Any:
        arguments = {"uri": self.hostile.prompt.as_uri(), **arguments}
        return await self.ask("workspace/executeCommand", {"command": command, "arguments": [arguments]})

    def show(self, path: Path) -> None:
        document = {"uri": path.as_uri(), "languageId": "promptls", "version": 1, "text": path.read_text()}
        self.send(method="textDocument/didOpen", params={"textDocument": document})

    async def look_around(self) -> None:
        """Send the requests that editors send when a file is opened."""
        document = {"textDocument": {"uri": self.hostile.prompt.as_uri()}}
        for line in range(14):
            await self.ask("textDocument/hover", {**document, "position": {"line": line, "character": 14}})
        start, end = {"line": 0, "character": 0}, {"line": 13, "character": 0}
        await self.ask("textDocument/inlayHint", {**document, "range": {"start": start, "end": end}})
        await self.ask("textDocument/codeLens", document)
        await self.ask("textDocument/documentSymbol", document)
        await self.ask("textDocument/diagnostic", document)
        await self.execute("promptls.check")
        await self.execute("promptls.experimentTests")


@pytest_asyncio.fixture
async def client(hostile: Hostile) -> AsyncIterator[Client]:
    """Return a client of a server for a user without any trust decision."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", stdin=-1, stdout=-1, stderr=-1, env=hostile.environment()
    )
    yield Client(process, hostile)
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("options", [None, {}, {"trusted": False}, {"trusted": "yes"}])
async def test_looking_at_a_hostile_folder_runs_nothing_and_asks_nothing(
    client: Client, hostile: Hostile, options: Any
) -> None:
    await client.begin(hostile.folder, initializationOptions=options)
    client.show(hostile.prompt)
    await client.look_around()

    assert client.questions == []
    assert not hostile.has_run


@pytest.mark.parametrize("answer", [NOT_NOW, None], ids=["not now", "null"])
async def test_experiments_need_a_yes(client: Client, hostile: Hostile, answer: Any) -> None:
    client.says = answer
    await client.begin(hostile.folder)
    client.show(hostile.prompt)

    refused = [await client.execute(command) for command in RUN]

    question = "promptls would run its Python: functions.py, metrics.py."
    assert client.questions == [f"{hostile.folder} is not trusted. {question}"]
    for each in refused:
        assert f"`promptls trust {hostile.folder}` in a terminal trusts it" in each["error"]["message"]
    assert not hostile.has_run
    assert hostile.store.decision([hostile.folder]) is None


@pytest.mark.parametrize(
    ("dataset", "models", "question"),
    [
        ("rows.csv", "[echo]", None),
        ("../secret.csv", "[echo]", None),
        ("rows.csv", "[echo, 'openai:gpt-4o-mini']", "use its models: openai:gpt-4o-mini"),
    ],
)
async def test_a_run_that_needs_nothing_of_the_folder_asks_nothing_and_stays_inside(
    client: Client, hostile: Hostile, dataset: str, models: str, question: str | None
) -> None:
    (hostile.folder.parent / "secret.csv").write_text("text,expected\nsecret,\n")
    header = f"experiments:\n  main: {{dataset: {dataset}, models: {models}, metrics: [exact_match]}}\n"
    (hostile.folder / "rows.csv").write_text("text,expected\nhello,hello\n")
    prompt = hostile.folder / "harmless.yml.j2"
    prompt.write_text(f"{{#---\n{header}---#}}\n- {{name: a, role: user, content: '{{{{ text }}}}'}}\n")
    client.says = NOT_NOW
    await client.begin(hostile.folder)
    client.show(prompt)

    ran = await client.execute("promptls.runExperiment", uri=prompt.as_uri())

    if question is not None:
        assert client.questions == [f"{hostile.folder} is not trusted. promptls would {question}."]
        assert "not trusted" in ran["error"]["message"]
        return
    assert client.questions == []
    if dataset == "rows.csv":
        (table,) = (hostile.folder / "experiments").glob("*-harmless.csv")
        assert "hello" in table.read_text()
    else:
        assert "outside of the workspace, which is not trusted" in ran["error"]["message"]
        assert not [*hostile.folder.glob("experiments/*.csv")]
    assert not hostile.has_run


async def test_a_rendering_uses_stand_ins_and_says_so(client: Client, hostile: Hostile) -> None:
    client.says = NOT_NOW
    await client.begin(hostile.folder)
    client.show(hostile.prompt)

    results = [(await client.execute(command))["result"] for command in RENDER]

    assert client.questions == [
        f"{hostile.folder} is not trusted. promptls would run its Python: functions.py."
    ]
    remedy = f"`promptls trust {hostile.folder}` in a terminal trusts it"
    assert {each["leftOut"] for each in results} == {f"Not trusted: functions.py was not run; {remedy}."}
    assert not hostile.has_run


async def test_test_data_need_a_yes(client: Client, hostile: Hostile) -> None:
    await client.begin(hostile.folder)

    refused = await client.execute(
        "promptls.generateDataset",
        documents=[(hostile.folder / "notes.md").as_uri()],
        output=(hostile.folder / "tests.csv").as_uri(),
        model="echo",
        onlyPlan=True,
    )

    assert len(client.questions) == 1
    assert "not trusted" in refused["error"]["message"]


async def test_a_yes_is_remembered_and_counts_at_once(client: Client, hostile: Hostile) -> None:
    client.says = TRUST
    await client.begin(hostile.folder)
    client.show(hostile.prompt)

    result = (await client.execute("promptls.preview", data={"text": "hello"}))["result"]

    assert result["leftOut"] is None
    assert result["rendering"]["parts"][0]["content"].isupper()
    assert hostile.has_run
    assert hostile.store.decision([hostile.folder]) is True
    assert "result" in await client.execute("promptls.planExperiment")
    assert len(client.questions) == 1


async def test_what_the_user_decides_in_a_terminal_counts_at_once(client: Client, hostile: Hostile) -> None:
    client.says = NOT_NOW
    await client.begin(hostile.folder)
    client.show(hostile.prompt)
    assert "error" in await client.execute("promptls.planExperiment")

    hostile.command("trust", ".")

    assert "result" in await client.execute("promptls.planExperiment")


async def test_a_trusted_folder_is_rendered_automatically(client: Client, hostile: Hostile) -> None:
    hostile.store.decide(hostile.folder, trusted=True)
    await client.begin(hostile.folder)
    client.show(hostile.prompt)

    await asyncio.to_thread(wait_until, lambda: hostile.has_run)


@pytest.mark.parametrize("decided", [None, True], ids=["undecided", "trusted by the user"])
async def test_a_client_that_does_not_trust_the_folder_is_never_asked(
    client: Client, hostile: Hostile, decided: bool | None
) -> None:
    hostile.store.decide(hostile.folder, trusted=decided)
    client.says = TRUST
    await client.begin(hostile.folder, initializationOptions={"trusted": False})
    client.show(hostile.prompt)

    for command in (*RUN, *RENDER):
        await client.execute(command)

    assert client.questions == []
    assert not hostile.has_run


async def test_a_client_that_trusts_the_folder_is_never_asked(client: Client, hostile: Hostile) -> None:
    hostile.store.decide(hostile.folder, trusted=False)
    await client.begin(hostile.folder, initializationOptions={"trusted": True})
    client.show(hostile.prompt)

    assert (await client.execute("promptls.preview"))["result"]["leftOut"] is None
    assert client.questions == []
    assert hostile.has_run


async def test_a_refused_folder_is_not_asked_for(client: Client, hostile: Hostile) -> None:
    hostile.store.decide(hostile.folder, trusted=False)
    client.says = TRUST
    await client.begin(hostile.folder)

    assert "not trusted" in (await client.execute("promptls.planExperiment"))["error"]["message"]
    assert client.questions == []
    assert not hostile.has_run


async def test_a_file_outside_of_the_workspace_depends_on_its_own_folder(
    client: Client, hostile: Hostile, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    hostile.store.decide(workspace, trusted=True)
    await client.begin(workspace)
    client.show(hostile.prompt)

    result = (await client.execute("promptls.preview"))["result"]

    assert client.questions == [
        f"{hostile.folder} is not trusted. promptls would run its Python: functions.py."
    ]
    assert result["leftOut"] is not None
    assert not hostile.has_run


async def test_a_folder_that_is_added_makes_the_workspace_untrusted(
    client: Client, hostile: Hostile, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    hostile.store.decide(workspace, trusted=True)
    await client.begin(workspace)
    added = {"uri": hostile.folder.as_uri(), "name": "project"}
    client.send(
        method="workspace/didChangeWorkspaceFolders", params={"event": {"added": [added], "removed": []}}
    )
    client.show(hostile.prompt)

    await client.execute("promptls.preview")

    assert client.questions == [
        f"{hostile.folder} is not trusted. promptls would run its Python: functions.py."
    ]
    assert not hostile.has_run


async def test_decisions_that_cannot_be_read_are_no_trust(client: Client, hostile: Hostile) -> None:
    hostile.configuration.mkdir()
    hostile.store.file.write_text("nonsense")
    await client.begin(hostile.folder)
    client.show(hostile.prompt)
    await client.look_around()
    assert "error" in await client.execute("promptls.planExperiment")

    assert not hostile.has_run
