"""Rubrics: what each grade stands for, as headers and data sets write it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptls.metrics.grading import graded
from promptls.metrics.judge import Judge
from promptls.metrics.result import MetricResult
from promptls.metrics.values import NoJsonError, json_of

_GRADE = re.compile(r"\s*(?:score)?\s*(-?\d+)\s*(?:_?description)?\s*", re.IGNORECASE)


def read_rubrics(value: object) -> dict[int, str] | str:
    """What each grade stands for, in order, or what is wrong with `value`.

    Grades are written `1` or, as in Ragas, `score1_description`; the mapping may be text in JSON.
    """
    if isinstance(value, str):
        try:
            value = json_of(value)
        except NoJsonError as error:
            return f"the rubrics are {error}"
    if not isinstance(value, Mapping):
        return "the rubrics are no mapping from grades to what they stand for"
    found = {}
    for key, words in value.items():
        grade = _GRADE.fullmatch(str(key))
        if grade is None:
            return f"`{key}` is no grade: write `1`, or `score1_description`"
        found[int(grade[1])] = str(words)
    if len(found) < 2:  # noqa: PLR2004 - one grade says nothing
        return "rubrics have at least two grades"
    return dict(sorted(found.items()))


async def graded_by(
    judge: Judge, rubrics: object, material: Mapping[str, object], repeats: int
) -> MetricResult:
    """The grade that the judge gives by the rubrics."""
    grades = read_rubrics(rubrics)
    if isinstance(grades, str):
        return MetricResult(None, grades)
    listed = "\n".join(f"{grade}: {words}" for grade, words in grades.items())
    task = f"Which of these grades does the response deserve?\n{listed}"
    return await graded(judge, task, material, (min(grades), max(grades)), repeats)
