"""Synthesizers: each creates scenarios for one kind of query from a graph, and requests the queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from promptls.testset.documents import HEADINGS
from promptls.testset.graph import KnowledgeGraph, Node
from promptls.testset.scenarios import Draw, Group, Scenario
from promptls.testset.synthesizers.base_query import QuerySynthesizer
from promptls.testset.transforms.relationship_builders.traditional import SHARED
from promptls.text.errors import UsageError, UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean

_THEMES: Final = 6
"""Maximum number of themes per node, so that long nodes do not dominate."""


def _single_specific(graph: KnowledgeGraph) -> list[Group]:
    """Return each node with its entities and key phrases as themes."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if (themes := tuple([*node.texts("entities"), *node.texts("keyphrases")][:_THEMES]))
    ]


def _single_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Return each node that has a summary, with its subject as theme."""
    return [
        Group((node,), themes)
        for node in graph.leaves
        if node.properties.get("summary") and (themes := _subjects(node))
    ]


def _multi_specific(graph: KnowledgeGraph) -> list[Group]:
    """Return pairs of nodes that share items, with these items as themes."""
    found = []
    for each in graph.relationships:
        shared = tuple(map(str, each.properties.get(SHARED) or ()))
        if shared:
            found.append(Group((graph.node(each.source), graph.node(each.target)), shared[:_THEMES]))
    return found


def _multi_abstract(graph: KnowledgeGraph) -> list[Group]:
    """Return pairs of nodes with similar meaning, or else similar phrases, with both subjects as theme."""
    related = graph.relationships_of("cosine_similarity") or graph.relationships_of("keyphrases_overlap")
    found = []
    for each in related:
        one, other = graph.node(each.source), graph.node(each.target)
        subjects = dict.fromkeys([*_subjects(one)[:1], *_subjects(other)[:1]])
        if subjects:
            found.append(Group((one, other), (" and ".join(subjects),)))
    return found


def _subjects(node: Node) -> tuple[str, ...]:
    """Return the subjects of a node: its heading, and its best phrase."""
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
"""The built-in kinds of queries."""

DEFAULT_DISTRIBUTION: Final = {
    "single_hop_specific": 0.4,
    "single_hop_abstract": 0.2,
    "multi_hop_specific": 0.2,
    "multi_hop_abstract": 0.2,
}


def parse_distribution(text: str, known: Iterable[str]) -> dict[str, float]:
    """Parse a distribution `name=share,…`; the share defaults to 1. Raises `UsageError`."""
    names = list(known)
    shares: dict[str, float] = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, share = (part.strip() for part in piece.partition("="))
        if name not in names:
            listed = in_code(names)
            raise UsageError(
                f"there is no synthesizer `{name}`{did_you_mean(name, names)}", remedy=f"there are {listed}"
            )
        try:
            shares[name] = float(share or 1)
        except ValueError:
            shares[name] = -1.0
        if not 0 <= shares[name] < float("inf"):
            raise UsageError(f"`{share}` is not a share", remedy=f"write a number of 0 or more: `{name}=0.5`")
    if not sum(shares.values()):
        raise UsageError("the distribution is empty", remedy=f"write `{names[0]}=1`, or leave it out")
    return shares


def counts_of(distribution: Mapping[str, float], size: int) -> dict[str, int]:
    """Distribute `size` by shares; the rest after rounding down goes to the largest remainders."""
    whole = sum(distribution.values())
    exact = {name: size * share / whole for name, share in distribution.items()}
    counts = {name: int(count) for name, count in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: size - sum(counts.values())]:
        counts[name] += 1
    return counts


class Drawn(NamedTuple):
    """Scenarios with their synthesizers, and messages about missing ones."""

    scenarios: list[tuple[QuerySynthesizer, Scenario]]
    notes: list[str]


def draw_scenarios(
    graph: KnowledgeGraph,
    synthesizers: Sequence[QuerySynthesizer],
    distribution: Mapping[str, float],
    size: int,
    draw: Draw,
) -> Drawn:
    """Draw `size` scenarios by the distribution; if the graph offers too few of a kind, others are added.

    Raises `UserError` if the graph offers none at all.
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
    # Missing scenarios of a kind are replaced by other kinds in turn.
    for position, each in enumerate(able):
        missing = size - len(found)
        share = -(-missing // (len(able) - position))
        if share:
            found += [(each, scenario) for scenario in each.drawn(graph, share, draw)]
    if not found:
        raise UserError(
            "the documents contain nothing to ask about",
            remedy="name documents with paragraphs of prose, or another `--distribution`",
        )
    return Drawn(found, notes)
