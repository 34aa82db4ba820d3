"""The output of OpenCompass's Prompt Viewer for the first rows of a dataset.

Source: `tools/prompt_viewer.py` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from promptls.dialects.opencompass.evaluation_prompt import EvaluationConfig, Fitted, fit_prompt
from promptls.dialects.opencompass.meta_template import LaidOut, MetaTemplate, lay_out
from promptls.dialects.opencompass.prompt_list import Messages, Prompt, Row
from promptls.dialects.opencompass.retriever import Pick

LINE: Final = "-" * 100


@dataclass(frozen=True, slots=True)
class ViewedModel:
    """A model as the viewer sees it: its meta template, its context, and its token count."""

    meta: MetaTemplate
    max_seq_len: int
    count: Callable[[str], int]

    def tokens(self, prompt: Prompt) -> int:
        """Return the tokens of the whole prompt, including the end that the model generates."""
        return sum(map(self.count, texts_of(lay_out(prompt, self.meta, "ppl"))))


def viewer_lines(
    evaluation: EvaluationConfig,
    train: Sequence[Row],
    test: Sequence[Row],
    pick: Pick,
    *,
    model: ViewedModel | None = None,
    rows: int = 1,
) -> Iterator[str]:
    """Return the viewer's lines for the first `rows` of `test`; raises OpenCompassError if the viewer fails.

    Without a `model`, dialogues are printed with nothing between their texts, and nothing is counted.
    """
    for index in range(min(rows, len(test))):
        picked = tuple(pick(index))
        labels: list[Any] = [None]
        if evaluation.weighs_labels:
            labels = evaluation.labels(test)
            joined = evaluation.joined(evaluation.examples(train, picked))
            yield from (LINE, "ICE Template:", LINE, _text(joined), LINE)
        for label in labels:
            count = model.tokens if model else _uncounted
            limit = model.max_seq_len if model else None
            made = fit_prompt(evaluation, train, test[index], picked, label=label, count=count, limit=limit)
            yield from _counts(evaluation, made, len(picked), is_counted=model is not None)
            picked = made.picked
            yield LINE
            if evaluation.weighs_labels:
                yield f"Label: {label}"
            yield from ("Sample prompt:", LINE, _laid_out(evaluation, made.prompt, model), LINE)


def texts_of(made: LaidOut) -> list[str]:
    """Return the counted texts: a single text, the joined messages of an API, or each full message."""
    if made.messages is None:
        return [made.text or ""]
    if all("prompt" in message for message in made.messages):
        return ["".join(message["prompt"] for message in made.messages)]
    return [str(message) for message in made.messages]


def _counts(evaluation: EvaluationConfig, made: Fitted, had: int, *, is_counted: bool) -> Iterator[str]:
    for tokens in made.cuts:
        yield f"Truncating ice {had} -> {had - 1} Number of tokens: {tokens} -> ..."
        had -= 1
    if is_counted:
        # Prompts that the model goes on from have one space more.
        yield f"Number of tokens: {'' if evaluation.weighs_labels else ' '}{made.tokens}"


def _laid_out(evaluation: EvaluationConfig, prompt: Prompt, model: ViewedModel | None) -> str:
    if model is None:
        return _text(prompt)
    made = lay_out(prompt, model.meta, "ppl" if evaluation.weighs_labels else "gen")
    if made.messages is None:
        return made.text or ""
    if isinstance(prompt, Messages):
        return prompt.text
    return "".join(message["prompt"] for message in made.messages)


def _text(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else prompt.text


def _uncounted(_prompt: Prompt) -> int:
    return 0
