"""The base class of synthesizers: scenarios from a graph, and a checked sample for each."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from promptls.api.model_calls import run_in_own_loop
from promptls.api.ragas_samples import MultiTurnSample, SingleTurnSample
from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.testset import scenarios
from promptls.testset.graph import KnowledgeGraph
from promptls.testset.transforms.extractors import STOP_WORDS, Asker, subject_words, words
from promptls.text.errors import UserError

# The minimum proportion of an answer's words that occur in the contexts, compared by word beginnings.
# Paraphrases still reach this proportion.
GROUNDED: Final = 0.4
_STEM: Final = 4

# The same for the words of a query.
ABOUT: Final = 0.3

# Minimum words to detect English, and proportions of function words above and below which it is detected.
_ENOUGH: Final = 6
_ENGLISH: Final = 0.2
_FOREIGN: Final = 0.05

_FRAME: Final = re.compile(r"</?text-\d|\btext-?\s?\d\b", re.IGNORECASE)
_META: Final = re.compile(r"\b(?:text|context|question|quer(?:y|ies)|answer)s?\b", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`]+)`")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")

# A phrase of this many words that occurs this many times indicates a degenerate answer.
_PHRASE: Final = 4
_TIMES: Final = 3


class Draft(NamedTuple):
    """A query and its reference answer."""

    query: str
    answer: str


def read_sample(text: str, contexts: Sequence[str]) -> Draft | str:
    """Return the query and reference in a model's answer, or a sentence that says what is wrong with it."""
    try:
        found = read_verdict(text, scenarios.SAMPLE_SCHEMA)
    except NoVerdictError:
        return "no JSON with a query and an answer" if text.strip() else "an empty answer"
    draft = Draft(*(" ".join(str(found[name]).split()) for name in (scenarios.QUERY, scenarios.ANSWER)))
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
        return "an answer that is not in the documents"
    return None


def _is_about_the_task(text: str, contexts: str) -> bool:
    """Return whether a text mentions texts, questions or answers although the contexts do not."""
    if _FRAME.search(text) is not None:
        return True
    there = {match[0].casefold().rstrip("s") for match in _META.finditer(contexts)}
    return any(match[0].casefold().rstrip("s") not in there for match in _META.finditer(text))


def _repeats_itself(text: str) -> bool:
    found = [word.casefold() for word in words(text)]
    phrases = Counter(zip(*(found[begin:] for begin in range(_PHRASE)), strict=False))
    return any(count >= _TIMES for count in phrases.values())


def _is_about(query: str, contexts: str) -> bool:
    """Return whether the contexts contain enough of the query's words; a few may be misspelled."""
    there = {word[:_STEM] for word in subject_words(contexts)}
    said = [word[:_STEM] for word in subject_words(query)]
    return sum(word in there for word in said) >= ABOUT * len(said)


def _is_grounded(answer: str, contexts: str) -> bool:
    """Return whether the contexts contain the answer's numbers, code, and enough of its words."""
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
    """Return whether a text uses a different script than the contexts, or only one of them is English."""
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
    """Return the script of most letters; None if there are no letters."""
    counted = _count(text)
    return counted.most_common(1)[0][0] if counted else None


def _scripts(text: str) -> set[str]:
    """Return the scripts of at least a tenth of the letters."""
    counted = _count(text)
    return {script for script, count in counted.items() if count * 10 >= counted.total()}


def _count(text: str) -> Counter[str]:
    letters = Counter(each for each in text if each.isalpha())
    counted: Counter[str] = Counter()
    for letter, count in letters.items():
        script = unicodedata.name(letter, "?").split()[0]
        # Japanese uses all three scripts.
        counted["CJK" if script in {"CJK", "HIRAGANA", "KATAKANA"} else script] += count
    return counted


DEFAULT_TRIES: Final = 3
"""Maximum number of attempts per query."""


@dataclass
class QuerySynthesizer:
    """Generates one kind of query, as described by `task`, about groups of nodes found by `groups`.

    Subclasses can override `_generate_scenarios` and `_generate_sample`. `llm` is used by `generate_sample`:
    a model's name, a Judge, a LangChain model, or a function on a text.
    """

    name: str = ""
    """The name in distributions and in the rows of the dataset; by default the name of the class."""
    task: str = "Write one question that the texts answer."
    groups: Callable[[KnowledgeGraph], Sequence[scenarios.Group]] = lambda _graph: ()
    llm: Any = None

    def __post_init__(self) -> None:
        self.name = self.name or type(self).__name__

    async def generate_scenarios(
        self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any = None
    ) -> list[scenarios.Scenario]:
        """Return `n` scenarios, or fewer if the graph does not provide more.

        Objects other than `Scenario` are returned unchanged, for a `_generate_sample` that knows them.
        """
        made = await self._generate_scenarios(n, knowledge_graph, callbacks)
        return [
            replace(each, synthesizer=each.synthesizer or self.name)
            if isinstance(each, scenarios.Scenario)
            else each
            for each in made
        ]

    async def generate_sample(
        self, scenario: scenarios.Scenario, callbacks: Any = None
    ) -> SingleTurnSample | MultiTurnSample:
        """Generate the query of a scenario with its reference; raises UserError if no answer is valid."""
        return await self._generate_sample(scenario, callbacks)

    async def _generate_scenarios(
        self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any
    ) -> Sequence[scenarios.Scenario]:
        del callbacks
        return scenarios.Draw().take(self.name, self.groups(knowledge_graph), n)

    async def _generate_sample(
        self, scenario: scenarios.Scenario, callbacks: Any
    ) -> SingleTurnSample | MultiTurnSample:
        from promptls.api.judge import as_judge

        del callbacks
        made = await self.request_sample(scenario, as_judge(self.llm))
        if isinstance(made, str):
            raise UserError(
                f"`{self.name}` got no query for the scenario: {made}", remedy="take another model"
            )
        return made

    def drawn(self, graph: KnowledgeGraph, count: int, draw: scenarios.Draw) -> list[scenarios.Scenario]:
        """Return at most `count` scenarios; those of the groups are selected by `draw`."""
        if self._overrides("_generate_scenarios"):
            return run_in_own_loop(lambda: self.generate_scenarios(count, graph))[:count]
        return draw.take(self.name, self.groups(graph), count)

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(QuerySynthesizer, method)

    def messages(self, scenario: scenarios.Scenario) -> list[dict[str, str]]:
        """Return the messages that request a scenario's query; the answer must match `SAMPLE_SCHEMA`."""
        persona = scenario.persona
        return scenarios.sample_messages(
            [node.text for node in scenario.nodes],
            self.task,
            scenario.theme,
            [
                ("Who asks", f"{persona.name} ({persona.description})"),
                ("Style", scenarios.STYLES.get(scenario.style, scenario.style)),
                ("Length", scenarios.LENGTHS.get(scenario.length, scenario.length)),
            ],
        )

    async def request_sample(
        self, scenario: scenarios.Scenario, asker: Asker, tries: int = DEFAULT_TRIES
    ) -> SingleTurnSample | MultiTurnSample | str:
        """Request the query of a scenario with its reference; return it, or why the last answer was rejected.

        Calls `asker`, unless the class generates samples itself. Raises `BudgetSpentError`, and `ModelError`
        if the model does not answer.
        """
        if self._overrides("_generate_sample"):
            return await self.generate_sample(scenario)
        messages = self.messages(scenario)
        contexts = [node.text for node in scenario.nodes]
        problem = "not asked"
        for attempt in range(1, tries + 1):
            found = read_sample(
                await asker.ask(messages, json_schema=scenarios.SAMPLE_SCHEMA, sample=attempt), contexts
            )
            if isinstance(found, Draft):
                return SingleTurnSample(
                    user_input=found.query,
                    reference=found.answer,
                    reference_contexts=contexts,
                    persona_name=scenario.persona.name,
                    query_style=scenario.style,
                    query_length=scenario.length,
                )
            problem = found
        return problem
