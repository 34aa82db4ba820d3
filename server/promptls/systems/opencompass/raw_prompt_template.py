"""`RawPromptTemplate`: messages in the OpenAI format, past any meta template.

Source: `opencompass.openicl.icl_raw_prompt_template` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from promptls.systems.opencompass.arguments import check_arguments
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.prompt_list import Messages, Prompt, Row, filled
from promptls.systems.opencompass.vocabulary import MESSAGE_ROLES, USUAL_ICE_MARK

_ARGUMENTS: Final = ("messages", "format_variables", "ice_token")


@dataclass(frozen=True, slots=True)
class RawPromptTemplate:
    """Messages that OpenCompass accepts. No column is masked in them."""

    name: str
    """`ice_template` or `prompt_template`: where it stands."""
    messages: tuple[Any, ...]
    format_variables: Any = True
    ice_token: Any = USUAL_ICE_MARK
    sep_token: ClassVar[None] = None
    kind: ClassVar[str] = "raw_messages"
    labels: ClassVar[None] = None

    def example(self, row: Row, label: Any) -> Messages:  # noqa: ARG002 - as of PromptTemplate
        """The row as an in-context example: the messages without the texts between them."""
        return Messages(tuple(message for item in self.messages for message in self._made(item, row)))

    def labelled(self, row: Row, examples: Prompt, label: Any, *, keep_separator: bool = False) -> Messages:  # noqa: ARG002 - as of PromptTemplate
        """The messages of the row, the same for every label, without examples."""
        return self.example(row, label)

    def generating(self, row: Row, examples: Prompt, output_column: str | None, mask: str) -> Messages:  # noqa: ARG002 - as of PromptTemplate
        """The messages of the row, with the examples where `ice_token` is an item.

        Examples that are texts are lost, and so is any other text between the messages. The items of
        a dialogue come in as they are, which no model takes for messages.
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
            message["content"] = filled(message["content"], row)
        yield message


def build_raw_prompt_template(name: str, config: Mapping[str, Any]) -> RawPromptTemplate:
    """The template that `config` describes; raises OpenCompassError as `RawPromptTemplate(…)` would."""
    check_arguments("RawPromptTemplate", name, config, _ARGUMENTS, "messages")
    messages = config["messages"]
    if not isinstance(messages, list):
        raise OpenCompassError(
            f"The `messages` of `{name}` are no list.",
            cause="TypeError",
            said=f"messages must be a list, got {type(messages)}",
            at=(name, "messages"),
        )
    for index, message in enumerate(messages):
        _check_message(name, index, message)
    return RawPromptTemplate(
        name, tuple(messages), config.get("format_variables", True), config.get("ice_token", USUAL_ICE_MARK)
    )


def _check_message(name: str, index: int, message: Any) -> None:
    at = (name, "messages", index)
    if isinstance(message, str):
        return
    if not isinstance(message, Mapping):
        raise OpenCompassError(
            f"Message {index + 1} of `{name}` is neither a mapping nor a text.",
            cause="TypeError",
            said=f"messages[{index}] must be a dict or str, got {type(message)}",
            at=at,
        )
    if "expand_column" in message:
        return
    for key in ("role", "content"):
        if key not in message:
            raise OpenCompassError(
                f"Message {index + 1} of `{name}` has no `{key}`.",
                cause="ValueError",
                said=f"messages[{index}] missing '{key}' key",
                at=at,
            )
    if message["role"] not in MESSAGE_ROLES:
        raise OpenCompassError(
            f"Message {index + 1} of `{name}` has the role `{message['role']}`; it is one of "
            f"{', '.join(MESSAGE_ROLES)}.",
            cause="ValueError",
            said=f"messages[{index}] has invalid role: {message['role']}",
            at=(*at, "role"),
        )
