"""The data for rendering: given as text or a file, a row, or a sample."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.text.errors import FilePlace, UsageError

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample
    from promptls.workspace.snapshot import Snapshot


def chosen_sample(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> Sample:
    """Return the data that the arguments choose, or the default sample; raises UserError without it."""
    from promptls.rendering.samples import Sample, row_sample, sample_named, samples_of

    if arguments.data is not None:
        return Sample("--data", "the command line", _given_data(arguments.data))
    if arguments.row is not None:
        return row_sample(snapshot, path, arguments.row)
    if arguments.sample is not None:
        return sample_named(snapshot, path, arguments.sample)
    return samples_of(snapshot, path)[0]


def _given_data(word: str) -> dict[str, Any]:
    import yaml

    place = None
    try:
        if word.lstrip().startswith(("{", "[")):
            data = json.loads(word)
        else:
            from promptls.cli.input.chosen_files import existing

            place = FilePlace(existing(word))
            text = Path(word).read_text("utf-8-sig")
            data = json.loads(text) if word.endswith(".json") else yaml.safe_load(text)
    except json.JSONDecodeError as wrong:
        if place:
            place = place._replace(line=wrong.lineno - 1, column=wrong.colno - 1)
        said = f"the data is no JSON: {wrong.msg} at column {wrong.colno}"
        raise UsageError(said, place, 'write {"name": value, …}, or name a file') from None
    except (UnicodeDecodeError, yaml.YAMLError) as wrong:
        raise UsageError(f"the data cannot be read: {str(wrong).splitlines()[0]}", place) from None
    except RecursionError:
        raise UsageError("the data is nested too deep to be read", place) from None
    if not isinstance(data, dict):
        raise UsageError("the data is no mapping of input names to values", place, 'write {"name": value, …}')
    return data
