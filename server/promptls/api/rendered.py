"""How a program counts tokens: with a named encoding, or with a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.api.error import PromptError
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.parts import PromptPart, count_parts, joined, messages
from promptls.dialects.prompt_poet.truncation import NO_LIMIT, truncate

Encode: TypeAlias = Callable[[str], Sequence[int]]
"""A text's token ids, as Prompt Poet's `encode_func` gives them."""

Count: TypeAlias = Callable[[str], int]
"""How many tokens a text has; raises ValueError for one that cannot be encoded."""

KEPT_COUNTS: Final = 2_000
"""How many texts of a function of one's own are remembered with their counts."""


def counter(encoding: str | Encode) -> Count:
    """Return what counts in an encoding or a model's encoding by name, or with a function.

    The same text is not encoded twice. Raises PromptPoetError of kind `tokens` for an unknown name,
    and for what is neither a name nor a function.
    """
    if isinstance(encoding, str):
        from promptls.tokens.encodings import UnknownEncodingError, encoding_name

        try:
            return partial(_count, encoding_name(encoding))
        except UnknownEncodingError as error:
            raise PromptPoetError("tokens", str(error)) from error
    given: object = encoding
    if not callable(given):
        kind = type(given).__name__
        raise PromptPoetError(
            "tokens",
            f"`encoding` is of type {kind}: pass an encoding's or a model's name, or a function from a text "
            "to its token ids, such as the `encode` method of a tokenizer.",
            cause="TypeError",
        )
    return lru_cache(KEPT_COUNTS)(partial(_length, encoding))


def encoder(encoding: str | Encode) -> Callable[[str], list[int]]:
    """Return what gives the token ids of a text in a named encoding, or by a function.

    Raises PromptPoetError of kind `tokens` for an unknown name; the function raises it where there is no
    vocabulary, and ValueError for a text with the words of a special token.
    """
    if not isinstance(encoding, str):
        encode = encoding
        return lambda text: list(encode(text))
    from promptls.tokens.encodings import UnknownEncodingError, encoding_name

    try:
        return partial(_ids, encoding_name(encoding))
    except UnknownEncodingError as error:
        raise PromptPoetError("tokens", str(error)) from error


def _ids(encoding: str, text: str) -> list[int]:
    from promptls.tokens.counting import token_ids
    from promptls.tokens.encodings import VocabularyError

    try:
        return token_ids(text, encoding)
    except VocabularyError as error:
        raise PromptPoetError("tokens", str(error), cause="VocabularyError") from error


def _count(encoding: str, text: str) -> int:
    """Return the tokens of a text in a named encoding.

    Raises ValueError, or PromptPoetError without vocabulary.
    """
    from promptls.tokens.counting import count_strictly
    from promptls.tokens.encodings import VocabularyError

    try:
        return count_strictly(text, encoding)
    except VocabularyError as error:
        raise PromptPoetError("tokens", str(error), cause="VocabularyError") from error


def _length(encode: Encode, text: str) -> int:
    return len(encode(text))


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
    encoding: str | Encode
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

    @cached_property
    def token_ids(self) -> tuple[int, ...]:
        """The ids of the tokens of all parts, in order; a part that presets `tokens` has those.

        They are as many as `tokens.total`. Raises PromptError of kind `tokens`, as `tokens` does.
        """
        return tuple(token for ids in self.part_token_ids for token in ids)

    @cached_property
    def part_token_ids(self) -> tuple[tuple[int, ...], ...]:
        """The ids of the tokens of each part; raises PromptError of kind `tokens`, as `tokens` does."""
        counts = self.tokens.parts
        try:
            encode = encoder(self._counting.encoding)
            return tuple(
                tuple(part.tokens or encode(part.content)) for part, _ in zip(self.parts, counts, strict=True)
            )
        except PromptPoetError as error:
            raise self._failure(error) from error

    def count(self, encoding: str | Encode) -> TokenCounts:
        """Return the tokens of the parts in another encoding: by its name, a model's name, or a function.

        Raises PromptError of kind `tokens`, as `tokens` does, and for an unknown name.
        """
        try:
            count = counter(encoding)
        except PromptPoetError as error:
            raise self._failure(error) from error
        return self._counted(count)

    def truncate(self, token_limit: int | None = None, truncation_step: int | None = None) -> RenderedPrompt:
        """Return the parts that remain under `token_limit`: the highest `truncation_priority` is cut first.

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
