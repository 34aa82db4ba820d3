from __future__ import annotations

import sys
from pathlib import Path

import pytest

from promptls.metrics.metric_loading import load_metric
from promptls.text.errors import UsageError, UserError

FILE = """
from promptls import discrete_metric, MetricResult
from beside import ANSWER

@discrete_metric(name="right", allowed_values=["yes", "no"])
def is_right(response):
    return MetricResult(value="yes" if response == ANSWER else "no", reason="because")

def length(response):
    return len(response)

class Foreign:
    name = "foreign"
    allowed_values = ["good", "bad"]

    def score(self, response, reference="x"):
        from types import SimpleNamespace
        return SimpleNamespace(value="good", reason=reference)

foreign = Foreign()
NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "beside.py").write_text("ANSWER = '42'\n", encoding="utf-8")
    return tmp_path


def test_a_decorated_function_is_found_by_its_file_and_name(folder: Path) -> None:
    metric = load_metric("metrics.py:is_right", folder)
    assert (metric.name, metric.kind, metric.score(response="42").value) == ("right", "discrete", "yes")


def test_loading_a_metric_leaves_nothing_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    load_metric("metrics.py:is_right", folder)
    assert sorted(each.name for each in folder.iterdir()) == ["beside.py", "metrics.py"]
    assert not sys.dont_write_bytecode


def test_a_plain_function_is_a_numeric_metric_without_limits(folder: Path) -> None:
    assert load_metric("metrics.py:length", folder).score(response="four").value == 4


async def test_an_object_of_another_library_is_a_metric_by_its_score(folder: Path) -> None:
    metric = load_metric("metrics.py:foreign", folder)
    assert metric.kind == "discrete"
    result = await metric.ascore(response="a")
    assert (result.value, result.reason) == ("good", "x")


def test_a_ready_metric_needs_no_file(folder: Path) -> None:
    assert load_metric("exact_match", folder).score(response="a", expected="a").value == "pass"


def test_an_unknown_ready_metric_suggests_the_nearest(folder: Path) -> None:
    with pytest.raises(UsageError) as failure:
        load_metric("exactmatch", folder)
    assert "did you mean `exact_match`?" in failure.value.remedy


def test_a_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="does not exist") as failure:
        load_metric("metric.py:is_right", folder)
    assert failure.value.place.path == folder / "metric.py"
    assert "`metrics.py`" in failure.value.remedy


def test_a_missing_function_suggests_the_nearest(folder: Path) -> None:
    with pytest.raises(UsageError, match="no metric `is_wright`") as failure:
        load_metric("metrics.py:is_wright", folder)
    assert failure.value.remedy == "did you mean `is_right`?"


def test_what_is_no_metric_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="`NUMBER` is not a metric"):
        load_metric("metrics.py:NUMBER", folder)


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        ("x = 1\nif x\n", "SyntaxError", 1),
        ("\n\nraise ValueError('no')\n", "ValueError: no", 2),
        ("import not_there\n", "No module named 'not_there'", 0),
        ("import sys\nsys.exit(3)\n", "SystemExit", 1),
    ],
)
def test_a_file_that_cannot_be_run_is_named_with_its_line(
    folder: Path, code: str, message: str, line: int | None
) -> None:
    (folder / "bad.py").write_text(code, encoding="utf-8")
    with pytest.raises(UserError, match=message) as failure:
        load_metric("bad.py:any", folder)
    assert failure.value.place.line == line
