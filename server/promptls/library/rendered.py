"""What a prompt became: its parts, as text and as messages, counted, and cut to a limit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from promptls.library.counter import Count, Encode, counter
from promptls.library.error import PromptError
from promptls.systems.prompt_poet.counts import count_parts
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart, joined, messages
from promptls.systems.prompt_poet.truncation import NO_LIMIT, truncate


class TokenCounts(NamedTuple):
    """How many tokens a prompt has, part by part."""

    parts: tuple[int, ...]
    """The tokens of each part, in the order of `RenderedPrompt.parts`."""
    sections: tuple[tuple[int, ...], ...]
    """The tokens of each section of each part: empty for a part without sections. A part's sections
    are counted one by one, and need not sum to the part."""

    @property
    def total(self) -> int:
        """The tokens of all parts. A text of them all can have fewer: parts are counted one by one."""
        return sum(self.parts)


@dataclass(frozen=True, slots=True)
class Counting:
    """How a rendered prompt is counted and cut where the call says nothing else."""

    path: str
    """The template's absolute path, for failures."""
    count: Count
    allow_token_overrides: bool
    token_limit: int
    """In tokens; -1 for none."""
    truncation_step: int | None
    """In tokens."""


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt as the model gets it. Nothing changes it: `truncate` gives another one.

    What cannot be had, such as the text of a prompt with a part that is no text, raises PromptError
    when it is asked for.
    """

    parts: tuple[PromptPart, ...]
    """The parts in order, cleaned: each has `name`, `role`, `content`, `truncation_priority` and `sections`,
    just as YAML read them."""
    removed: tuple[PromptPart, ...]
    """The parts that `truncate` took out, in order."""
    text: str
    """What Jinja made of the template: the text that was read as YAML."""
    _counting: Counting = field(repr=False, compare=False)
    _whole: RenderedPrompt | None = field(default=None, repr=False, compare=False)
    """The prompt before truncation, where this is what truncation left."""

    @property
    def string(self) -> str:
        """The prompt as one text: the contents of all parts, with nothing in between.

        Raises PromptError of kind `parts` where a part's content is no text.
        """
        try:
            return joined(self.parts)
        except PromptPoetError as error:
            raise self._failure(error) from error

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt as chat messages, one for each part, with `role` and `content`: a new list each time."""
        return messages(self.parts)

    @cached_property
    def tokens(self) -> TokenCounts:
        """The tokens of the parts, in the encoding that the template was loaded with.

        Raises PromptError of kind `tokens` where a part's content is no text or holds the words of a
        special token, where a section presets tokens, and where there is no part.
        """
        if self._whole is not None:
            known = self._whole.tokens
            # A part is kept as the very object that it was.
            kept = {id(part) for part in self.parts}
            chosen = [index for index, part in enumerate(self._whole.parts) if id(part) in kept]
            return TokenCounts(
                tuple(known.parts[index] for index in chosen),
                tuple(known.sections[index] for index in chosen),
            )
        return self._counted(self._counting.count)

    def count(self, encoding: str | Encode) -> TokenCounts:
        """The tokens of the parts in another encoding: by its name, a model's name, or a function.

        Raises PromptError of kind `tokens`, as `tokens` does, and for an unknown name.
        """
        try:
            count = counter(encoding)
        except PromptPoetError as error:
            raise self._failure(error) from error
        return self._counted(count)

    def truncate(self, token_limit: int | None = None, truncation_step: int | None = None) -> RenderedPrompt:
        """What is left under a limit of `token_limit` tokens: parts with a priority go, the highest first.

        Parts go until a multiple of `truncation_step` tokens is removed, so that a growing chat begins
        the same for some turns, and the model's prefix cache holds. Limit and step are those that the
        template was loaded with where they are None; a limit of -1 leaves everything. The whole prompt
        is looked at each time, whatever was removed before.

        Raises PromptError of kind `truncation` for a limit or a step below 1, a limit without a step, a
        priority that is no number, preset tokens that are no list, and where removing all that may go is
        not enough; and of kind `tokens`, as `tokens` does.
        """
        whole = self._whole or self
        limit = self._counting.token_limit if token_limit is None else token_limit
        step = self._counting.truncation_step if truncation_step is None else truncation_step
        if limit == NO_LIMIT:
            return whole
        priorities = [part.truncation_priority for part in whole.parts]
        try:
            presets = [part.tokens for part in whole.parts]
            result = truncate(priorities, whole.tokens.parts, limit, step, presets)
        except PromptPoetError as error:
            raise self._failure(error) from error
        return replace(
            whole,
            parts=tuple(whole.parts[index] for index in result.kept),
            removed=tuple(whole.parts[index] for index in result.removed),
            _whole=whole,
        )

    def _counted(self, count: Count) -> TokenCounts:
        try:
            counts = count_parts(
                self.parts, count, allow_token_overrides=self._counting.allow_token_overrides
            )
        except PromptPoetError as error:
            raise self._failure(error) from error
        return TokenCounts(tuple(each.tokens for each in counts), tuple(each.sections for each in counts))

    def _failure(self, error: PromptPoetError) -> PromptError:
        return PromptError(error, self._counting.path)
