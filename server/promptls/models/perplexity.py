"""Choosing a label by perplexity: the prompt of each label is read by the model, and the likeliest one wins.

A request that compares labels is a list of messages with the role `label`: `label` names it, and `content` is
its whole prompt. It goes the way of every other request, and its answer is the label.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptls.models.model import Completion, Model, ModelError, PromptScore

LABEL_ROLE: Final = "label"


def label_messages(prompts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], ...]:
    """Return the request that compares labels, each with its prompt."""
    return tuple({"role": LABEL_ROLE, "label": label, "content": text} for label, text in prompts)


def compares_labels(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the request compares labels."""
    return bool(messages) and messages[0].get("role") == LABEL_ROLE


async def likeliest_label(model: Model, name: str, messages: Sequence[Mapping[str, Any]]) -> Completion:
    """Return the label whose prompt has the lowest perplexity, of equal ones the first; raises ModelError.

    Perplexity is computed as OpenCompass does: the negated sum of the tokens' log-probabilities, but that of
    the first one, divided by the number of all tokens.
    """
    score_prompt = getattr(model, "score_prompt", None)
    if score_prompt is None:
        raise ModelError(
            f"`{name}` gives no log-probabilities of prompts, by which the labels are compared",
            "choose a local model or an OpenAI-compatible server that has them, such as vLLM",
        )
    began = time.perf_counter()
    scores: list[PromptScore] = [await score_prompt(str(message["content"])) for message in messages]
    perplexities = [score.perplexity for score in scores]
    best = perplexities.index(min(perplexities))
    return Completion(
        text=str(messages[best]["label"]),
        input_tokens=sum(score.tokens for score in scores),
        output_tokens=0,
        seconds=time.perf_counter() - began,
        model=name,
        finish_reason="stop",
    )
