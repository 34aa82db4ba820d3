"""Findings about Ragas metrics that a program defines."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """from dataclasses import dataclass, field
from pydantic import BaseModel
from ragas.metrics.base import MetricType, MetricWithLLM, SingleTurnMetric
from ragas.prompt import PydanticPrompt

class Query(BaseModel):
    text: str

class Verdict(BaseModel):
    equal: bool

class Comparing(PydanticPrompt[Query, Verdict]):
    instruction = "Compare."
    input_model = Query
    output_model = Verdict

@dataclass
class Equal(MetricWithLLM, SingleTurnMetric):
    name: str = "equal"
    _required_columns: dict = field(
        default_factory=lambda: {MetricType.SINGLE_TURN: {"response", "reference:optional"}}
    )
    comparing: PydanticPrompt = Comparing()

    async def _single_turn_ascore(self, sample, callbacks):
        output = await self.comparing.generate(data=Query(text=sample.response), llm=self.llm)
        return float(output.equal and output.model_dump())
"""


def found(text: str) -> list[str]:
    """Return the underlined text of each finding."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ('"response"', '"responce"', ['"responce"']),
        ("reference:optional", "refrence:optional", ['"refrence:optional"']),
        ("@dataclass\n", "", ["_required_columns"]),
        ("@dataclass\n", "@decorated\n", []),
        ("def _single_turn_ascore", "def _single_turn_score", ["_single_turn_score"]),
        ("text=sample", "txt=sample", ["txt"]),
        ("output.equal ", "output.equals ", ["equals"]),
        ("data=Query", "input=Query", ["input"]),
        ("= Comparing()", "= field(default_factory=Comparing)", []),
        ("        output =", "        output = other\n        output =", []),
    ],
)
def test_a_metric_is_as_ragas_needs_it(old: str, new: str, places: list[str]) -> None:
    assert found(PROGRAM) == []
    assert old in PROGRAM
    assert found(PROGRAM.replace(old, new, 1)) == places


def test_a_prompt_may_have_a_generate_of_its_own() -> None:
    own = "    output_model = Verdict\n\n    async def generate(self, text): ...\n"
    assert (
        found(PROGRAM.replace("    output_model = Verdict\n", own).replace("data=Query", "text=Query")) == []
    )
