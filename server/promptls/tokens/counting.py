"""Token counts, token ids, and the overhead of chat formats."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from promptls.tokens.encodings import encoding_name, is_approximate, load

MESSAGE_TOKENS: Final = 4
"""Tokens added to each message: three markers, and the role, which is one token in every encoding."""
REPLY_TOKENS: Final = 3
"""Tokens at the start of the answer."""


def chat_tokens(contents: Iterable[int], encoding: str) -> int | None:
    """Return the number of tokens of a request whose messages have contents with these numbers of tokens.

    None if the chat format of the encoding or model is not public.
    """
    if is_approximate(encoding):
        return None
    return sum(tokens + MESSAGE_TOKENS for tokens in contents) + REPLY_TOKENS


CACHED_COUNTS = 20_000
"""The number of cached counts; each takes about 200 bytes, regardless of the text's length."""

_lock = threading.Lock()
_counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()


class SpecialTokenError(ValueError):
    """A text contains the text of a special token, which tiktoken's `encode` rejects."""

    def __init__(self, token: str) -> None:
        """Initialize the error with the special `token` in the text."""
        super().__init__(
            f"The text holds {token}, the words of a special token, which cannot be encoded as text."
        )
        self.token = token


def count(text: str, encoding: str) -> int:
    """Return the number of tokens of `text` in the encoding (or the model's encoding) named `encoding`.

    The texts of special tokens count as plain text. Counts are cached by the text's hash. Raises
    UnknownEncodingError, or VocabularyError.
    """
    name = encoding_name(encoding)
    key = (name, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    with _lock:
        if (known := _counts.get(key)) is not None:
            _counts.move_to_end(key)
            return known
    counted = len(load(name).encode_ordinary(text))
    with _lock:
        _counts[key] = counted
        while len(_counts) > CACHED_COUNTS:
            _counts.popitem(last=False)
    return counted


def count_strictly(text: str, encoding: str) -> int:
    """Like `count`, but raise SpecialTokenError where tiktoken's `encode`, and so Prompt Poet, fails."""
    for token in load(encoding).special_tokens_set:
        if token in text:
            raise SpecialTokenError(token)
    return count(text, encoding)


def token_ids(text: str, encoding: str) -> list[int]:
    """Return the token ids of `text`; raises SpecialTokenError as `count_strictly` does."""
    loaded = load(encoding)
    for token in loaded.special_tokens_set:
        if token in text:
            raise SpecialTokenError(token)
    return loaded.encode_ordinary(text)


MAX_CHARACTERS: Final = 400_000
"""The maximum number of characters of a text that is split into tokens for display."""


class Pieces(NamedTuple):
    """The tokens of a text: their ids, and the start of each in UTF-16 code units.

    Tokens that share a character have the same start.
    """

    ids: list[int]
    starts: list[int]


def pieces(text: str, encoding: str) -> Pieces:
    """Return the tokens of the first 400,000 characters of `text`, with special tokens as plain text.

    Raises UnknownEncodingError, or VocabularyError.
    """
    shown = text[:MAX_CHARACTERS]
    loaded = load(encoding)
    ids = loaded.encode_ordinary(shown)
    _, starts = loaded.decode_with_offsets(ids)
    units = [0, *accumulate(1 + (character > "\uffff") for character in shown)]
    return Pieces(ids, [units[start] for start in starts])
