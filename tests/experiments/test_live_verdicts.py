from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from promptls.experiments.scores import RowResult, Score
from promptls.experiments.unfinished import UnfinishedRun, create_run
from promptls.experiments.verdicts import LiveVerdicts

METRICS = [{"name": "exact_match", "kind": "discrete", "allowed_values": ["pass", "fail"]}]
MODELS = ["small", "large"]


def run_in(folder: Path, header: dict[str, Any]) -> UnfinishedRun:
    models = {"models": [{"name": name} for name in MODELS]}
    return create_run(folder, "ask", datetime.now(timezone.utc), {**models, **header})


def result(number: int, model: str, score: str | None, error: str | None = None) -> RowResult:
    scores = {} if score is None else {"exact_match": Score(score)}
    values = {"text": f"text {number}", "expected": "yes"}
    said = "yes" if score == "pass" else "no"
    return RowResult(str(number), number, number, model, 1, values, said, scores, error=error, seconds=0.5)


def states(live: LiveVerdicts) -> dict[int, str]:
    return {verdict.number: verdict.state for verdict in live.fresh()}


def test_a_row_has_the_worst_verdict_of_its_results_so_far(tmp_path: Path) -> None:
    run = run_in(tmp_path, {"experiment": "main", "settings": {"json_schema": None}})
    live = LiveVerdicts(run.path, METRICS)

    assert states(live) == {}
    run.append(result(1, "small", "pass"))
    run.append(result(2, "small", None, "it broke"))
    assert states(live) == {1: "passed", 2: "errored"}
    assert states(live) == {}
    run.append(result(1, "large", "fail"))
    (verdict,) = live.fresh()
    assert (verdict.state, verdict.message) == ("failed", "exact_match says `fail` with `large`")
    assert (verdict.expected, verdict.actual, verdict.seconds) == ("yes", "no", 1.0)
    run.close()


def test_a_deleted_run_has_no_findings(tmp_path: Path) -> None:
    run = run_in(tmp_path, {"written_in": "../evals.py", "experiment": "main", "settings": {}})
    live = LiveVerdicts(run.path, METRICS)
    run.append(result(1, "small", "pass"))
    assert states(live) == {1: "passed"}
    run.remove()
    assert states(live) == {}
