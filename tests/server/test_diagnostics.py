from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from plain_client import PATIENCE, Wire

WRONG_ROLE = "- name: a\n  role: sytem\n  content: x\n"
ENTRY = '{% include "tail.yml.j2" %}\n- name: a\n  content: x\n'
PULLS = {"textDocument": {"diagnostic": {}}}


def publishing(**flags: Any) -> dict[str, Any]:
    return {"textDocument": {"publishDiagnostics": flags}}


async def published(wire: Wire) -> list[Any]:
    while (message := await wire.receive()).get("method") != "textDocument/publishDiagnostics":
        pass
    return list(message["params"]["diagnostics"])


def items(report: Any) -> list[str]:
    return [found["code"] for found in report["items"]]


@pytest.mark.parametrize(
    ("flags", "key"),
    [
        ({"codeDescriptionSupport": True}, "codeDescription"),
        ({"dataSupport": True}, "data"),
        ({"relatedInformation": True}, "relatedInformation"),
        ({"tagSupport": {"valueSet": [1]}}, "tags"),
    ],
)
async def test_a_client_gets_of_a_diagnostic_what_it_can_show(
    wire: Wire, tmp_path: Path, flags: Any, key: str
) -> None:
    text = (
        "{#---\ninput_keys: [never]\n---#}\n- name: a\n  role: sytem\n  content: x\n- name: a\n  content: y\n"
    )
    await wire.begin(tmp_path, capabilities=publishing(**flags))
    wire.open(tmp_path, text)

    seen = {name for found in await published(wire) for name in found}
    assert seen - {"range", "severity", "code", "source", "message"} == {key}


async def test_a_client_that_says_nothing_gets_the_plainest_diagnostics(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    wire.open(tmp_path, WRONG_ROLE)

    assert [set(found) for found in await published(wire)] == [
        {"range", "severity", "code", "source", "message"}
    ]


async def test_unsupported_tags_are_not_sent_to_a_client(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=publishing(tagSupport={"valueSet": [2]}))
    wire.open(tmp_path, "{#---\ninput_keys: [never]\n---#}\n- name: a\n  content: x\n")

    assert [found.get("tags") for found in await published(wire)] == [None]


async def test_the_code_of_a_diagnostic_leads_to_the_page_of_its_rule(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=publishing(codeDescriptionSupport=True))
    wire.open(tmp_path, WRONG_ROLE)
    (found,) = await published(wire)

    page = Path(url2pathname(urlsplit(found["codeDescription"]["href"]).path))
    assert page.read_text("utf-8").startswith("# unknown-role\n")


async def test_the_data_of_a_diagnostic_names_its_fixes(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=publishing(dataSupport=True))
    wire.open(tmp_path, WRONG_ROLE)
    (found,) = await published(wire)

    assert found["data"] == {"fixes": ["Change to `system`"]}


async def test_other_open_files_are_reported_with_the_one_that_changed_them(
    wire: Wire, tmp_path: Path
) -> None:
    capabilities = {"textDocument": {"diagnostic": {"relatedDocumentSupport": True}}}
    await wire.begin(tmp_path, capabilities=capabilities)
    entry = document(
        wire, tmp_path / "entry.yml.j2", '{% include "tail.yml.j2" %}\n- name: a\n  content: x\n'
    )
    tail = document(wire, tmp_path / "tail.yml.j2", "- name: tail\n  content: x\n")
    await pull(wire, 2, entry)
    await pull(wire, 3, tail)

    change(wire, tail, '{% include "entry.yml.j2" %}\n')
    report = await pull(wire, 4, tail)

    assert items(report) == ["include-cycle"]
    assert {uri: items(its) for uri, its in report["relatedDocuments"].items()} == {entry: ["include-cycle"]}
    assert "relatedDocuments" not in await pull(wire, 5, tail)


async def test_the_whole_workspace_is_reported_to_a_client_that_asks(wire: Wire, tmp_path: Path) -> None:
    write(tmp_path / "wrong.yml.j2", WRONG_ROLE)
    write(tmp_path / "right.yml.j2", "- name: a\n  content: x\n")
    write(tmp_path / "play.yml.j2", "- hosts: all\n")
    await wire.begin(tmp_path, capabilities=PULLS)
    opened = document(wire, tmp_path / "right.yml.j2", WRONG_ROLE)

    reports = await pull_all(wire, 2)
    assert {name_of(uri): items(report) for uri, report in reports.items()} == {
        "wrong.yml.j2": ["unknown-role"],
        "right.yml.j2": ["unknown-role"],
    }
    assert {name_of(uri): report["version"] for uri, report in reports.items()} == {
        "wrong.yml.j2": None,
        "right.yml.j2": 1,
    }

    change(wire, opened, "- name: a\n  content: x\n")
    again = await pull_all(wire, 3, reports)
    assert {name_of(uri): report["kind"] for uri, report in again.items()} == {
        "wrong.yml.j2": "unchanged",
        "right.yml.j2": "full",
    }


async def test_closed_files_are_left_alone_where_a_setting_says_so(wire: Wire, tmp_path: Path) -> None:
    write(tmp_path / "wrong.yml.j2", WRONG_ROLE)
    settings = tmp_path / "promptls.toml"
    await wire.begin(tmp_path, capabilities=PULLS)
    before = await pull_all(wire, 2)

    settings.write_text("[diagnostics]\nclosed_files = false\n")
    wire.send(
        method="workspace/didChangeWatchedFiles",
        params={"changes": [{"uri": settings.as_uri(), "type": 1}]},
    )

    assert {name_of(uri): items(report) for uri, report in before.items()} == {
        "wrong.yml.j2": ["unknown-role"]
    }
    assert [items(report) for report in (await pull_all(wire, 3, before)).values()] == [[]]
    opened = document(wire, tmp_path / "open.yml.j2", WRONG_ROLE)
    assert {uri: items(report) for uri, report in (await pull_all(wire, 4)).items()} == {
        opened: ["unknown-role"]
    }


async def test_a_deleted_file_is_reported_once_more_without_diagnostics(wire: Wire, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml.j2"
    write(wrong, WRONG_ROLE)
    await wire.begin(tmp_path, capabilities=PULLS)
    reports = await pull_all(wire, 2)

    wrong.unlink()
    changes = [{"uri": wrong.as_uri(), "type": 3}]
    wire.send(method="workspace/didChangeWatchedFiles", params={"changes": changes})

    again = await pull_all(wire, 3, reports)
    assert [(report["kind"], items(report)) for report in again.values()] == [("full", [])]
    assert await pull_all(wire, 4) == {}


async def test_a_closed_file_is_reported_again_when_an_included_file_changes(
    wire: Wire, tmp_path: Path
) -> None:
    write(tmp_path / "entry.yml.j2", ENTRY)
    write(tmp_path / "tail.yml.j2", "- name: tail\n  content: x\n")
    await wire.begin(tmp_path, capabilities=PULLS)
    tail = document(wire, tmp_path / "tail.yml.j2", "- name: tail\n  content: x\n")
    reports = await pull_all(wire, 2)
    assert [items(report) for report in reports.values()] == [[], []]

    change(wire, tail, '- name: tail\n  content: x\n{% include "entry.yml.j2" %}\n')

    again = await pull_all(wire, 3, reports)
    assert [items(report) for report in again.values()] == [["include-cycle"], ["include-cycle"]]


async def test_reports_come_in_parts_to_a_client_that_takes_parts(wire: Wire, tmp_path: Path) -> None:
    for index in range(120):
        write(tmp_path / f"{index}.yml.j2", WRONG_ROLE)
    await wire.begin(tmp_path, capabilities=PULLS)

    params = {"previousResultIds": [], "partialResultToken": "parts", "workDoneToken": "work"}
    wire.send(id=2, method="workspace/diagnostic", params=params)
    parts, work = [], []
    while (message := await wire.receive()).get("id") != 2:
        if message.get("method") == "$/progress":
            reported = message["params"]
            (parts if reported["token"] == "parts" else work).append(reported["value"])

    assert [len(part["items"]) for part in parts] == [50, 50, 20]
    assert message["result"] == {"items": []}
    assert [reported["kind"] for reported in work] == ["begin", "report", "report", "report", "end"]


async def test_a_cancelled_look_at_the_workspace_ends(wire: Wire, tmp_path: Path) -> None:
    for index in range(300):
        write(tmp_path / f"{index}.yml.j2", WRONG_ROLE * 10)
    await wire.begin(tmp_path, capabilities=PULLS)
    wire.send(
        id=2, method="workspace/diagnostic", params={"previousResultIds": [], "partialResultToken": "parts"}
    )
    while (await wire.receive()).get("method") != "$/progress":
        pass  # it has begun

    wire.send(method="$/cancelRequest", params={"id": 2})

    parts = 1
    while (message := await wire.receive()).get("id") != 2:
        parts += message.get("method") == "$/progress"
    assert message["error"]["code"] == -32800
    assert parts < 6


async def test_a_change_elsewhere_lets_the_client_ask_again(wire: Wire, tmp_path: Path) -> None:
    capabilities = {
        "textDocument": {"diagnostic": {}},
        "workspace": {
            "diagnostics": {"refreshSupport": True},
            "inlayHint": {"refreshSupport": True},
        },
    }
    await wire.begin(tmp_path, capabilities=capabilities)
    entry = document(
        wire, tmp_path / "entry.yml.j2", '{% include "tail.yml.j2" %}\n- name: a\n  content: x\n'
    )
    assert items(await pull(wire, 2, entry)) == ["unresolved-include"]

    write(tmp_path / "tail.yml.j2", "- name: tail\n  content: x\n")
    changes = [{"uri": (tmp_path / "tail.yml.j2").as_uri(), "type": 1}]
    wire.send(method="workspace/didChangeWatchedFiles", params={"changes": changes})

    expected = {"workspace/diagnostic/refresh", "workspace/inlayHint/refresh"}
    methods: set[str] = set()
    while not expected <= methods:
        message = await asyncio.wait_for(wire.receive(), PATIENCE)
        methods.add(message.get("method", ""))
        if "method" in message and "id" in message:
            wire.send(id=message["id"], result=None)
    assert items(await pull(wire, 3, entry)) == []


REFRESHES = {**PULLS, "workspace": {"diagnostics": {"refreshSupport": True}}}
TYPED = "- name: a\n  content: |\n    {{ question | upper }} {{ question | }}\n"
COLUMN = TYPED.splitlines()[2].index("| }}") + 2


async def test_a_half_typed_name_is_reported_after_a_pause(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=REFRESHES)
    uri = document(wire, tmp_path / "a.yml.j2", TYPED)
    assert "unknown-filter" not in items(await pull(wire, 2, uri))

    for number, letter in enumerate("uppe", 3):
        insert(wire, uri, (2, COLUMN + number - 3), letter)
        assert "unknown-filter" not in items(await pull(wire, number, uri))

    while (await asyncio.wait_for(wire.receive(), PATIENCE)).get("method") != "workspace/diagnostic/refresh":
        pass
    assert "unknown-filter" in items(await pull(wire, 9, uri))


async def test_a_half_typed_name_is_published_after_a_pause(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    uri = document(wire, tmp_path / "a.yml.j2", TYPED)
    for number, letter in enumerate("upper"):
        insert(wire, uri, (2, COLUMN + number), letter)
        await asyncio.sleep(0.05)  # so that each letter is checked
    insert(wire, uri, (2, COLUMN + 5), "s")

    unknown: list[str] = []
    while not unknown:
        unknown = [found["message"] for found in await published(wire) if found["code"] == "unknown-filter"]
    assert [message.count("uppers") for message in unknown] == [1]


async def test_a_name_that_is_known_to_be_wrong_stays_reported_while_it_is_typed(
    wire: Wire, tmp_path: Path
) -> None:
    await wire.begin(tmp_path, capabilities=REFRESHES)
    uri = document(wire, tmp_path / "a.yml.j2", TYPED.replace("| }}", "| up }}"))
    assert "unknown-filter" in items(await pull(wire, 2, uri))

    insert(wire, uri, (2, COLUMN + 2), "p")

    assert "unknown-filter" in items(await pull(wire, 3, uri))


async def test_the_findings_in_a_pasted_text_are_reported_at_once(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=REFRESHES)
    uri = document(wire, tmp_path / "a.yml.j2", TYPED)
    assert "unknown-filter" not in items(await pull(wire, 2, uri))

    insert(wire, uri, (2, COLUMN), "uppr")

    assert "unknown-filter" in items(await pull(wire, 3, uri))


async def test_a_client_that_is_not_told_of_changes_gets_all_findings_at_once(
    wire: Wire, tmp_path: Path
) -> None:
    await wire.begin(tmp_path, capabilities=PULLS)
    uri = document(wire, tmp_path / "a.yml.j2", TYPED)
    assert "unknown-filter" not in items(await pull(wire, 2, uri))

    insert(wire, uri, (2, COLUMN), "u")

    assert "unknown-filter" in items(await pull(wire, 3, uri))


# -- what the tests say to the server ------------------------------------------------------------


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def name_of(uri: str) -> str:
    return uri.rpartition("/")[2]


def document(wire: Wire, path: Path, text: str) -> str:
    uri = path.as_uri()
    its = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
    wire.send(method="textDocument/didOpen", params={"textDocument": its})
    return uri


def change(wire: Wire, uri: str, text: str) -> None:
    params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
    wire.send(method="textDocument/didChange", params=params)


def insert(wire: Wire, uri: str, place: tuple[int, int], text: str) -> None:
    position = {"line": place[0], "character": place[1]}
    edit = {"range": {"start": position, "end": position}, "text": text}
    params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]}
    wire.send(method="textDocument/didChange", params=params)


async def pull(wire: Wire, number: int, uri: str) -> Any:
    wire.send(id=number, method="textDocument/diagnostic", params={"textDocument": {"uri": uri}})
    return (await wire.answer(number))["result"]


async def pull_all(wire: Wire, number: int, known: dict[str, Any] | None = None) -> dict[str, Any]:
    previous = [{"uri": uri, "value": report["resultId"]} for uri, report in (known or {}).items()]
    wire.send(id=number, method="workspace/diagnostic", params={"previousResultIds": previous})
    answer = await wire.answer(number)
    return {report["uri"]: report for report in answer["result"]["items"]}
