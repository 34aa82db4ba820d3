"""A model's meta template, which converts a dialogue to one text, or to messages for an API."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from promptls.dialects.opencompass import prompt_list, vocabulary

Roles: TypeAlias = dict[Any, dict[str, Any]]
"""The definitions of roles in a meta template, by name."""

HERE: prompt_list.ConfigPath = ("meta_template",)


def _roles_of(meta: Mapping[str, Any]) -> Roles:
    """Return the roles of the `round` and the `reserved_roles` of a meta template."""
    items = [item for key in ("round", "reserved_roles") for item in meta.get(key, ())]
    return {item["role"]: dict(item) for item in items if isinstance(item, Mapping)}


def meta_problems(meta: Mapping[str, Any], *, is_api: bool) -> Iterator[prompt_list.OpenCompassError]:
    """Yield why OpenCompass's parsers refuse a meta template."""
    if "round" not in meta:
        yield _wrong("A meta template needs a `round`.", missing="round")
    seen: list[Any] = []
    for key in ("round", "reserved_roles"):
        items = meta.get(key, [])
        if not isinstance(items, list):
            yield _wrong(f"`{key}` is a list of roles.", key)
            continue
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                yield from _role_problems(item, seen, (*HERE, key, index), is_api=is_api)
                seen += [item["role"]] if "role" in item else []
            elif not isinstance(item, str):
                yield _wrong("A role of a meta template is a mapping or a text.", key, index)


def unknown_role(
    turn: Mapping[str, Any], roles: Collection[Any], *, in_round: bool = False, uses_fallback: bool = True
) -> prompt_list.OpenCompassError | None:
    """Return why neither the role of a turn nor its fallback is among `roles`; None if one of them is.

    `in_round`, `roles` are those of the `round`, and only the parser for APIs uses the fallback.
    """
    role, fallback = turn["role"], turn.get("fallback_role")
    if role in roles or (uses_fallback and fallback in roles):
        return None
    message = f"The meta template has no role `{role}`{' in its `round`' if in_round else ''}"
    if not uses_fallback:
        message += ", and models without an API take no `fallback_role` there" if fallback else ""
    elif fallback:
        message += f", nor its fallback, `{fallback}`"
    else:
        message += ", and the turn has no `fallback_role`"
    return prompt_list.OpenCompassError(f"{message}.", cause="KeyError")


def _merged_roles(roles: Roles, items: Any) -> Roles:
    """Return the roles, updated by the turns among `items` for their roles or fallback roles."""
    merged = {name: dict(role) for name, role in roles.items()}
    turns = [items] if isinstance(items, Mapping) else items
    for turn in () if isinstance(items, str) else turns:
        if not isinstance(turn, Mapping):
            continue
        if problem := unknown_role(turn, roles):
            raise problem
        role = turn["role"] if turn["role"] in roles else turn["fallback_role"]
        merged[role].update(turn)
    return merged


def _split_rounds(dialogue: tuple[Any, ...], rounds: list[Any], *, uses_fallback: bool) -> list[int]:
    """Return the starts of the rounds of a dialogue, and its end.

    Only the parser for APIs uses the `fallback_role` of turns here.
    """
    indices = {each["role"]: index for index, each in enumerate(rounds) if not isinstance(each, str)}
    last = -1
    cuts = [0]
    for place, turn in enumerate(dialogue):
        if isinstance(turn, str):
            continue
        if isinstance(turn, Mapping) and "section" in turn and "role" not in turn:
            raise prompt_list.OpenCompassError(
                "The examples are a dialogue in the middle of `round`, where no meta template can format "
                "them: put the `ice_token` into `begin`.",
                cause="KeyError",
            )
        if problem := unknown_role(turn, indices, in_round=True, uses_fallback=uses_fallback):
            raise problem
        index = indices[turn["role"] if turn["role"] in indices else turn["fallback_role"]]
        if index <= last:
            cuts.append(place)
        last = index
    return [*cuts, len(dialogue)]


def _past_the_end_section() -> prompt_list.OpenCompassError:
    """Return the failure that occurs if a prompt reaches the `end` section of a dialogue."""
    return prompt_list.OpenCompassError(
        "OpenCompass fails at the `end` of a dialogue under a meta template, as it opens that section with "
        "the mark that closes one: leave `end` out.",
        cause="IndexError",
    )


def _role_problems(
    item: Mapping[str, Any], seen: Sequence[Any], at: prompt_list.ConfigPath, *, is_api: bool
) -> Iterator[prompt_list.OpenCompassError]:
    if "role" not in item:
        message = "A role of a meta template has no `role`."
        yield prompt_list.OpenCompassError(message, cause="KeyError", at=at, missing="role")
    elif item["role"] in seen:
        message = f"The meta template has the role `{item['role']}` twice."
        yield _wrong(message, *at[1:], "role")
    for key in () if is_api else ("begin", "end"):
        if isinstance(item.get(key, ""), list):
            yield refused_list(key, at)


def refused_list(key: str, at: prompt_list.ConfigPath = HERE) -> prompt_list.OpenCompassError:
    """Return the failure for a list as the `begin` or `end` of a role, or of the prompt, at `at`."""
    return prompt_list.OpenCompassError(
        f"OpenCompass accepts no list for `{key}`: write one text.",
        cause="NotImplementedError",
        at=(*at, key),
    )


def api_begin_problem(begin: Any) -> prompt_list.OpenCompassError | None:
    """Return why a model with an API fails on the `begin` of its meta template; None if it does not."""
    if not begin or isinstance(begin, Mapping):
        return None
    return prompt_list.OpenCompassError(
        "The `begin` of a meta template for an API is one message: a mapping with `role` and `prompt`.",
        cause="TypeError",
        at=(*HERE, "begin"),
    )


def _wrong(message: str, *at: str | int, missing: str = "") -> prompt_list.OpenCompassError:
    return prompt_list.OpenCompassError(message, cause="AssertionError", at=(*HERE, *at), missing=missing)


Mode: TypeAlias = Literal["gen", "ppl"]
"""Whether the model completes the prompt, or the whole prompt is scored."""


@dataclass(frozen=True, slots=True)
class MetaTemplate:
    """A meta template that OpenCompass accepts; without `mapping`, dialogues are joined with line breaks."""

    mapping: Mapping[str, Any] | None = None
    is_api: bool = False
    roles: Roles = field(default_factory=dict)
    messages: tuple[Mapping[str, Any], ...] = ()
    """The messages of a meta template that is a list, added to those of a `RawPromptTemplate`."""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """The input of the model: a text, or messages (with `role` and `prompt` for an API).

    `ignored` are the texts that are not sent to a model with an API.
    """

    text: str | None
    messages: tuple[dict[str, Any], ...] | None = None
    ignored: tuple[str, ...] = ()


@prompt_list.convert_exceptions
def build_meta_template(mapping: Any, *, is_api: bool) -> MetaTemplate:
    """Return the meta template that `mapping` describes.

    Raises OpenCompassError as OpenCompass's parsers would.
    """
    if not mapping:
        return MetaTemplate(None, is_api)
    if isinstance(mapping, list) and is_api:
        if not all(
            isinstance(item, Mapping) and item.get("role") in vocabulary.MESSAGE_ROLES for item in mapping
        ):
            roles = ", ".join(vocabulary.MESSAGE_ROLES)
            raise _wrong(f"A meta template that is a list has messages with a `role`: {roles}.")
        return MetaTemplate(None, is_api, messages=tuple(mapping))
    prompt_list.raise_first(meta_problems(mapping, is_api=is_api))
    return MetaTemplate(mapping, is_api, _roles_of(mapping))


def build_layout(config: Any) -> MetaTemplate:
    """Return the layout of a model's prompts; `config` is its configuration, or only a meta template.

    The model's class determines whether it receives messages; otherwise, an `api_role` in its meta template
    does. Raises OpenCompassError like `build_meta_template`.
    """
    meta, name = config, ""
    if isinstance(config, Mapping) and "round" not in config and config.keys() & {"type", "meta_template"}:
        meta, name = config.get("meta_template"), str(config.get("type")).rsplit(".", 1)[-1]
    if name in vocabulary.CHAT_MODELS:
        meta = meta or vocabulary.CHAT_MODEL_TEMPLATE
    if name == "HuggingFaceBaseModel":
        meta = None  # OpenCompass does not pass it on.
    return build_meta_template(meta, is_api=gets_messages(name, has_api_roles=_has_api_roles(meta)))


def gets_messages(model: str | None, *, has_api_roles: bool) -> bool:
    """Return whether a model gets messages: by its class, or else if roles of its meta template say so."""
    if model in vocabulary.BASE_MODELS:
        return False
    return has_api_roles or model in vocabulary.API_MODELS or model in vocabulary.CHAT_MODELS


def _has_api_roles(meta: Any) -> bool:
    """Return whether a role of a meta template has an `api_role`."""
    if not isinstance(meta, Mapping):
        return False
    lists = [meta.get(key) for key in ("round", "reserved_roles")]
    roles = [role for each in lists if isinstance(each, list) for role in each]
    return any(isinstance(role, Mapping) and "api_role" in role for role in roles)


@prompt_list.convert_exceptions
def lay_out(prompt: prompt_list.Prompt, meta: MetaTemplate, mode: Mode) -> LaidOut:
    """Return the prompt as sent to the model; failures are those of OpenCompass."""
    if isinstance(prompt, str):
        return LaidOut(prompt)
    if isinstance(prompt, prompt_list.Messages):
        return _messages(prompt, meta)
    if meta.messages:
        raise prompt_list.OpenCompassError(
            "A meta template that is a list of messages is for a `RawPromptTemplate` only.",
            cause="TypeError",
            at=HERE,
        )
    if meta.mapping is None:
        return LaidOut(_join(prompt))
    if meta.is_api:
        return _for_api(prompt, meta, mode)
    return LaidOut(_for_base_model(prompt, meta, mode))


def _messages(prompt: prompt_list.Messages, meta: MetaTemplate) -> LaidOut:
    """Return the messages unchanged, for an API; raises OpenCompassError for other models."""
    if not meta.messages and all(isinstance(item, str) for item in prompt.items):
        return LaidOut(None, prompt.items)
    if not meta.is_api:
        raise prompt_list.OpenCompassError(
            "Messages go only to a model with an API, and this is a base model's layout.",
            cause="AssertionError",
        )
    if not all(isinstance(item, Mapping) and {"role", "content"} <= item.keys() for item in prompt.items):
        raise prompt_list.OpenCompassError(
            "What came in for the examples is not a message: write `ice_template` as messages too.",
            cause="AssertionError",
            at=("ice_template",),
        )
    return LaidOut(None, tuple(_with_meta_messages(prompt.items, meta.messages)))


def _with_meta_messages(
    items: Sequence[Mapping[str, Any]], added: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the messages with those of a meta template, each prepended to the next message of its role."""
    rest = deque(items)
    for each in added:
        role = each["role"]
        if any(item["role"] == role for item in rest):
            while rest[0]["role"] != role:
                yield dict(rest.popleft())
            message = rest.popleft()
            yield {**message, "content": each["content"] + message["content"]}
        else:
            yield dict(each)
    yield from map(dict, rest)


def show_without_model(messages: prompt_list.Messages) -> LaidOut:
    """Return messages as the Prompt Viewer shows them if no model is chosen.

    If some examples are not messages, which no model accepts, everything is printed as a Python list.
    """
    if all(isinstance(item, Mapping) and {"role", "content"} <= item.keys() for item in messages.items):
        return LaidOut(None, tuple(map(dict, messages.items)))
    return LaidOut(messages.text)


def _join(prompt: prompt_list.PromptList) -> str:
    """Return the texts joined by line breaks.

    Empty texts are omitted, but a first empty text is followed by a line break.
    """
    made = separator = ""
    for item in prompt.items:
        if isinstance(item, Mapping) and item.keys() == {"section", "pos"}:
            continue
        text = item if isinstance(item, str) else item.get("prompt", "")
        if text:
            made += separator + text
        separator = "\n"
    return made


def _pieces(
    prompt: prompt_list.PromptList, meta: MetaTemplate, mode: Mode
) -> Iterator[tuple[Any, Roles, bool]]:
    """Yield the texts of a prompt, the turns around its dialogues, and for each round the list of its roles.

    Each comes with the roles as they are there, and whether it stops at the turn that the model writes.
    """
    assert meta.mapping is not None
    open_sections: list[tuple[str, int]] = []
    for place, item in enumerate(prompt.items):
        if isinstance(item, str):
            yield item, {}, False
        elif "section" not in item:
            if open_sections[-1][0] in {"begin", "end"}:
                yield item, _merged_roles(meta.roles, item), mode == "gen"
        elif item["pos"] == "begin":
            open_sections.append((item["section"], place + 1))
        elif not open_sections:
            raise _past_the_end_section()
        else:
            section, start = open_sections.pop()
            if section not in {"round", "ice"}:
                continue
            dialogue, rounds = prompt.items[start:place], meta.mapping["round"]
            cuts = _split_rounds(dialogue, rounds, uses_fallback=meta.is_api)
            for begin, end in pairwise(cuts):
                stops = mode == "gen" and end == cuts[-1] and item["section"] == "round"
                yield rounds, _merged_roles(meta.roles, dialogue[begin:end]), stops


def _for_base_model(prompt: prompt_list.PromptList, meta: MetaTemplate, mode: Mode) -> str:
    assert meta.mapping is not None
    made = ""
    continues = True
    for item, roles, stops in _pieces(prompt, meta, mode):
        text, continues = _text_of(item, roles, stops=stops and isinstance(item, list))
        made += text
        if not continues:
            break
    begin, end = meta.mapping.get("begin", ""), meta.mapping.get("end", "") if continues else ""
    for key, text in (("begin", begin), ("end", end)):
        if isinstance(text, list):
            message = refused_list(key).message
            raise prompt_list.OpenCompassError(message, cause="TypeError", at=(*HERE, key))
    whole: str = begin + made + end
    return whole


def _text_of(item: Any, roles: Roles, *, stops: bool) -> tuple[str, bool]:
    """Return the text of a role, or of a list of roles, and whether the prompt continues.

    If the prompt `stops` at a generating role, it ends with that role's `begin`.
    """
    if isinstance(item, str):
        return item, True
    if isinstance(item, list):
        if not item:
            raise UnboundLocalError("`round` of the meta template is empty")
        made = ""
        continues = True
        for each in item:
            text, continues = _text_of(each, roles, stops=stops)
            made += text
            if not continues:
                break
        return made, continues
    role = _role_of(item, roles)
    if stops and role.get("generate", False):
        return role.get("begin", ""), False
    return _whole_text(role), True


def _whole_text(role: Mapping[str, Any]) -> Any:
    """Return a turn between its `begin` and `end`; letters are added to a `begin` that is a list."""
    begin = role.get("begin", "")
    text = list(begin) if isinstance(begin, list) else begin
    text += role.get("prompt", "")
    text += role.get("end", "")
    return text


def _for_api(prompt: prompt_list.PromptList, meta: MetaTemplate, mode: Mode) -> LaidOut:
    assert meta.mapping is not None
    made: list[Any] = []
    ignored: list[str] = []
    for item, roles, stops in _pieces(prompt, meta, mode):
        if isinstance(item, str):
            ignored += [item] if item.strip() else []
            continue
        for each in item if isinstance(item, list) else [item]:
            if isinstance(each, str):
                raise TypeError("Mixing str without explicit role is not allowed in API models!")
            message, continues = _message_of(each, roles, stops=stops)
            made += [message] if message or each is item else []
            if not continues:
                break
        else:
            continue
        break
    messages = _merge(made)
    if meta.mapping.get("begin"):
        messages.insert(0, meta.mapping["begin"])
    return LaidOut(None, tuple(messages), tuple(ignored))


def _message_of(item: Mapping[str, Any], roles: Roles, *, stops: bool) -> tuple[dict[str, Any] | None, bool]:
    role = _role_of(item, roles)
    if stops and role.get("generate", False):
        return None, False
    return {"role": role["api_role"], "prompt": _whole_text(role)}, True


def _role_of(item: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    role = roles.get(item["role"])
    return roles[item.get("fallback_role")] if role is None else role


def _merge(made: list[Any]) -> list[Any]:
    """Return the messages, with consecutive ones of the same role merged."""
    if not made:
        raise prompt_list.OpenCompassError(
            "There is no message: nothing precedes the turn that the model writes.", cause="IndexError"
        )
    if made[0] is None:
        raise prompt_list.OpenCompassError(
            "`begin` has a turn of the role that the model writes, which is empty for an API.",
            cause="TypeError",
        )
    merged = [dict(made[0])]
    for message in made[1:]:
        if message["role"] == merged[-1]["role"]:
            merged[-1]["prompt"] += "\n" + message["prompt"]
        else:
            merged.append(dict(message))
    return merged
