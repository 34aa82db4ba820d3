"""The symbol at a place of a data set or a file of samples: an input, a key of one, or a column."""

from __future__ import annotations

from pathlib import Path

from promptls.features.symbols.data_columns import datasets_of, prompts_on
from promptls.features.symbols.data_key_at import DATA_ENDINGS, key_at
from promptls.features.symbols.data_keys import DataKeys, key_spans
from promptls.features.symbols.declared_inputs import input_names
from promptls.features.symbols.symbol import Symbol
from promptls.features.symbols.taken_data import taken_as
from promptls.text.steps import finished
from promptls.workspace.snapshot import Snapshot


def is_data_file(path: str) -> bool:
    """Whether a file of this name may hold data in which keys can be told."""
    return Path(path).suffix.lower() in DATA_ENDINGS


def data_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """The symbol of the key at `offset`; None where no prompt file names the file, or takes the key."""
    held = snapshot.template(path)
    prompts = finished(prompts_on(snapshot, path)) if held is not None else []
    if held is None or not prompts:
        return None
    suffix, text = Path(path).suffix.lower(), held.source.text
    key = key_at(suffix, text, offset)
    if key is None:
        return None
    is_column = False
    for prompt in prompts:
        template = snapshot.template(prompt)
        assert template is not None
        inputs = input_names(template) | {key.name}

        def stands_at(keys: DataKeys, inputs: frozenset[str] = inputs) -> bool:
            return key.span in key_spans(suffix, text, keys, inputs)

        taken = taken_as(snapshot, prompt, key.name, stands_at)
        if taken is not None:
            return taken.symbol(key.name, path, key.span)
        is_column = is_column or (path in datasets_of(snapshot, prompt, template) and stands_at((key.name,)))
    return Symbol("column", key.name, path, key.span, path) if is_column else None
