"""Experiments written in Python: `@experiment()`, its runs and their stored results."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from promptls import Dataset, ExperimentResults, MetricResult, experiment
from promptls.text.errors import UsageError, UserError


def rows_of(count: int) -> list[dict[str, Any]]:
    return [{"id": str(index), "text": f"text {index}"} for index in range(count)]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return Dataset("tickets", "local/csv", root_dir=tmp_path, data=rows_of(5))


def table(results: ExperimentResults, folder: Path) -> list[dict[str, str]]:
    with (folder / "experiments" / f"{results.name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


async def test_results_are_in_dataset_order_regardless_of_completion_order(
    dataset: Dataset, tmp_path: Path
) -> None:
    turns = [asyncio.Event() for _ in range(6)]
    turns[5].set()

    @experiment()
    async def backwards(row: dict[str, Any]) -> dict[str, Any]:
        number = int(row["id"])
        await turns[number + 1].wait()
        turns[number].set()
        return {**row, "response": number}

    results = await backwards.arun(dataset)
    assert [row["response"] for row in results] == [0, 1, 2, 3, 4]
    assert [row["id"] for row in table(results, tmp_path)] == ["0", "1", "2", "3", "4"]


async def test_failing_rows_are_stored_with_their_error(dataset: Dataset, tmp_path: Path) -> None:
    @experiment()
    async def shaky(row: dict[str, Any]) -> Any:
        if row["id"] == "1":
            raise ValueError("no answer")
        if row["id"] == "2":
            return None
        if row["id"] == "3":
            await asyncio.sleep(60)
        return {**row, "response": "yes"}

    results = await shaky.arun(dataset, timeout=0.01)
    assert [index for index, _ in results.errors] == [1, 2, 3]
    assert [row["error"] for row in table(results, tmp_path)] == [
        "",
        "ValueError: no answer",
        "TypeError: the function returned a NoneType, not a mapping of columns to values",
        "it took longer than 0.01 seconds",
        "",
    ]
    assert results[1] == {"id": "1", "text": "text 1", "error": "ValueError: no answer"}


async def test_a_run_that_lacks_a_parameter_does_not_begin(dataset: Dataset, tmp_path: Path) -> None:
    @experiment()
    async def ask(row: dict[str, Any], model: str) -> dict[str, Any]:
        return {**row, "model": model}

    with pytest.raises(UsageError, match="missing a required argument: 'model'"):
        await ask.arun(dataset, "gpt-4o")  # the name of the results
    assert not (tmp_path / "experiments").exists()


async def test_differing_columns_lose_nothing(dataset: Dataset, tmp_path: Path) -> None:
    @experiment()
    async def uneven(row: dict[str, Any]) -> dict[str, Any]:
        more = {"note": ["a", {"b": 1}]} if row["id"] == "3" else {}
        return {"id": row["id"], "score": MetricResult(value=1.5, reason="because"), **more}

    rows = table(await uneven.arun(dataset), tmp_path)
    assert list(rows[0]) == ["id", "score", "score_reason", "note"]
    assert (rows[0]["score"], rows[0]["score_reason"], rows[0]["note"]) == ("1.5", "because", "")
    assert json.loads(rows[3]["note"]) == ["a", {"b": 1}]


@pytest.mark.parametrize("limit", [1, 3])
async def test_no_more_rows_than_allowed_are_worked_on_at_once(limit: int) -> None:
    now, most = 0, 0

    @experiment()
    async def counting(row: dict[str, Any]) -> dict[str, Any]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        now -= 1
        return row

    await counting.arun(Dataset("many", data=rows_of(30)), concurrency=limit)
    assert most == limit


async def test_arguments_go_to_every_row_and_names_that_the_function_has_are_its_own() -> None:
    @experiment()
    async def asking(row: dict[str, Any], model: str, timeout: int = 0) -> dict[str, Any]:
        return {"model": model, "timeout": timeout}

    results = await asking.arun(Dataset("one", data=rows_of(1)), model="m", timeout=7)
    assert list(results) == [{"model": "m", "timeout": 7}]


async def test_a_function_that_is_not_asynchronous_leaves_the_loop_free() -> None:
    @experiment
    def plain(row: dict[str, Any]) -> dict[str, Any]:
        # Only a thread of its own can wait for the loop.
        return {"answer": asyncio.run_coroutine_threadsafe(answer(), loop).result(timeout=10)}

    async def answer() -> str:
        return "yes"

    loop = asyncio.get_running_loop()
    assert list(await plain.arun(Dataset("one", data=rows_of(2)))) == [{"answer": "yes"}] * 2


@pytest.mark.parametrize(
    ("given", "prefix", "row", "ends"),
    [
        (None, "", {}, "-job"),
        (None, "", {"experiment_name": "baseline_v1"}, "-baseline_v1"),
        ("mine", "", {"experiment_name": "baseline_v1"}, "-mine"),
        ("a/b", "team", {}, "-team-a-b"),
    ],
)
async def test_results_are_named_by_time_and_what_was_tried(
    given: str | None, prefix: str, row: dict[str, Any], ends: str, tmp_path: Path
) -> None:
    @experiment(name_prefix=prefix)
    async def job(_: Any) -> dict[str, Any]:
        return row or {"a": 1}

    data = Dataset("d", "local/jsonl", root_dir=tmp_path, data=rows_of(1))
    first, second = await job.arun(data, name=given), await job.arun(data, name=given)
    assert first.name[8] == first.name[15] == "-"
    assert first.name[15:] == ends
    assert first.name != second.name
    files = sorted(path.name for path in (tmp_path / "experiments").glob("*.jsonl"))
    assert files == sorted([f"{first.name}.jsonl", f"{second.name}.jsonl"])


async def test_a_name_with_a_time_stays_as_it_is(dataset: Dataset) -> None:
    @experiment()
    async def job(row: dict[str, Any]) -> dict[str, Any]:
        return row

    assert (await job.arun(dataset, name="20250826-041332-promptv1")).name == "20250826-041332-promptv1"


async def test_a_cancelled_run_keeps_what_is_finished(dataset: Dataset, tmp_path: Path) -> None:
    third = asyncio.Event()

    @experiment()
    async def slow(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == "2":
            third.set()
            await asyncio.sleep(60)
        return {**row, "response": "yes"}

    task = asyncio.create_task(slow.arun(dataset, concurrency=1))
    await third.wait()
    (unfinished,) = (tmp_path / "experiments").glob("*.unfinished.jsonl")
    assert [json.loads(line)["id"] for line in unfinished.read_text().splitlines()] == ["0", "1"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (saved,) = (tmp_path / "experiments").iterdir()
    with saved.open(newline="") as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == ["0", "1"]


async def test_results_can_be_of_a_model() -> None:
    class Result(BaseModel):
        id: int
        response: str

    @experiment(Result)
    async def modeled(row: dict[str, Any]) -> Any:
        return {**row, "response": "a"} if row["id"] != "1" else {"id": "x"}

    results = await modeled.arun(Dataset("d", data=rows_of(2)))
    assert results[0] == Result(id=0, response="a")
    assert "validation error" in results.errors[0][1]


async def test_rows_of_a_stream_are_not_read_before_they_are_due(tmp_path: Path) -> None:
    read: list[int] = []

    class Streamed:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            for index in range(100):
                read.append(index)
                yield {"id": index}

    ahead: list[int] = []

    @experiment(backend="local/jsonl", root_dir=tmp_path)
    async def job(row: dict[str, Any]) -> dict[str, Any]:
        ahead.append(len(read) - row["id"])
        await asyncio.sleep(0)
        return row

    results = await job.arun(Streamed(), concurrency=4)
    assert len(results) == 100
    assert max(ahead) <= 4


async def test_a_stream_that_breaks_off_keeps_what_was_finished(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "broken.jsonl").write_text('{"id": 1}\n{"id"\n')

    @experiment()
    async def job(row: dict[str, Any]) -> dict[str, Any]:
        return row

    with pytest.raises(UserError, match="not valid JSON"):
        await job.arun(Dataset.stream("broken", "local/jsonl", root_dir=tmp_path), concurrency=1)
    (saved,) = (tmp_path / "experiments").iterdir()
    assert saved.read_text() == '{"id": 1}\n'


def test_a_program_without_a_loop_runs_it_too(dataset: Dataset) -> None:
    @experiment()
    async def job(row: dict[str, Any]) -> dict[str, Any]:
        return row

    assert len(job.run(dataset)) == 5
    assert asyncio.run(job({"a": 1})) == {"a": 1}


async def test_no_row_at_once_is_refused(dataset: Dataset) -> None:
    @experiment()
    async def job(row: dict[str, Any]) -> dict[str, Any]:
        return row

    with pytest.raises(UsageError, match="`concurrency` is 0"):
        await job.arun(dataset, concurrency=0)
