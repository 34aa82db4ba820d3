"""Findings about comparisons of metric results in a program, and missing awaits."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """from ragas import Dataset, experiment
from ragas.metrics import DiscreteMetric, discrete_metric

tone = DiscreteMetric(name="tone", prompt="Is {answer} kind?", allowed_values=["kind", "rude"])


@discrete_metric(name="quality", allowed_values=["pass", "fail"])
def quality(response: str, expected: str):
    return "pass" if response == expected else "fail"


@experiment()
async def run(row):
    score = quality.score(response=row["text"], expected=row["label"])
    manner = await tone.ascore(answer=row["text"], llm=llm)
    if score.value == "fail":
        print(score.reason)
    return {**row, "score": score.value, "tone": manner.value, "length": len(row["text"])}


async def main(dataset, others):
    results = await run.arun(dataset)
    passed = sum(1 for each in results if each["score"] == "pass")
    for each in results:
        if each.get("tone") != "rude":
            print(each)
"""


def found(path: Path, text: str) -> list[str]:
    findings = findings_in_library_calls(text, str(path / "evals.py"), Project())
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("await tone.ascore", "tone.ascore", "tone.ascore"),
        ("manner.value, ", "tone.ascore(answer='a', llm=llm).value, ", "tone.ascore"),
        ("quality.score", "await quality.score", "score"),
        ('if score.value == "fail"', "if not score", "score"),
        ("return {**row,", "return [row]\n    return {**row,", "[row]"),
        ("print(each)", "await scorer.single_turn_score(each)", "single_turn_score"),
        ('return "pass" if', 'found = "pass" if', "quality"),
        ('score.value == "fail"', 'score.value == "failed"', '"failed"'),
        ('score.value == "fail"', '"Fail" != score', '"Fail"'),
        ('["score"] == "pass"', '["score"] == "passed"', '"passed"'),
        ('!= "rude"', '!= "unkind"', '"unkind"'),
    ],
)
def test_a_wrong_use_of_a_result_is_found(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert found(tmp_path, PROGRAM) == []
    assert found(tmp_path, PROGRAM.replace(old, new, 1)) == [place]


OTHER = PROGRAM.replace('["score"] == "pass"', '["score"] == "other"')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("async def run(row)", "async def run(row, quality=None)"),
        ("for each in results if", "for each in others if"),
        ("results = await run.arun(dataset)", "results = others"),
        ('"score": score.value', '"score": grade(score.value)'),
        ('{**row, "score": score.value, ', '{"score": score.value, **row, '),
        ('each["score"]', 'each["text"]'),
        ('allowed_values=["pass", "fail"]', "allowed_values=VALUES"),
    ],
)
def test_a_column_that_may_have_other_values_is_left_alone(tmp_path: Path, old: str, new: str) -> None:
    assert found(tmp_path, OTHER) == ['"other"']
    assert found(tmp_path, OTHER.replace(old, new, 1)) == []


def test_a_coroutine_that_is_awaited_later_is_left_alone(tmp_path: Path) -> None:
    text = PROGRAM.replace("await tone.ascore", "tone.ascore")
    assert found(tmp_path, text) == ["tone.ascore"]
    assert found(tmp_path, text.replace("    if score", "    manner = await manner\n    if score")) == []
    tested = text.replace("    if score", "    assert isinstance(manner, object)\n    if score")
    assert found(tmp_path, tested) == ["tone.ascore"]


def test_a_metric_that_is_passed_is_awaited_too(tmp_path: Path) -> None:
    text = PROGRAM.replace("run(row)", "run(row, judge=None)").replace("tone.ascore", "judge.ascore")
    assert found(tmp_path, text) == []
    assert found(tmp_path, text.replace("await judge", "judge")) == ["judge.ascore"]


def test_the_results_of_a_run_that_nothing_awaits_are_a_coroutine(tmp_path: Path) -> None:
    text = PROGRAM.replace("await run.arun", "run.arun")
    assert found(tmp_path, text) == ["run.arun"]
    assert found(tmp_path, text.replace("    passed =", "    results = await results\n    passed =")) == []
    assert (
        found(tmp_path, text.replace("    passed =", "    others = await gather(results)\n    passed ="))
        == []
    )


def test_the_result_of_a_metric_with_a_prompt_has_no_keys(tmp_path: Path) -> None:
    assert found(tmp_path, PROGRAM.replace("manner.value", 'manner["value"]')) == ['"value"']
    assert found(tmp_path, PROGRAM.replace("manner.value", "manner.reasn")) == ["reasn"]


def test_a_metric_of_promptls_is_scored_by_name(tmp_path: Path) -> None:
    text = (
        "from promptls.metrics import DiscreteMetric\n"
        'tone = DiscreteMetric(name="tone", allowed_values=["a", "b"], prompt="{answer}?")\n'
        'tone.score(llm="local:smollm2", answer=answer)\n'
    )
    assert found(tmp_path, text) == []
    assert found(tmp_path, text.replace("llm=", "", 1)) == ['"local:smollm2"']


def test_a_reason_is_any_text(tmp_path: Path) -> None:
    assert found(tmp_path, PROGRAM.replace('score.value == "fail"', 'score.reason == "late"')) == []


def test_the_fix_of_a_forgotten_await_inserts_it(tmp_path: Path) -> None:
    text = PROGRAM.replace("await tone.ascore", "tone.ascore")
    (finding,) = findings_in_library_calls(text, str(tmp_path / "evals.py"), Project())
    assert apply_edits(text, finding.fixes[0].edits) == PROGRAM


def test_a_column_that_the_experiment_does_not_return_is_found(tmp_path: Path) -> None:
    program = PROGRAM.replace("{**row, ", "{").replace('each["score"] ==', 'each["scroe"] ==')

    assert found(tmp_path, program) == ['"scroe"']
    assert found(tmp_path, program.replace("passed =", 'results[0]["scroe"] = passed =')) == []
