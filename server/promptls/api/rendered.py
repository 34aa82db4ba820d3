"""Rendered prompts, their token counts with a named encoding or a custom function, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.dialects.prompt_poet.failures import Kind, PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import (
    NO_LIMIT,
    PromptPart,
    count_parts,
    join_contents,
    messages,
    truncate,
)
from promptls.rendering.error_places import Culprit
from promptls.text.errors import FilePlace, UserError


class PromptError(UserError):
    """A prompt that cannot be loaded, rendered, counted or truncated.

    `str()` returns `file:line: what is wrong and what to do`.
    """

    kind: Kind
    """The stage that failed: `data`, `load`, `render`, `sandbox`, `memory`, `yaml`, `parts`, `tokens` or
    `truncation`."""
    path: str
    """The template file that contains the error: the loaded one, or one that it includes."""
    line: int | None
    """The line of that file, counted from 1; None if unknown."""
    rendered_line: int | None
    """The line of the rendered text, counted from 1, if the error is in that text."""
    excerpt: str | None
    """The rendered lines around the error. They contain values of the data and should not be logged."""

    def __init__(self, error: PromptPoetError, path: str, culprit: Culprit | None = None) -> None:
        """Wrap `error`, raised for the template at `path`; `culprit` is the location that caused it."""
        self.kind = error.kind
        self.path, line = error.path or path, error.line
        if culprit is not None:
            self.path, line = culprit.path, culprit.line
        self.line = None if line is None else line + 1
        self.rendered_line = None if error.rendered_line is None else error.rendered_line + 1
        self.excerpt = error.excerpt
        super().__init__(error.message, FilePlace(self.path, line))

    def __str__(self) -> str:
        """Return the location and the message."""
        assert self.place is not None
        return f"{self.place.text()}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, for example to pass the error between processes."""
        return _restore, (self.__dict__,)


def _restore(fields: dict[str, object]) -> PromptError:
    error = PromptError.__new__(PromptError, fields["message"])
    error.__dict__.update(fields)
    return error


Encode: TypeAlias = Callable[[str], Sequence[int]]
"""A function that returns a text's token ids, as Prompt Poet's `encode_func`."""

Count: TypeAlias = Callable[[str], int]
"""A function that counts a text's tokens; raises ValueError if the text cannot be encoded."""

MAX_COUNTS: Final = 2_000
"""Number of counts that are cached for a custom function."""


def counter(encoding: str | Encode) -> Count:
    """Return a token counter for a named encoding, a model's encoding, or a custom function.

    Counts are cached. Raises PromptPoetError of kind `tokens` for an unknown name,
    and for a value that is neither a name nor a function.
    """
    if isinstance(encoding, str):
        return partial(_count, _known_encoding(encoding))
    given: object = encoding
    if not callable(given):
        kind = type(given).__name__
        raise PromptPoetError(
            "tokens",
            f"`encoding` is of type {kind}: pass an encoding's or a model's name, or a function from a text "
            "to its token ids, such as the `encode` method of a tokenizer.",
            cause="TypeError",
        )
    return lru_cache(MAX_COUNTS)(partial(_length, encoding))


def encoder(encoding: str | Encode) -> Callable[[str], list[int]]:
    """Return a function that encodes a text to token ids with a named encoding, or the custom function.

    Raises PromptPoetError of kind `tokens` for an unknown name; the returned function raises it if there
    is no vocabulary, and ValueError for a text that contains a special token.
    """
    if not isinstance(encoding, str):
        encode = encoding
        return lambda text: list(encode(text))
    return partial(_ids, _known_encoding(encoding))


def _known_encoding(name: str) -> str:
    """Return the encoding of a model or with this name; raises PromptPoetError of kind `tokens`."""
    from promptls.tokens import UnknownEncodingError, encoding_name

    try:
        return encoding_name(name)
    except UnknownEncodingError as error:
        raise PromptPoetError("tokens", str(error)) from error


def _ids(encoding: str, text: str) -> list[int]:
    from promptls.tokens import VocabularyError, token_ids

    try:
        return token_ids(text, encoding)
    except VocabularyError as error:
        raise PromptPoetError("tokens", str(error), cause="VocabularyError") from error


def _count(encoding: str, text: str) -> int:
    """Return the number of tokens of a text in a named encoding.

    Raises ValueError, or PromptPoetError if there is no vocabulary.
    """
    from promptls.tokens import VocabularyError, count_strictly

    try:
        return count_strictly(text, encoding)
    except VocabularyError as error:
        raise PromptPoetError("tokens", str(error), cause="VocabularyError") from error


def _length(encode: Encode, text: str) -> int:
    return len(encode(text))


class TokenCounts(NamedTuple):
    """The number of tokens of a prompt, by part."""

    parts: tuple[int, ...]
    """The tokens of each part, in the order of `RenderedPrompt.parts`."""
    sections: tuple[tuple[int, ...], ...]
    """The tokens of each section of each part; empty for parts without sections. A part's sections
    are counted separately, so their sum may differ from the part's count."""

    @property
    def total(self) -> int:
        """The sum over all parts. The joined text may have fewer tokens, as parts are counted separately."""
        return sum(self.parts)


@dataclass(frozen=True, slots=True)
class Counting:
    """Defaults for counting and truncating a rendered prompt."""

    path: str
    """The template's absolute path, for error messages."""
    encoding: str | Encode
    count: Count
    allow_token_overrides: bool
    token_limit: int
    """The limit in tokens; -1 means no limit."""
    truncation_step: int | None
    """The step in tokens."""


@dataclass(frozen=True)
class RenderedPrompt:
    """A rendered prompt. It is immutable: `truncate` returns a new one.

    Properties that cannot be computed, such as the text of a prompt with a non-text part, raise PromptError
    on access.
    """

    parts: tuple[PromptPart, ...]
    """The parts in order, cleaned: each has `name`, `role`, `content`, `truncation_priority` and `sections`,
    as parsed from YAML."""
    removed: tuple[PromptPart, ...]
    """The parts that `truncate` removed, in order."""
    text: str
    """The output of Jinja, which was parsed as YAML."""
    _counting: Counting = field(repr=False, compare=False)
    _whole: RenderedPrompt | None = field(default=None, repr=False, compare=False)
    """The prompt before truncation, if this prompt was truncated."""

    @property
    def string(self) -> str:
        """The prompt as a single text: the concatenated contents of all parts.

        Raises PromptError of kind `parts` if the content of a part is not a text.
        """
        try:
            return join_contents(self.parts)
        except PromptPoetError as error:
            raise self._failure(error) from error

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt as chat messages, one per part, with `role` and `content`, as a new list."""
        return messages(self.parts)

    @cached_property
    def tokens(self) -> TokenCounts:
        """Token counts of the parts, in the encoding that was passed to `load`.

        Raises PromptError of kind `tokens` if a part's content is not a text or contains a
        special token, if a section presets tokens, and if there are no parts.
        """
        if self._whole is not None:
            known = self._whole.tokens
            # Truncation keeps parts as identical objects.
            remaining = {id(part) for part in self.parts}
            chosen = [index for index, part in enumerate(self._whole.parts) if id(part) in remaining]
            return TokenCounts(
                tuple(known.parts[index] for index in chosen),
                tuple(known.sections[index] for index in chosen),
            )
        return self._counted(self._counting.count)

    @cached_property
    def token_ids(self) -> tuple[int, ...]:
        """The token ids of all parts, in order; preset `tokens` of a part are used as they are.

        Their number is `tokens.total`. Raises PromptError of kind `tokens`, as `tokens` does.
        """
        return tuple(token for ids in self.part_token_ids for token in ids)

    @cached_property
    def part_token_ids(self) -> tuple[tuple[int, ...], ...]:
        """The token ids of each part; raises PromptError of kind `tokens`, as `tokens` does."""
        counts = self.tokens.parts
        try:
            encode = encoder(self._counting.encoding)
            return tuple(
                tuple(part.tokens or encode(part.content)) for part, _ in zip(self.parts, counts, strict=True)
            )
        except PromptPoetError as error:
            raise self._failure(error) from error

    def count(self, encoding: str | Encode) -> TokenCounts:
        """Return token counts of the parts in an encoding: its name, a model's name, or a function.

        Raises PromptError of kind `tokens`, as `tokens` does, and for an unknown name.
        """
        try:
            count = counter(encoding)
        except PromptPoetError as error:
            raise self._failure(error) from error
        return self._counted(count)

    def truncate(self, token_limit: int | None = None, truncation_step: int | None = None) -> RenderedPrompt:
        """Return the prompt truncated to `token_limit`, removing the highest `truncation_priority` first.

        Parts are removed until a multiple of `truncation_step` tokens is removed, so that the beginning of a
        growing chat stays the same for several turns and can use the model's prefix cache. Limit and step
        default to those passed to `load`; a limit of -1 removes nothing. Truncation always starts from the
        whole prompt, regardless of earlier truncation.

        Raises PromptError of kind `truncation` for a limit or a step below 1, a limit without a step, a
        priority that is not a number, preset tokens that are not a list, and if removing all removable
        parts is not sufficient; and of kind `tokens`, as `tokens` does.
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
