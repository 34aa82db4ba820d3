"""The parts of a prompt, from the loaded YAML. Source: Prompt Poet 0.0.52."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

from promptls.systems.prompt_poet.cleanup import DEFAULT_MARKERS, Markers, clean_content
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.sections import PromptSection, build_sections, join_sections
from promptls.systems.prompt_poet.vocabulary import DEFAULT_ROLE, PART_KEYS
from promptls.text.nearest import nearest
from promptls.text.shortened import shortened


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part. Prompt Poet checks no types: every field may hold any YAML value."""

    name: Any
    content: Any
    role: Any = DEFAULT_ROLE
    expected_template_data_keys: Any = None
    tokens: Any = None
    truncation_priority: Any = 0
    sections: tuple[PromptSection, ...] | None = None


class ItemError(Exception):
    """Item `index` of the list of parts is wrong: `failure` says how, still without its place."""

    def __init__(self, index: int, failure: PromptPoetError) -> None:
        """Keep the 0-based `index` and the `failure`."""
        super().__init__(failure.message)
        self.index = index
        self.failure = failure
        self.key = failure.key if isinstance(failure, _WrongKeyError) else None
        """The key of the item that is wrong, where it is one."""


class _WrongKeyError(PromptPoetError):
    """A part has a key that it may not have."""

    def __init__(self, message: str, key: Any, cause: str) -> None:
        super().__init__("parts", message, cause=cause)
        self.key = key


def build_parts(
    loaded: Any,
    data_names: Mapping[str, Any],
    *,
    markers: Markers = DEFAULT_MARKERS,
    allow_token_overrides: bool = False,
) -> tuple[PromptPart, ...]:
    """The parts in order, cleaned. `data_names` are the template data, reserved names included.

    Raises PromptPoetError of kind `parts` for a document that is no list, and ItemError for the
    first item that is wrong.
    """
    if isinstance(loaded, str | bytes | dict | set) and not loaded:
        # Prompt Poet takes the length only.
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
            part = replace(part, content=clean_content(part.content, markers))
        parts.append(part)
    return tuple(parts)


def _cause_without_list(loaded: Any) -> str:
    """What Prompt Poet raises at a document that is no list: it goes through whatever it can."""
    first = next(iter(loaded), None) if isinstance(loaded, dict | set) else None
    # It asks what has the word in it for the sections first.
    return "AttributeError" if isinstance(first, str) and "sections" in first else "TypeError"


def joined(parts: Sequence[PromptPart]) -> str:
    """The prompt as one text: the contents without separator. Raises PromptPoetError for other content."""
    for part in parts:
        if not isinstance(part.content, str):
            raise PromptPoetError("parts", _not_text(part), cause="TypeError")
    return "".join(part.content for part in parts)


def messages(parts: Sequence[PromptPart]) -> list[dict[str, Any]]:
    """The prompt as messages, one for each part: adjacent ones of a role are not merged."""
    return [{"role": part.role, "content": part.content} for part in parts]


def _build_part(index: int, item: Any, markers: Markers) -> PromptPart:
    """The part that the YAML value `item` describes; raises PromptPoetError."""
    if not isinstance(item, dict):
        what = "empty" if item is None else f"{_article(item)}, not a mapping"
        raise PromptPoetError(
            "parts",
            f"Item {index + 1} of the list of parts is {what}: write `- name:` and `content:`.",
            # Prompt Poet asks what has the word in it for the sections first.
            cause="AttributeError" if isinstance(item, str | list) and "sections" in item else "TypeError",
        )
    sections: tuple[PromptSection, ...] | None = None
    given = dict(item)
    if "sections" in item:
        sections = build_sections(item, markers)
        given["content"] = join_sections(sections)
        given["sections"] = sections
    for key in given:
        if key not in PART_KEYS:
            raise _WrongKeyError(_unknown_key(index, item, key), key, "TypeError")
    missing = [name for name in ("name", "content") if name not in given]
    if missing:
        keys = " and ".join(f"`{name}`" for name in missing)
        raise PromptPoetError("parts", f"{_label(index, item)} has no {keys}: add it.", cause="TypeError")
    return PromptPart(**given)


def _refuse_preset_tokens(part: PromptPart) -> None:
    """Raises PromptPoetError where the template gives token ids."""
    if part.tokens is not None:
        words = f"The part {shortened(part.name)} presets `tokens`, which Prompt Poet refuses: remove them."
        raise _WrongKeyError(words, "tokens", "ValueError")


def _check_preset_tokens(part: PromptPart) -> None:
    """Raises PromptPoetError where the template gives token ids that are no list."""
    if part.tokens is not None and not isinstance(part.tokens, Sized):
        raise PromptPoetError(
            "parts",
            f"The part {shortened(part.name)} presets `tokens` that are {_article(part.tokens)}: "
            "write a list of ids.",
            cause="TypeError",
        )


def _check_expected_names(part: PromptPart, data_names: Mapping[str, Any]) -> None:
    """Raises PromptPoetError where a name that the part expects is not in the data."""
    if not part.expected_template_data_keys:
        return
    try:
        # A text instead of a list is looked at letter by letter, as in Prompt Poet.
        missing = [name for name in part.expected_template_data_keys if name not in data_names]
    except TypeError as error:
        raise PromptPoetError(
            "parts",
            f"The part {shortened(part.name)} has `expected_template_data_keys` that are no list of names.",
            cause="TypeError",
        ) from error
    if missing:
        hint = " Write the names as a list." if isinstance(part.expected_template_data_keys, str) else ""
        names = ", ".join(f"`{name}`" for name in missing)
        raise PromptPoetError(
            "parts",
            f"The part {shortened(part.name)} expects {names} in the template data, where it is missing: "
            f"pass it, or take it out of `expected_template_data_keys`.{hint}",
        )


def _unknown_key(index: int, item: Mapping[Any, Any], key: Any) -> str:
    """The message for a key that no part may have."""
    if not isinstance(key, str):
        return (
            f"{_label(index, item)} has the key {shortened(key)}, which is no text: keys of a part are names."
        )
    near = nearest(key, PART_KEYS)
    hint = f"did you mean `{near}`?" if near else f"a part may have {', '.join(PART_KEYS)}."
    return f"{_label(index, item)} has the unknown key `{key}`: {hint}"


def _not_text(part: PromptPart) -> str:
    """The message for content that cannot be joined or counted."""
    what = "is empty (null)" if part.content is None else f"is {_article(part.content)}, not text"
    return (
        f"The content of the part {shortened(part.name)} {what}, so the prompt has no string and no token "
        "count: put it in quotes or a `|` block."
    )


def _label(index: int, item: Mapping[Any, Any]) -> str:
    """How messages name a part."""
    name = item.get("name")
    return f"Part {index + 1}" if name is None else f"The part {shortened(name)}"


def _article(value: Any) -> str:
    """The kind of a YAML value, in words."""
    for kind, words in (
        (bool, "a boolean"),
        (int, "a number"),
        (float, "a number"),
        (str, "a text"),
        (dict, "a mapping"),
        (list, "a list"),
    ):
        if isinstance(value, kind):
            return words
    return f"a value of type {type(value).__name__}"
