from __future__ import annotations

from pathlib import Path

from editor_project import make_project
from kate import kate
from real_editor import DOCS, installed


def test_kate_finds_the_server_and_gets_the_findings_of_a_prompt(tmp_path: Path) -> None:
    prompt = make_project(tmp_path / "project")

    with kate(installed("kate"), DOCS, prompt, tmp_path / "home") as messages:
        answer = next(messages)
        reported = next(
            each["params"] for each in messages if each.get("method") == "textDocument/publishDiagnostics"
        )

    assert answer["result"]["capabilities"]["hoverProvider"] is True
    assert reported["uri"] == prompt.as_uri()
    assert "no model knows the role `usr`; did you mean `user`?" in [
        each["message"] for each in reported["diagnostics"]
    ]
