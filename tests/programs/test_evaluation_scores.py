"""Findings about scores of a Ragas evaluation that are read by metric name."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """from ragas import evaluate
from ragas.metrics import AspectCritic, FactualCorrectness, ResponseRelevancy, faithfulness

def run(rows):
    critic = AspectCritic(name="polite", definition="Is it polite?")
    result = evaluate(rows, metrics=[faithfulness, ResponseRelevancy(llm=llm), FactualCorrectness()])
    table = result.to_pandas()
    print(result["faithfulness"], result["factual_correctness(mode=f1)"], f"{result['answer_relevancy']:.2f}")
    record = table.head().to_dict("records")[0]
    return table[["user_input", "answer_relevancy"]], record.get("faithfulness"), table["topic"].mean()
"""


def found(text: str) -> list[str]:
    """Return the underlined text of each finding."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ('result["faithfulness"]', 'result["faithfullness"]', ['"faithfullness"']),
        ('result["faithfulness"]', 'result["context_recall"]', ['"context_recall"']),
        ('result["faithfulness"]', "result[name]", []),
        ('result["faithfulness"]', "result.faithfulness", ["faithfulness"]),
        ('"user_input", "answer_relevancy"', '"user_input", "answer_relevance"', ['"answer_relevance"']),
        ('record.get("faithfulness")', 'record.get("faithfulnes")', ['"faithfulnes"']),
        ("['answer_relevancy']:", "['answer_relevance']:", ["'answer_relevance'"]),
        ('table["topic"]', 'table["context_recall"]', []),
        ('table["topic"]', 'table["response_relevancy"]', ['"response_relevancy"']),
        (", FactualCorrectness()]", ", critic]", ['"factual_correctness(mode=f1)"']),
        (", FactualCorrectness()]", ", own_metric]", []),
    ],
)
def test_a_score_has_the_name_of_a_metric(old: str, new: str, places: list[str]) -> None:
    assert found(PROGRAM) == []
    assert old in PROGRAM
    assert found(PROGRAM.replace(old, new, 1)) == places


@pytest.mark.parametrize(
    "added",
    ["    faithfulness.name = 'loyalty'\n", "    table.columns = ['a']\n", "    table['faithfulnes'] = 1\n"],
)
def test_what_a_program_renames_is_no_finding(added: str) -> None:
    wrong = PROGRAM.replace('table["topic"]', 'table["faithfulnes"]')
    assert found(wrong) == ['"faithfulnes"']
    assert found(wrong.replace("    print(", f"{added}    print(", 1)) == []


def test_a_list_of_metrics_may_grow() -> None:
    text = PROGRAM.replace("    result =", "    them = [faithfulness]\n    result =")
    text = text.replace("[faithfulness, ResponseRelevancy(llm=llm), FactualCorrectness()]", "them")
    assert found(text) == ['"factual_correctness(mode=f1)"', "'answer_relevancy'"]
    assert found(text.replace("    critic =", "    them.append(other)\n    critic =")) == []


def test_a_misspelled_name_is_found_beside_metrics_that_are_not_known() -> None:
    text = PROGRAM.replace(", FactualCorrectness()]", ", own_metric]")
    assert found(text.replace('result["faithfulness"]', 'result["faithfullness"]')) == ['"faithfullness"']
    assert found(text.replace('result["faithfulness"]', 'result["context_recall"]')) == []


def test_a_fix_writes_the_key() -> None:
    text = PROGRAM.replace('result["faithfulness"]', "result.faithfulness")
    finding = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())[0]
    assert apply_edits(text, finding.fixes[0].edits) == PROGRAM
