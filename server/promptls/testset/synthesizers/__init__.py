"""Synthesizers: each makes the scenarios of one kind of query out of a graph, and asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from promptls.testset.documents import HEADINGS
from promptls.testset.graph import KnowledgeGraph, Node
from promptls.testset.scenarios import Draw, Group, Scenario
from promptls.testset.synthesizers.base_query import QuerySynthesizer
from promptls.testset.transforms.relationship_builders.traditional import SHARED
from promptls.text.errors import UsageError, UserError
from promptls.text.suggest import did_you_mean

# Themes that one node offers, so that a long one is not asked about in every way before the next one is.
_THEMES: Final = 6


def _single_specific(graph: KnowledgeGraph) -> list[Group]:
    """Return each node with what it names."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if (themes := tuple([*node.texts("entities"), *node.texts("keyphrases")][:_THEMES]))
    ]


def _single_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Return each node that says something, with its subject."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if node.properties.get("summary") and (themes := _subjects(node))
    ]


def _multi_specific(graph: KnowledgeGraph) -> list[Group]:
    """Return pairs of nodes that name the same thing, with what they share."""
    found = []
    for each in graph.relationships:
        shared = tuple(map(str, each.properties.get(SHARED) or ()))
        if shared:
            found.append(Group((graph.node(each.source), graph.node(each.target)), shared[:_THEMES]))
    return found


def _multi_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Return pairs of nodes with similar meaning, or else similar phrases, with both subjects."""
    related = graph.relationships_of("cosine_similarity") or graph.relationships_of("keyphrases_overlap")
    found = []
    for each in related:
        one, other = graph.node(each.source), graph.node(each.target)
        subjects = dict.fromkeys([*_subjects(one)[:1], *_subjects(other)[:1]])
        if subjects:
            found.append(Group((one, other), (" and ".join(subjects),)))
    return found


def _subjects(node: Node) -> tuple[str, ...]:
    """Return what a node is about: its own heading, and its best phrase."""
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


def parse_distribution(text: str, known: Iterable[str]) -> dict[str, float]:
    """Return the shares that `name=share,…` writes; a name alone has the share 1. Raises `UsageError`."""
    names = list(known)
    shares: dict[str, float] = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, share = (part.strip() for part in piece.partition("="))
        if name not in names:
            listed = ", ".join(f"`{each}`" for each in names)
            raise UsageError(
                f"there is no synthesizer `{name}`{did_you_mean(name, names)}", remedy=f"there are {listed}"
            )
        try:
            shares[name] = float(share or 1)
        except ValueError:
            shares[name] = -1.0
        if not 0 <= shares[name] < float("inf"):
            raise UsageError(f"`{share}` is no share", remedy=f"write a number of 0 or more: `{name}=0.5`")
    if not sum(shares.values()):
        raise UsageError("the distribution is empty", remedy=f"write `{names[0]}=1`, or leave it out")
    return shares


def counts_of(distribution: Mapping[str, float], size: int) -> dict[str, int]:
    """Return how many of `size` each has; what whole numbers leave over goes to the largest remainders."""
    whole = sum(distribution.values())
    exact = {name: size * share / whole for name, share in distribution.items()}
    counts = {name: int(count) for name, count in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: size - sum(counts.values())]:
        counts[name] += 1
    return counts


class Drawn(NamedTuple):
    """Scenarios with their synthesizers, and what could not be had, in words."""

    scenarios: list[tuple[QuerySynthesizer, Scenario]]
    notes: list[str]


def draw_scenarios(
    graph: KnowledgeGraph,
    synthesizers: Sequence[QuerySynthesizer],
    distribution: Mapping[str, float],
    size: int,
    draw: Draw,
) -> Drawn:
    """So many scenarios as the distribution has them; where the graph offers too few of one, more of others.

    Raises `UserError` where it offers none at all.
    """
    named = {each.name: each for each in synthesizers}
    found: list[tuple[QuerySynthesizer, Scenario]] = []
    able: list[QuerySynthesizer] = []
    notes = []
    for name, count in counts_of(distribution, size).items():
        made = named[name].drawn(graph, count, draw) if count else []
        found += [(named[name], scenario) for scenario in made]
        if len(made) < count:
            notes.append(f"the documents offer {len(made)} of {count} scenarios for `{name}`")
        elif count:
            able.append(named[name])
    # What one kind lacks, the others make up for, in turn.
    for position, each in enumerate(able):
        missing = size - len(found)
        share = -(-missing // (len(able) - position))
        if share:
            found += [(each, scenario) for scenario in each.drawn(graph, share, draw)]
    if not found:
        raise UserError(
            "the documents hold nothing that could be asked about",
            remedy="name documents with some paragraphs of prose, or another `--distribution`",
        )
    return Drawn(found, notes)
