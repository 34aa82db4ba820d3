"""Extractors that ask a model what a text holds, or turn texts into vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.models.embedding import MiniLm
from promptls.models.model import Embeddings
from promptls.testset.graph import Node
from promptls.testset.scenarios import extraction_messages
from promptls.testset.transforms.extractors import prose


class Asker(Protocol):
    """Anything that answers messages with a text."""

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the answer to the messages, held to the schema where the model can be; raises `UserError`.

        Several samples of one question are numbered from 1: none is served from another's answer.
        """


_FOUND: Final = "found"

# Items that one list may have: a small model does not find an end by itself.
_MAX_ITEMS: Final = 12


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Asks for one property as `task` says, at most `tries` times: a list of texts, or one `text`.

    What is no such answer is left out, and where `verbatim` wants that, so is what the node does not say.
    """

    asker: Asker
    name: str
    task: str
    is_text: bool = False
    verbatim: bool = False
    tries: int = 2

    async def extract(self, node: Node) -> tuple[str, Any]:
        """As in Extractor; None if no answer is one. Raises what the model raises."""
        schema = self.schema
        for number in range(1, self.tries + 1):
            answer = await self.asker.ask(
                extraction_messages(self.task, node.text, _FOUND), json_schema=schema, sample=number
            )
            try:
                found = read_verdict(answer, schema)[_FOUND]
            except NoVerdictError:
                continue
            value = found.strip() if self.is_text else self._items(found, node.text)
            if value:
                return self.name, value
        return self.name, None

    @property
    def schema(self) -> dict[str, Any]:
        """What an answer has to fit."""
        item: dict[str, Any] = {"type": "string"}
        value = item if self.is_text else {"type": "array", "items": item, "maxItems": _MAX_ITEMS}
        return {
            "type": "object",
            "properties": {_FOUND: value},
            "required": [_FOUND],
            "additionalProperties": False,
        }

    def _items(self, found: list[str], text: str) -> list[str]:
        kept = dict.fromkeys(" ".join(each.split()) for each in found)
        there = text.casefold()
        return [each for each in kept if each and (not self.verbatim or each.casefold() in there)]


def model_keyphrases(asker: Asker) -> ModelExtractor:
    """Return the phrases that a text is about, as a model sees it."""
    return ModelExtractor(asker, "keyphrases", "List the three to eight phrases that the text is about.")


def model_entities(asker: Asker) -> ModelExtractor:
    """Return the things that a text names, as a model finds them.

    Those that are not in the text are left out.
    """
    task = "List the names in the text: people, products, organisations, places, files, commands."
    return ModelExtractor(asker, "entities", task, verbatim=True)


def model_summary(asker: Asker) -> ModelExtractor:
    """Return a summary in the words of a model."""
    return ModelExtractor(asker, "summary", "Summarize the text in one or two sentences.", is_text=True)


# Digits of each number that are kept: vectors are compared, and a file of graphs is read by people too.
_DIGITS: Final = 5

# Texts of one request.
_BATCH: Final = 16


class EmbeddingModel(Protocol):
    """What makes embeddings: a model of promptls, or anything else with the same method."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors of the texts, in order; raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class EmbeddingExtractor:
    """The vector of the beginning of a node's prose, by default from the small model of this machine.

    `most` characters are enough to tell what a text is about, and a fraction of the work.
    """

    embedder: EmbeddingModel = field(default_factory=MiniLm)
    name: str = "embedding"
    most: int = 400

    async def extract(self, node: Node) -> tuple[str, Any]:
        """As in Extractor; raises `ModelError`."""
        return (await self.extract_all([node]))[0]

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """As in BatchExtractor; raises `ModelError`."""
        found: list[tuple[str, Any]] = []
        for begin in range(0, len(nodes), _BATCH):
            made = await self.embedder.embed(
                [prose(node.text).strip()[: self.most] for node in nodes[begin : begin + _BATCH]]
            )
            found += [(self.name, [round(number, _DIGITS) for number in vector]) for vector in made.vectors]
        return found
