"""Generating validated samples from scenarios, and writing the dataset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from promptls.api.ragas_samples import MultiTurnSample, SingleTurnSample
from promptls.datasets.dataset_files import FORMATS, format_of
from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.pipeline import Outcome, Task, work_through
from promptls.models.masking import key_mask
from promptls.models.model import ModelError
from promptls.testset.graph import SOURCE
from promptls.testset.scenarios import Scenario
from promptls.testset.synthesizers.base_query import DEFAULT_TRIES, QuerySynthesizer
from promptls.testset.transforms.extractors import Asker
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code

_ALIKE: Final = 0.85
"""Proportion of common words above which two queries are duplicates."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class GeneratedSample:
    """A query with its reference answer, or a conversation, and its scenario."""

    sample: SingleTurnSample | MultiTurnSample
    scenario: Scenario

    @property
    def query(self) -> str:
        """The user's query."""
        said = self.sample.user_input
        if isinstance(said, list):
            return "\n".join(each.content for each in said if each.type == "human")
        return said or ""


@dataclass(slots=True)
class Samples:
    """The generated samples; `left_out` counts rejected ones by reason, `duplicates` repeated ones."""

    samples: list[GeneratedSample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    not_requested: int = 0
    stopped: str | None = None
    """Why not all scenarios were processed; None if all were."""


async def generate_sample(
    synthesizer: QuerySynthesizer, scenario: Scenario, asker: Asker, tries: int = DEFAULT_TRIES
) -> GeneratedSample | str:
    """Generate the scenario's query with its reference answer, or return the reason why there is none.

    Raises `BudgetSpentError`, and `ModelError` if the model does not answer.
    """
    try:
        made = await synthesizer.request_sample(scenario, asker, tries)
    except (BudgetSpentError, ModelError):
        raise
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        return f"`{synthesizer.name}` failed: {type(error).__name__}: {error}"
    return made if isinstance(made, str) else GeneratedSample(made, scenario)


async def generate_samples(
    scenarios: Sequence[tuple[QuerySynthesizer, Scenario]],
    asker: Asker,
    *,
    tries: int = DEFAULT_TRIES,
    at_once: int = 4,
    notify: Callable[[int, GeneratedSample | str], None] = lambda _index, _found: None,
) -> Samples:
    """Generate samples without duplicates, in the order of their scenarios.

    `notify` is called for each finished sample, in any order. If the budget is exhausted, no
    further ones are requested.
    Scenarios that the model does not answer are skipped; raises its `ModelError` if none is answered.
    """
    outcomes: dict[int, GeneratedSample | str] = {}
    failures: list[ModelError] = []
    spent: list[BudgetSpentError] = []

    async def synthesize(index: int) -> _SampleOutcome:
        try:
            return _SampleOutcome(index, await generate_sample(*scenarios[index], asker, tries))
        except BudgetSpentError as error:
            spent.append(error)
            return _SampleOutcome(index, None)
        except ModelError as error:
            failures.append(error)
            return _SampleOutcome(index, error.message)

    def tasks() -> Iterator[Task[_SampleOutcome]]:
        for index in range(len(scenarios)):
            if spent or (failures and not _has_answered(outcomes, failures)):
                return
            yield Task(partial(synthesize, index))

    def keep(made: _SampleOutcome) -> None:
        if made.found is not None:
            outcomes[made.index] = made.found
            notify(made.index, made.found)

    await work_through(tasks(), min(at_once, len(scenarios)), keep)
    if failures and not _has_answered(outcomes, failures):
        raise failures[0]
    return _sorted_out(outcomes, len(scenarios), spent[0].message if spent else None)


@dataclass(frozen=True, slots=True)
class _SampleOutcome(Outcome):
    """The sample of a scenario, or the reason why there is none; None if the budget was exhausted."""

    index: int
    found: GeneratedSample | str | None


def _has_answered(outcomes: dict[int, GeneratedSample | str], failures: Sequence[ModelError]) -> bool:
    return len(outcomes) > len(failures)


def _sorted_out(outcomes: dict[int, GeneratedSample | str], count: int, stopped: str | None) -> Samples:
    made = Samples(not_requested=count - len(outcomes), stopped=stopped)
    known: list[frozenset[str]] = []
    for _, outcome in sorted(outcomes.items(), key=lambda each: each[0]):
        if isinstance(outcome, str):
            made.left_out[outcome] += 1
            continue
        said = frozenset(_WORD.findall(outcome.query.casefold()))
        if any(len(said & other) >= _ALIKE * max(len(said | other), 1) for other in known):
            made.duplicates += 1
            continue
        known.append(said)
        made.samples.append(outcome)
    return made


def rows_of(samples: Sequence[GeneratedSample]) -> list[dict[str, Any]]:
    """Return a row for each sample, in order, with secrets in the environment removed."""
    mask = key_mask()
    return [mask.mask_all(_row(str(row_id), sample)) for row_id, sample in enumerate(samples, start=1)]


def _row(row_id: str, made: GeneratedSample) -> dict[str, Any]:
    scenario = made.scenario
    fields = made.sample.to_dict()
    row = {
        "id": row_id,
        "user_input": fields.pop("user_input", ""),
        "reference": fields.pop("reference", ""),
        "reference_contexts": fields.pop("reference_contexts", [node.text for node in scenario.nodes]),
        "synthesizer_name": scenario.synthesizer,
        "persona_name": scenario.persona.name,
        "query_style": scenario.style,
        "query_length": scenario.length,
        "theme": scenario.theme,
        "sources": [str(node.properties.get(SOURCE, "")) for node in scenario.nodes],
    }
    return {**row, **fields}


def check_output(path: Path, *, force: bool) -> None:
    """Raise `UsageError` if the file's format cannot be written, or it exists and `force` is not set."""
    if format_of(path) is None:
        listed = in_code(each.suffixes[0] for each in FORMATS.values())
        raise UsageError(
            f"a dataset cannot end in `{path.suffix}`", FilePlace(path), f"name a file that ends in {listed}"
        )
    if not path.parent.is_dir():
        raise UsageError("the folder of the dataset does not exist", FilePlace(path), "create it first")
    if path.is_dir():
        raise UsageError("this is a folder", FilePlace(path), "name a file in it")
    if path.exists() and not force:
        raise UsageError(
            "the file already exists", FilePlace(path), "name another, or overwrite it with `--force`"
        )


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the file atomically; raises OSError, and `UserError` without pyarrow."""
    found = format_of(path)
    assert found is not None, "`check_output` refuses other suffixes"
    found.write_rows(path, rows)
