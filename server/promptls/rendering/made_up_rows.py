"""Examples made up for an evaluation prompt whose data are not here, such as those of a name in a hub."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from promptls.systems.opencompass.evaluation_prompt import EvaluationPrompt
from promptls.systems.opencompass.prompt_list import Row
from promptls.systems.opencompass.prompt_template import PromptTemplate

_MOST: Final = 50
_SECTIONS: Final = frozenset({"begin", "round", "end"})
"""The keys of a mapping that is a dialogue, and not one template for each label."""


def made_up_rows(evaluation: EvaluationPrompt, columns: Iterable[str]) -> list[Row]:
    """As many rows as the retriever picks: the name of each column with a number; answers are labels."""
    answer = evaluation.reader.output_column
    names = dict.fromkeys((*columns, *((answer,) if answer else ())))
    labels = _labels(evaluation)
    rows: list[Row] = []
    for number in range(1, _examples(evaluation) + 1):
        row: dict[str, Any] = {name: f"<{name} {number}>" for name in names}
        if answer and labels:
            row[answer] = labels[(number - 1) % len(labels)]
        rows.append(row)
    return rows


def _examples(evaluation: EvaluationPrompt) -> int:
    retriever = evaluation.retriever
    if retriever.kind == "ZeroRetriever":
        return 0
    fixed = retriever.arguments.get("fix_id_list")
    asked = len(fixed) if isinstance(fixed, list) else retriever.arguments.get("k", retriever.count)
    return min(asked, _MOST) if isinstance(asked, int) else 1


def _labels(evaluation: EvaluationPrompt) -> tuple[Any, ...]:
    labels = evaluation.ice.labels if isinstance(evaluation.ice, PromptTemplate) else None
    return () if labels is None or _SECTIONS.issuperset(labels) else labels
