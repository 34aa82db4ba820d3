"""The parts of a prompt from the loaded YAML, their token counts and truncation. Source: Prompt Poet 0.0.52.

Truncation removes multiples of a step, so that a growing conversation has the same prefix for several
turns, and can use the model's prefix cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from promptls.dialects.prompt_poet import vocabulary
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.text.format import in_code, lower_first, shorten
from promptls.text.suggest import nearest


@dataclass(frozen=True, slots=True)
class PromptSection:
    """One named piece of a part. Its priority is stored, as in Prompt Poet, but not used."""

    name: Any
    content: str
    tokens: Any = None
    truncation_priority: Any = None


def _build_sections(item: Mapping[Any, Any], markers: vocabulary.Markers) -> tuple[PromptSection, ...]:
    """Return the sections of the YAML mapping `item`, cleaned; raises PromptPoetError of kind `parts`."""
    raw = item.get("sections")
    part = f"The part {shorten(item.get('name', 'without a name'))}"
    if not raw:
        raise PromptPoetError("parts", f"{part} has empty `sections`: list at least one, or use `content`.")
    if not isinstance(raw, list):
        raise PromptPoetError(
            "parts", f"{part} has `sections` that are not a list: begin each with `- name:`."
        )
    if "content" in item:
        raise PromptPoetError("parts", f"{part} has both `content` and `sections`: keep one of them.")
    places = [f"Section {index} of {lower_first(part)}" for index in range(len(raw))]
    for where, section in zip(places, raw, strict=True):
        if not isinstance(section, dict):
            raise PromptPoetError("parts", f"{where} is not a mapping: give it `name` and `content`.")
        for key in ("name", "content"):
            if key not in section:
                raise PromptPoetError("parts", f"{where} has no `{key}`: add it.")
    for where, section in zip(places, raw, strict=True):
        if not isinstance(section["content"], str):
            kind = type(section["content"]).__name__
            raise PromptPoetError(
                "parts",
                f"{where} has content that is not text but {kind}: put it in quotes or a `|` block.",
                cause="TypeError",
            )
    return tuple(
        PromptSection(
            name=section["name"],
            content=vocabulary.clean_section(section["content"], markers),
            tokens=section.get("tokens"),
            truncation_priority=section.get("truncation_priority"),
        )
        for section in raw
    )


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part. Prompt Poet does not check types: every field may be any YAML value."""

    name: Any
    content: Any
    role: Any = vocabulary.DEFAULT_ROLE
    expected_template_data_keys: Any = None
    tokens: Any = None
    truncation_priority: Any = 0
    sections: tuple[PromptSection, ...] | None = None


class ItemError(Exception):
    """Item `index` of the list of parts is invalid; `failure` is the error, without its location."""

    def __init__(self, index: int, failure: PromptPoetError) -> None:
        """Set the 0-based `index` and the `failure`."""
        super().__init__(failure.message)
        self.index = index
        self.failure = failure
        self.key = failure.key if isinstance(failure, _WrongKeyError) else None
        """The invalid key of the item, if any."""


class _WrongKeyError(PromptPoetError):
    """A part has an unknown key."""

    def __init__(self, message: str, key: Any, cause: str) -> None:
        super().__init__("parts", message, cause=cause)
        self.key = key


def build_parts(
    loaded: Any,
    data_names: Mapping[str, Any],
    *,
    markers: vocabulary.Markers = vocabulary.DEFAULT_MARKERS,
    allow_token_overrides: bool = False,
) -> tuple[PromptPart, ...]:
    """Return the parts in order, cleaned. `data_names` are the template data, reserved names included.

    Raises PromptPoetError of kind `parts` for a document that is not a list, and ItemError for the first
    invalid item.
    """
    if isinstance(loaded, str | bytes | dict | set) and not loaded:
        # Prompt Poet uses only the length.
        return ()
    if not isinstance(loaded, list):
        what = "empty" if loaded is None else f"{_article(loaded)}, not a list"
        raise PromptPoetError(
            "parts",
            f"The rendered document is {what}: a parts template is a list of parts, each with "
            "`- name:` and `content:`.",
            cause=_cause_without_list(loaded),
        )
    parts: list[PromptPart] = []
    for index, item in enumerate(loaded):
        try:
            part = _build_part(index, item, markers)
            if not allow_token_overrides:
                _refuse_preset_tokens(part)
            _check_expected_names(part, data_names)
            _check_preset_tokens(part)
        except PromptPoetError as failure:
            raise ItemError(index, failure) from failure
        if not part.sections and isinstance(part.content, str):
            part = replace(part, content=vocabulary.clean_content(part.content, markers))
        parts.append(part)
    return tuple(parts)


def _cause_without_list(loaded: Any) -> str:
    """Return Prompt Poet's exception for a document that is not a list; it iterates over what it can."""
    first = next(iter(loaded), None) if isinstance(loaded, dict | set) else None
    # If the item contains the word `sections`, Prompt Poet looks up that key first.
    return "AttributeError" if isinstance(first, str) and "sections" in first else "TypeError"


def join_contents(parts: Sequence[PromptPart]) -> str:
    """Return the prompt as one text: the contents without separator.

    Raises PromptPoetError for other content.
    """
    for part in parts:
        if not isinstance(part.content, str):
            raise PromptPoetError("parts", _not_text(part), cause="TypeError")
    return "".join(part.content for part in parts)


def messages(parts: Sequence[PromptPart]) -> list[dict[str, Any]]:
    """Return the prompt as messages, one per part; adjacent ones of the same role are not merged."""
    return [{"role": part.role, "content": part.content} for part in parts]


def _build_part(index: int, item: Any, markers: vocabulary.Markers) -> PromptPart:
    """Return the part that the YAML value `item` describes; raises PromptPoetError."""
    if not isinstance(item, dict):
        what = "empty" if item is None else f"{_article(item)}, not a mapping"
        raise PromptPoetError(
            "parts",
            f"Item {index + 1} of the list of parts is {what}: write `- name:` and `content:`.",
            # If the item contains the word `sections`, Prompt Poet looks up that key first.
            cause="AttributeError" if isinstance(item, str | list) and "sections" in item else "TypeError",
        )
    sections: tuple[PromptSection, ...] | None = None
    fields = dict(item)
    if "sections" in item:
        sections = _build_sections(item, markers)
        fields["content"] = "".join(section.content for section in sections).strip()
        fields["sections"] = sections
    for key in fields:
        if key not in vocabulary.PART_KEYS:
            raise _WrongKeyError(_unknown_key(index, item, key), key, "TypeError")
    missing = [name for name in ("name", "content") if name not in fields]
    if missing:
        keys = in_code(missing, " and ")
        raise PromptPoetError("parts", f"{_label(index, item)} has no {keys}: add it.", cause="TypeError")
    return PromptPart(**fields)


def _refuse_preset_tokens(part: PromptPart) -> None:
    """Raise PromptPoetError if the template sets token ids."""
    if part.tokens is not None:
        message = f"The part {shorten(part.name)} presets `tokens`, which Prompt Poet refuses: remove them."
        raise _WrongKeyError(message, "tokens", "ValueError")


def _check_preset_tokens(part: PromptPart) -> None:
    """Raise PromptPoetError if the template sets token ids that are not a list."""
    if part.tokens is not None and not isinstance(part.tokens, Sized):
        raise PromptPoetError(
            "parts",
            f"The part {shorten(part.name)} presets `tokens` that are {_article(part.tokens)}: "
            "write a list of ids.",
            cause="TypeError",
        )


def _check_expected_names(part: PromptPart, data_names: Mapping[str, Any]) -> None:
    """Raise PromptPoetError if a name that the part expects is not in the data."""
    if not part.expected_template_data_keys:
        return
    try:
        # A text instead of a list is checked letter by letter, as in Prompt Poet.
        missing = [name for name in part.expected_template_data_keys if name not in data_names]
    except TypeError as error:
        raise PromptPoetError(
            "parts",
            f"The part {shorten(part.name)} has `expected_template_data_keys` that are not a list.",
            cause="TypeError",
        ) from error
    if missing:
        hint = " Write the names as a list." if isinstance(part.expected_template_data_keys, str) else ""
        names = in_code(missing)
        raise PromptPoetError(
            "parts",
            f"The part {shorten(part.name)} expects {names} in the template data, where it is missing: "
            f"pass it, or take it out of `expected_template_data_keys`.{hint}",
        )


def _unknown_key(index: int, item: Mapping[Any, Any], key: Any) -> str:
    """Return the message for an unknown key of a part."""
    if not isinstance(key, str):
        return f"{_label(index, item)} has the key {shorten(key)}, not a text: keys of a part are names."
    near = nearest(key, vocabulary.PART_KEYS)
    hint = f"did you mean `{near}`?" if near else f"a part may have {', '.join(vocabulary.PART_KEYS)}."
    return f"{_label(index, item)} has the unknown key `{key}`: {hint}"


def _not_text(part: PromptPart) -> str:
    """Return the message for content that cannot be joined or counted."""
    what = "is empty (null)" if part.content is None else f"is {_article(part.content)}, not text"
    return (
        f"The content of the part {shorten(part.name)} {what}, so the prompt has no string and no token "
        "count: put it in quotes or a `|` block."
    )


def _label(index: int, item: Mapping[Any, Any]) -> str:
    """Return the name of a part for messages."""
    name = item.get("name")
    return f"Part {index + 1}" if name is None else f"The part {shorten(name)}"


def _article(value: Any) -> str:
    """Return a description of the type of a YAML value."""
    for kind, description in (
        (bool, "a boolean"),
        (int, "a number"),
        (float, "a number"),
        (str, "a text"),
        (dict, "a mapping"),
        (list, "a list"),
    ):
        if isinstance(value, kind):
            return description
    return f"a value of type {type(value).__name__}"


@dataclass(frozen=True, slots=True)
class PartCount:
    """The tokens of one part, and of each of its sections; these need not sum to the part's."""

    tokens: int
    sections: tuple[int, ...] = ()


def count_parts(
    parts: Sequence[PromptPart], count: Callable[[str], int], *, allow_token_overrides: bool = False
) -> tuple[PartCount, ...]:
    """Return the counts of all parts; raises PromptPoetError of kind `tokens`, also if there are no parts."""
    if not parts:
        raise PromptPoetError("tokens", "The prompt has no parts, so there is nothing to count.")
    return tuple(count_part(part, count, allow_token_overrides=allow_token_overrides) for part in parts)


def count_part(
    part: PromptPart, count: Callable[[str], int], *, allow_token_overrides: bool = False
) -> PartCount:
    """Return the count of one part; raises PromptPoetError of kind `tokens` if Prompt Poet would fail.

    `count` raises ValueError for text that it rejects. Preset tokens are counted instead of the text.
    """
    if isinstance(part.tokens, Sized) and part.tokens:
        return PartCount(len(part.tokens))
    if not isinstance(part.content, str):
        raise PromptPoetError("tokens", _not_text(part), cause="TypeError")
    tokens = _count(part, part.content, count)
    counts: list[int] = []
    for section in part.sections or ():
        if section.tokens is None:
            counts.append(_count(part, section.content, count))
        elif allow_token_overrides:
            counts.append(_preset(section))
        else:
            raise PromptPoetError(
                "tokens",
                f"The section {shorten(section.name)} of the part {shorten(part.name)} presets `tokens`, "
                "which Prompt Poet refuses: remove them.",
            )
    return PartCount(tokens, tuple(counts))


def _preset(section: PromptSection) -> int:
    """Return the number of preset tokens of a section; raises PromptPoetError if they are not a list."""
    if isinstance(section.tokens, Sized):
        return len(section.tokens)
    raise PromptPoetError(
        "tokens",
        f"The section {shorten(section.name)} presets `tokens` that are not a list: write a list of ids.",
        cause="TypeError",
    )


def _count(part: PromptPart, text: str, count: Callable[[str], int]) -> int:
    """Return the tokens of one text; raises PromptPoetError if `count` rejects it."""
    try:
        return count(text)
    except ValueError as error:
        raise PromptPoetError(
            "tokens", f"The part {shorten(part.name)} cannot be counted: {error}"
        ) from error


NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Block:
    """Adjacent parts of one truncation priority, from index `left` to `right`, inclusive."""

    left: int
    right: int
    priority: Any
    tokens: int


@dataclass(frozen=True, slots=True)
class Truncation:
    """The result of truncation: indices of remaining and removed parts, and tokens before and after."""

    kept: tuple[int, ...]
    removed: tuple[int, ...]
    tokens_before: int
    tokens_after: int


def truncate(
    priorities: Sequence[Any],
    tokens: Sequence[int],
    token_limit: int,
    truncation_step: int | None,
    presets: Sequence[Any] = (),
) -> Truncation:
    """Truncate parts, from each part's truncation priority and tokens, in document order.

    `presets` are the `tokens` that the template itself sets for its parts; None for a part without them.

    Raises PromptPoetError of kind `truncation` for a limit or step below 1, a priority that is not a number,
    preset tokens of a remaining part that are not a list, and if more than `token_limit` tokens remain after
    removing every removable part.
    """
    everything = tuple(range(len(tokens)))
    total = sum(tokens)
    if token_limit == NO_LIMIT:
        return Truncation(everything, (), total, total)
    if token_limit < 1:
        raise PromptPoetError("truncation", f"The token limit is {token_limit}: it must be 1 or more.")
    if truncation_step is None:
        raise PromptPoetError(
            "truncation", "There is a token limit but no truncation step: give both.", cause="TypeError"
        )
    if truncation_step < 1:
        raise PromptPoetError(
            "truncation", f"The truncation step is {truncation_step}: it must be 1 or more."
        )
    blocks = truncation_blocks(priorities, tokens)
    to_remove = math.ceil(max(0, total - token_limit) / truncation_step) * truncation_step
    removed = _removed(blocks, tokens, to_remove)
    after = total - sum(tokens[index] for index in removed)
    for index, preset in enumerate(presets):
        # Prompt Poet concatenates the tokens of all remaining parts, which works only for lists.
        if index not in removed and preset and not isinstance(preset, list):
            raise PromptPoetError(
                "truncation",
                f"Part {index + 1} presets `tokens` that are not a list but a value of type "
                f"{type(preset).__name__}, so what is left cannot be joined: write a list of ids.",
                cause="TypeError",
            )
    if after > token_limit:
        why = "no part has a positive `truncation_priority`" if not blocks else "nothing more may be removed"
        raise PromptPoetError(
            "truncation",
            f"The prompt cannot be truncated to its limit of {token_limit} tokens: {after} are left, and "
            f"{why}. Raise the limit, or give more parts a `truncation_priority`.",
            cause="TruncationError",
        )
    kept = tuple(index for index in everything if index not in removed)
    return Truncation(kept, tuple(sorted(removed)), total, after)


def truncation_blocks(priorities: Sequence[Any], tokens: Sequence[int]) -> list[Block]:
    """Return the removable blocks in the order of removal: by highest priority, then document order.

    Raises PromptPoetError of kind `truncation` for a priority that is not a number.
    """
    blocks: list[Block] = []
    for priority, run in groupby(range(len(tokens)), key=lambda index: priorities[index]):
        indices = list(run)
        blocks.append(Block(indices[0], indices[-1], priority, sum(tokens[index] for index in indices)))
    try:
        return sorted(
            (block for block in blocks if block.priority > 0), key=lambda block: block.priority, reverse=True
        )
    except TypeError as error:
        raise PromptPoetError(
            "truncation",
            f"A `truncation_priority` is not a number ({error}): write it without quotes.",
            cause="TypeError",
        ) from error


def _removed(blocks: Sequence[Block], tokens: Sequence[int], to_remove: int) -> set[int]:
    """Return the indices to remove until `to_remove` tokens are reached or all blocks are removed."""
    removed: set[int] = set()
    if not to_remove:
        return removed
    gone = 0
    for block in blocks:
        if gone + block.tokens <= to_remove:
            removed.update(range(block.left, block.right + 1))
            gone += block.tokens
        else:
            for index in range(block.left, block.right + 1):
                removed.add(index)
                gone += tokens[index]
                if gone >= to_remove:
                    break
        if gone >= to_remove:
            break
    return removed
