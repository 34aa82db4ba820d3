from __future__ import annotations

from pathlib import Path

import pytest

from promptls.text.errors import UsageError
from support.experiment_folder import Folder, table

EXAMPLES = """\
output_key: answer
examples:
  - {text: one, answer: one}
  - {text: two, answer: [other, more]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path).write()
    made.prompt.write_text(made.prompt.read_text("utf-8").replace("output_key: answer\n", EXAMPLES), "utf-8")
    return made


async def test_examples_are_run_and_scored_as_rows(folder: Folder) -> None:
    rows = table(await folder.ask(rows="examples"))

    assert [(row["id"], row["response"], row["right"]) for row in rows] == [
        ("example 1", "one", "yes"), ("example 2", "two", "no"),
    ]  # fmt: skip
    assert rows[1]["answer"] == "other;more"


async def test_one_example_is_chosen_by_its_number(folder: Folder) -> None:
    (row,) = table(await folder.ask(rows="example 2"))

    assert (row["id"], row["row_number"]) == ("example 2", "2")


async def test_metrics_that_need_more_than_an_example_has_are_left_out(folder: Folder) -> None:
    text = folder.prompt.read_text("utf-8")
    (folder.path / "metrics.py").write_text(
        "from promptls import numeric_metric\n\n@numeric_metric(name='far', allowed_values=None)\n"
        "def far(response, row_only):\n    return 1\n\n@numeric_metric(name='near', allowed_values=None)\n"
        "def near(response):\n    return 2\n",
        "utf-8",
    )
    folder.prompt.write_text(text.replace("right", "far").replace("length", "near"), "utf-8")

    (row,) = table(await folder.ask(rows="example 1"))

    assert row["near"] == "2"
    assert "far" not in row


@pytest.mark.parametrize(("rows", "said"), [("example 3", "has 2 examples"), ("example 0", "has 2 examples")])
async def test_a_missing_example_is_reported(folder: Folder, rows: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        await folder.ask(rows=rows)


async def test_a_prompt_without_examples_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="declares no examples"):
        await Folder(tmp_path).write().ask(rows="examples")
