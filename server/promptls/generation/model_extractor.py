"""Extractors that ask a model what a text holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from promptls.generation.asker import Asker
from promptls.generation.graph import Node
from promptls.generation.questions import extraction_messages
from promptls.metrics.grading import NoVerdictError, read_verdict

_FOUND: Final = "found"

# Items that one list may have: a small model does not find an end by itself.
_MOST_ITEMS: Final = 12


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
        """As in Extractor; None where no answer is one. Raises what the model raises."""
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
        value = item if self.is_text else {"type": "array", "items": item, "maxItems": _MOST_ITEMS}
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
    """The phrases that a text is about, as a model sees it."""
    return ModelExtractor(asker, "keyphrases", "List the three to eight phrases that the text is about.")


def model_entities(asker: Asker) -> ModelExtractor:
    """The things that a text names, as a model finds them; those that are not in the text are left out."""
    task = "List the names in the text: people, products, organisations, places, files, commands."
    return ModelExtractor(asker, "entities", task, verbatim=True)


def model_summary(asker: Asker) -> ModelExtractor:
    """A summary in the words of a model."""
    return ModelExtractor(asker, "summary", "Summarize the text in one or two sentences.", is_text=True)
