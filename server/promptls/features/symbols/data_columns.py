"""Columns of data sets: which prompts are run on one, and every place of a column that is no input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from promptls.features.symbols.data_keys import DataKeys, key_spans
from promptls.features.symbols.declared_inputs import PACKED_ENDINGS, data_files, input_names
from promptls.features.symbols.declared_names import is_settings_file
from promptls.features.symbols.metric_columns import (
    column_doubt,
    metric_column_places,
    option_at,
    prompts_with_same_parameter,
    used_metrics,
)
from promptls.features.symbols.row_columns import row_column_places
from promptls.features.symbols.run_on import experiments_on
from promptls.features.symbols.shared_data import prompts_by
from promptls.features.symbols.symbol import Occurrence, Symbol
from promptls.meaning.template import Template
from promptls.text.span import Span
from promptls.text.steps import Steps
from promptls.workspace.snapshot import Snapshot


class SharedColumn(NamedTuple):
    """The prompt files that are run on the data sets of a column, and those data sets."""

    prompts: tuple[str, ...]
    files: tuple[str, ...]


def prompts_on(snapshot: Snapshot, file: str) -> Steps[list[str]]:
    """The prompt files that name a file of samples or rows."""
    found = []
    for path in (yield from prompts_by(snapshot, file)):
        yield
        template = snapshot.template(path)
        if template is not None and file in map(str, data_files(snapshot, path, template)):
            found.append(path)
    return found


def datasets_of(snapshot: Snapshot, path: str, template: Template) -> tuple[str, ...]:
    """The data sets of the experiments that can be run on a file."""
    return tuple(dict.fromkeys(each.dataset for each in experiments_on(snapshot, path, template)))


def shared_column_steps(snapshot: Snapshot, file: str, name: str) -> Steps[SharedColumn]:
    """The data sets whose column of this name is one with that of a data set, by the prompts run on both."""
    prompts: dict[str, None] = {}
    files: dict[str, None] = {}
    waiting = [file]
    while waiting:
        current = waiting.pop()
        if current in files:
            continue
        files[current] = None
        for path in (yield from prompts_on(snapshot, current)):
            template = snapshot.template(path)
            if template is not None and current in datasets_of(snapshot, path, template):
                prompts[path] = None
                waiting += datasets_of(snapshot, path, template)
    return SharedColumn(tuple(prompts), tuple(each for each in files if _has(snapshot, each, name)))


def data_column_places(snapshot: Snapshot, symbol: Symbol) -> Iterator[Occurrence | None]:
    """Every place of a column that is no input; None stands between the files."""
    shared = yield from shared_column_steps(snapshot, symbol.home, symbol.name)
    for file in shared.files:
        yield None
        held = snapshot.template(file)
        for span in _columns(held, file, symbol.name) if held is not None else ():
            yield Occurrence(file, span, "write", "data")
    for path in shared.prompts:
        yield None
        template = snapshot.template(path)
        if template is not None:
            yield from column_use_places(snapshot, path, template, symbol.name)


def column_use_places(
    snapshot: Snapshot, path: str, template: Template, name: str
) -> Iterator[Occurrence | None]:
    """Where metrics and experiments of a prompt file name a column; None stands between the files."""
    yield from row_column_places(snapshot, path, template, name)
    if any(_has(snapshot, file, name) for file in datasets_of(snapshot, path, template)):
        yield from metric_column_places(snapshot, path, template, name)


def option_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """The column that a metric with options names at `offset` of a header or a settings file."""
    option = option_at(snapshot, path, offset)
    if option is None:
        return None
    paths = sorted({*snapshot.graph.paths, *snapshot.open_files}) if is_settings_file(path) else [path]
    prompts = [each for each in paths if each == path or str(snapshot.project(each).path) == path]
    for prompt in prompts:
        template = snapshot.template(prompt)
        if template is None or all(
            each.named != option.metric for each in used_metrics(snapshot, prompt, template)
        ):
            continue
        for file in datasets_of(snapshot, prompt, template):
            if _has(snapshot, file, option.column):
                if option.column in input_names(template):
                    return Symbol("input", option.column, path, option.span, prompt)
                return Symbol("column", option.column, path, option.span, file)
    return None


def column_doubt_steps(snapshot: Snapshot, symbol: Symbol, homes: tuple[str, ...]) -> Steps[str]:
    """Why a column cannot have another name; empty where it can. `homes` are the prompts that take it."""
    prompts = homes
    if symbol.kind == "column":
        prompts = (yield from shared_column_steps(snapshot, symbol.home, symbol.name)).prompts
    for path in prompts:
        yield
        template = snapshot.template(path)
        files = datasets_of(snapshot, path, template) if template is not None else ()
        if template is None or not any(_has(snapshot, file, symbol.name) for file in files):
            continue
        reason = column_doubt(snapshot, path, template, symbol.name)
        if reason:
            return reason
        for other, function in prompts_with_same_parameter(snapshot, path, template, symbol.name):
            if other not in prompts:
                return f"`{function}` takes the column by its parameter's name, for {Path(other).name} too"
    return ""


def _has(snapshot: Snapshot, file: str, name: str) -> bool:
    """Whether a data set has a column of this name, as far as can be told."""
    if file.lower().endswith(PACKED_ENDINGS):
        from promptls.datasets.known import known_columns

        return name in known_columns(Path(file)).columns
    held = snapshot.template(file)
    return held is not None and next(_columns(held, file, name), None) is not None


def _columns(held: Template, file: str, name: str) -> Iterator[Span]:
    """The places of a column in a data set."""
    text = held.source.text
    if name in text and not file.lower().endswith(PACKED_ENDINGS):
        yield from key_spans(Path(file).suffix.lower(), text, (name,), frozenset({name}))


def packed_with(snapshot: Snapshot, path: str, template: Template, keys: DataKeys) -> Path | None:
    """The file of samples or rows that holds a key of the prompt's data, and no text to change."""
    for file in data_files(snapshot, path, template):
        if file.suffix.lower() == ".parquet":
            if len(keys) == 1 and _has(snapshot, str(file), str(keys[0])):
                return file
        elif file.name.lower().endswith(PACKED_ENDINGS):
            held = snapshot.template(str(file))
            inputs = input_names(template) | {str(keys[0])}
            if held is not None and any(key_spans(".json", held.source.text, keys, inputs)):
                return file
    return None
