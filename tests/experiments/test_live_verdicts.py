from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from promptls.experiments.journal import Journal, create_journal
from promptls.experiments.live_verdicts import LiveVerdicts
from promptls.experiments.row_result import RowResult, Score

METRICS = [{"name": "exact_match", "kind": "discrete", "allowed_values": ["pass", "fail"]}]
MODELS = ["small", "large"]


def journal_in(folder: Path, header: dict[str, Any]) -> Journal:
    journal = create_journal(folder, "ask", datetime.now(timezone.utc))
    journal.describe({"models": [{"name": name} for name in MODELS], **header}, MODELS, 1)
    return journal


def result(number: int, model: str, score: str | None, error: str | None = None) -> RowResult:
    scores = {} if score is None else {"exact_match": Score(score)}
    values = {"text": f"text {number}", "expected": "yes"}
    said = "yes" if score == "pass" else "no"
    return RowResult(str(number), number, number, model, 1, values, said, scores, error=error, seconds=0.5)


def states(live: LiveVerdicts) -> dict[int, str]:
    return {verdict.number: verdict.state for verdict in live.fresh()}


def test_a_row_has_the_worst_verdict_of_its_results_so_far(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, {"experiment": "main", "settings": {"json_schema": None}})
    live = LiveVerdicts(journal.path, METRICS)

    assert states(live) == {}
    journal.append(result(1, "small", "pass"))
    journal.append(result(2, "small", None, "it broke"))
    assert states(live) == {1: "passed", 2: "errored"}
    assert states(live) == {}
    journal.append(result(1, "large", "fail"))
    (verdict,) = live.fresh()
    assert (verdict.state, verdict.message) == ("failed", "exact_match says `fail` with `large`")
    assert (verdict.expected, verdict.actual, verdict.seconds) == ("yes", "no", 1.0)
    journal.close()


def test_half_a_line_is_left_for_the_next_time_and_a_journal_that_is_gone_says_nothing(
    tmp_path: Path,
) -> None:
    journal = journal_in(tmp_path, {"written_in": "../evals.py", "experiment": "main", "settings": {}})
    live = LiveVerdicts(journal.path, METRICS)
    journal.append(result(1, "small", "pass"))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-5])

    assert states(live) == {}
    journal.path.write_bytes(whole)
    assert states(live) == {1: "passed"}
    journal.remove()
    assert states(live) == {}
