"""Extractors that use a language model or an embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.models.model import EmbeddingResult
from promptls.models.opening import MiniLm
from promptls.testset.graph import Node
from promptls.testset.scenarios import extraction_messages
from promptls.testset.transforms.extractors import prose


class Asker(Protocol):
    """The interface for requesting a text answer to messages."""

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the answer to the messages, constrained to the schema if supported; raises `UserError`.

        `sample` counts from 1 and distinguishes repeated requests, which must not share cached answers.
        """


_FOUND: Final = "found"

_MAX_ITEMS: Final = 12
"""Maximum number of items of a list: small models may not stop by themselves."""


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Requests a property, described by `task`, with at most `tries` attempts: a list of texts, or a `text`.

    Invalid answers are ignored, and with `verbatim`, also items that do not occur in the node.
    """

    asker: Asker
    name: str
    task: str
    is_text: bool = False
    verbatim: bool = False
    tries: int = 2

    async def extract(self, node: Node) -> tuple[str, Any]:
        """See `Extractor`; the value is None if no answer is valid. Raises the errors of the model."""
        schema = self.schema
        for attempt in range(1, self.tries + 1):
            answer = await self.asker.ask(
                extraction_messages(self.task, node.text, _FOUND), json_schema=schema, sample=attempt
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
        """The JSON Schema of an answer."""
        item: dict[str, Any] = {"type": "string"}
        value = item if self.is_text else {"type": "array", "items": item, "maxItems": _MAX_ITEMS}
        return {
            "type": "object",
            "properties": {_FOUND: value},
            "required": [_FOUND],
            "additionalProperties": False,
        }

    def _items(self, found: list[str], text: str) -> list[str]:
        unique = dict.fromkeys(" ".join(each.split()) for each in found)
        there = text.casefold()
        return [each for each in unique if each and (not self.verbatim or each.casefold() in there)]


def model_keyphrases(asker: Asker) -> ModelExtractor:
    """Return an extractor of key phrases by a model."""
    return ModelExtractor(asker, "keyphrases", "List the three to eight phrases that the text is about.")


def model_entities(asker: Asker) -> ModelExtractor:
    """Return an extractor of named entities by a model.

    Entities that do not occur in the text are ignored.
    """
    task = "List the names in the text: people, products, organizations, places, files, commands."
    return ModelExtractor(asker, "entities", task, verbatim=True)


def model_summary(asker: Asker) -> ModelExtractor:
    """Return an extractor of summaries by a model."""
    return ModelExtractor(asker, "summary", "Summarize the text in one or two sentences.", is_text=True)


# Digits of stored numbers: sufficient for comparisons, and readable in files.
_DIGITS: Final = 5

_BATCH: Final = 16
"""Maximum number of texts per request."""


class TextEmbedder(Protocol):
    """The interface of embedding models: a model of promptls, or any object with this method."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return the vectors of the texts, in order; raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class EmbeddingExtractor:
    """Extracts the embedding of the beginning of a node's prose, by default with the small local model.

    `limit` characters are sufficient to represent the subject of a text, and much faster.
    """

    embedder: TextEmbedder = field(default_factory=MiniLm)
    name: str = "embedding"
    limit: int = 400

    async def extract(self, node: Node) -> tuple[str, Any]:
        """See `Extractor`; raises `ModelError`."""
        return (await self.extract_all([node]))[0]

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """See `BatchExtractor`; raises `ModelError`."""
        found: list[tuple[str, Any]] = []
        for begin in range(0, len(nodes), _BATCH):
            made = await self.embedder.embed(
                [prose(node.text).strip()[: self.limit] for node in nodes[begin : begin + _BATCH]]
            )
            found += [(self.name, [round(number, _DIGITS) for number in vector]) for vector in made.vectors]
        return found
