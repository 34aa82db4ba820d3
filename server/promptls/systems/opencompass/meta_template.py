"""A model's meta template: how a dialogue becomes one text, or messages for an API.

Source: `LMTemplateParser` and `APITemplateParser` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from promptls.systems.opencompass.failure import OpenCompassError, explained
from promptls.systems.opencompass.meta_roles import (
    Roles,
    merged_roles,
    past_the_end_section,
    roles_of,
    split_rounds,
)
from promptls.systems.opencompass.prompt_list import Messages, Prompt, PromptList

Mode: TypeAlias = Literal["gen", "ppl"]
"""Whether the model goes on from the prompt, or the whole prompt is weighed."""


@dataclass(frozen=True, slots=True)
class MetaTemplate:
    """A meta template that OpenCompass accepts; without `mapping`, dialogues are joined with line breaks."""

    mapping: Mapping[str, Any] | None = None
    is_api: bool = False
    roles: Roles = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """What the model gets: a text, or messages (of an API with `role` and `prompt`).

    `ignored` are the texts that a model behind an API does not get.
    """

    text: str | None
    messages: tuple[dict[str, Any], ...] | None = None
    ignored: tuple[str, ...] = ()


@explained
def build_meta_template(mapping: Mapping[str, Any] | None, *, is_api: bool) -> MetaTemplate:
    """The meta template that `mapping` describes; raises OpenCompassError as OpenCompass's parsers would."""
    if not mapping:
        return MetaTemplate(None, is_api)
    return MetaTemplate(mapping, is_api, roles_of(mapping, is_api=is_api))


@explained
def lay_out(prompt: Prompt, meta: MetaTemplate, mode: Mode) -> LaidOut:
    """The prompt as the model gets it; what cannot be laid out ends as it does in OpenCompass."""
    if isinstance(prompt, str):
        return LaidOut(prompt)
    if isinstance(prompt, Messages):
        return _messages(prompt, meta)
    if meta.mapping is None:
        return LaidOut(_joined(prompt))
    if meta.is_api:
        return _for_api(prompt, meta, mode)
    return LaidOut(_for_base_model(prompt, meta, mode))


def _messages(prompt: Messages, meta: MetaTemplate) -> LaidOut:
    """Messages go to an API as they are; OpenCompass fails on others with an assertion that says nothing."""
    if prompt.items and not meta.is_api:
        raise OpenCompassError(
            "Messages go only to a model behind an API, and this is a base model's layout.",
            cause="AssertionError",
        )
    if not all(isinstance(item, Mapping) and {"role", "content"} <= item.keys() for item in prompt.items):
        raise OpenCompassError(
            "What came in for the examples is no message: write `ice_template` as messages too.",
            cause="AssertionError",
            at=("ice_template",),
        )
    return LaidOut(None, tuple(dict(item) for item in prompt.items))


def _joined(prompt: PromptList) -> str:
    """The texts with line breaks between them; empty ones fall out, but not the break behind the first."""
    made = separator = ""
    for item in prompt.items:
        if isinstance(item, Mapping) and item.keys() == {"section", "pos"}:
            continue
        text = item if isinstance(item, str) else item.get("prompt", "")
        if text:
            made += separator + text
        separator = "\n"
    return made


def _for_base_model(prompt: PromptList, meta: MetaTemplate, mode: Mode) -> str:
    assert meta.mapping is not None
    made = ""
    goes_on = True
    open_sections: list[tuple[str, int]] = []
    for place, item in enumerate(prompt.items):
        if not goes_on:
            break
        if isinstance(item, str):
            made += item
        elif "section" in item:
            for rounds, is_last in _rounds(prompt, open_sections, place, meta):
                text, goes_on = _text_of(
                    meta.mapping["round"],
                    merged_roles(meta.roles, rounds),
                    stops=mode == "gen" and is_last and item["section"] == "round",
                )
                made += text
        elif open_sections[-1][0] in {"begin", "end"}:
            text, goes_on = _text_of(item, merged_roles(meta.roles, item), stops=False)
            made += text
    begin: str = meta.mapping.get("begin", "")
    return begin + made + (meta.mapping.get("end", "") if goes_on else "")


def _rounds(
    prompt: PromptList, open_sections: list[tuple[str, int]], place: int, meta: MetaTemplate
) -> list[tuple[tuple[Any, ...], bool]]:
    """What a mark does: of one that closes a dialogue, the rounds of it, each with whether it is the last."""
    assert meta.mapping is not None
    mark = prompt.items[place]
    if mark["pos"] == "begin":
        open_sections.append((mark["section"], place + 1))
        return []
    if not open_sections:
        raise past_the_end_section()
    section, start = open_sections.pop()
    if section not in {"round", "ice"}:
        return []
    dialogue = prompt.items[start:place]
    cuts = split_rounds(dialogue, meta.mapping["round"], uses_fallback=meta.is_api)
    return [
        (dialogue[begin:end], number == len(cuts) - 2) for number, (begin, end) in enumerate(pairwise(cuts))
    ]


def _text_of(item: Any, roles: Roles, *, stops: bool) -> tuple[str, bool]:
    """The text of a role, or of a list of them, and whether there is more to come.

    Where the prompt `stops` before a generating role, that role's `begin` is the last of it.
    """
    if isinstance(item, str):
        return item, True
    if isinstance(item, list):
        if not item:
            raise UnboundLocalError("`round` of the meta template is empty")
        made = ""
        goes_on = True
        for each in item:
            text, goes_on = _text_of(each, roles, stops=stops)
            made += text
            if not goes_on:
                break
        return made, goes_on
    role = _role_of(item, roles)
    begin: str = role.get("begin", "")
    if stops and role.get("generate", False):
        return begin, False
    return begin + role.get("prompt", "") + role.get("end", ""), True


def _for_api(prompt: PromptList, meta: MetaTemplate, mode: Mode) -> LaidOut:
    assert meta.mapping is not None
    made: list[Any] = []
    ignored: list[str] = []
    goes_on = True
    open_sections: list[tuple[str, int]] = []
    for place, item in enumerate(prompt.items):
        if not goes_on:
            break
        if isinstance(item, str):
            ignored += [item] if item.strip() else []
        elif "section" in item:
            for rounds, is_last in _rounds(prompt, open_sections, place, meta):
                stops = mode == "gen" and is_last and item["section"] == "round"
                roles = merged_roles(meta.roles, rounds)
                for each in meta.mapping["round"]:
                    if isinstance(each, str):
                        raise TypeError("Mixing str without explicit role is not allowed in API models!")
                    message, goes_on = _message_of(each, roles, stops=stops)
                    made += [message] if message else []
                    if not goes_on:
                        break
        elif open_sections[-1][0] in {"begin", "end"}:
            message, goes_on = _message_of(item, merged_roles(meta.roles, item), stops=mode == "gen")
            made.append(message)
    messages = _merged(made)
    if meta.mapping.get("begin"):
        messages.insert(0, meta.mapping["begin"])
    return LaidOut(None, tuple(messages), tuple(ignored))


def _message_of(item: Mapping[str, Any], roles: Roles, *, stops: bool) -> tuple[dict[str, Any] | None, bool]:
    role = _role_of(item, roles)
    if stops and role.get("generate", False):
        return None, False
    text = role.get("begin", "") + role.get("prompt", "") + role.get("end", "")
    return {"role": role["api_role"], "prompt": text}, True


def _role_of(item: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    role = roles.get(item["role"])
    return roles[item.get("fallback_role")] if role is None else role


def _merged(made: list[Any]) -> list[Any]:
    """The messages, of which those that follow one another with one role become one."""
    if not made:
        raise OpenCompassError(
            "There is no message: nothing stands ahead of the turn that the model writes.",
            cause="IndexError",
            said="list index out of range",
        )
    if made[0] is None:
        raise OpenCompassError(
            "`begin` has a turn of the role that the model writes, where nothing is left of it for an API.",
            cause="TypeError",
            said="'NoneType' object is not subscriptable",
        )
    merged = [dict(made[0])]
    for message in made[1:]:
        if message["role"] == merged[-1]["role"]:
            merged[-1]["prompt"] += "\n" + message["prompt"]
        else:
            merged.append(dict(message))
    return merged
