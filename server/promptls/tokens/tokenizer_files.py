"""Exact counts of open models: tokenizers in `tokenizer.json` files, which the user has downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from promptls.security.files import join_path, read_bytes, stamp_of

SUFFIX: Final = ".json"
MAX_BYTES: Final = 100_000_000


class TokenizerFileError(Exception):
    """A tokenizer file that cannot be used, with the remedy."""


def is_tokenizer_file(name: str) -> bool:
    """Return whether the name of an encoding is that of a tokenizer file."""
    return name.endswith(SUFFIX)


def resolve_encoding(name: str, folder: str | Path) -> str:
    """Return the absolute path of a tokenizer file named in `folder`; the names of encodings unchanged."""
    return str(join_path(folder, name)) if is_tokenizer_file(name) else name


def encoding_title(name: str) -> str:
    """Return the name of an encoding for display: the file name of a tokenizer file."""
    return Path(name).name if is_tokenizer_file(name) else name


class FileTokenizer:
    """A tokenizer with the part of the interface of tiktoken's encodings that counts need."""

    special_tokens_set: frozenset[str] = frozenset()
    """Empty: texts of special tokens are counted as plain text, and nothing refuses them."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the token ids of a text, without those of a chat format."""
        return list(self._encode(text).ids)

    def pieces(self, text: str) -> tuple[list[int], Sequence[int]]:
        """Return the token ids, and the index of the first character of each."""
        encoded = self._encode(text)
        return list(encoded.ids), [start for start, _ in encoded.offsets]

    def _encode(self, text: str) -> Any:
        # The library takes no lone surrogates.
        plain = text.encode("utf-8", "replace").decode("utf-8")
        return self._tokenizer.encode(plain, add_special_tokens=False)


def load_file(path: str) -> FileTokenizer:
    """Return the tokenizer of a file, loaded once until the file changes; raises TokenizerFileError."""
    if find_spec("tokenizers") is None:
        raise TokenizerFileError(
            f"The tokenizer {Path(path).name} needs the package tokenizers. "
            "Install it: pip install 'promptls[tokenizers]'."
        )
    stamp = stamp_of(path)
    if stamp is None:
        raise TokenizerFileError(
            f"The tokenizer file {path} does not exist, or is outside of the folder, which is not trusted. "
            "Download the model's tokenizer.json, and name it in `encoding`."
        )
    return _load(path, stamp)


@lru_cache(maxsize=4)
def _load(path: str, _stamp: object) -> FileTokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(read_bytes(path, MAX_BYTES).decode("utf-8"))
    except Exception as error:
        raise TokenizerFileError(
            f"The file {path} is not a tokenizer that can be read: {str(error).splitlines()[0]}"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return FileTokenizer(tokenizer)
