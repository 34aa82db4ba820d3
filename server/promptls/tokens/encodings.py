"""tiktoken's encodings by name, built from packaged vocabularies: exact, and without a network."""

from __future__ import annotations

import difflib
import threading
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

from promptls.tokens.vocabularies import read_ranks

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING_NAMES: tuple[str, ...] = ("o200k_base", "cl100k_base")
"""The encodings that can be loaded, the default first."""

DEFAULT_ENCODING = ENCODING_NAMES[0]

_lock = threading.Lock()
_loaded: dict[str, Encoding] = {}


class UnknownEncodingError(ValueError):
    """A name that is neither a shipped encoding nor a model that uses one."""

    def __init__(self, name: str, nearest: str, reason: str) -> None:
        """Keep the unknown `name` and the `nearest` name that would have worked."""
        super().__init__(f"{reason} Did you mean {nearest!r}? Known encodings: {', '.join(ENCODING_NAMES)}.")
        self.name = name
        self.nearest = nearest


def encoding_name(name: str) -> str:
    """The encoding that `name` stands for: itself, or the one that the model of that name uses.

    Models are looked up in tiktoken's own table. Raises UnknownEncodingError for any other name, and
    for models whose encoding is not shipped.
    """
    if name in ENCODING_NAMES:
        return name
    from tiktoken.model import MODEL_TO_ENCODING, encoding_name_for_model

    try:
        encoding = encoding_name_for_model(name)
    except KeyError:
        models = (model for model, its in MODEL_TO_ENCODING.items() if its in ENCODING_NAMES)
        near = difflib.get_close_matches(name, [*ENCODING_NAMES, *models], n=1, cutoff=0.5)
        raise UnknownEncodingError(
            name,
            near[0] if near else DEFAULT_ENCODING,
            f"There is no encoding, and no model with a known encoding, named {name!r}.",
        ) from None
    if encoding not in ENCODING_NAMES:
        near = difflib.get_close_matches(encoding, ENCODING_NAMES, n=1, cutoff=0.0)
        raise UnknownEncodingError(
            name,
            near[0],
            f"The model {name!r} uses the encoding {encoding}, whose vocabulary is not shipped.",
        )
    return encoding


def load(name: str) -> Encoding:
    """The encoding for the encoding or model `name`; the first call for each takes about 0.2 seconds.

    Loaded once a process; several threads may ask at once. Raises UnknownEncodingError, or
    VocabularyError where the vocabulary is not installed.
    """
    encoding = encoding_name(name)
    if (known := _loaded.get(encoding)) is not None:
        return known
    with _lock:
        if encoding not in _loaded:
            _loaded[encoding] = _build(encoding)
        return _loaded[encoding]


def _build(encoding: str) -> Encoding:
    """The encoding from tiktoken's own definition and the packaged vocabulary."""
    import tiktoken

    openai_public = import_module("tiktoken_ext.openai_public")

    def load_packaged(_address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return read_ranks(encoding, expected_hash)

    # tiktoken's definition holds pattern, special tokens and hash, but downloads the vocabulary
    # through a function of its module: the same definition runs here with another such function.
    names: dict[str, Any] = {**vars(openai_public), "load_tiktoken_bpe": load_packaged}
    definition = FunctionType(openai_public.ENCODING_CONSTRUCTORS[encoding].__code__, names)
    return tiktoken.Encoding(**definition())
