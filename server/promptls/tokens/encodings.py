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

ENCODING_NAMES: tuple[str, ...] = ("o200k_base", "o200k_harmony", "cl100k_base")
"""The encodings that can be loaded, the default first."""

DEFAULT_ENCODING = ENCODING_NAMES[0]

NEAREST_ENCODINGS: dict[str, str] = dict.fromkeys(
    ("p50k_base", "p50k_edit", "r50k_base", "gpt2"), "cl100k_base"
)
"""tiktoken's other encodings, whose vocabularies are not shipped, with the nearest that is."""

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
"""How the names of models begin whose tokenizers are not public, or not shipped: o200k_base is nearest."""

_VOCABULARIES = {"o200k_harmony": "o200k_base"}
"""The encodings that share the vocabulary of another one."""

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
    """The encoding that counts what `name` stands for: itself, or that of the model of this name.

    A model may be written as `provider:model`. OpenAI's are looked up in tiktoken's own table. Where the
    encoding is not public, or not shipped, the nearest one is meant, and `is_approximate` says so.
    Raises UnknownEncodingError for any other name.
    """
    if name in ENCODING_NAMES:
        return name
    if (nearest := _nearest(name)) is not None:
        return nearest
    from tiktoken.model import MODEL_TO_ENCODING, encoding_name_for_model

    model = _model(name)
    try:
        encoding = encoding_name_for_model(model)
    except KeyError:
        models = (model for model, its in MODEL_TO_ENCODING.items() if its in ENCODING_NAMES)
        near = difflib.get_close_matches(model.lower(), [*ENCODING_NAMES, *models], n=1, cutoff=0.5)
        raise UnknownEncodingError(
            name,
            near[0] if near else DEFAULT_ENCODING,
            f"There is no encoding, and no model with a known encoding, named {name!r}.",
        ) from None
    return NEAREST_ENCODINGS.get(encoding, encoding)


def is_approximate(name: str) -> bool:
    """Whether counts under this name of an encoding or a model are those of the nearest encoding only.

    They are then written with `≈` ahead of them.
    """
    if name in ENCODING_NAMES:
        return False
    if _nearest(name) is not None:
        return True
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(_model(name)) in NEAREST_ENCODINGS
    except KeyError:
        return False


def _nearest(name: str) -> str | None:
    """The nearest encoding for a name whose own one is not shipped, where that is plain from the name."""
    if name in NEAREST_ENCODINGS:
        return NEAREST_ENCODINGS[name]
    return DEFAULT_ENCODING if _model(name).lower().startswith(MODEL_FAMILIES) else None


def _model(name: str) -> str:
    """The model's own name in `provider:model`, `organisation/model` and `anthropic.model`."""
    own = name.rpartition("/")[2]
    own = own.partition(":")[2] if ":" in own and not own.startswith("ft:") else own
    return own.rpartition(".")[2] if own.startswith(("anthropic.", "amazon.", "meta.", "mistral.")) else own


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
        return read_ranks(_VOCABULARIES.get(encoding, encoding), expected_hash)

    # tiktoken's definition holds pattern, special tokens and hash, but downloads the vocabulary
    # through a function of its module: the same definition runs here with another such function.
    names: dict[str, Any] = {**vars(openai_public), "load_tiktoken_bpe": load_packaged}
    for name in {encoding, _VOCABULARIES.get(encoding, encoding)}:
        names[name] = FunctionType(openai_public.ENCODING_CONSTRUCTORS[name].__code__, names)
    return tiktoken.Encoding(**names[encoding]())
