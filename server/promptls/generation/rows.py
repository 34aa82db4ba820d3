"""The data set that samples make: rows that experiments read, with the names that Ragas gives the columns."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from promptls.datasets.backends.local import LocalBackend
from promptls.generation.graph import SOURCE
from promptls.generation.scenario import Sample
from promptls.models.keys import key_mask
from promptls.text.failure import FilePlace, WrongUse

_BACKENDS: Final = {
    ".csv": ("promptls.datasets.backends.local_csv", "LocalCsv"),
    ".jsonl": ("promptls.datasets.backends.local_jsonl", "LocalJsonl"),
    ".json": ("promptls.datasets.backends.local_json", "LocalJson"),
    ".parquet": ("promptls.datasets.backends.local_parquet", "LocalParquet"),
}


def rows_of(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """A row for each sample, in order; what the environment holds as a secret is taken out."""
    mask = key_mask()
    return [
        mask.mask_all(
            {
                "id": str(number),
                "user_input": sample.query,
                "reference": sample.answer,
                "reference_contexts": [node.text for node in sample.scenario.nodes],
                "synthesizer_name": sample.scenario.synthesizer,
                "persona_name": sample.scenario.persona.name,
                "query_style": sample.scenario.style,
                "query_length": sample.scenario.length,
                "theme": sample.scenario.theme,
                "sources": [str(node.properties.get(SOURCE, "")) for node in sample.scenario.nodes],
            }
        )
        for number, sample in enumerate(samples, start=1)
    ]


def check_output(path: Path, *, force: bool = False) -> None:
    """Raises `WrongUse` for a file that no data set can be written to, or that is there and is not to go."""
    if path.suffix.lower() not in _BACKENDS:
        listed = ", ".join(f"`{suffix}`" for suffix in _BACKENDS)
        raise WrongUse(
            f"a data set cannot end in `{path.suffix}`", FilePlace(path), f"name a file that ends in {listed}"
        )
    if not path.parent.is_dir():
        raise WrongUse("the folder of the data set does not exist", FilePlace(path), "make it first")
    if path.is_dir():
        raise WrongUse("this is a folder", FilePlace(path), "name a file in it")
    if path.exists() and not force:
        raise WrongUse(
            "there is such a file already", FilePlace(path), "name another, or overwrite it with `--force`"
        )


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """The rows are in the file, as a whole or not at all; raises OSError, and `Failure` without pyarrow."""
    module, name = _BACKENDS[path.suffix.lower()]
    backend: LocalBackend = getattr(importlib.import_module(module), name)(path.parent)
    backend.write(path, rows)
