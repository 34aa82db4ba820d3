"""A scenario: who asks for what, how, and out of which nodes the answer comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from promptls.generation.graph import Node
from promptls.text.failure import WrongUse


class Persona(NamedTuple):
    """Somebody who asks."""

    name: str
    description: str


PERSONAS: Final = (
    Persona("newcomer", "somebody who starts with it today and knows none of its words"),
    Persona("practitioner", "somebody who uses it every day and looks for one detail"),
    Persona("decision maker", "somebody who has to choose whether and how a team uses it"),
)

STYLES: Final = {
    "formal": "a complete and polite sentence",
    "chat": "as one writes to a colleague in a chat",
    "web search": "a few words as typed into a search box, no sentence",
    "misspelled": "quickly typed, with a spelling mistake or two",
}
"""The styles of queries by name, in the words that a model is told."""

LENGTHS: Final = {
    "short": "at most ten words",
    "medium": "ten to twenty words",
    "long": "twenty to forty words, with the situation that leads to the question",
}
"""The lengths of queries, likewise."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one query is to be: about `theme`, answered by `nodes`; style and length are names."""

    synthesizer: str
    nodes: tuple[Node, ...]
    theme: str
    persona: Persona
    style: str
    length: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A query with its reference answer, and the scenario that it was made for."""

    query: str
    answer: str
    scenario: Scenario
    model: str = ""


def parse_persona(text: str) -> Persona:
    """The persona that `name: description` writes; raises `WrongUse` for anything else."""
    name, colon, description = (part.strip() for part in text.partition(":"))
    if not (name and colon and description):
        raise WrongUse(
            f"`{text}` is no persona", remedy="write a name and a description: `nurse: looks up doses`"
        )
    return Persona(name, description)
