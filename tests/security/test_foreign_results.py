"""Results that came with a folder: their store, manifests and tables are as untrusted as its prompts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptls.experiments.history import last_run, read_run
from promptls.experiments.named_runs import known_runs
from promptls.experiments.store import FILE, FOLDER, Store
from promptls.experiments.unfinished import unfinished_runs
from promptls.results_view.results_client import ResultsProcess
from promptls.security.files import reading_within, scope_of
from promptls.text.errors import UserError
from security.hostile import Hostile

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
NAME = "20260101-000000-prompt"


def manifest(**changed: object) -> dict[str, object]:
    totals = {"results": 1, "failed": 0, "input_tokens": 1, "output_tokens": 1, "cost": 0.0}
    return {
        "run": NAME, "experiment": "main", "prompt": "../prompt.yml.j2", "started": "2026-01-01T00:00:00",
        "models": [{"name": "echo"}], "files": {"../prompt.yml.j2": "x"}, "totals": totals, "seconds": 1.0,
        "metrics": [], **changed,
    }  # fmt: skip


@pytest.fixture
def results(hostile: Hostile) -> Path:
    """The results folder of the project, with the manifest and the table of one run."""
    folder = hostile.folder / "experiments"
    folder.mkdir()
    (folder / f"{NAME}.json").write_text(json.dumps(manifest()), "utf-8")
    (folder / f"{NAME}.csv").write_text("text,response\na,b\n", "utf-8")
    return folder


@pytest.fixture
def store(results: Path) -> Iterator[sqlite3.Connection]:
    """The database of the results folder, as promptls creates it."""
    Store(results).close()
    connection = sqlite3.connect(results / FOLDER / FILE)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        f"DROP TABLE prompts; CREATE VIEW prompts AS {ENDLESS} SELECT x AS digest, 1 AS made FROM n",
        f"DROP TABLE runs; CREATE VIEW runs AS {ENDLESS} SELECT x AS id, '' AS name, '' AS header FROM n",
        f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN INSERT INTO more {ENDLESS} SELECT x FROM n; END",
        "CREATE TABLE more (x)",
    ],
)
def test_a_store_with_other_tables_is_not_asked(
    results: Path, store: sqlite3.Connection, change: str
) -> None:
    store.executescript(change)

    assert [run.name for run in known_runs(results)] == [NAME]
    assert unfinished_runs(results) == []
    with pytest.raises(UserError, match="its tables are not those of promptls"):
        Store(results)


@pytest.mark.parametrize(
    ("header", "name", "owner"),
    [
        (b"{", NAME, "0" * 32),
        (b"\x00\xff", "20260101-000000-b", "0" * 32),
        (b"[1]", "", "../../outside"),
        (b'{"run": "../../x"}', "../../outside", "/dev/zero"),
        (b"null", "/outside", ""),
    ],
)
def test_runs_that_somebody_wrote_into_the_store_are_passed_over(
    results: Path, store: sqlite3.Connection, header: bytes, name: str, owner: str
) -> None:
    store.execute("INSERT INTO runs VALUES (1, ?, ?, ?)", (name, header, owner))
    store.commit()

    assert [run.name for run in known_runs(results)] == [NAME]


def test_a_header_of_a_gigabyte_is_not_read(results: Path, store: sqlite3.Connection) -> None:
    store.execute("INSERT INTO runs VALUES (1, '20260101-000000-b', zeroblob(100000000), 'o')")
    store.commit()

    assert unfinished_runs(results) == []


@pytest.mark.parametrize("linked", ["experiments", f"experiments/{FOLDER}"])
def test_no_store_is_written_where_a_link_leads(hostile: Hostile, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = hostile.folder / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)

    for words in (["history"], ["history", "prompt.yml.j2"], ["run", "--resume", "last"], ["check"]):
        hostile.command(*words)

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"totals": {}},
        {"totals": []},
        {"models": [1]},
        {"models": 1},
        {"metrics": [{}]},
        {"files": [1]},
        {"seconds": "long"},
        {"run": ["a"]},
        {"dataset": "a"},
        {"by_model": [1]},
        {"by_model": {"a": 1}},
    ],
)
def test_a_manifest_with_invalid_values_is_ignored(
    hostile: Hostile, results: Path, changed: dict[str, object]
) -> None:
    file = results / f"{NAME}.json"
    file.write_text(json.dumps(manifest(**changed)), "utf-8")

    assert last_run(hostile.prompt) is None
    with pytest.raises(UserError, match="not the manifest of a run"):
        read_run(file)


@pytest.mark.parametrize("words", [["classes"], ["report"], ["compare"]])
def test_the_table_of_a_run_does_not_lead_outside(
    hostile: Hostile, results: Path, tmp_path: Path, words: list[str]
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("id,expected,response,expected\n1,PLANTED,PLANTED,PLANTED\n", "utf-8")
    table = results / f"{NAME}.csv"
    table.unlink()
    table.symlink_to(secret)

    done = hostile.command(*words, str(table.with_suffix(".json")), *([str(table)] * (words == ["compare"])))

    written = "".join(file.read_text("utf-8") for file in hostile.folder.glob("*.html"))
    assert "PLANTED" not in done.stdout + done.stderr + written
    assert done.returncode != 0


async def test_the_process_that_reads_results_reads_where_its_client_may(
    results: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("number,response\n1,PLANTED\n", "utf-8")
    table = results / f"{NAME}.csv"
    table.unlink()
    table.symlink_to(secret)
    process = ResultsProcess()

    try:
        with reading_within(lambda: scope_of([results.parent])), pytest.raises(UserError) as refused:
            await process.ask("report", {"run": str(table)})
    finally:
        await process.close()
    assert "PLANTED" not in str(refused.value)


def test_a_trusted_folder_may_keep_its_results_elsewhere(
    hostile: Hostile, results: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "results"
    results.rename(moved)
    results.symlink_to(moved)
    hostile.store.decide(hostile.folder, trusted=True)

    assert NAME in hostile.command("history").stdout
    with reading_within(lambda: scope_of([hostile.folder])):
        assert known_runs(results) == []
