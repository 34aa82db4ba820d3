"""The workflow of a new user in a terminal: try a prompt, run it, write a second version, compare."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptls.cli.main import main
from support.experiment_folder import Folder
from support.installed import is_installed
from support.model_server import ModelServer, Reply, model_server

FIRST = """\
{#---
input_keys: [text]
experiments:
  mood:
    dataset: datasets/reviews.csv
    models: [MODEL]
    metrics: [evals.py:same_mood]
    max_tokens: 6
    temperature: 0
---#}
- name: question
  role: user
  content: |
    Is this review positive or negative? {{ escape_special_characters(text) }}
"""

SHOTS = """\
- name: instructions
  role: system
  content: Answer with one word, Positive or Negative.
- name: first
  role: user
  content: "Review: I would buy it again, it is wonderful."
- name: first_answer
  role: assistant
  content: Positive
- name: second
  role: user
  content: "Review: A waste of money, it does not work."
- name: second_answer
  role: assistant
  content: Negative
- name: question
  role: user
  content: |
    Review: {{ escape_special_characters(text) }}
"""

EVALS = """\
from promptls import MetricResult, discrete_metric

@discrete_metric(name="same_mood", allowed_values=["correct", "incorrect"])
def same_mood(prediction: str, expected_mood: str):
    said = prediction.strip()
    return MetricResult("correct" if said == expected_mood else "incorrect", f"got {said}")
"""

REVIEWS = {
    "Positive": [
        "I love it, the best lamp that I ever had.",
        "Great quality and a fair price, very happy.",
        "Wonderful sound, works perfectly.",
        "Excellent service, fast and friendly.",
        "A beautiful book, I enjoyed every page.",
        "Fantastic food, we will come back.",
    ],
    "Negative": [
        "It broke after a day, terrible quality.",
        "I hate it, it does not work at all.",
        "Awful service, rude and slow.",
        "The worst phone that I ever had.",
        "Horrible food, we were all sick.",
        "A boring book, a waste of money.",
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder with the first version, a dataset and a metric."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    rows = [f'{text.split()[0]},"{text}",{mood}' for mood, texts in REVIEWS.items() for text in texts]
    (tmp_path / "datasets" / "reviews.csv").write_text("\n".join(["id,text,mood", *rows, ""]), "utf-8")
    (tmp_path / "evals.py").write_text(EVALS, encoding="utf-8")
    write(tmp_path / "v1.yml.j2", FIRST)
    return tmp_path


def write(path: Path, text: str, model: str = "echo") -> None:
    path.write_text(text.replace("MODEL", model), encoding="utf-8")


def second_version() -> str:
    return FIRST[: FIRST.index("- name: question")] + SHOTS


def test_one_row_shows_what_the_model_answered(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "v1.yml.j2", "--rows", "1"]) == 0
    shown = capsys.readouterr().out
    assert "row 1 (id I) was answered:\n  Is this review positive or negative? I love it, " in shown


def test_each_row_to_look_at_has_its_answer_below(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "v1.yml.j2"]) == 0
    assert re.search(
        r"  row 2 \(id Great\): same_mood says `incorrect`: got Is this.*\n    answer: Is this review",
        capsys.readouterr().out,
    )


def test_truncated_answers_are_reported(
    folder: Folder, server: ModelServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    choice = {"message": {"role": "assistant", "content": "To begin wi"}, "finish_reason": "length"}
    server.reply = lambda _body: Reply(raw=json.dumps({"choices": [choice]}).encode())
    folder.serve(server).write(model="office")
    main(["run", "ask.yml.j2"])
    assert "4 answers cut off at `max_tokens`: a larger value" in capsys.readouterr().out


def test_another_version_is_offered_to_compare_with(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "v1.yml.j2"])
    (first,) = (path.stem for path in loop.glob("experiments/*.json"))
    write(loop / "v2.yml.j2", second_version())
    main(["run", "v2.yml.j2", "--rows", "2"])
    assert "promptls compare" not in capsys.readouterr().out
    main(["run", "v2.yml.j2"])
    assert f"is it better than v1.yml.j2? promptls compare {first} " in capsys.readouterr().out


def test_prompts_are_compared_by_their_last_runs_over_all_rows(
    loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(loop / "v2.yml.j2", second_version())
    for more in ([], ["--rows", "2"]):
        for name in ("v1", "v2"):
            main(["run", f"{name}.yml.j2", *more])
    capsys.readouterr()
    assert main(["compare", "v1", "v2.yml.j2"]) == 0
    assert re.search(r"same_mood .* 12  inconclusive", capsys.readouterr().out)


def test_a_complete_run_is_not_compared_with_a_partial_one(
    loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "v1.yml.j2", "--rows", "2"])
    main(["run", "v1.yml.j2"])
    assert "rendered prompts differ" not in capsys.readouterr().out
    main(["run", "v1.yml.j2", "--rows", "2"])
    assert "0 of 2 rendered prompts differ from" in capsys.readouterr().out


def test_experiments_of_python_files_are_named_where_a_prompt_declares_none(
    loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (loop / "promptls.toml").touch()
    write(loop / "v1.yml.j2", FIRST[FIRST.index("- name: question") :])
    (loop / "evals.py").write_text(
        "from ragas import experiment\n\n@experiment()\nasync def mood(row, prompt_file):\n    return row\n",
        encoding="utf-8",
    )
    assert main(["run", "v1.yml.j2"]) == 2
    assert "name one: `--experiment mood`" in capsys.readouterr().err
    if not is_installed("ragas"):
        assert main(["run", "v1.yml.j2", "--experiment", "mood"]) == 1
        assert "or take the same names from promptls: `from promptls import" in capsys.readouterr().err
