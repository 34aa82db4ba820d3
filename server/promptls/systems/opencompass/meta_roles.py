"""The roles of a meta template: checked as both parsers of OpenCompass check them, and merged with turns.

Source: `LMTemplateParser` and `APITemplateParser` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from promptls.systems.opencompass.failure import ConfigPath, OpenCompassError

Roles: TypeAlias = dict[Any, dict[str, Any]]
"""What a meta template says of each role, by the role's name."""

HERE: ConfigPath = ("meta_template",)


def roles_of(meta: Mapping[str, Any], *, is_api: bool) -> Roles:
    """The roles of `round` and `reserved_roles`; raises OpenCompassError for a meta template that fails."""
    if "round" not in meta:
        raise _wrong("A meta template needs `round`.", "round is required in meta template")
    roles: Roles = {}
    for key in ("round", "reserved_roles"):
        if key not in meta:
            continue
        if not isinstance(meta[key], list):
            raise _wrong(f"`{key}` of a meta template is a list of roles.", "", key)
        for index, item in enumerate(meta[key]):
            if isinstance(item, Mapping):
                _add(roles, item, (*HERE, key, index), is_api=is_api)
            elif not isinstance(item, str):
                raise _wrong("A role of a meta template is a mapping or a text.", "", key, index)
    return roles


def merged_roles(roles: Roles, items: Any) -> Roles:
    """The roles with what the turns among `items` say of theirs, or of their fallback's."""
    merged = {name: dict(role) for name, role in roles.items()}
    turns = [items] if isinstance(items, Mapping) else items
    for turn in () if isinstance(items, str) else turns:
        if not isinstance(turn, Mapping):
            continue
        role = turn["role"]
        if role not in roles:
            fallback = turn.get("fallback_role")
            if not fallback:
                raise OpenCompassError(
                    f"The meta template has no role `{role}`, and the turn has no `fallback_role`: add "
                    "one, such as `fallback_role: HUMAN`.",
                    cause="KeyError",
                    said=str(fallback),
                )
            if fallback not in roles:
                raise OpenCompassError(
                    f"The meta template has neither a role `{role}` nor its fallback, `{fallback}`.",
                    cause="KeyError",
                    said=str(fallback),
                )
            role = fallback
        merged[role].update(turn)
    return merged


def split_rounds(dialogue: tuple[Any, ...], rounds: list[Any], *, uses_fallback: bool) -> list[int]:
    """Where the rounds of a dialogue begin, and its end: a round ends before a role that is no later one.

    Only the parser for APIs uses a turn's `fallback_role` here.
    """
    indices = {each["role"]: index for index, each in enumerate(rounds) if not isinstance(each, str)}
    last = -1
    cuts = [0]
    for place, turn in enumerate(dialogue):
        if isinstance(turn, str):
            continue
        if isinstance(turn, Mapping) and "section" in turn and "role" not in turn:
            raise OpenCompassError(
                "The examples are a dialogue in the midst of `round`, where no meta template can lay them "
                "out: put the `ice_token` into `begin`.",
                cause="KeyError",
                said="role",
            )
        index = indices.get(turn["role"])
        if index is None:
            index = indices.get(turn.get("fallback_role")) if uses_fallback else None
        if index is None:
            raise _unknown_role(turn, uses_fallback=uses_fallback)
        if index <= last:
            cuts.append(place)
        last = index
    return [*cuts, len(dialogue)]


def past_the_end_section() -> OpenCompassError:
    """The failure of any dialogue with `end` whose prompt reaches it."""
    return OpenCompassError(
        "OpenCompass fails at the `end` of a dialogue under a meta template, as it opens that section with "
        "the mark that closes one: leave `end` out.",
        cause="IndexError",
        said="pop from empty list",
    )


def _add(roles: Roles, item: Mapping[str, Any], at: ConfigPath, *, is_api: bool) -> None:
    if "role" not in item:
        raise OpenCompassError(
            "A role of a meta template has no `role`.", cause="KeyError", said="role", at=at
        )
    if item["role"] in roles:
        raise OpenCompassError(
            f"The meta template has the role `{item['role']}` twice.",
            cause="AssertionError",
            said="role in meta prompt must be unique!",
            at=(*at, "role"),
        )
    roles[item["role"]] = dict(item)
    for key in () if is_api else ("begin", "end"):
        if isinstance(item.get(key, ""), list):
            raise OpenCompassError(
                f"`{key}` of a role is one text: OpenCompass does not take a list there.",
                cause="NotImplementedError",
                said="Using List[str|int] is as the begin or endof a prompt is not supported yet.",
                at=(*at, key),
            )


def _unknown_role(turn: Mapping[str, Any], *, uses_fallback: bool) -> OpenCompassError:
    role = turn["role"]
    if uses_fallback:
        said = f"{turn} neither has an appropriate role nor a fallback role."
        return OpenCompassError(
            f"`round` of the meta template has no role `{role}`, nor the turn's `fallback_role`.",
            cause="KeyError",
            said=said,
        )
    return OpenCompassError(
        f"`round` of the meta template has no role `{role}`, and a base model's parser does not look at "
        "`fallback_role` there.",
        cause="KeyError",
        said=str(role),
    )


def _wrong(message: str, said: str, *at: str | int) -> OpenCompassError:
    return OpenCompassError(message, cause="AssertionError", said=said, at=(*HERE, *at))
