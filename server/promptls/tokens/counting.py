"""How many tokens a text has, which they are, and what a chat format adds."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from promptls.tokens.encodings import encoding_name, is_approximate, load

MESSAGE_TOKENS: Final = 4
"""Three marks, and the role, which is one token in every encoding."""
REPLY_TOKENS: Final = 3
"""What the answer begins with."""


def chat_tokens(contents: Iterable[int], encoding: str) -> int | None:
    """Return the tokens of a request whose messages have contents of so many tokens.

    None if the chat format of the encoding's or model's name is not public.
    """
    if is_approximate(encoding):
        return None
    return sum(tokens + MESSAGE_TOKENS for tokens in contents) + REPLY_TOKENS


CACHED_COUNTS = 20_000
"""How many counts are remembered; each takes about 200 bytes, however long its text is."""

_lock = threading.Lock()
_counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()


class SpecialTokenError(ValueError):
    """A text holds the words of a special token, which tiktoken's `encode` refuses."""

    def __init__(self, token: str) -> None:
        """Keep the special `token` that the text holds."""
        super().__init__(
            f"The text holds {token}, the words of a special token, which cannot be encoded as text."
        )
        self.token = token


def count(text: str, encoding: str) -> int:
    """Return the number of tokens of `text` in the encoding (or the model's encoding) named `encoding`.

    The words of special tokens count as plain text. Counts are remembered by the text's hash.
    Raises UnknownEncodingError, or VocabularyError.
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
    """As `count`, but raises SpecialTokenError where tiktoken's `encode`, and so Prompt Poet, fails."""
    for token in load(encoding).special_tokens_set:
        if token in text:
            raise SpecialTokenError(token)
    return count(text, encoding)


def token_ids(text: str, encoding: str) -> list[int]:
    """Return the ids of the tokens of `text`; raises SpecialTokenError as `count_strictly` does."""
    loaded = load(encoding)
    for token in loaded.special_tokens_set:
        if token in text:
            raise SpecialTokenError(token)
    return loaded.encode_ordinary(text)


MAX_CHARACTERS: Final = 400_000
"""How many characters of a text are cut into tokens; nobody looks at more of them one by one."""


class Pieces(NamedTuple):
    """The tokens of a text: their ids, and where each begins, in UTF-16 code units.

    Tokens that share a character begin at the same place.
    """

    ids: list[int]
    starts: list[int]


def pieces(text: str, encoding: str) -> Pieces:
    """Return the tokens of the first 400,000 characters of `text`; words of special tokens count as text.

    Raises UnknownEncodingError, or VocabularyError.
    """
    shown = text[:MAX_CHARACTERS]
    loaded = load(encoding)
    ids = loaded.encode_ordinary(shown)
    _, starts = loaded.decode_with_offsets(ids)
    units = [0, *accumulate(1 + (character > "\uffff") for character in shown)]
    return Pieces(ids, [units[start] for start in starts])
