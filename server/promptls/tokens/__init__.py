"""Token encodings by name, and exact token counts."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import importlib.util
import threading
from binascii import a2b_base64
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.security.files import stamp_of
from promptls.tokens.tokenizer_files import FileTokenizer, TokenizerFileError, is_tokenizer_file, load_file

if TYPE_CHECKING:
    from tiktoken import Encoding

PACKAGE = "bpe_openai"


class VocabularyError(RuntimeError):
    """The vocabulary of an encoding is not installed, or is not the one that tiktoken expects."""


def read_ranks(encoding: str, expected_sha256: str | None) -> dict[bytes, int]:
    """Return the rank of every token of `encoding`: about 200,000 for o200k_base, in about 0.1 seconds.

    Decoding the packaged file again costs 50 ms more than reading a decoded copy would; that is not worth a
    cache of several megabytes that can become stale or be tampered with.

    Raises VocabularyError if the file is missing, cannot be read, or has a different SHA-256 than
    `expected_sha256`: token counts are exact or not available.
    """
    path = _rank_file(encoding)
    try:
        plain = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise VocabularyError(
            f"The vocabulary of {encoding} cannot be read from {path}: {error}. "
            "Install the package bpe-openai again."
        ) from error
    if expected_sha256 is not None and hashlib.sha256(plain).hexdigest() != expected_sha256:
        raise VocabularyError(
            f"The vocabulary of {encoding} in {path} is not the one that tiktoken uses. "
            "Install the package bpe-openai again."
        )
    fields = plain.split()
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


def _rank_file(encoding: str) -> Path:
    """Return the path of the compressed rank file; raises VocabularyError if it is missing."""
    package = importlib.util.find_spec(PACKAGE)
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        path = Path(folder, "data", f"{encoding}.tiktoken.gz")
        if path.is_file():
            return path
    raise VocabularyError(
        f"The vocabulary of {encoding} is not installed. Install the package bpe-openai, which contains it."
    )


ENCODING_NAMES: tuple[str, ...] = ("o200k_base", "o200k_harmony", "cl100k_base")
"""The encodings that can be loaded, the default first."""

DEFAULT_ENCODING = ENCODING_NAMES[0]

NEAREST_ENCODINGS: dict[str, str] = dict.fromkeys(
    ("p50k_base", "p50k_edit", "r50k_base", "gpt2"), "cl100k_base"
)
"""tiktoken's other encodings, whose vocabularies are not included, with the nearest included one."""

MODEL_FAMILIES: tuple[str, ...] = (
    "claude",
    "codestral",
    "command",
    "deepseek",
    "devstral",
    "gemini",
    "gemma",
    "glm",
    "granite",
    "grok",
    "jamba",
    "kimi",
    "llama",
    "magistral",
    "meta-llama",
    "minimax",
    "ministral",
    "mistral",
    "mixtral",
    "nemotron",
    "nova",
    "olmo",
    "phi",
    "pixtral",
    "qwen",
    "qwq",
    "smollm",
    "sonar",
    "titan",
    "yi-",
)
"""Prefixes of models whose tokenizers are not public or not included: o200k_base is nearest."""

_VOCABULARIES = {"o200k_harmony": "o200k_base"}
"""The encodings that share the vocabulary of a different one."""

_lock = threading.Lock()
_loaded: dict[str, Encoding] = {}


class UnknownEncodingError(ValueError):
    """A name that is neither an included encoding nor a model that uses one."""

    def __init__(self, name: str, nearest: str, reason: str) -> None:
        """Initialize the error with the unknown `name` and the `nearest` valid name."""
        super().__init__(f"{reason} Did you mean {nearest!r}? Known encodings: {', '.join(ENCODING_NAMES)}.")
        self.name = name
        self.nearest = nearest


def encoding_name(name: str) -> str:
    """Return the encoding for `name`, which is the name of an encoding or of a model.

    A model may be written as `provider:model`. OpenAI's models are looked up in tiktoken's own table. If the
    encoding is not public, or not included, the nearest one is returned, and `is_approximate` is true. Raises
    UnknownEncodingError for any other name. The path of a tokenizer file is its own encoding.
    """
    if name in ENCODING_NAMES or is_tokenizer_file(name):
        return name
    if (nearest := _nearest(name)) is not None:
        return nearest
    from tiktoken.model import MODEL_TO_ENCODING, encoding_name_for_model

    model = _model(name)
    try:
        encoding = encoding_name_for_model(model)
    except KeyError:
        models = (model for model, used in MODEL_TO_ENCODING.items() if used in ENCODING_NAMES)
        near = difflib.get_close_matches(model.lower(), [*ENCODING_NAMES, *models], n=1, cutoff=0.5)
        raise UnknownEncodingError(
            name,
            near[0] if near else DEFAULT_ENCODING,
            f"There is no encoding, and no model with a known encoding, named {name!r}.",
        ) from None
    return NEAREST_ENCODINGS.get(encoding, encoding)


def is_approximate(name: str) -> bool:
    """Return whether counts for this encoding or model are only those of the nearest encoding.

    They are displayed with a leading `≈` then.
    """
    if name in ENCODING_NAMES or is_tokenizer_file(name):
        return False
    if _nearest(name) is not None:
        return True
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(_model(name)) in NEAREST_ENCODINGS
    except KeyError:
        return False


def _nearest(name: str) -> str | None:
    """Return the nearest included encoding for the name of a different one, if the name makes it obvious."""
    if name in NEAREST_ENCODINGS:
        return NEAREST_ENCODINGS[name]
    return DEFAULT_ENCODING if _model(name).lower().startswith(MODEL_FAMILIES) else None


def _model(name: str) -> str:
    """Return the model's own name in `provider:model`, `organization/model` and `anthropic.model`."""
    own = name.rpartition("/")[2]
    own = own.partition(":")[2] if ":" in own and not own.startswith("ft:") else own
    return own.rpartition(".")[2] if own.startswith(("anthropic.", "amazon.", "meta.", "mistral.")) else own


def load(name: str) -> Encoding | FileTokenizer:
    """Return the encoding for the encoding or model `name`; the first call for each takes about 0.2 seconds.

    Each encoding is loaded once per process, and the function is thread-safe. Raises UnknownEncodingError, or
    VocabularyError if the vocabulary is not installed.
    """
    encoding = encoding_name(name)
    if is_tokenizer_file(encoding):
        try:
            return load_file(encoding)
        except TokenizerFileError as error:
            raise VocabularyError(str(error)) from error
    if (known := _loaded.get(encoding)) is not None:
        return known
    with _lock:
        if encoding not in _loaded:
            _loaded[encoding] = _build(encoding)
        return _loaded[encoding]


def _build(encoding: str) -> Encoding:
    """Return the encoding built from tiktoken's own definition and the packaged vocabulary."""
    import tiktoken

    openai_public = import_module("tiktoken_ext.openai_public")

    def load_packaged(_address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return read_ranks(_VOCABULARIES.get(encoding, encoding), expected_hash)

    # tiktoken's definition contains the pattern, special tokens and hash, but downloads the vocabulary
    # through a function of its module: the same definition is evaluated here with a replacement of that
    # function.
    names: dict[str, Any] = {**vars(openai_public), "load_tiktoken_bpe": load_packaged}
    for name in {encoding, _VOCABULARIES.get(encoding, encoding)}:
        names[name] = FunctionType(openai_public.ENCODING_CONSTRUCTORS[name].__code__, names)
    return tiktoken.Encoding(**names[encoding]())


MESSAGE_TOKENS: Final = 4
"""Tokens added to each message: three markers, and the role, which is one token in every encoding."""
REPLY_TOKENS: Final = 3
"""Tokens at the start of the answer."""


def chat_tokens(contents: Iterable[int], encoding: str) -> int | None:
    """Return the number of tokens of a request whose messages have contents with these numbers of tokens.

    None if the chat format of the encoding or model is not public.
    """
    if is_approximate(encoding) or is_tokenizer_file(encoding):
        return None
    return sum(tokens + MESSAGE_TOKENS for tokens in contents) + REPLY_TOKENS


CACHED_COUNTS = 20_000
"""The number of cached counts; each takes about 200 bytes, regardless of the text's length."""

_counting_lock = threading.Lock()
_counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()


class SpecialTokenError(ValueError):
    """A text contains the text of a special token, which tiktoken's `encode` rejects."""

    def __init__(self, token: str) -> None:
        """Initialize the error with the special `token` in the text."""
        super().__init__(
            f"The text contains {token}, the words of a special token, which cannot be encoded as text."
        )
        self.token = token


def count(text: str, encoding: str) -> int:
    """Return the number of tokens of `text` in the encoding (or the model's encoding) named `encoding`.

    The texts of special tokens count as plain text. Counts are cached by the text's hash. Raises
    UnknownEncodingError, or VocabularyError.
    """
    name = encoding_name(encoding)
    version = f"{name} {stamp_of(name)}" if is_tokenizer_file(name) else name
    key = (version, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    with _counting_lock:
        if (known := _counts.get(key)) is not None:
            _counts.move_to_end(key)
            return known
    counted = len(load(name).encode_ordinary(text))
    with _counting_lock:
        _counts[key] = counted
        while len(_counts) > CACHED_COUNTS:
            _counts.popitem(last=False)
    return counted


def count_strictly(text: str, encoding: str) -> int:
    """Like `count`, but raise SpecialTokenError where tiktoken's `encode`, and so Prompt Poet, fails."""
    _refuse_special_tokens(text, load(encoding))
    return count(text, encoding)


def token_ids(text: str, encoding: str) -> list[int]:
    """Return the token ids of `text`; raises SpecialTokenError as `count_strictly` does."""
    loaded = load(encoding)
    _refuse_special_tokens(text, loaded)
    return loaded.encode_ordinary(text)


def _refuse_special_tokens(text: str, loaded: Encoding | FileTokenizer) -> None:
    for token in loaded.special_tokens_set:
        if token in text:
            raise SpecialTokenError(token)


MAX_CHARACTERS: Final = 400_000
"""The maximum number of characters of a text that is split into tokens for display."""


class TokenPieces(NamedTuple):
    """The tokens of a text: their ids, and the start of each in UTF-16 code units.

    Tokens that share a character have the same start.
    """

    ids: list[int]
    starts: list[int]


def pieces(text: str, encoding: str) -> TokenPieces:
    """Return the tokens of the first 400,000 characters of `text`, with special tokens as plain text.

    Raises UnknownEncodingError, or VocabularyError.
    """
    shown = text[:MAX_CHARACTERS]
    loaded = load(encoding)
    starts: Sequence[int]
    if isinstance(loaded, FileTokenizer):
        ids, starts = loaded.pieces(shown)
    else:
        ids = loaded.encode_ordinary(shown)
        _, starts = loaded.decode_with_offsets(ids)
    units = [0, *accumulate(1 + (character > "\uffff") for character in shown)]
    return TokenPieces(ids, [units[start] for start in starts])
