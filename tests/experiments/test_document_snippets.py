"""The snippets of Ragas's documentation about experiments, with `promptls` in place of `ragas`.

Each runs unchanged; functions such as `my_system_function` are left to the reader by the documentation. If a
snippet cannot produce its result here, the docstring of the test says why.
"""

from __future__ import annotations

import ast
import asyncio
import csv
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from promptls import Dataset
from promptls.text.errors import UserError

HAS_PANDAS = importlib.util.find_spec("pandas") is not None
TICKETS = (
    "id,text,labels,priority\n"
    "1,Charged twice,Billing;RefundCancel,P1\n"
    "2,Login loops,Account;ProductIssue,P0\n"
    "3,Where is dark mode?,HowTo,P2\n"
)

LOAD = """
from promptls import Dataset

# Load your test dataset
dataset = Dataset.load(name="test_data", backend="local/csv", root_dir="./data")
"""

EXPERIMENTS = {
    "basic": (
        """
from promptls import experiment
import asyncio
from datetime import datetime

@experiment()
async def my_experiment(row):
    # Process the input through your system
    response = await asyncio.to_thread(my_system_function, row["input"])

    # Return results for evaluation
    return {
        **row,  # Include original data
        "response": response,
        "experiment_name": "baseline_v1",
        # Add any additional metadata
        "model_version": "gpt-4o",
        "timestamp": datetime.now().isoformat()
    }
""",
        "results = await my_experiment.arun(dataset)",
        "baseline_v1",
    ),
    "parameterized": (
        """
from promptls import experiment

@experiment()
async def model_comparison_experiment(row, model_name: str, temperature: float):
    # Configure your system with the parameters
    response = await my_async_function(
        row["input"],
        model=model_name,
        temperature=temperature
    )

    return {
        **row,
        "response": response,
        "experiment_name": f"{model_name}_temp_{temperature}",
        "model_name": model_name,
        "temperature": temperature
    }
""",
        """results = await model_comparison_experiment.arun(
    dataset,
    model_name="gpt-4o",
    temperature=0.1
)""",
        "gpt-4o_temp_0.1",
    ),
    "A/B test": (
        """
from promptls import experiment

@experiment()
async def ab_test_experiment(row, variant: str):
    if variant == "A":
        response = await system_variant_a(row["input"])
    else:
        response = await system_variant_b(row["input"])

    return {
        **row,
        "response": response,
        "variant": variant,
        "experiment_name": f"ab_test_variant_{variant}"
    }
""",
        'results = await ab_test_experiment.arun(dataset, variant="B")',
        "ab_test_variant_B",
    ),
    "multi-stage": (
        """
from promptls import experiment

@experiment()
async def multi_stage_experiment(row):
    # Stage 1: Retrieval
    retrieved_docs = await retriever(row["input"])

    # Stage 2: Generation
    response = await generator(row["input"], retrieved_docs)

    return {
        **row,
        "retrieved_docs": retrieved_docs,
        "response": response,
        "num_docs_retrieved": len(retrieved_docs),
        "experiment_name": "multi_stage_v1"
    }
""",
        "results = await multi_stage_experiment.arun(dataset)",
        "multi_stage_v1",
    ),
    "error handling": (
        """
from promptls import experiment

@experiment()
async def robust_experiment(row):
    try:
        response = await broken_function(row["input"])
        error = None
    except Exception as e:
        response = None
        error = str(e)

    return {
        **row,
        "response": response,
        "error": error,
        "success": error is None,
        "experiment_name": "robust_v1"
    }
""",
        "results = await robust_experiment.arun(dataset)",
        "robust_v1",
    ),
}


async def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return the names after the code, which may contain `await` outside of functions."""
    compiled = compile(code, "<document>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    ended = types.FunctionType(compiled, names)()
    if asyncio.iscoroutine(ended):
        await ended
    return names


async def answer(text: str, *_: Any, **options: Any) -> str:
    return f"{text} {options}"


async def documents(_: str) -> list[str]:
    return ["one", "two"]


async def fail(text: str) -> str:
    raise ValueError(text)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "datasets").mkdir(parents=True)
    (tmp_path / "data" / "datasets" / "test_data.csv").write_text("input,expected_output\na,b\nc,d\n")
    return tmp_path


@pytest.mark.parametrize(("code", "ran", "name"), EXPERIMENTS.values(), ids=EXPERIMENTS)
async def test_an_experiment_of_the_document_runs(code: str, ran: str, name: str, here: Path) -> None:
    names: dict[str, Any] = {
        "my_system_function": str.upper,
        "my_async_function": answer,
        "system_variant_a": answer,
        "system_variant_b": answer,
        "retriever": documents,
        "generator": answer,
        "broken_function": fail,
    }
    results = (await run(f"{LOAD}\n{code}\n{ran}", names))["results"]
    assert [row["input"] for row in results] == ["a", "c"]
    assert results.errors == ()
    # `experiments/20241201-143022-baseline_v1.csv`, as the document lists them.
    (saved,) = (here / "data" / "experiments").iterdir()
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{re.escape(name)}\.csv", saved.name)


async def test_a_data_set_of_the_document_is_made_and_saved(here: Path) -> None:
    code = """
from promptls import Dataset

# Create a new dataset
dataset = Dataset(name="my_evaluation", backend="local/csv", root_dir="./data")

# Add a sample to the dataset
dataset.append({
    "id": "sample_1",
    "query": "What is the capital of France?",
    "expected_answer": "Paris",
    "metadata": {"complexity": "simple", "language": "en"}
})
dataset.save()
dataset = Dataset.load(
    name="my_evaluation",
    backend="local/csv",
    root_dir="./data"
)
"""
    names = await run(code, {})
    assert names["dataset"][0]["expected_answer"] == "Paris"


async def test_metrics_of_the_document_score() -> None:
    code = """
from promptls import discrete_metric, numeric_metric, ranking_metric

@discrete_metric(name="response_quality", allowed_values=["pass", "fail"])
def quality(predicted: str, expected: str) -> str:
    return "pass" if predicted.lower() == expected.lower() else "fail"

@numeric_metric(name="response_accuracy", allowed_values=(0, 1))
def accuracy(predicted: float, expected: float) -> float:
    return abs(predicted - expected) / max(expected, 1e-5)

@ranking_metric(name="response_ranking", allowed_values=[0,1])
def ranking(responses: list) -> list:
    response_lengths = [len(response) for response in responses]
    sorted_indices = sorted(range(len(response_lengths)), key=lambda i: response_lengths[i])
    return sorted_indices

same = quality.score(predicted="A", expected="a")
near = accuracy.score(predicted=0.8, expected=1.0)  # Returns a float value
ranked = ranking.score(responses=["short", "a bit longer", "the longest response"])
"""
    names = await run(code, {})
    assert names["same"] == "pass"
    assert float(names["near"]) == pytest.approx(0.2)
    # Ragas takes this ranking for a discrete metric, and gives no value.
    assert names["ranked"].value == [0, 1, 2]


EVALS = """
# examples/iterate_prompt/evals.py
import asyncio, json
from promptls import Dataset, MetricResult, discrete_metric, experiment
from run_prompt import run_prompt
import os, pandas as pd

@discrete_metric(name="labels_exact_match", allowed_values=["correct", "incorrect"])
def labels_exact_match(prediction: str, expected_labels: str):
    try:
        predicted = set(json.loads(prediction).get("labels", []))
        expected = set(expected_labels.split(";")) if expected_labels else set()
        return MetricResult(
            value="correct" if predicted == expected else "incorrect",
            reason=f"Expected={sorted(expected)}; Got={sorted(predicted)}",
        )
    except Exception as e:
        return MetricResult(value="incorrect", reason=f"Parse error: {e}")

@discrete_metric(name="priority_accuracy", allowed_values=["correct", "incorrect"])
def priority_accuracy(prediction: str, expected_priority: str):
    try:
        predicted = json.loads(prediction).get("priority")
        return MetricResult(
            value="correct" if predicted == expected_priority else "incorrect",
            reason=f"Expected={expected_priority}; Got={predicted}",
        )
    except Exception as e:
        return MetricResult(value="incorrect", reason=f"Parse error: {e}")

@experiment()
async def support_triage_experiment(row, prompt_file: str, experiment_name: str):
    response = await asyncio.to_thread(run_prompt, row["text"], prompt_file=prompt_file)
    try:
        parsed = json.loads(response)
        predicted_labels = ";".join(parsed.get("labels", [])) or ""
        predicted_priority = parsed.get("priority")
    except Exception:
        predicted_labels, predicted_priority = "", None

    return {
        "id": row["id"],
        "text": row["text"],
        "response": response,
        "experiment_name": experiment_name,
        "expected_labels": row["labels"],
        "predicted_labels": predicted_labels,
        "expected_priority": row["priority"],
        "predicted_priority": predicted_priority,
        "labels_score": labels_exact_match.score(prediction=response, expected_labels=row["labels"]).value,
        "priority_score": priority_accuracy.score(
            prediction=response, expected_priority=row["priority"]
        ).value,
    }

def load_dataset():
    current_dir = os.path.dirname(os.path.abspath(__file__))
    df = pd.read_csv(os.path.join(current_dir, "datasets", "support_triage.csv"))
    dataset = Dataset(name="support_triage", backend="local/csv", root_dir=".")
    for _, row in df.iterrows():
        dataset.append({
            "id": str(row["id"]),
            "text": row["text"],
            "labels": row["labels"],
            "priority": row["priority"],
        })
    return dataset
"""
RUN_PROMPT = """
def run_prompt(text, prompt_file):
    priority = {"Charged twice": "P1", "Login loops": "P2"}.get(text, "P2")
    return '{"labels": ["HowTo"], "priority": "%s"}' % priority
"""


@pytest.mark.skipif(not HAS_PANDAS, reason="the document reads its dataset with pandas")
async def test_the_how_to_runs_on_its_data_set(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "run_prompt.py").write_text(RUN_PROMPT)
    (here / "datasets").mkdir()
    (here / "datasets" / "support_triage.csv").write_text(TICKETS)
    monkeypatch.syspath_prepend(here)
    sys.modules.pop("run_prompt", None)  # other tests have a module of that name
    names = {"__file__": str(here / "evals.py"), "__name__": "evals"}
    ran = """
results = await support_triage_experiment.arun(
    load_dataset(), name="20250826-041332-promptv1", prompt_file="promptv1.txt", experiment_name="promptv1"
)
"""
    names = await run(EVALS + ran, names)
    sys.modules.pop("run_prompt", None)
    assert len(names["results"]) == 3
    with (here / "experiments" / "20250826-041332-promptv1.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["labels_score"] for row in rows] == ["incorrect", "incorrect", "correct"]
    assert [row["priority_score"] for row in rows] == ["correct", "incorrect", "correct"]


@pytest.mark.parametrize(
    "path",
    [
        "llms.prompt.Prompt",
        "utils.RAGAS_CACHE_HOME",
        "Dataset",
        "dataset.Dataset",
        "experiment",
        "MultiTurnSample",
        "SingleTurnSample",
        "dataset_schema.SingleTurnSample",
        "messages.HumanMessage",
        "evaluation.evaluate",
        "metrics.discrete_metric",
        "metrics.numeric_metric",
        "metrics.ranking_metric",
        "metrics.AgentGoalAccuracy",
        "metrics.DiscreteMetric",
        "metrics.FactualCorrectness",
        "metrics.collections.FactualCorrectness",
        "metrics.discrete.discrete_metric",
        "metrics.numeric.numeric_metric",
        "metrics.ranking.ranking_metric",
        "metrics.result.MetricResult",
        "llms.llm_factory",
        "llms.LangchainLLMWrapper",
        "testset.graph.Node",
        "testset.synthesizers.base_query.QuerySynthesizer",
        "testset.transforms.Parallel",
        "testset.transforms.extractors.NERExtractor",
        "testset.transforms.relationship_builders.traditional.JaccardSimilarityBuilder",
    ],
)
def test_the_import_paths_of_the_documents_exist(path: str) -> None:
    module, _, name = f"promptls.{path}".rpartition(".")
    exec(f"from {module} import {name}")


EVALUATED = """
from promptls import experiment
from promptls.metrics import FactualCorrectness

@experiment()
async def evaluated_experiment(row):
    response = await my_system_function(row["input"])

    # Calculate metrics inline
    factual_score = FactualCorrectness().score(
        response=response,
        reference=row["expected_output"]
    )

    return {
        **row,
        "response": response,
        "factual_correctness": factual_score.value,
        "factual_reason": factual_score.reason,
        "experiment_name": "evaluated_v1"
    }

results = await evaluated_experiment.arun(dataset)
"""


async def test_a_metric_without_a_judge_is_an_error_that_names_the_remedy(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documentation names no judge; in Ragas, the class has no `score`, and drops every row."""
    monkeypatch.delenv("PROMPTLS_JUDGE", raising=False)
    results = (await run(LOAD + EVALUATED, {"my_system_function": answer}))["results"]
    assert len(results) == 2
    assert all("pass `llm=" in row["error"] for row in results)


async def test_a_metric_inside_an_experiment_asks_the_named_judge(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`echo` gives no verdict, and the package ragas may be missing: the reason says which."""
    monkeypatch.setenv("PROMPTLS_JUDGE", "echo")
    results = (await run(LOAD + EVALUATED, {"my_system_function": answer}))["results"]
    assert results.errors == ()
    assert all(row["factual_correctness"] is None and row["factual_reason"] for row in results)


def test_the_version_of_a_dataset_is_part_of_its_name(here: Path) -> None:
    dataset = Dataset(name="my_eval_v1.2", backend="local/csv", root_dir="./datasets")
    dataset.append({"query": "a"})
    dataset.save()
    assert (here / "datasets" / "datasets" / "my_eval_v1.2.csv").is_file()


def test_google_drive_needs_credentials(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service cannot be reached here; `tests/datasets` uses a fake server."""
    monkeypatch.delenv("GDRIVE_CREDENTIALS_PATH", raising=False)
    dataset = Dataset(name="my_eval", backend="gdrive", root_dir="folder_id")
    with pytest.raises(UserError, match=r"credentials|google-auth"):
        dataset.save()
