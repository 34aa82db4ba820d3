"""How many queries of each kind a data set has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from promptls.generation.draw import Draw
from promptls.generation.graph import KnowledgeGraph
from promptls.generation.scenario import Scenario
from promptls.generation.synthesizers import Synthesizer
from promptls.text.failure import Failure, WrongUse
from promptls.text.nearest import did_you_mean


def parse_distribution(text: str, known: Iterable[str]) -> dict[str, float]:
    """The shares that `name=share,…` writes; a name alone has the share 1. Raises `WrongUse`."""
    names = list(known)
    shares: dict[str, float] = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, share = (part.strip() for part in piece.partition("="))
        if name not in names:
            listed = ", ".join(f"`{each}`" for each in names)
            raise WrongUse(
                f"there is no synthesizer `{name}`{did_you_mean(name, names)}", remedy=f"there are {listed}"
            )
        try:
            shares[name] = float(share or 1)
        except ValueError:
            shares[name] = -1.0
        if not 0 <= shares[name] < float("inf"):
            raise WrongUse(f"`{share}` is no share", remedy=f"write a number of 0 or more: `{name}=0.5`")
    if not sum(shares.values()):
        raise WrongUse("the distribution is empty", remedy=f"write `{names[0]}=1`, or leave it out")
    return shares


def counts_of(distribution: Mapping[str, float], size: int) -> dict[str, int]:
    """How many of `size` each has; what whole numbers leave over goes to the largest remainders."""
    whole = sum(distribution.values())
    exact = {name: size * share / whole for name, share in distribution.items()}
    counts = {name: int(count) for name, count in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: size - sum(counts.values())]:
        counts[name] += 1
    return counts


class Drawn(NamedTuple):
    """Scenarios with their synthesizers, and what could not be had, in words."""

    scenarios: list[tuple[Synthesizer, Scenario]]
    notes: list[str]


def draw_scenarios(
    graph: KnowledgeGraph,
    synthesizers: Sequence[Synthesizer],
    distribution: Mapping[str, float],
    size: int,
    draw: Draw,
) -> Drawn:
    """So many scenarios as the distribution has them; where the graph offers too few of one, more of others.

    Raises `Failure` where it offers none at all.
    """
    named = {each.name: each for each in synthesizers}
    found: list[tuple[Synthesizer, Scenario]] = []
    able: list[Synthesizer] = []
    notes = []
    for name, count in counts_of(distribution, size).items():
        made = named[name].generate_scenarios(graph, count, draw) if count else []
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
            found += [(each, scenario) for scenario in each.generate_scenarios(graph, share, draw)]
    if not found:
        raise Failure(
            "the documents hold nothing that could be asked about",
            remedy="name documents with some paragraphs of prose, or another `--distribution`",
        )
    return Drawn(found, notes)
