"""Token counts of parts and their sections. Source: Prompt Poet 0.0.52."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass

from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart
from promptls.systems.prompt_poet.sections import PromptSection
from promptls.text.shortened import shortened


@dataclass(frozen=True, slots=True)
class PartCount:
    """The tokens of one part, and of each of its sections; these need not sum to the part's."""

    tokens: int
    sections: tuple[int, ...] = ()


def count_parts(
    parts: Sequence[PromptPart], count: Callable[[str], int], *, allow_token_overrides: bool = False
) -> tuple[PartCount, ...]:
    """The counts of all parts; raises PromptPoetError of kind `tokens`, also where there is no part."""
    if not parts:
        raise PromptPoetError("tokens", "The prompt has no parts, so there is nothing to count.")
    return tuple(count_part(part, count, allow_token_overrides=allow_token_overrides) for part in parts)


def count_part(
    part: PromptPart, count: Callable[[str], int], *, allow_token_overrides: bool = False
) -> PartCount:
    """The count of one part; raises PromptPoetError of kind `tokens` where Prompt Poet fails.

    `count` raises ValueError for text that it refuses. Preset tokens are counted instead of the text.
    """
    if isinstance(part.tokens, Sized) and part.tokens:
        return PartCount(len(part.tokens))
    if not isinstance(part.content, str):
        what = "empty (null)" if part.content is None else f"of type {type(part.content).__name__}"
        raise PromptPoetError(
            "tokens",
            f"The content of the part {shortened(part.name)} is {what}, which has no tokens: "
            "put it in quotes or a `|` block.",
            cause="TypeError",
        )
    tokens = _counted(part, part.content, count)
    counts: list[int] = []
    for section in part.sections or ():
        if section.tokens is None:
            counts.append(_counted(part, section.content, count))
        elif allow_token_overrides:
            counts.append(_preset(section))
        else:
            raise PromptPoetError(
                "tokens",
                f"The section {shortened(section.name)} of the part {shortened(part.name)} presets `tokens`, "
                "which Prompt Poet refuses: remove them.",
            )
    return PartCount(tokens, tuple(counts))


def _preset(section: PromptSection) -> int:
    """How many tokens a section presets; raises PromptPoetError where they are no list."""
    if isinstance(section.tokens, Sized):
        return len(section.tokens)
    raise PromptPoetError(
        "tokens",
        f"The section {shortened(section.name)} presets `tokens` that are no list: write a list of ids.",
        cause="TypeError",
    )


def _counted(part: PromptPart, text: str, count: Callable[[str], int]) -> int:
    """The tokens of one text; raises PromptPoetError where `count` refuses it."""
    try:
        return count(text)
    except ValueError as error:
        raise PromptPoetError(
            "tokens", f"The part {shortened(part.name)} cannot be counted: {error}"
        ) from error
