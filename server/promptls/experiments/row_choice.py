"""The selection of rows for a run: all, the first ones, by number, by a condition, or examples.

Conditions may come from untrusted manifests. They cannot call anything that creates a long
text from a short one, such as `"a" * 10**10`, `"a".center(10**10)` or `text | replace("", text)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from jinja2 import StrictUndefined, TemplateError
from jinja2.exceptions import SecurityError
from jinja2.nodes import Const
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from promptls.datasets.dataset_files import Row
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code, plural

_FILTERS: Final = """
abs capitalize count d default dictsort first float int items last length list lower map max min reject
rejectattr reverse round select selectattr sort string sum title trim unique upper wordcount
"""
_METHODS: Final = """
capitalize casefold count endswith find get index isalnum isalpha isascii isdecimal isdigit isidentifier
islower isnumeric isspace istitle isupper items keys lower lstrip partition removeprefix removesuffix rfind
rindex rpartition rsplit rstrip split splitlines startswith strip swapcase title upper values
"""
_MAX_POWER: Final = 1_000


class ConditionEnvironment(ImmutableSandboxedEnvironment):
    """A Jinja environment limited to tests, and to filters, methods and operators that inspect values."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined)
        self.filters = {name: each for name, each in self.filters.items() if name in _FILTERS.split()}
        self.globals = {"range": safe_range}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Allow arithmetic on numbers only, since texts could be multiplied or formatted to any length."""
        for value in (left, right):
            if not isinstance(value, int | float):
                raise SecurityError(f"`{operator}` is for numbers, not for {type(value).__name__}")
        if operator == "**" and max(abs(left), abs(right)) > _MAX_POWER:
            raise SecurityError(f"`**` is for numbers up to {_MAX_POWER:,}")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether a condition may call this: `range`, and methods that inspect values."""
        name = getattr(obj, "__name__", "")
        owner = getattr(obj, "__self__", None)
        return obj is safe_range or (isinstance(owner, str | list | dict) and name in _METHODS.split())


ALL_EXAMPLES = "examples"
"""The keyword for all examples of the prompt."""

_ONE = re.compile(r"example (\d{1,9})")


def is_of_examples(rows: str | None) -> bool:
    """Return whether this selection refers to the prompt's examples."""
    return rows == ALL_EXAMPLES or example_number(rows) is not None


def chosen_rows(rows: str) -> str:
    """Return the selection for use in a sentence: `the first 20 rows`, `row 5`, `rows 3, 7-9`, `examples`."""
    if is_of_examples(rows):
        return rows
    if rows.isdecimal():
        return "the first row" if rows == "1" else f"the first {int(rows):,} rows"
    if _NUMBERS.fullmatch(rows) is None:
        return f"rows with {rows}"
    numbers = ", ".join(filter(None, re.split(r"[\s,]+", rows)))
    return f"row {numbers}" if numbers.isdecimal() else f"rows {numbers}"


def example_number(rows: str | None) -> int | None:
    """Return the number (from 1) of the selected example; None if the selection is not a single example."""
    match = _ONE.fullmatch(rows or "")
    return int(match[1]) if match else None


def one_example(number: int) -> str:
    """Return the selection of the example with this number, counted from 1."""
    return f"example {number}"


FAILING = "failing"
"""The keyword for the rows that failed in the previous run."""

MAX_NUMBERS: Final = 1_000_000
"""Maximum number of rows in a range."""

_NUMBERS = re.compile(r"\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*,?")


@dataclass(frozen=True, slots=True)
class RowChoice:
    """A selection of rows of a dataset; `text` is the user's input, empty for all rows.

    `required` is the number of a row that the dataset must have.
    """

    text: str = ""
    first: int | None = None
    numbers: frozenset[int] | None = None
    expression: str | None = None
    required: int = 0

    def of(self, rows: Iterable[Row], path: Path | None = None) -> Iterator[Row]:
        """Yield the selected `rows` of the dataset at `path`, in order.

        Raises `UsageError` for a `required` row that is missing, and for an expression that cannot be parsed
        or evaluated.
        """
        if self.first is not None:
            return islice(rows, self.first)
        if self.numbers is not None:
            numbers = self.numbers
            return (row for row in self._up_to(rows, max(numbers, default=0), path) if row.number in numbers)
        if self.expression is not None:
            fits = _condition(self.expression)
            return (row for row in rows if fits(row))
        return iter(rows)

    def _up_to(self, rows: Iterable[Row], last: int, path: Path | None) -> Iterator[Row]:
        count = 0
        for row in rows:
            if row.number > last:
                return
            count = row.number
            yield row
        if self.required > count:
            raise UsageError(
                f"`{self.text}` chooses row {self.required}, but the dataset has {plural(count, 'row')}",
                FilePlace(path) if path else None,
                "choose rows that it has",
            )


ALL_ROWS = RowChoice()


def parse_rows(word: str) -> RowChoice:
    """Parse a selection of rows.

    `20` is the first 20 rows, `3,7,10-20` are rows by number, and anything else is an expression over the
    columns, in Jinja's syntax: `priority == "P0" and text | length > 200`. The dataset must have each row,
    and the first one of each range. Raises `UsageError` for anything else.
    """
    word = word.strip()
    if word.isascii() and word.isdecimal():
        if int(word) == 0:
            raise UsageError("a run needs at least one row", remedy="give 1 or more")
        return RowChoice(word, first=int(word))
    if _NUMBERS.fullmatch(word):
        ranges = list(_ranges(word))
        numbers = frozenset(number for each in ranges for number in each)
        return RowChoice(word, numbers=numbers, required=max(each.start for each in ranges))
    _condition(word)
    return RowChoice(word, expression=word)


def numbered_rows(numbers: Iterable[int]) -> RowChoice:
    """Return the selection of rows by number, counted from 1; the dataset need not have them."""
    chosen = frozenset(numbers)
    return RowChoice(as_ranges(chosen), numbers=chosen)


def as_ranges(numbers: Iterable[int]) -> str:
    """Return the numbers in the syntax of `parse_rows`: `3,7-9,`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    # The trailing comma distinguishes a single row number from a count of first rows.
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges) + ","


def _ranges(word: str) -> Iterator[range]:
    for piece in filter(None, map(str.strip, word.split(","))):
        low, _, high = piece.partition("-")
        numbers = range(int(low), int(high or low) + 1)
        if numbers.start == 0:
            raise UsageError(f"`{piece}` is not a row", remedy="rows are numbered from 1")
        if not numbers:
            raise UsageError(f"`{piece}` is not a range", remedy=f"write `{high}-{low}`")
        if len(numbers) > MAX_NUMBERS:
            raise UsageError(
                f"`{piece}` is more than {MAX_NUMBERS:,} rows",
                remedy="write a condition, such as `row_number >= 1000`",
            )
        yield numbers


def _condition(expression: str) -> Callable[[Row], bool]:
    remedy = 'write a condition over the columns, such as `priority == "P0" and text | length > 200`'
    environment = ConditionEnvironment()
    try:
        condition = environment.compile_expression(expression, undefined_to_none=False)
        parsed = Parser(environment, expression, state="variable").parse_expression()
    except TemplateError as error:
        raise UsageError(f"`{expression}` cannot be read: {error}", remedy=remedy) from None
    except RecursionError:
        raise UsageError(f"`{expression[:80]}…` is nested too deeply", remedy=remedy) from None

    if isinstance(parsed, Const) and isinstance(parsed.value, str):
        # Such as `'score < 3'`, with the quotes of a shell that passes them on. It would choose every row.
        raise UsageError(f"`{expression}` is text, not a condition", remedy="remove the quotes")

    def fits(row: Row) -> bool:
        try:
            return bool(condition(**{"row": dict(row.values), "row_number": row.number, **row.values}))
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise UsageError(
                f"`{expression}` cannot be evaluated for row {row.number}: {error}",
                remedy=f"the columns are {in_code(row.values)}; {remedy}",
            ) from None

    return fits
