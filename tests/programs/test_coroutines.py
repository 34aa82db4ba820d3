"""Findings about coroutines that a program uses like their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """import asyncio
from pydantic import BaseModel
from ragas import aevaluate, experiment
from ragas.metrics import Faithfulness

faithful = Faithfulness(llm=judge)

class Result(BaseModel):
    score: float

@experiment()
async def run(row):
    return {"id": row["id"]}

async def score(sample):
    value = await faithful.single_turn_ascore(sample)
    return value

def start(sample):
    return score(sample)

async def main(dataset):
    result = await aevaluate(dataset, metrics=[faithful])
    print(result["faithfulness"])
    rows = await run.arun(dataset)
    print(len(rows))
    value = await score(dataset[0])
    other = await start(dataset[0])
    print(f"{value:.2f}", round(other, 2))
    tasks = [score(each) for each in dataset]
    print(await asyncio.gather(*tasks))
    return Result(score=value)

asyncio.run(main(rows))
"""


def fixed(text: str) -> tuple[list[str], str]:
    """Return the underlined text of each finding, and the program after the first fixes."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    edits = [edit for each in findings for fix in each.fixes[:1] for edit in fix.edits]
    return [text[each.span.start : each.span.end] for each in findings], apply_edits(text, edits)


@pytest.mark.parametrize(
    ("old", "place"),
    [
        ("await faithful.single_turn_ascore", "faithful.single_turn_ascore"),
        ("await aevaluate", "aevaluate"),
        ("await run.arun", "run.arun"),
        ("await score(dataset", "score"),
        ("await start", "start"),
    ],
)
def test_a_coroutine_that_is_used_like_its_result_is_awaited(old: str, place: str) -> None:
    assert fixed(PROGRAM)[0] == []
    assert fixed(PROGRAM.replace(old, old.removeprefix("await "), 1)) == ([place], PROGRAM)


@pytest.mark.parametrize("read", ["[0]", ".scores"])
def test_a_coroutine_is_awaited_before_a_part_of_its_result_is_read(read: str) -> None:
    text = PROGRAM.replace("print(len(rows))", f"print((await run.arun(dataset)){read})")
    assert fixed(text)[0] == []
    assert fixed(text.replace("(await run.arun(dataset))", "run.arun(dataset)")) == (["run.arun"], text)


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("asyncio.run(main(rows))", "main(rows)", ["main"]),
        ("    return value\n", "    return value\n\nprint(score(a))\n", ["score"]),
        ("    return value\n", "    return value\n\nfor each in start(a): print(each)\n", ["start"]),
        ("Result(score=value)", "Result(score=score(dataset))", ["score"]),
        ("async def score", "def score", ["await"]),
        ("    return value\n", "    return value\n\nwaiting = score(a)\nwatch(waiting)\n", []),
        ("    return value\n", "    return value\n\nwaiting = score(a)\nprint(watch(waiting))\n", []),
        ("    return value\n", "    return value\n\n@traced\nasync def other(): ...\n\nother()\n", []),
        (
            "    return value\n",
            "    return value\n\nasync def each():\n    yield 1\n\nfor a in each(): ...\n",
            [],
        ),
        ("await start", "start", ["start"]),
        ("main(rows)", "faithful.single_turn_score(a)", ["single_turn_score"]),
        (
            "    return value\n",
            "    return value\n\nfrom ragas.async_utils import run as wait\nprint(wait(score(a)))\n",
            [],
        ),
    ],
)
def test_a_coroutine_that_may_be_awaited_is_none_of_them(old: str, new: str, places: list[str]) -> None:
    assert fixed(PROGRAM.replace(old, new, 1))[0] == places
