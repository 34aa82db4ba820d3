"""The base class of synthesizers: scenarios from a graph, and a sample for each scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from promptls.api.models import run_in_own_loop
from promptls.api.samples import MultiTurnSample, SingleTurnSample
from promptls.testset.sample_check import Draft, read_sample
from promptls.testset.scenarios import (
    LENGTHS,
    SAMPLE_SCHEMA,
    STYLES,
    Draw,
    Group,
    Scenario,
    sample_messages,
)
from promptls.text.errors import UserError

if TYPE_CHECKING:
    from promptls.testset.graph import KnowledgeGraph
    from promptls.testset.transforms.model_extractors import Asker

DEFAULT_TRIES: Final = 3
"""Maximum number of attempts per query."""


def _no_groups(_graph: KnowledgeGraph) -> Sequence[Group]:
    return ()


@dataclass
class QuerySynthesizer:
    """Generates one kind of query, as described by `task`, about groups of nodes found by `groups`.

    Subclasses can override `_generate_scenarios` and `_generate_sample`. `llm` is used by `generate_sample`:
    a model's name, a Judge, a LangChain model, or a function on a text.
    """

    name: str = ""
    """The name in distributions and in the rows of the dataset; by default the name of the class."""
    task: str = "Write one question that the texts answer."
    groups: Callable[[KnowledgeGraph], Sequence[Group]] = _no_groups
    llm: Any = None

    def __post_init__(self) -> None:
        self.name = self.name or type(self).__name__

    async def generate_scenarios(
        self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any = None
    ) -> list[Scenario]:
        """Return `n` scenarios, or fewer if the graph does not provide more."""
        made = await self._generate_scenarios(n, knowledge_graph, callbacks)
        return [replace(each, synthesizer=each.synthesizer or self.name) for each in made]

    async def generate_sample(
        self, scenario: Scenario, callbacks: Any = None
    ) -> SingleTurnSample | MultiTurnSample:
        """Generate the query of a scenario with its reference; raises UserError if no answer is valid."""
        return await self._generate_sample(scenario, callbacks)

    async def _generate_scenarios(
        self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any
    ) -> Sequence[Scenario]:
        del callbacks
        return Draw().take(self.name, self.groups(knowledge_graph), n)

    async def _generate_sample(
        self, scenario: Scenario, callbacks: Any
    ) -> SingleTurnSample | MultiTurnSample:
        from promptls.api.judge import as_judge

        del callbacks
        made = await self.asked_sample(scenario, as_judge(self.llm))
        if isinstance(made, str):
            raise UserError(
                f"`{self.name}` got no query for the scenario: {made}", remedy="take another model"
            )
        return made

    def drawn(self, graph: KnowledgeGraph, count: int, draw: Draw) -> list[Scenario]:
        """Return at most `count` scenarios; those of the groups are selected by `draw`."""
        if self._overrides("_generate_scenarios"):
            return run_in_own_loop(lambda: self.generate_scenarios(count, graph))[:count]
        return draw.take(self.name, self.groups(graph), count)

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(QuerySynthesizer, method)

    def messages(self, scenario: Scenario) -> list[dict[str, str]]:
        """Return the messages that request a scenario's query; the answer must match `SAMPLE_SCHEMA`."""
        persona = scenario.persona
        return sample_messages(
            [node.text for node in scenario.nodes],
            self.task,
            scenario.theme,
            [
                ("Who asks", f"{persona.name} ({persona.description})"),
                ("Style", STYLES.get(scenario.style, scenario.style)),
                ("Length", LENGTHS.get(scenario.length, scenario.length)),
            ],
        )

    async def asked_sample(
        self, scenario: Scenario, asker: Asker, tries: int = DEFAULT_TRIES
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
        for number in range(1, tries + 1):
            found = read_sample(await asker.ask(messages, json_schema=SAMPLE_SCHEMA, sample=number), contexts)
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
