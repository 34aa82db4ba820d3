"""The page about test data: its snippets run as shown, and it mentions every option."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from promptls import testset
from promptls.cli.main import main
from promptls.testset.synthesizers import DEFAULT_DISTRIBUTION
from support.library_documents import good_reply, write_documents
from support.model_server import model_server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "test-data.md").read_text("utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_snippets_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_documents(tmp_path)
    names: dict[str, Any] = {"folder": tmp_path}
    with model_server() as server:
        server.reply = good_reply
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        for snippet in SNIPPETS:
            exec(snippet, names)
    assert capsys.readouterr().out == "6 rows, left out: {}, 0 duplicates\n"
    rows = [json.loads(line) for line in (tmp_path / "tests.jsonl").read_text("utf-8").splitlines()]
    assert {row["synthesizer_name"] for row in rows} == {"steps", "single_hop_specific"}
    assert {row["persona_name"] for row in rows} == {"nurse"}


def test_it_documents_every_option_for_test_data(capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "--help"])
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    options |= {"--output"}
    usual = {"--json", "--force", "--concurrency", "--timeout", "--no-embeddings", "--help"}
    assert options - set(re.findall(r"--[a-z-]+", PAGE)) - usual == set()


def test_its_table_of_synthesizers_is_the_default_distribution() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) % \|$", PAGE, re.MULTILINE)
    assert {name: int(share) / 100 for name, share in rows} == DEFAULT_DISTRIBUTION


def test_every_name_of_the_package_is_there() -> None:
    assert [name for name in testset.__all__ if getattr(testset, name) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = testset.nothing
