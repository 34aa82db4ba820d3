"""Evaluation prompts in Python: rows rendered as OpenCompass sends them, with in-context examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from promptls.api.rendered import Counting, PromptError, RenderedPrompt
from promptls.api.template import PromptTemplate
from promptls.dialects.opencompass.prompt_list import ConfigPath, OpenCompassError, complete_rows
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import PromptPart
from promptls.dialects.prompt_poet.template_rendering import RenderOptions
from promptls.rendering.evaluation_asking import (
    RowPrompts,
    asking_of,
    chat_messages,
    meta_templates,
    requested_row,
)


@dataclass(frozen=True, slots=True)
class LabeledPrompt:
    """A prompt of a row; `label` is None if the model generates the answer."""

    label: Any
    text: str
    """The prompt as a single text; messages are joined with line breaks."""
    messages: tuple[Mapping[str, Any], ...] | None
    """Chat messages with `role` and `content`, for chat APIs; None for a text prompt."""
    tokens: int


@dataclass(frozen=True)
class RenderedEvaluation(RenderedPrompt):
    """The rendered prompts of one row. `parts` are the messages, or one prompt per label."""

    prompts: tuple[LabeledPrompt, ...] = ()
    """A single prompt, or one prompt per label."""
    examples: tuple[str, ...] = ()
    """The in-context examples that the prompts contain, each as a text."""
    dropped: tuple[str, ...] = ()
    """Examples that the retriever selected but that do not fit into every prompt."""
    approximation: str | None = None
    """Why the examples may differ from those of OpenCompass, which compares rows with a model; else None."""
    _messages: tuple[Mapping[str, Any], ...] = ()

    @property
    def string(self) -> str:
        """The prompt as a single text; the prompt of the first label if there are several."""
        return self.prompts[0].text if self.prompts else ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages, as a new list; empty if labels are compared."""
        return [dict(message) for message in self._messages]


class GivenRows(NamedTuple):
    """Rows from the caller; training rows default to the file's `examples`, else to the test rows."""

    train: tuple[Mapping[str, Any], ...] | None
    rows: tuple[Mapping[str, Any], ...]
    meta_template: str | None


NOTHING_GIVEN: Final = GivenRows(None, (), None)


class EvaluationPrompt(PromptTemplate):
    """An evaluation prompt returned by `load`. The caller supplies the rows; no dataset is opened."""

    def __init__(
        self, path: Path, options: RenderOptions, counting: Counting, given: GivenRows = NOTHING_GIVEN
    ) -> None:
        """Create the prompt for the file at the absolute `path`, which is read on first use."""
        super().__init__(path, options, counting)
        self._given = given

    def asking(
        self,
        *,
        train: Sequence[Mapping[str, Any]] | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        meta_template: str | None = None,
    ) -> EvaluationPrompt:
        """Return a copy with these training rows, test rows or meta template.

        Arguments that are None leave the current value unchanged.

        Retrievers that depend on the position of a row among the test rows, or on the preceding rows,
        require `rows`. Without training rows, the file's `examples` are used, or else the test rows.
        `meta_template` is `none`, `chat`, `meta_template`, or a name from the file's `meta_templates`.
        """
        given = GivenRows(
            self._given.train if train is None else tuple(train),
            self._given.rows if rows is None else tuple(rows),
            meta_template or self._given.meta_template,
        )
        return EvaluationPrompt(self.path, self._options, self._counting, given)

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The rows passed to `asking`."""
        return self._given.rows

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedEvaluation:
        """Render a row, whose columns are passed as keyword arguments, in `data`, or both.

        Defaults to the first of `rows`. Raises PromptError of kind `load` if OpenCompass would reject
        the configuration or fail on the row, and the errors of `PromptTemplate.render` for its Jinja.
        """
        given = inputs if data is None else {**data, **inputs}
        try:
            text = self._text(given).text
            loaded, root = document.read(text)
        except PromptPoetError as error:
            raise PromptError(error, self._counting.path) from error
        if not isinstance(loaded, Mapping):
            raise self._refused("An evaluation prompt is a mapping with `prompt_template`.")
        rows, examples = complete_rows(self._given.rows), loaded.get("examples")
        train: Sequence[Mapping[str, Any]] | None = self._given.train
        if train is None:
            train = examples if isinstance(examples, list) and examples else rows
        choices = meta_templates(loaded, {})
        chosen = self._given.meta_template or next(iter(choices))
        if chosen not in choices:
            raise self._refused(f"There is no meta template `{chosen}`; there are: {', '.join(choices)}.")
        try:
            counting = self._counting
            asking = asking_of(
                loaded, choices[chosen], (complete_rows(train), rows), counting.count, counting.token_limit
            )
            index, row = requested_row(None, asking, rows, given)
            made = asking.prompts(index, row)
        except OpenCompassError as error:
            raise self._refused(error.message, _line_of(root, error.at)) from error
        return RenderedEvaluation(
            parts=_parts(made),
            removed=(),
            text=text,
            _counting=self._counting,
            prompts=tuple(
                LabeledPrompt(
                    prompt.label,
                    prompt.text,
                    None if prompt.messages is None else tuple(prompt.messages),
                    prompt.tokens,
                )
                for prompt in made.prompts
            ),
            examples=tuple(each.text for each in made.chosen if not each.is_dropped),
            dropped=tuple(each.text for each in made.chosen if each.is_dropped),
            approximation=asking.approximation,
            _messages=tuple(chat_messages(asking, made)),
        )

    def format(self, **inputs: Any) -> str:
        """Return the row's prompt as a single text; raises PromptError as `render` does."""
        return self.render(inputs).string

    def _refused(self, message: str, rendered_line: int | None = None) -> PromptError:
        failure = PromptPoetError("load", message, path=str(self.path), rendered_line=rendered_line)
        return PromptError(failure, self._counting.path)


def _line_of(node: Any, at: ConfigPath) -> int | None:
    """Return the 0-based line, in the rendered text, of the last existing key of a configuration path."""
    found: int | None = None
    for key in at:
        for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if name.value == "infer_cfg" and key not in {"reader_cfg", "meta_template"} and found is None:
                return _line_of(value, at)
            if name.value == str(key):
                found, node = name.start_mark.line, value
                break
    return found


def _parts(made: RowPrompts) -> tuple[PromptPart, ...]:
    parts = []
    for prompt in made.prompts:
        if prompt.label is not None or prompt.messages is None:
            name = "prompt" if prompt.label is None else str(prompt.label)
            parts.append(PromptPart(name=name, content=prompt.text))
            continue
        for number, message in enumerate(prompt.messages, start=1):
            content = str(message.get("content", ""))
            parts.append(PromptPart(name=f"message {number}", role=str(message.get("role")), content=content))
    return tuple(parts)
