"""Evaluation prompts in a program: rows rendered as OpenCompass asks them, with in-context examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.library.error import PromptError
from promptls.library.rendered import Counting, RenderedPrompt
from promptls.library.template import PromptTemplate
from promptls.meaning.template import Template
from promptls.rendering.evaluation import asked_row, asking_of, chat_messages, meta_templates
from promptls.rendering.evaluation_data import evaluation_data
from promptls.rendering.evaluation_job import EvaluationJob
from promptls.rendering.evaluation_place import line_at
from promptls.rendering.evaluation_view import RowPrompts, example_text
from promptls.syntax.source import Source
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.prompt_poet import document
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart
from promptls.systems.prompt_poet.render import RenderOptions
from promptls.text.failure import Failure


@dataclass(frozen=True, slots=True)
class LabelledPrompt:
    """One prompt of a row; `label` is None where the model writes the answer."""

    label: Any
    text: str
    """The prompt as one text; messages have line breaks between them."""
    messages: tuple[Mapping[str, Any], ...] | None
    """The messages of a layout for APIs, with `role` and `content`; None for a text."""
    tokens: int


@dataclass(frozen=True)
class RenderedEvaluation(RenderedPrompt):
    """What OpenCompass asks for one row. Its parts are the messages, or a prompt for each label."""

    prompts: tuple[LabelledPrompt, ...] = ()
    """One prompt, or one for each label."""
    examples: tuple[str, ...] = ()
    """The in-context examples, each as a text."""
    _messages: tuple[Mapping[str, Any], ...] = ()

    @property
    def string(self) -> str:
        """The prompt as one text; of several, the first label's."""
        return self.prompts[0].text if self.prompts else ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What a chat model is asked: a new list each time; empty where labels are compared."""
        return [dict(message) for message in self._messages]


class Given(NamedTuple):
    """What a caller puts in the place of what the file declares; None for what stays."""

    train: tuple[Mapping[str, Any], ...] | None
    rows: tuple[Mapping[str, Any], ...] | None
    meta_template: str | None


NOTHING_GIVEN: Final = Given(None, None, None)


class EvaluationPrompt(PromptTemplate):
    """An evaluation prompt that `load` has read, with the rows that it declares."""

    def __init__(
        self, path: Path, options: RenderOptions, counting: Counting, given: Given = NOTHING_GIVEN
    ) -> None:
        """The evaluation prompt at the absolute `path`, not yet read, with what the caller gives."""
        super().__init__(path, options, counting)
        self._given = given

    def asking(
        self,
        *,
        train: Sequence[Mapping[str, Any]] | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        meta_template: str | None = None,
    ) -> EvaluationPrompt:
        """The prompt with other training rows, asked rows or meta template; what is None stays as it is.

        `meta_template` is `none`, `chat`, `meta_template`, or the name of one of the file's `meta_templates`.
        """
        given = Given(
            self._given.train if train is None else tuple(train),
            self._given.rows if rows is None else tuple(rows),
            meta_template or self._given.meta_template,
        )
        return EvaluationPrompt(self.path, self._options, self._counting, given)

    @property
    def train(self) -> tuple[Mapping[str, Any], ...]:
        """The rows that in-context examples come from; raises PromptError of kind `load`."""
        return self._given.train if self._given.train is not None else self._declared()[0]

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The rows that are asked: of the data set that the file names, or that were given."""
        return self._given.rows if self._given.rows is not None else self._declared()[1]

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedEvaluation:
        """What OpenCompass asks for a row, whose columns are given by name, in `data`, or in both.

        Without any, it is the first of `rows`. Raises PromptError: of kind `load` where OpenCompass refuses
        the configuration or its data set cannot be read, `data` where the row cannot be asked, and what a
        template raises for its Jinja.
        """
        given = inputs if data is None else {**data, **inputs}
        train, rows = self.train, self.rows
        try:
            text = self._text(given).text
            loaded = document.load(text)
        except PromptPoetError as error:
            raise PromptError(error, self._counting.path) from error
        if not isinstance(loaded, Mapping):
            raise self._refused("An evaluation prompt is a mapping with `prompt_template`.")
        choices = meta_templates(loaded, EvaluationJob())
        chosen = self._given.meta_template or next(iter(choices))
        if chosen not in choices:
            raise self._refused(f"There is no meta template `{chosen}`; there are: {', '.join(choices)}.")
        index, row = asked_row(EvaluationJob(), rows, given)
        try:
            counting = self._counting
            asking = asking_of(loaded, choices[chosen], (train, rows), counting.count, counting.token_limit)
            made = asking.prompts(index, row)
        except OpenCompassError as error:
            raise self._refused(error.message, line_at(self._written(), error.at)) from error
        return RenderedEvaluation(
            parts=_parts(made),
            removed=(),
            text=text,
            _counting=self._counting,
            prompts=tuple(
                LabelledPrompt(
                    asked.label,
                    asked.text,
                    None if asked.messages is None else tuple(asked.messages),
                    asked.tokens,
                )
                for asked in made.prompts
            ),
            examples=tuple(map(example_text, made.prompts[0].examples)) if made.prompts else (),
            _messages=tuple(chat_messages(asking, made)),
        )

    def format(self, **inputs: Any) -> str:
        """The row's prompt as one text; raises PromptError as `render` does."""
        return self.render(inputs).string

    def _declared(self) -> tuple[tuple[Mapping[str, Any], ...], tuple[Mapping[str, Any], ...]]:
        """The training rows and the asked ones of the data sets that the file names."""
        try:
            return evaluation_data(Template(Source.of(self._written())), str(self.path)).rows()
        except Failure as failure:
            if isinstance(failure, PromptError):
                raise
            raise self._refused(f"{failure.message[:1].upper()}{failure.message[1:]}.") from failure

    def _written(self) -> str:
        try:
            return self.path.read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            raise self._refused(f"The file cannot be read: {error}.") from error

    def _refused(self, message: str, line: int | None = None) -> PromptError:
        return PromptError(
            PromptPoetError("load", message, path=str(self.path), line=line), self._counting.path
        )


def _parts(made: RowPrompts) -> tuple[PromptPart, ...]:
    parts = []
    for asked in made.prompts:
        if asked.label is not None or asked.messages is None:
            name = "prompt" if asked.label is None else str(asked.label)
            parts.append(PromptPart(name=name, content=asked.text))
            continue
        for number, message in enumerate(asked.messages, start=1):
            content = str(message.get("content", ""))
            parts.append(PromptPart(name=f"message {number}", role=str(message.get("role")), content=content))
    return tuple(parts)
