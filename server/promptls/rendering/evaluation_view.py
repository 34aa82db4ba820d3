"""What OpenCompass asks for rows of a data set, as plain JSON: what viewer and panel show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from promptls.rendering.values import plain
from promptls.systems.opencompass.evaluation_prompt import EvaluationPrompt
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.fitting import fitted
from promptls.systems.opencompass.meta_template import LaidOut, MetaTemplate, lay_out
from promptls.systems.opencompass.prompt_list import Prompt, Row
from promptls.systems.opencompass.retriever import Pick

CHAT_ROLES: Final = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
"""Roles of the chat format by those that meta templates for APIs use."""


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """One prompt as the model gets it: a text, or messages with `role` and `content`."""

    label: Any
    prompt: Prompt
    """Before the meta template lays it out."""
    made: LaidOut
    tokens: int
    picked: tuple[int, ...]
    examples: tuple[Prompt, ...]
    cuts: tuple[int, ...]

    @property
    def messages(self) -> list[dict[str, Any]] | None:
        """The messages, where the prompt is no text."""
        if self.made.messages is None:
            return None
        return [chat_message(message) for message in self.made.messages]

    @property
    def text(self) -> str:
        """The text, or those of the messages with line breaks between them."""
        if self.made.messages is None:
            return self.made.text or ""
        return "\n".join(str(message.get("content", "")) for message in self.messages or ())

    def to_json(self) -> dict[str, Any]:
        """The prompt for a page: `text`, or `messages`."""
        messages = self.messages
        shown = {"text": self.made.text} if messages is None else {"messages": plain(messages)}
        return {"label": plain(self.label), **shown, "tokens": self.tokens}


class ChosenExample(NamedTuple):
    """A training row that the retriever chose for a row."""

    number: int
    """The training row, from 1."""
    text: str
    """The row as an example, as people read it."""
    is_dropped: bool
    """Whether some prompt of the row is without it, as it does not fit."""
    label: Any
    """Of a dropped one, the first label without it; None where no prompt has it."""


@dataclass(frozen=True, slots=True)
class RowPrompts:
    """The prompts of one row: one, or one for each label."""

    number: int
    """The row, from 1."""
    prompts: tuple[AskedPrompt, ...]
    chosen: tuple[ChosenExample, ...] = ()
    """The in-context examples that the retriever chose, also those that do not fit."""

    def to_json(self, count: Callable[[str], int]) -> dict[str, Any]:
        """The row for a page, with the examples that stand in its prompts and those that did not fit."""

        def shown(example: ChosenExample) -> dict[str, Any]:
            return {"row": example.number, "text": example.text, "tokens": count(example.text)}

        return {
            "row": self.number,
            "prompts": [prompt.to_json() for prompt in self.prompts],
            "examples": [shown(each) for each in self.chosen if not each.is_dropped],
            "dropped": [
                {**shown(each), "label": plain(each.label)} for each in self.chosen if each.is_dropped
            ],
        }


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything that prompts of rows are made of."""

    evaluation: EvaluationPrompt
    train: Sequence[Row]
    test: Sequence[Row]
    numbers: tuple[int, ...]
    """The numbers of the asked rows in their data set, from 1."""
    pick: Pick
    meta: MetaTemplate
    count: Callable[[str], int]
    limit: int | None
    approximation: str | None = None
    """In words, why the examples may be others than those of OpenCompass; None where they are not."""

    def prompts(self, index: int, row: Row) -> RowPrompts:
        """The prompts of `row`, which is asked at `index`; raises OpenCompassError."""
        evaluation = self.evaluation
        labels = evaluation.labels([*self.test, row]) if evaluation.weighs_labels else [None]
        found = self.pick(index)
        picked: Sequence[int] = found
        chosen = evaluation.examples(self.train, picked)
        asked = []
        for label in labels:
            # What did not fit for one label is left out for the next ones too.
            made = fitted(
                evaluation, self.train, row, picked, label=label, count=self._tokens, limit=self.limit
            )
            picked = made.picked
            laid = self._laid_out(made.prompt)
            asked.append(
                AskedPrompt(label, made.prompt, laid, made.tokens, made.picked, made.examples, made.cuts)
            )
        numbers = [each % len(self.train) + 1 for each in found] if chosen else []
        examples = []
        for place, (number, example) in enumerate(zip(numbers, chosen, strict=True)):
            without = next((each for each in asked if place >= len(each.picked)), None)
            label = None if without is None or without is asked[0] else without.label
            examples.append(ChosenExample(number, example_text(example), without is not None, label))
        return RowPrompts(self.number(index), tuple(asked), tuple(examples))

    def number(self, index: int) -> int:
        """The number, from 1, of the row that is asked at an index."""
        return self.numbers[index] if index < len(self.numbers) else index + 1

    def _laid_out(self, prompt: Prompt) -> LaidOut:
        return lay_out(prompt, self.meta, "ppl" if self.evaluation.weighs_labels else "gen")

    def _tokens(self, prompt: Prompt) -> int:
        made = self._laid_out(prompt)
        if made.messages is None:
            return self.count(made.text or "")
        return sum(self.count(str(chat_message(message).get("content", ""))) for message in made.messages)


def chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of OpenCompass in the chat format, whose roles are `user`, `assistant` and `system`."""
    if "content" in message:
        return dict(message)
    role = str(message.get("role"))
    return {"role": CHAT_ROLES.get(role, role.lower()), "content": message.get("prompt", "")}


def example_text(example: Prompt) -> str:
    """An in-context example as people read it: the turns of a dialogue on lines of their own."""
    if isinstance(example, str):
        return example
    lines = []
    for item in example.items:
        if isinstance(item, str):
            lines += [item] if item else []
        elif "section" not in item:
            lines.append(f"{item.get('role')}: {item.get('prompt', item.get('content', ''))}")
    return "\n".join(lines)


def row_json(asking: Asking, index: int, row: Row) -> dict[str, Any]:
    """The prompts of one row for a page; of a row that fails, `failure` says why."""
    try:
        return asking.prompts(index, row).to_json(asking.count)
    except OpenCompassError as error:
        return {
            "row": asking.number(index),
            "prompts": [],
            "examples": [],
            "dropped": [],
            "failure": error.message,
        }
