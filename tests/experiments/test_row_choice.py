from __future__ import annotations

from pathlib import Path

import pytest

from promptls.datasets.dataset_files import Row
from promptls.experiments.row_choice import as_ranges, chosen_rows, numbered_rows, parse_rows
from promptls.text.errors import UsageError
from support.experiment_folder import Folder, table

ROWS = [
    Row(number, number, {"text": f"text {number}", "priority": f"P{number % 3}"}) for number in range(1, 13)
]


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("3", [1, 2, 3]),
        ("3,", [3]),
        ("2,5-7, 11", [2, 5, 6, 7, 11]),
        ("2,11-99", [2, 11, 12]),
        ("100", list(range(1, 13))),
        ('priority == "P0"', [3, 6, 9, 12]),
        ('text | length > 6 and priority != "P1"', [11, 12]),
        ("row_number is divisibleby 5", [5, 10]),
        ('row["text"].endswith("1")', [1, 11]),
        ("false", []),
    ],
)
def test_rows_are_chosen_by_count_number_or_condition(word: str, numbers: list[int]) -> None:
    assert [row.number for row in parse_rows(word).of(ROWS)] == numbers


@pytest.mark.parametrize("word", ["0", "priority =", "{{ text }}", "", "'text == \"a\"'"])
def test_what_chooses_nothing_that_can_be_read_is_wrong_use(word: str) -> None:
    with pytest.raises(UsageError):
        parse_rows(word)


@pytest.mark.parametrize("word", ["1,99", "99,", "2-3,13-20"])
def test_rows_that_the_dataset_does_not_have_are_an_error(word: str) -> None:
    with pytest.raises(UsageError, match=r"chooses row (99|13), but the dataset has 12 rows"):
        list(parse_rows(word).of(ROWS))


@pytest.mark.parametrize(("word", "remedy"), [("1,0", "rows are numbered from 1"), ("7-3,", "write `3-7`")])
def test_numbers_that_choose_no_row_are_an_error(word: str, remedy: str) -> None:
    with pytest.raises(UsageError) as failure:
        parse_rows(word)
    assert failure.value.remedy == remedy


@pytest.mark.parametrize("word", ["prio == 1", "text > 3", "text.x.y", "1 / 0"])
def test_a_condition_that_a_row_cannot_answer_names_the_columns(word: str) -> None:
    with pytest.raises(UsageError, match="cannot be evaluated for row 1") as failure:
        list(parse_rows(word).of(ROWS))
    assert "`text`, `priority`" in failure.value.remedy


def test_a_condition_cannot_reach_out_of_its_sandbox() -> None:
    with pytest.raises(UsageError, match="unsafe"):
        list(parse_rows("text.__class__.__mro__[1].__subclasses__()").of(ROWS))


def test_numbers_are_written_as_they_are_read() -> None:
    assert as_ranges([7, 1, 2, 3, 9]) == "1-3,7,9,"
    assert [row.number for row in parse_rows(as_ranges([4])).of(ROWS)] == [4]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("1", "the first row"),
        ("1200", "the first 1,200 rows"),
        ("5,", "row 5"),
        ("3,7-9,", "rows 3, 7-9"),
        ("example 2", "example 2"),
        ('label == "a"', 'rows with label == "a"'),
    ],
)
def test_a_choice_is_said_in_a_sentence(word: str, words: str) -> None:
    assert chosen_rows(word) == words


def test_rows_behind_the_last_number_are_not_read() -> None:
    read: list[int] = []

    def rows() -> object:
        for row in ROWS:
            read.append(row.number)
            yield row

    assert [row.number for row in numbered_rows([2]).of(rows())] == [2]
    assert max(read) <= 3


async def test_the_failing_rows_of_the_run_before_are_run_again(folder: Folder) -> None:
    await folder.ask()
    finished = await folder.ask(rows="failing")
    assert [row["id"] for row in table(finished)] == ["r2", "r4"]
    assert finished.manifest["dataset"]["rows"] == "2,4,"
    assert Path(finished.results).is_file()
