"""Synthesizers: each makes the scenarios of one kind of query out of a graph, and asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from promptls.generation.draw import Draw, Group
from promptls.generation.graph import KnowledgeGraph, Node
from promptls.generation.questions import sample_messages
from promptls.generation.relationships import SHARED
from promptls.generation.scenario import LENGTHS, STYLES, Scenario
from promptls.generation.splitters import HEADINGS

# Themes that one node offers, so that a long one is not asked about in every way before the next one is.
_THEMES: Final = 6


class Synthesizer(Protocol):
    """Makes one kind of query."""

    @property
    def name(self) -> str:
        """What a distribution and the rows of the data set call it."""

    def generate_scenarios(self, graph: KnowledgeGraph, count: int, draw: Draw) -> list[Scenario]:
        """At most `count` scenarios, chosen by `draw`; fewer where the graph has no more."""

    def messages(self, scenario: Scenario) -> list[dict[str, str]]:
        """What a model is asked for one of them; it answers as `SAMPLE_SCHEMA` has it."""


@dataclass(frozen=True, slots=True)
class QuerySynthesizer:
    """A synthesizer by what it asks for, in `task`, about nodes that `groups` finds together."""

    name: str
    task: str
    groups: Callable[[KnowledgeGraph], Sequence[Group]]

    def generate_scenarios(self, graph: KnowledgeGraph, count: int, draw: Draw) -> list[Scenario]:
        """As in Synthesizer."""
        return draw.take(self.name, self.groups(graph), count)

    def messages(self, scenario: Scenario) -> list[dict[str, str]]:
        """As in Synthesizer."""
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


def _single_specific(graph: KnowledgeGraph) -> list[Group]:
    """Each node with what it names."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if (themes := tuple([*node.texts("entities"), *node.texts("keyphrases")][:_THEMES]))
    ]


def _single_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Each node that says something, with its subject."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if node.properties.get("summary") and (themes := _subjects(node))
    ]


def _multi_specific(graph: KnowledgeGraph) -> list[Group]:
    """Pairs of nodes that name the same thing, with what they share."""
    found = []
    for each in graph.relationships:
        shared = tuple(map(str, each.properties.get(SHARED) or ()))
        if shared:
            found.append(Group((graph.node(each.source), graph.node(each.target)), shared[:_THEMES]))
    return found


def _multi_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Pairs of nodes that are alike in meaning, or else in their phrases, with both of their subjects."""
    related = graph.relationships_of("cosine_similarity") or graph.relationships_of("keyphrases_overlap")
    found = []
    for each in related:
        one, other = graph.node(each.source), graph.node(each.target)
        subjects = dict.fromkeys([*_subjects(one)[:1], *_subjects(other)[:1]])
        if subjects:
            found.append(Group((one, other), (" and ".join(subjects),)))
    return found


def _subjects(node: Node) -> tuple[str, ...]:
    """What a node is about: its own heading, and its best phrase."""
    return tuple(dict.fromkeys([*node.texts(HEADINGS)[-1:], *node.texts("keyphrases")[:1]]))


SYNTHESIZERS: Final[tuple[QuerySynthesizer, ...]] = (
    QuerySynthesizer(
        "single_hop_specific",
        "Write one question that asks for a fact.",
        _single_specific,
    ),
    QuerySynthesizer(
        "single_hop_abstract",
        "Write one question that asks why or how, for an explanation and no single fact.",
        _single_abstract,
    ),
    QuerySynthesizer(
        "multi_hop_specific",
        "Write one question that asks for facts, and that only both texts together answer.",
        _multi_specific,
    ),
    QuerySynthesizer(
        "multi_hop_abstract",
        "Write one question that compares or connects what both texts say.",
        _multi_abstract,
    ),
)
"""The kinds of queries that there are without further ado."""

DEFAULT_DISTRIBUTION: Final = {
    "single_hop_specific": 0.4,
    "single_hop_abstract": 0.2,
    "multi_hop_specific": 0.2,
    "multi_hop_abstract": 0.2,
}
