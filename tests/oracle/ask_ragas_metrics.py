"""Scores of the metrics of the real Ragas; see `peer.py` for how it is run."""

from __future__ import annotations

import asyncio
from typing import Any

import peer
from ragas.metrics import collections

METRICS = {
    "bleu": collections.BleuScore(),
    "rougeL": collections.RougeScore(),
    "rougeL precision": collections.RougeScore(mode="precision"),
    "rouge1": collections.RougeScore(rouge_type="rouge1"),
    "rouge1 recall": collections.RougeScore(rouge_type="rouge1", mode="recall"),
    "chrf": collections.CHRFScore(),
    "exact_match": collections.ExactMatch(),
    "string_presence": collections.StringPresence(),
    **{
        each.value: collections.NonLLMStringSimilarity(distance_measure=each)
        for each in collections.DistanceMeasure
    },
}


def ask(case: dict[str, Any]) -> dict[str, Any]:
    return {
        name: peer.outcome(lambda metric=metric: round(asyncio.run(metric.ascore(**case["texts"])).value, 9))
        for name, metric in METRICS.items()
    }


if __name__ == "__main__":
    peer.answer(ask)
