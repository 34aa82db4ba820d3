"""Experiments on evaluation prompts: which rows are asked, and which prompts cannot be asked at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptls.dialects.opencompass.vocabulary import LABEL_INFERENCERS
from promptls.rendering.evaluation_data import evaluation_data
from promptls.rendering.job import EvaluationJob
from promptls.semantic.evaluation import Evaluation
from promptls.semantic.template import Template
from promptls.text.errors import FilePlace, UsageError


def asked_rows(
    template: Template, prompt: Path, dataset: Path, meta_templates: Mapping[str, Any]
) -> EvaluationJob:
    """Return the rows of the experiment's dataset, and those that the examples come from."""
    data = replace(evaluation_data(template, str(prompt)), test=str(dataset))
    return EvaluationJob(data, meta_templates=meta_templates)


def refuse_labels(evaluation: Evaluation, prompt: Path) -> None:
    """Raise UsageError for a prompt whose labels are weighed by what a model makes of each of them."""
    inferencer = evaluation.inferencer_class
    if inferencer in LABEL_INFERENCERS:
        raise UsageError(
            f"`{inferencer}` compares labels by the model's log-probabilities of whole prompts, which "
            "chat models do not tell: the experiment cannot be run",
            FilePlace(prompt),
            "look at its prompts with `promptls render --viewer`, or let `GenInferencer` ask for the label",
        )
