"""A change updates the diagnostics of every affected open document, for each kind of client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from plain_client import PATIENCE, Wire

GREETING = "- name: a\n  content: {{ greet(1) }}\n"
HINT = 4
PART = "- name: a\n  content: x\n"


class Case(NamedTuple):
    """Files, some of them open; one is inspected before and after `changed` and `gone`."""

    files: dict[str, str]
    opened: tuple[str, ...]
    before: list[str]
    changed: dict[str, str]
    after: list[str]
    gone: tuple[str, ...] = ()


CASES = {
    "a sibling include": Case(
        {
            "main.yml.j2": "{% include 'c.yml.j2' %}{% include 'b.yml.j2' %}",
            "c.yml.j2": PART,
            "b.yml.j2": "{{ foo | uppr }}",
        },
        ("b.yml.j2", "c.yml.j2"),
        ["unknown-filter"],
        {"c.yml.j2": "nothing: here\n"},
        [],
    ),
    "an include": Case(
        {"main.yml.j2": f"{{% include 'tail.yml.j2' %}}\n{PART}", "tail.yml.j2": PART.replace("a", "tail")},
        ("main.yml.j2", "tail.yml.j2"),
        [],
        {"tail.yml.j2": "{% include 'main.yml.j2' %}\n"},
        ["include-cycle"],
    ),
    "an import": Case(
        {
            "main.yml.j2": f"{{% from 'macros.yml.j2' import greet %}}\n{PART.replace('x', '{{ greet() }}')}",
            "macros.yml.j2": "{% macro greet() %}hello{% endmacro %}\n",
        },
        ("main.yml.j2", "macros.yml.j2"),
        [],
        {"macros.yml.j2": "{% macro great() %}hello{% endmacro %}\n"},
        ["unresolved-import"],
    ),
    "a macro": Case(
        {
            "main.yml.j2": f"{{% from 'macros.yml.j2' import greet %}}\n{GREETING}",
            "macros.yml.j2": "{% macro greet(name) %}hello {{ name }}{% endmacro %}\n",
        },
        ("main.yml.j2", "macros.yml.j2"),
        [],
        {"macros.yml.j2": "{% macro greet() %}hello{% endmacro %}\n"},
        ["wrong-arguments"],
    ),
    "a base template": Case(
        {
            "main.yml.j2": "{% extends 'base.yml.j2' %}{% block rest %}{% endblock %}",
            "base.yml.j2": f"{PART}{{% block rest %}}{{% endblock %}}\n",
        },
        ("main.yml.j2", "base.yml.j2"),
        [],
        {"base.yml.j2": f"{PART}{{% block end %}}{{% endblock %}}\n"},
        ["dropped-by-extends"],
    ),
    "what includes a section": Case(
        {"main.yml.j2": f"{PART}{{% include 'text.yml.j2' %}}\n", "text.yml.j2": "{{ foo | uppr }}\n"},
        ("text.yml.j2", "main.yml.j2"),
        ["unknown-filter"],
        {"main.yml.j2": PART},
        [],
    ),
    "the settings": Case(
        {"main.yml.j2": "- name: a\n  role: sytem\n  content: x\n", "promptls.toml": ""},
        ("main.yml.j2",),
        ["unknown-role"],
        {"promptls.toml": '[rules]\nunknown-role = "off"\n'},
        [],
    ),
    "a dataset": Case(
        {
            "main.yml.j2": (
                "{#---\ninput_keys: [question]\nexperiments:\n"
                "  base: {dataset: rows.csv, metrics: []}\n---#}\n" + PART.replace("x", "'{{ question }}'")
            ),
            "rows.csv": "question\nwhy\n",
        },
        ("main.yml.j2",),
        [],
        {"rows.csv": "answer\nwhy\n"},
        ["missing-dataset-column"],
    ),
    "a sample": Case(
        {
            "main.yml.j2": (
                "{#---\ninput_keys: [question]\nsamples: data.json\n---#}\n"
                + PART.replace("x", "'{{ question }}'")
            ),
            "data.json": '{"question": "why"}',
        },
        ("main.yml.j2",),
        [],
        {},
        ["invalid-sample"],
        gone=("data.json",),
    ),
    "a Python caller": Case(
        {
            "main.yml.j2": PART.replace("x", "'{{ question }}'"),
            "app.py": (
                "from prompt_poet import Prompt\n"
                'Prompt(template_path="main.yml.j2", template_data={"question": "why"})\n'
            ),
        },
        ("main.yml.j2",),
        [],
        {
            "app.py": (
                "from prompt_poet import Prompt\n"
                'Prompt(template_path="main.yml.j2", template_data={"query": "why"})\n'
            ),
        },
        ["missing-template-data"],
    ),
    "a Python caller with unsaved edits": Case(
        {
            "main.yml.j2": PART.replace("x", "'{{ question }}'"),
            "app.py": (
                "from prompt_poet import Prompt\n"
                'Prompt(template_path="main.yml.j2", template_data={"question": "why"})\n'
            ),
        },
        ("main.yml.j2", "app.py"),
        [],
        {
            "app.py": (
                "from prompt_poet import Prompt\n"
                'Prompt(template_path="main.yml.j2", template_data={"query": "why"})\n'
            ),
        },
        ["missing-template-data"],
    ),
    "a chain of includes that is cut in the middle": Case(
        {
            "main.yml.j2": f"{{% include 'first.yml.j2' %}}\n{PART.replace('x', '{{ tone }}')}",
            "first.yml.j2": "{% include 'second.yml.j2' %}\n",
            "second.yml.j2": "{% include 'third.yml.j2' %}\n",
            "third.yml.j2": f"{{% set tone = 'kind' %}}\n{PART}",
        },
        ("third.yml.j2", "second.yml.j2", "first.yml.j2"),
        [],
        {"second.yml.j2": PART},
        ["unused-variable"],
    ),
    "an include that is deleted": Case(
        {"main.yml.j2": f"{{% include 'tail.yml.j2' %}}\n{PART}", "tail.yml.j2": PART.replace("a", "tail")},
        ("main.yml.j2",),
        [],
        {},
        ["unresolved-include"],
        gone=("tail.yml.j2",),
    ),
    "an include that is renamed": Case(
        {"main.yml.j2": f"{{% include 'tail.yml.j2' %}}\n{PART}", "end.yml.j2": PART.replace("a", "tail")},
        ("main.yml.j2",),
        ["unresolved-include"],
        {"tail.yml.j2": PART.replace("a", "tail")},
        [],
        gone=("end.yml.j2",),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("pulls", [False, True], ids=["pushed", "pulled"])
async def test_a_change_shows_where_it_matters(wire: Wire, tmp_path: Path, case: Case, pulls: bool) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    client = Client(wire, tmp_path, pulls=pulls)
    await client.begin()
    for name in case.opened:
        client.open(name, case.files[name])
    looked_at = client.uri(case.opened[0])
    await client.codes(looked_at, case.before)

    events = []
    for name, text in case.changed.items():
        if name in case.opened:
            client.change(name, text)
        else:
            events.append({"uri": client.uri(name), "type": 2 if (tmp_path / name).exists() else 1})
            (tmp_path / name).write_text(text, "utf-8")
    for name in case.gone:
        (tmp_path / name).unlink()
        events.append({"uri": client.uri(name), "type": 3})
    if events:
        wire.send(method="workspace/didChangeWatchedFiles", params={"changes": events})

    await client.codes(looked_at, case.after)


class Client:
    """A client that shows the codes of each document's diagnostics."""

    def __init__(self, wire: Wire, root: Path, *, pulls: bool) -> None:
        self._wire = wire
        self._root = root
        self._pulls = pulls
        self._shown: dict[str, list[str]] = {}
        self._next = 2

    async def begin(self) -> None:
        pulling = {
            "textDocument": {"diagnostic": {}},
            "workspace": {"diagnostics": {"refreshSupport": True}},
        }
        await self._wire.begin(self._root, capabilities=pulling if self._pulls else {})

    def uri(self, name: str) -> str:
        return (self._root / name).as_uri()

    def open(self, name: str, text: str) -> None:
        its = {"uri": self.uri(name), "languageId": "promptls", "version": 1, "text": text}
        self._wire.send(method="textDocument/didOpen", params={"textDocument": its})

    def change(self, name: str, text: str) -> None:
        params = {
            "textDocument": {"uri": self.uri(name), "version": 2},
            "contentChanges": [{"text": text}],
        }
        self._wire.send(method="textDocument/didChange", params=params)

    async def codes(self, uri: str, expected: list[str]) -> None:
        """Wait until the document shows these codes."""
        if self._pulls:
            self._pull(uri)
        while self._shown.get(uri) != expected and (expected or uri in self._shown or self._pulls):
            self._take(await asyncio.wait_for(self._wire.receive(), PATIENCE), uri)
        assert self._shown.get(uri, []) == expected

    def _pull(self, uri: str) -> None:
        params = {"textDocument": {"uri": uri}}
        self._wire.send(id=self._next, method="textDocument/diagnostic", params=params)
        self._next += 1

    def _take(self, message: Any, uri: str) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            found = message["params"]["diagnostics"]
            self._shown[message["params"]["uri"]] = _codes(found)
        elif message.get("method") == "workspace/diagnostic/refresh":
            self._wire.send(id=message["id"], result=None)
            self._pull(uri)
        elif "items" in (message.get("result") or {}):
            self._shown[uri] = _codes(message["result"]["items"])


def _codes(diagnostics: list[dict[str, Any]]) -> list[str]:
    """Return the codes of all diagnostics but hints, each once."""
    return sorted({each["code"] for each in diagnostics if each["severity"] < HINT})
