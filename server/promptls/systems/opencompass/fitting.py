"""One prompt of one row, with as many in-context examples as a model's context has room for.

Source: the inferencers and `tools/prompt_viewer.py` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from promptls.systems.opencompass.evaluation_prompt import EvaluationPrompt
from promptls.systems.opencompass.prompt_list import Prompt, Row


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt, the training rows that are its examples, and its tokens.

    `cuts` are the tokens at which an example was dropped, the last of the examples each time.
    """

    prompt: Prompt
    picked: tuple[int, ...]
    examples: tuple[Prompt, ...]
    tokens: int
    cuts: tuple[int, ...] = ()


def fitted(
    evaluation: EvaluationPrompt,
    train: Sequence[Row],
    row: Row,
    picked: Sequence[int],
    *,
    label: Any = None,
    count: Callable[[Prompt], int],
    limit: int | None = None,
) -> Fitted:
    """The prompt of `row` (of an evaluation that weighs labels, that of `label`) within `limit` tokens.

    Without examples to drop, it may stay longer. Raises OpenCompassError.
    """
    kept = list(picked)
    cuts: list[int] = []
    while True:
        examples = evaluation.examples(train, kept)
        joined = evaluation.joined(examples)
        weighs = evaluation.weighs_labels
        prompt = evaluation.labelled(row, joined, label) if weighs else evaluation.generating(row, joined)
        tokens = count(prompt)
        if limit is None or tokens <= limit or not kept:
            return Fitted(prompt, tuple(kept), tuple(examples), tokens, tuple(cuts))
        cuts.append(tokens)
        kept.pop()
