"""From scenarios to checked samples, and the dataset that they make."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.files import FORMATS, format_of
from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.pipeline import Outcome, Task, work_through
from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.models.keys import key_mask
from promptls.models.model import ModelError
from promptls.testset.extractors import STOP_WORDS, subject_words, words
from promptls.testset.graph import SOURCE
from promptls.testset.model_extractors import Asker
from promptls.testset.scenarios import ANSWER, QUERY, SAMPLE_SCHEMA, Sample, Scenario
from promptls.testset.synthesizers import Synthesizer
from promptls.text.errors import FilePlace, UsageError

# The share of an answer's words that the contexts have to hold, by the beginnings of the words; who explains
# something in other words still has this many of its own.
GROUNDED: Final = 0.4
_STEM: Final = 4

# The share of a query's words, likewise.
ABOUT: Final = 0.3

# Words from which on a text shows its language, and the shares of function words that show English and not.
_ENOUGH: Final = 6
_ENGLISH: Final = 0.2
_FOREIGN: Final = 0.05

_FRAME: Final = re.compile(r"</?text-\d|\btext-?\s?\d\b", re.IGNORECASE)
_META: Final = re.compile(r"\b(?:text|context|question|quer(?:y|ies)|answer)s?\b", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`]+)`")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")

# So many words that stand so many times in an answer are a model that has lost its way.
_PHRASE: Final = 4
_TIMES: Final = 3


class Draft(NamedTuple):
    """A query and its reference answer."""

    query: str
    answer: str


def read_sample(text: str, contexts: Sequence[str]) -> Draft | str:
    """Return the query and answer in a model's answer, or a sentence that says what is wrong with it."""
    try:
        found = read_verdict(text, SAMPLE_SCHEMA)
    except NoVerdictError:
        return "no JSON with a query and an answer" if text.strip() else "an empty answer"
    draft = Draft(*(" ".join(str(found[name]).split()) for name in (QUERY, ANSWER)))
    return _problem(draft, contexts) or draft


def _problem(draft: Draft, contexts: Sequence[str]) -> str | None:
    query, answer = draft
    whole = "\n".join(contexts)
    if not words(query):
        return "no query"
    if not (words(answer) or _NUMBER.search(answer)):
        return "no reference answer"
    if query.casefold() == answer.casefold():
        return "a query that is its own answer"
    if any(_is_about_the_task(text, whole) for text in draft):
        return "talk about the task itself"
    if _repeats_itself(answer) or _repeats_itself(query):
        return "an answer that repeats itself"
    if any(_is_other_language(text, whole) for text in draft):
        return "another language than that of the documents"
    if not _is_about(query, whole):
        return "a query that is not about the documents"
    if not _is_grounded(answer, whole):
        return "an answer that the documents do not hold"
    return None


def _is_about_the_task(text: str, contexts: str) -> bool:
    """Return whether a text speaks of texts, questions and answers, of which the contexts do not."""
    if _FRAME.search(text) is not None:
        return True
    there = {match[0].casefold().rstrip("s") for match in _META.finditer(contexts)}
    return any(match[0].casefold().rstrip("s") not in there for match in _META.finditer(text))


def _repeats_itself(text: str) -> bool:
    found = [word.casefold() for word in words(text)]
    phrases = Counter(zip(*(found[begin:] for begin in range(_PHRASE)), strict=False))
    return any(count >= _TIMES for count in phrases.values())


def _is_about(query: str, contexts: str) -> bool:
    """Return whether the contexts hold enough of the query's words; a misspelled one has others as well."""
    there = {word[:_STEM] for word in subject_words(contexts)}
    said = [word[:_STEM] for word in subject_words(query)]
    return sum(word in there for word in said) >= ABOUT * len(said)


def _is_grounded(answer: str, contexts: str) -> bool:
    """Return whether the contexts hold the answer's numbers, code, and enough of its words."""
    if answer.casefold() in contexts.casefold():
        return True
    if not set(_NUMBER.findall(answer)) <= set(_NUMBER.findall(contexts)):
        return False
    if any(code not in contexts for code in _CODE.findall(answer)):
        return False
    there = {word[:_STEM] for word in subject_words(contexts)}
    said = [word[:_STEM] for word in subject_words(answer)]
    return bool(said) and sum(word in there for word in said) >= GROUNDED * len(said)


def _is_other_language(text: str, contexts: str) -> bool:
    """Return whether a text has other letters than the contexts, or only one of both is in English."""
    if (script := _script(text)) is not None and (known := _script(contexts)) is not None and script != known:
        return script not in _scripts(contexts)
    found = [word.casefold() for word in words(text)]
    if len(found) < _ENOUGH:
        return False
    share, usual = _english(found), _english([word.casefold() for word in words(contexts)])
    return (share >= _ENGLISH and usual < _FOREIGN) or (
        share < _FOREIGN and usual >= _ENGLISH and len(found) > 2 * _ENOUGH
    )


def _english(found: Sequence[str]) -> float:
    return sum(word in STOP_WORDS for word in found) / max(len(found), 1)


def _script(text: str) -> str | None:
    """Return the script of most letters; None if there are none."""
    counted = _counted(text)
    return counted.most_common(1)[0][0] if counted else None


def _scripts(text: str) -> set[str]:
    """Return the scripts of at least a tenth of the letters."""
    counted = _counted(text)
    return {script for script, count in counted.items() if count * 10 >= counted.total()}


def _counted(text: str) -> Counter[str]:
    letters = Counter(each for each in text if each.isalpha())
    counted: Counter[str] = Counter()
    for letter, count in letters.items():
        script = unicodedata.name(letter, "?").split()[0]
        # Japanese is written with all three.
        counted["CJK" if script in {"CJK", "HIRAGANA", "KATAKANA"} else script] += count
    return counted


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
    """Why not all scenarios were asked about; None if all were."""


async def generate_sample(
    synthesizer: Synthesizer, scenario: Scenario, asker: Asker, tries: int = DEFAULT_TRIES
) -> Sample | str:
    """Return the scenario's query with its reference answer.

    Where no answer was good, why the last one was not.

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
    """Return the samples in the order of their scenarios, without duplicates.

    `tell` hears of each as it is there, in any order. Where the budget ends, no further one is asked for.
    A scenario that the model does not answer is left out; raises its `ModelError` where none is answered.
    """
    outcomes: dict[int, Sample | str] = {}
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
            tell(made.index, made.found)

    await work_through(tasks(), min(at_once, len(scenarios)), keep)
    if failures and not _has_answered(outcomes, failures):
        raise failures[0]
    return _sorted_out(outcomes, len(scenarios), spent[0].message if spent else None)


@dataclass(frozen=True, slots=True)
class _SampleOutcome(Outcome):
    """The sample of a scenario, or why there is none; None if the budget did not allow asking."""

    index: int
    found: Sample | str | None


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


def rows_of(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Return a row for each sample, in order; what the environment holds as a secret is taken out."""
    mask = key_mask()
    return [
        mask.mask_all(
            {
                "id": str(number),
                "user_input": sample.query,
                "reference": sample.answer,
                "reference_contexts": [node.text for node in sample.scenario.nodes],
                "synthesizer_name": sample.scenario.synthesizer,
                "persona_name": sample.scenario.persona.name,
                "query_style": sample.scenario.style,
                "query_length": sample.scenario.length,
                "theme": sample.scenario.theme,
                "sources": [str(node.properties.get(SOURCE, "")) for node in sample.scenario.nodes],
            }
        )
        for number, sample in enumerate(samples, start=1)
    ]


def check_output(path: Path, *, force: bool = False) -> None:
    """Raise `UsageError` for a file that no dataset can be written to, or that is there and is not to go."""
    if format_of(path) is None:
        listed = ", ".join(f"`{each.suffixes[0]}`" for each in FORMATS.values())
        raise UsageError(
            f"a dataset cannot end in `{path.suffix}`", FilePlace(path), f"name a file that ends in {listed}"
        )
    if not path.parent.is_dir():
        raise UsageError("the folder of the dataset does not exist", FilePlace(path), "make it first")
    if path.is_dir():
        raise UsageError("this is a folder", FilePlace(path), "name a file in it")
    if path.exists() and not force:
        raise UsageError(
            "there is such a file already", FilePlace(path), "name another, or overwrite it with `--force`"
        )


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the file atomically; raises OSError, and `UserError` without pyarrow."""
    found = format_of(path)
    assert found is not None, "`check_output` refuses other suffixes"
    found.write_rows(path, rows)
