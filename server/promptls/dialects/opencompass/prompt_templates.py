"""`reader_cfg`, `PromptTemplate` and `RawPromptTemplate`: columns and rows, texts, dialogues and messages.

Source: `opencompass.openicl` of OpenCompass 0.5.4.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from promptls.dialects.opencompass.prompt_list import (
    ConfigPath,
    Messages,
    OpenCompassError,
    Prompt,
    PromptList,
    Row,
    argument_problems,
    fill_columns,
    raise_first,
)
from promptls.dialects.opencompass.vocabulary import DIALOGUE_KEYS, MESSAGE_ROLES, USUAL_ICE_MARK
from promptls.text.format import in_code


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template that OpenCompass accepts; `kind` is OpenCompass's term: `meta` is a dialogue."""

    name: str
    """The key of the template: `ice_template` or `prompt_template`."""
    template: Any
    kind: Literal["origin", "meta"]
    ice_token: str | None = None
    sep_token: str | None = None

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The keys of a mapping: the labels, or the sections of a dialogue; None for a text."""
        return tuple(self.template) if isinstance(self.template, Mapping) else None

    def example(self, row: Row, label: Any) -> Prompt:
        """Return the row as an in-context example; a mapping from labels uses the template of `label`.

        No column is masked. `sep_token` remains, since OpenCompass discards the result of removing it.
        """
        template = self._encode(self._body_of(label), is_example=True)
        if self.ice_token is not None:
            template = _replace(template, self.ice_token, "")
        return _fill(template, row)

    def labeled(self, row: Row, examples: Prompt, label: Any, *, keep_separator: bool = False) -> Prompt:
        """Return the prompt of the row with `label` as its answer. No column is masked."""
        template = self._encode(self._body_of(label))
        if not keep_separator and self.sep_token is not None:
            template = _replace(template, self.sep_token, "")
        if self.ice_token is not None:
            template = self._with_examples(template, examples)
        return _fill(template, row)

    def generating(self, row: Row, examples: Prompt, output_column: str | None, mask: str) -> Prompt:
        """Return the prompt that the model completes: `mask` replaces the value of the output column.

        A mapping from labels uses the template of the first label.
        """
        body = self.template
        if self.kind == "origin" and isinstance(body, Mapping):
            body = next(iter(body.values()))
        template = self._encode(body)
        if self.ice_token is not None:
            template = self._with_examples(template, examples)
        if self.sep_token is not None:
            template = _replace(template, self.sep_token, "")
        if output_column is not None:
            row = {**row, output_column: mask}
        return _fill(template, row)

    def _body_of(self, label: Any) -> Any:
        if isinstance(self.template, str) or self.kind == "meta":
            return self.template
        if label not in self.template:
            raise OpenCompassError(
                f"`{self.name}` has no template for the label `{label}`; it has {in_code(self.template)}.",
                cause="KeyError",
                at=(self.name, "template"),
            )
        return self.template[label]

    def _encode(self, body: Any, *, is_example: bool = False) -> Prompt:
        """Return the text, or the dialogue with its section marks; examples contribute only `round`."""
        if isinstance(body, str):
            return body
        raise_first(dialogue_problems((self.name, "template"), body))
        items: list[Any] = []
        if "begin" in body and not is_example:
            items += [_mark("begin", "begin"), *_listed(body["begin"]), _mark("begin", "end")]
        section = "ice" if is_example else "round"
        items += [_mark(section, "begin"), *_turns(body["round"]), _mark(section, "end")]
        if "end" in body and not is_example:
            # OpenCompass opens this section with a closing mark.
            items += [_mark("end", "end"), *_listed(body["end"]), _mark("end", "end")]
        return PromptList(tuple(items))

    def _with_examples(self, template: Prompt, examples: Prompt) -> Prompt:
        assert self.ice_token is not None
        if isinstance(template, str) and not isinstance(examples, str):
            what = "a dialogue" if isinstance(examples, PromptList) else "messages"
            raise OpenCompassError(
                f"The examples are {what}, which cannot go into the text of `{self.name}`: use "
                "texts for both, or dialogues for both.",
                cause="TypeError",
                at=(self.name, "template"),
            )
        try:
            made: Prompt = _replace(template, self.ice_token, examples)
        except OpenCompassError as error:
            error.at = error.at or (self.name, "template")
            raise
        return made


def build_prompt_template(name: str, config: Mapping[str, Any]) -> PromptTemplate:
    """Return the template that `config` describes; raises OpenCompassError as `PromptTemplate(…)` would."""
    raise_first(prompt_template_problems(name, config))
    template = config["template"]
    is_dialogue = isinstance(template, Mapping) and template.keys() <= DIALOGUE_KEYS.keys()
    kind: Literal["origin", "meta"] = "meta" if is_dialogue else "origin"
    return PromptTemplate(name, template, kind, config.get("ice_token"), config.get("sep_token"))


def prompt_template_problems(name: str, config: Mapping[str, Any]) -> Iterator[OpenCompassError]:
    """Yield why `PromptTemplate(…)` fails: its arguments, their types, and texts without the `ice_token`.

    OpenCompass does not check dialogues.
    """
    yield from argument_problems("PromptTemplate", (name,), config, ("template",), ("ice_token", "sep_token"))
    template = config.get("template")
    if "template" in config and not isinstance(template, str | Mapping):
        remedy = "write the list below `round`" if isinstance(template, list) else "quote it if it is a text"
        yield OpenCompassError(
            f"The `template` of `{name}` is neither a text nor a mapping: {remedy}.",
            cause="AssertionError",
            at=(name, "template"),
        )
    for key in ("ice_token", "sep_token"):
        value = config.get(key)
        if value is not None and not isinstance(value, str):
            yield OpenCompassError(
                f"`{key}` of `{name}` is a text, or left out.", cause="TypeError", at=(name, key)
            )
    bodies: Iterable[tuple[ConfigPath, Any]] = [((name, "template"), template)]
    if isinstance(template, Mapping):
        bodies = [((name, "template", label), body) for label, body in template.items()]
    token = config.get("ice_token")
    for at, body in bodies:
        if not isinstance(body, str | list | Mapping) and at[-1] != "template":
            yield OpenCompassError(
                f"The template of the label `{at[-1]}` is neither a text nor a dialogue.",
                cause="TypeError",
                at=at,
            )
        if isinstance(body, str) and isinstance(token, str) and token not in body:
            yield OpenCompassError(
                f"`{token}`, the `ice_token`, is not in this text.", cause="LookupError", at=at
            )


def dialogue_problems(at: ConfigPath, body: Any) -> Iterator[OpenCompassError]:
    """Yield why OpenCompass cannot read a body, at `at`, as a dialogue."""
    if not isinstance(body, Mapping):
        yield OpenCompassError(
            "The template of a label is a text or a dialogue, and this is a list: write it below `round`.",
            cause="TypeError",
            at=at,
        )
    elif "round" not in body:
        yield OpenCompassError(
            "This dialogue has no `round`, which contains the turns.",
            cause="KeyError",
            at=at,
            missing="round",
        )


def _mark(section: str, pos: str) -> dict[str, str]:
    return {"section": section, "pos": pos}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _turns(value: Any) -> list[Any]:
    """Return the items that `prompt += value` adds: a text itself, the keys of a mapping, or none."""
    if not value:
        return []
    return [value] if isinstance(value, str) else list(value)


def _replace(template: Any, mark: str, by: Prompt) -> Any:
    return template.replaced(mark, by) if isinstance(template, PromptList) else template.replace(mark, by)


def _fill(template: Prompt, row: Row) -> Prompt:
    assert not isinstance(template, Messages)
    if isinstance(template, PromptList):
        return template.filled(row)
    text: str = fill_columns(template, row)
    return text


@dataclass(frozen=True, slots=True)
class RawPromptTemplate:
    """Messages that OpenCompass accepts. No column is masked in them."""

    name: str
    """The key of the template: `ice_template` or `prompt_template`."""
    messages: tuple[Any, ...]
    format_variables: Any = True
    ice_token: Any = USUAL_ICE_MARK
    sep_token: ClassVar[None] = None
    kind: ClassVar[str] = "raw_messages"
    labels: ClassVar[None] = None

    def example(self, row: Row, label: Any) -> Messages:  # noqa: ARG002 - as in PromptTemplate
        """Return the row as an in-context example: the messages, without texts between them."""
        return Messages(tuple(message for item in self.messages for message in self._made(item, row)))

    def labeled(self, row: Row, examples: Prompt, label: Any, *, keep_separator: bool = False) -> Messages:  # noqa: ARG002 - as in PromptTemplate
        """Return the messages of the row, the same for every label, without examples."""
        return self.example(row, label)

    def generating(self, row: Row, examples: Prompt, output_column: str | None, mask: str) -> Messages:  # noqa: ARG002 - as in PromptTemplate
        """Return the messages of the row, with the examples where `ice_token` is an item.

        Examples that are texts are dropped, and so is any other text between the messages. The items of a
        dialogue are inserted unchanged, although models do not accept them as messages.
        """
        made: list[Any] = []
        for item in self.messages:
            if isinstance(item, str):
                if item == self.ice_token and not isinstance(examples, str):
                    made += examples.items
            else:
                made += self._made(item, row)
        return Messages(tuple(made))

    def _made(self, item: Any, row: Row) -> Iterator[Any]:
        if not isinstance(item, Mapping):
            return
        if "expand_column" in item:
            value = row.get(item["expand_column"])
            yield from deepcopy(value) if isinstance(value, list) else ()
            return
        message = dict(item)
        if self.format_variables and isinstance(message["content"], str):
            message["content"] = fill_columns(message["content"], row)
        yield message


def build_raw_prompt_template(name: str, config: Mapping[str, Any]) -> RawPromptTemplate:
    """Return the template that `config` describes.

    Raises OpenCompassError as `RawPromptTemplate(…)` would.
    """
    raise_first(raw_prompt_template_problems(name, config))
    format_variables, token = config.get("format_variables", True), config.get("ice_token", USUAL_ICE_MARK)
    return RawPromptTemplate(name, tuple(config["messages"]), format_variables, token)


def raw_prompt_template_problems(name: str, config: Mapping[str, Any]) -> Iterator[OpenCompassError]:
    """Yield why `RawPromptTemplate(…)` fails: its arguments, and its messages."""
    optional = ("format_variables", "ice_token")
    yield from argument_problems("RawPromptTemplate", (name,), config, ("messages",), optional)
    messages = config.get("messages", [])
    if not isinstance(messages, list):
        yield OpenCompassError(
            f"The `messages` of `{name}` are not a list.", cause="TypeError", at=(name, "messages")
        )
        return
    for index, message in enumerate(messages):
        yield from _message_problems(name, index, message)


def _message_problems(name: str, index: int, message: Any) -> Iterator[OpenCompassError]:
    at = (name, "messages", index)
    if isinstance(message, str):
        return
    if not isinstance(message, Mapping):
        yield OpenCompassError("A message is a mapping with `role` and `content`.", cause="TypeError", at=at)
        return
    if "expand_column" in message:
        return
    for key in ("role", "content"):
        if key not in message:
            yield OpenCompassError(f"This message has no `{key}`.", cause="ValueError", at=at, missing=key)
    role = message.get("role")
    if "role" in message and role not in list(MESSAGE_ROLES):
        yield OpenCompassError(
            f"A message's role is one of {', '.join(f'`{each}`' for each in MESSAGE_ROLES)}.",
            cause="ValueError",
            at=(*at, "role"),
        )


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader that OpenCompass accepts; `input_columns` defaults to all columns except the answer's."""

    input_columns: tuple[str, ...] | None = None
    output_column: str | None = None
    input_template: PromptTemplate | None = None
    train_range: int | float | str | None = None
    test_range: int | float | str | None = None

    def input_text(self, row: Row) -> str:
        """Return the row's inputs as one text, which retrievers compare."""
        if self.input_template is not None:
            made = self.input_template.generating(row, "", None, "")
            assert isinstance(made, str)
            return made
        columns = self.input_columns
        if columns is None:
            columns = tuple(column for column in row if column != self.output_column)
        for column in columns:
            if column not in row:
                raise OpenCompassError(
                    f"The dataset has no column `{column}`, which `input_columns` names.",
                    cause="KeyError",
                    at=("reader_cfg", "input_columns"),
                )
        return " ".join(str(row[column]) for column in columns)


def build_reader(config: Mapping[str, Any] | None) -> Reader:
    """Return the reader that `reader_cfg` describes; raises OpenCompassError as OpenCompass would."""
    if config is None:
        return Reader()
    raise_first(reader_problems(config))
    inputs = config.get("input_columns")
    template = config.get("input_template")
    return Reader(
        input_columns=tuple(inputs.split() if isinstance(inputs, str) else inputs)
        if inputs is not None
        else None,
        output_column=config.get("output_column") or None,
        input_template=build_prompt_template("input_template", template)
        if isinstance(template, Mapping)
        else None,
        train_range=config.get("train_range"),
        test_range=config.get("test_range"),
    )


def reader_problems(config: Mapping[str, Any]) -> Iterator[OpenCompassError]:
    """Yield the values of the wrong type in a `reader_cfg`, and the ranges that are not of Python."""
    inputs, output = config.get("input_columns"), config.get("output_column")
    if inputs is not None and not isinstance(inputs, list | str):
        yield _wrong("input_columns", "a list of columns")
    if output and not isinstance(output, str):
        yield _wrong("output_column", "the name of a column")
    for key in ("train_range", "test_range"):
        if not isinstance(config.get(key), int | float | str | None):
            yield _wrong(key, "a number, or a text such as `[:100]`")
        elif isinstance(written := config.get(key), str):
            try:
                _slice(written, key)
            except OpenCompassError as error:
                if error.is_opencompass:
                    yield error


def select_rows(rows: Sequence[Item], size: float | str | None, key: str = "test_range") -> list[Item]:
    """Return the rows in a range: a number or fraction of them in a fixed random order, or a slice.

    OpenCompass evaluates a string as Python; here it is parsed, and raises OpenCompassError unless it is a
    slice.
    """
    if isinstance(size, str):
        return list(rows[_slice(size, key)])
    if size is None or size >= len(rows) or size <= 0:
        return list(rows)
    count = int(size * len(rows)) if size < 1 else size
    order = list(range(len(rows)))
    random.Random(count).shuffle(order)  # noqa: S311 - the same order as in OpenCompass
    if not isinstance(count, int):
        raise OpenCompassError(
            f"`{key}`, {size}, is neither a whole number nor a share below 1.",
            cause="TypeError",
            at=("reader_cfg", key),
        )
    return [rows[index] for index in order[:count]]


def _slice(written: str, key: str) -> slice:
    """Return the slice in a text such as `[10:20]`; raises OpenCompassError, also for other subscripts."""
    is_python = not written.strip()  # all rows
    try:
        node = ast.parse(f"_{written.strip()}", mode="eval").body
        is_python = isinstance(node, ast.Subscript)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return slice(*(None if part is None else int(ast.literal_eval(part)) for part in parts))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    raise OpenCompassError(
        f"`{key}`, `{written}`, is neither a number nor a slice such as `[:100]`.",
        cause="SyntaxError",
        is_opencompass=not is_python,
        at=("reader_cfg", key),
    )


def _wrong(key: str, problem: str) -> OpenCompassError:
    return OpenCompassError(f"`{key}` is {problem}.", cause="TypeError", at=("reader_cfg", key))
