"""How many tokens a text has."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from promptls.tokens.encodings import encoding_name, load

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
    """The number of tokens of `text` in the encoding (or the model's encoding) named `encoding`.

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
