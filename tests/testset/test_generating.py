"""Datasets from documents through the command line, with a real model server."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from support.grants import allow_key
from support.library_documents import good_reply, request_texts, theme_of, write_documents
from support.model_server import ModelServer, Reply, model_server

KEY = "planted-generation-0123456789"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = good_reply
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OFFICE_KEY", KEY)
    write_documents(tmp_path)
    allow_key("OFFICE_KEY", server.url)
    office = f'provider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = "OFFICE_KEY"\n'
    (tmp_path / "promptls.toml").write_text(f"[models.office]\n{office}", encoding="utf-8")
    return tmp_path


def generate(*words: str) -> int:
    # Documents that are named as well stand beside the first ones.
    return main(["generate", "docs", *words, "--model", "office", "--no-embeddings"])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_rows_have_what_experiments_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate("--size", "8", "--seed", "7") == 0
    made = rows(folder / "tests.csv")
    assert [row["id"] for row in made] == [str(number) for number in range(1, 9)]
    for row in made:
        contexts = json.loads(row["reference_contexts"])
        assert row["reference"].rstrip(".") in " ".join(" ".join(contexts).split())
        assert len(contexts) == (2 if row["synthesizer_name"].startswith("multi_hop") else 1)
        assert set(json.loads(row["sources"])) <= {"docs/cards.md", "docs/lending.md"}
        assert row["persona_name"]
        assert row["query_style"]
        assert row["query_length"]
    assert "tests.csv: 8 rows (" in capsys.readouterr().out


def test_an_experiment_runs_over_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate("--size", "4")
    (folder / "ask.yml.j2").write_text(
        "{#---\ninput_keys: [user_input]\nexperiments:\n"
        "  main: {dataset: tests.csv, models: [echo], metrics: [exact_match]}\n---#}\n"
        '- name: question\n  role: user\n  content: "{{ user_input }}"\n'
    )
    main(["run", "ask.yml.j2"])
    assert "4 rows of tests.csv" in capsys.readouterr().out


def test_the_same_seed_sends_the_same_requests_in_any_answer_order(folder: Path, server: ModelServer) -> None:
    generate("--size", "8", "--seed", "3", "--fresh")
    first = (folder / "tests.csv").read_bytes()
    generate("--size", "8", "--seed", "3", "--fresh", "--force", "--concurrency", "1")
    assert (folder / "tests.csv").read_bytes() == first
    assert len(server.requests) == 16
    generate("--size", "8", "--seed", "4", "--fresh", "--force")
    assert (folder / "tests.csv").read_bytes() != first


def test_a_plan_asks_nobody_and_writes_nothing(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate("--size", "6", "--plan", "--json", "--graph", "graph.json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["rows"], plan["calls"], plan["cached"], plan["documents"]) == (6, 6, 0, 2)
    assert sum(plan["synthesizers"].values()) == 6
    assert server.requests == []
    assert sorted(each.name for each in folder.iterdir() if each.is_file()) == ["promptls.toml"]


def test_what_costs_much_is_asked_first(folder: Path, server: ModelServer) -> None:
    settings = (folder / "promptls.toml").read_text("utf-8")
    (folder / "promptls.toml").write_text(
        f"{settings}input_price = 1000\noutput_price = 1000\n[ask_above]\ncost = 0.5\n"
    )
    assert generate("--size", "6") == 2
    assert server.requests == []
    assert generate("--size", "6", "--yes") == 0
    assert len(server.requests) == 6


def test_answers_are_cached_and_the_same_command_resumes(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate("--size", "8", "--max-calls", "5") == 1
    reported = capsys.readouterr().out
    assert "the budget of 5 calls is spent: 3 queries were not asked for" in reported
    assert len(rows(folder / "tests.csv")) == 5
    assert generate("--size", "8", "--force") == 0
    assert "3 calls, about" in capsys.readouterr().out
    assert len(server.requests) == 8


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no JSON at all", "no JSON with a query and an answer"),
        ("", "an empty answer"),
        (json.dumps({"query": "Сколько стоит?", "answer": "Пять евро"}), "another language"),
        (
            json.dumps({"query": "Who has the cards and books?", "answer": "Mrs Smith rules"}),
            "that is not in the documents",
        ),
    ],
    ids=["no json", "empty", "other language", "invented"],
)
def test_what_is_no_good_is_asked_again_and_then_left_out_and_counted(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str], content: str, reason: str
) -> None:
    first: list[str] = []

    def reply(body: dict[str, Any]) -> Reply:
        first[:] = first or [theme_of(body) + request_texts(body)[0]]
        return Reply(content) if theme_of(body) + request_texts(body)[0] == first[0] else good_reply(body)

    server.reply = reply
    assert generate("--size", "5", "--tries", "2", "--concurrency", "1") == 1
    out = capsys.readouterr().out
    assert "1 left out: " in out
    assert reason in out
    assert len(rows(folder / "tests.csv")) == 4
    assert len(server.requests) == 6
    # The second try is another sample, not the same one again.
    assert server.requests[0]["seed"] + 1 == server.requests[1]["seed"]


def test_a_second_try_that_is_good_counts(folder: Path, server: ModelServer) -> None:
    server.queue = [Reply("nonsense")]
    assert generate("--size", "3", "--concurrency", "1") == 0
    assert len(server.requests) == 4


def test_duplicates_are_dropped(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        answer = json.loads(good_reply(body).content)["answer"]
        return Reply(json.dumps({"query": "What does the front desk do, then?", "answer": answer}))

    server.reply = reply
    assert generate("--size", "4") == 1
    assert len(rows(folder / "tests.csv")) == 1
    assert "3 duplicates dropped" in capsys.readouterr().out


def test_where_nothing_is_any_good_nothing_is_written(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply = lambda _body: Reply("nonsense")
    assert generate("--size", "2") == 1
    assert "gave no usable query: 2 times no JSON" in capsys.readouterr().err
    assert not (folder / "tests.csv").exists()


def test_a_model_that_is_not_there_fails_at_once(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply = lambda _body: Reply(status=401, content="no")
    assert generate("--size", "8", "--concurrency", "1") == 1
    assert len(server.requests) == 1
    assert "check the key in the environment variable `OFFICE_KEY`" in capsys.readouterr().err


def test_the_graph_is_saved_and_loaded_again(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    generate("--size", "3", "--graph", "graph.json")
    first = (folder / "tests.csv").read_bytes()
    code = main(["generate", "--model", "office", "--size", "3", "--graph", "graph.json", "--force"])
    assert (code, (folder / "tests.csv").read_bytes()) == (0, first)
    assert "from graph.json" in capsys.readouterr().out
    (folder / "docs" / "cards.md").write_text("# Other\n\nWords.", encoding="utf-8")
    assert generate("--graph", "graph.json", "--force") == 2
    assert "made from other documents, or they have changed" in capsys.readouterr().err


def test_a_model_may_read_the_documents_too(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        question = str(body["messages"][-1]["content"])
        if "It is about" in question:
            return good_reply(body)
        return Reply(
            json.dumps({"found": "A summary." if "Summarize" in question else ["Front Desk", "Mars"]})
        )

    server.reply = reply
    generate("--extraction", "model", "--plan")
    assert "32 calls" in capsys.readouterr().out
    assert generate("--extraction", "model", "--size", "4", "--graph", "graph.json") == 0
    nodes = json.loads((folder / "graph.json").read_text("utf-8"))["nodes"]
    found = [node["properties"] for node in nodes if node["type"] == "chunk"]
    # What a text does not say is no entity of it, whatever the model says.
    assert {tuple(each["entities"]) for each in found} == {("Front Desk",)} | {
        tuple(each["entities"]) for each in found if "Front Desk" not in each["page_content"]
    }
    assert {each["summary"] for each in found} == {"A summary."}


def test_secrets_reach_no_file_and_no_output(
    folder: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cards = folder / "docs" / "cards.md"
    cards.write_text(f"{cards.read_text('utf-8')}\nThe key of the Front Desk is {KEY}.\n", encoding="utf-8")
    server.reply = lambda body: Reply(good_reply(body).content.replace("?", f" {KEY}?"))
    assert generate("--size", "8", "--graph", "graph.json") == 0
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    written = [each for each in folder.rglob("*") if each.is_file() and each.parent != folder / "docs"]
    assert [each.name for each in written if KEY.encode() in each.read_bytes()] == []
    assert "[key]" in (folder / "graph.json").read_text("utf-8")
    assert KEY not in "".join(capsys.readouterr())
    assert not any(KEY in json.dumps(body) for body in server.requests)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "tests.txt"], "a dataset cannot end in `.txt`"),
        (["--output", "nowhere/tests.csv"], "the folder of the dataset does not exist"),
        (["--output", "promptls.toml"], "a dataset cannot end in `.toml`"),
        (["--style", "chatt"], "there is no style `chatt`; did you mean `chat`?"),
        (["--length", "endless"], "there is no length `endless`"),
        (["--persona", "nurse"], "`nurse` is not a persona"),
        (["--distribution", "single=1"], "there is no synthesizer `single`"),
        (["--graph", "nowhere/graph.json"], "the folder of the graph does not exist"),
        (
            ["docs/card.md"],
            "there is no such file or folder\n  at docs/card.md\n  → did you mean `docs/cards.md`?",
        ),
        (["empty"], "there is no document in the folder"),
        (["page.html"], "documents of the form `.html` are not read"),
        (["bytes.md"], "the document is not UTF-8"),
        (["--size", "0"], "`0` is not a whole number of 1 or more"),
    ],
)
def test_usage_errors_are_reported_before_any_question(
    folder: Path,
    server: ModelServer,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    (folder / "empty").mkdir()
    (folder / "page.html").write_text("<p>")
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    assert generate(*words) == 2
    assert message in capsys.readouterr().err
    assert server.requests == []


def test_a_data_set_that_is_there_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tests.csv").write_text("mine")
    assert generate() == 2
    assert "overwrite it with `--force`" in capsys.readouterr().err
    assert (folder / "tests.csv").read_text() == "mine"


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_data_sets_in_json_keep_their_lists(folder: Path, ending: str) -> None:
    assert generate("--size", "3", "--output", f"tests.{ending}") == 0
    text = (folder / f"tests.{ending}").read_text("utf-8")
    made = json.loads(text) if ending == "json" else [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(row["reference_contexts"], list) for row in made)
    assert len(made) == 3
