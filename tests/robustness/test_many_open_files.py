"""Many open files that one change affects: requests are answered in between."""

from __future__ import annotations

from pathlib import Path

from in_process import InProcess

from promptls.server.to_proto import path_of

FILES = 8
PATIENCE = 60.0
PUSHED = "textDocument/publishDiagnostics"
INCLUDED = "{% set tone = 'kind' %}\n- name: shared\n  content: Hello\n"
INCLUDING = "{% include 'shared.yml.j2' %}\n- name: own\n  content: Be {{ tone }}.\n"
UNSET = {
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}},
    "text": "",
}


async def test_a_request_is_answered_between_the_diagnostics_of_two_files(tmp_path: Path) -> None:
    server = InProcess(tmp_path)
    await server.begin()
    shared = server.open("shared.yml.j2", INCLUDED)
    uris = {server.open(f"{number}.yml.j2", INCLUDING) for number in range(FILES)}

    server.change(shared, 2, UNSET)
    updated = {(await server.notified(PUSHED))["uri"]}
    await server.ask("textDocument/documentSymbol", {"textDocument": {"uri": shared}})
    before = sum(message.get("method") == PUSHED for message in server.messages)
    while updated != uris:
        updated.add((await server.notified(PUSHED))["uri"])
    await server.end()

    assert before < FILES - 1


async def test_the_file_of_a_request_is_rendered_before_others(tmp_path: Path) -> None:
    server = InProcess(tmp_path)
    await server.begin()
    uris = [server.open(f"{number}.yml.j2", INCLUDED) for number in range(FILES)]
    await server.ask("textDocument/documentSymbol", {"textDocument": {"uri": uris[-1]}})

    renderings = server.server.session.renderings
    await renderings.first(path_of(uris[-1]), PATIENCE)
    rendered = [uri for uri in uris if renderings.latest(path_of(uri)) is not None]
    await server.end()

    assert uris[-1] in rendered
    assert len(rendered) < FILES
