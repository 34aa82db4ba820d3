"""From scenarios to samples: asked for, checked, asked for again, and left out where none is good."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from promptls.experiments.at_once import BudgetSpentError, done_at_once
from promptls.generation.asker import Asker
from promptls.generation.questions import SAMPLE_SCHEMA
from promptls.generation.sample_check import Draft, read_sample
from promptls.generation.scenario import Sample, Scenario
from promptls.generation.synthesizers import Synthesizer
from promptls.models.model import ModelError

DEFAULT_TRIES: Final = 3
"""How often a model is asked for one query at most."""

# Shares of common words from which on two queries are the same one.
_ALIKE: Final = 0.85

_WORD: Final = re.compile(r"\w+")


@dataclass(slots=True)
class Samples:
    """What scenarios came to: `left_out` counts them by reasons, `duplicates` those with nothing new."""

    samples: list[Sample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    not_asked: int = 0
    stopped: str | None = None
    """Why not all scenarios were asked about; None where all were."""


async def generate_sample(
    synthesizer: Synthesizer, scenario: Scenario, asker: Asker, tries: int = DEFAULT_TRIES
) -> Sample | str:
    """The scenario's query with its reference answer; where no answer was good, why the last one was not.

    Raises `BudgetSpentError`, and `ModelError` where the model does not answer.
    """
    messages = synthesizer.messages(scenario)
    contexts = [node.text for node in scenario.nodes]
    problem = "not asked"
    for number in range(1, tries + 1):
        found = read_sample(await asker.ask(messages, json_schema=SAMPLE_SCHEMA, sample=number), contexts)
        if isinstance(found, Draft):
            return Sample(found.query, found.answer, scenario)
        problem = found
    return problem


async def generate_samples(
    scenarios: Sequence[tuple[Synthesizer, Scenario]],
    asker: Asker,
    *,
    tries: int = DEFAULT_TRIES,
    at_once: int = 4,
    tell: Callable[[int, Sample | str], None] = lambda _index, _found: None,
) -> Samples:
    """The samples in the order of their scenarios, without duplicates.

    `tell` hears of each as it is there, in any order. Where the budget ends, no further one is asked for.
    A scenario that the model does not answer is left out; raises its `ModelError` where none is answered.
    """
    outcomes: dict[int, Sample | str] = {}
    failures: list[ModelError] = []
    spent: list[BudgetSpentError] = []
    waiting = iter(range(len(scenarios)))

    async def work() -> None:
        for index in waiting:
            if spent or (failures and not _has_answered(outcomes, failures)):
                return
            try:
                outcome = await generate_sample(*scenarios[index], asker, tries)
            except BudgetSpentError as error:
                spent.append(error)
                return
            except ModelError as error:
                failures.append(error)
                outcome = error.message
            outcomes[index] = outcome
            tell(index, outcome)

    await done_at_once(work, max(1, min(at_once, len(scenarios))))
    if failures and not _has_answered(outcomes, failures):
        raise failures[0]
    return _sorted_out(outcomes, len(scenarios), spent[0].message if spent else None)


def _has_answered(outcomes: dict[int, Sample | str], failures: Sequence[ModelError]) -> bool:
    return len(outcomes) > len(failures)


def _sorted_out(outcomes: dict[int, Sample | str], count: int, stopped: str | None) -> Samples:
    made = Samples(not_asked=count - len(outcomes), stopped=stopped)
    known: list[frozenset[str]] = []
    for _, outcome in sorted(outcomes.items(), key=lambda each: each[0]):
        if isinstance(outcome, str):
            made.left_out[outcome] += 1
            continue
        said = frozenset(_WORD.findall(outcome.query.casefold()))
        if any(_is_alike(said, other) for other in known):
            made.duplicates += 1
            continue
        known.append(said)
        made.samples.append(outcome)
    return made


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * max(len(one | other), 1)
