"""A rendering as the page shows it, as plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from promptls.features.preview import part_lines
from promptls.preview.source_map import add_source_map
from promptls.preview.viewer import viewer_json
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.outcome import Rendering
from promptls.rendering.samples import dataset_path, sample_names
from promptls.rendering.values import plain
from promptls.text.lines import Unit
from promptls.workspace.snapshot import Snapshot


def preview_result(
    snapshot: Snapshot,
    path: str,
    made: FileRendering,
    uri_of: Callable[[str], str],
    unit: Unit = Unit.UTF16,
) -> dict[str, Any]:
    """The rendering, and what it was made with; `failure` says why there is none.

    `uri_of` gives the URI of a file's path, as the reader's client writes it. Ranges of the source map
    count `unit`.
    """
    rendering = rendering_json(snapshot, path, made.rendering)
    files: list[str] = []
    if rendering is not None and made.rendering is not None:
        files = add_source_map(rendering, snapshot, made, uri_of, unit)
    opened = snapshot.open_files.get(path)
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    samples = [_named(*each, dataset) for each in sample_names(snapshot, path)]
    chosen = _named(made.sample.name, made.sample.source, dataset)
    return {
        "uri": uri_of(path),
        "path": path,
        "version": opened.version if opened else None,
        "kind": snapshot.kind(path).value,
        "encoding": made.job.encoding,
        "sample": chosen,
        "samples": samples if chosen in samples else [*samples, chosen],
        "dataset": dataset.name if dataset else None,
        "data": plain(made.sample.data),
        "standIns": list(made.job.stand_ins),
        "tokenLimit": made.token_limit,
        "truncationStep": made.job.truncation_step,
        "request": _request(snapshot, path),
        "files": files,
        "viewer": viewer_json(made, made.sample),
        "rendering": rendering,
        "failure": asdict(made.failure) if made.failure else None,
    }


def rendering_json(snapshot: Snapshot, path: str, rendering: Rendering | None) -> dict[str, Any] | None:
    """The rendering with, for each part, the template line that begins it and the names of its sections."""
    if rendering is None:
        return None
    lines = part_lines(snapshot, path, rendering)
    found = rendering.to_json()
    del found["source_map"], found["viewer"]
    for part in found["parts"]:
        part["line"] = lines.get(part["index"])
        part["sections"] = [section["name"] for section in part["sections"]] or None
    return found


def _named(name: str, source: str, dataset: Path | None) -> dict[str, Any]:
    """A sample as the page chooses it: by its row, from 0, where it is a row of the data set."""
    found: dict[str, Any] = {"name": name, "source": source}
    word, _, number = name.partition(" ")
    is_row = dataset is not None and source == dataset.name and word == "row" and number.isdecimal()
    return {**found, "row": int(number) - 1} if is_row else found


def _request(snapshot: Snapshot, path: str) -> dict[str, Any]:
    """The models and parameters of the file's first experiment, for the page's view of the request."""
    template = snapshot.template(path)
    experiments = (template.declarations.settings.experiments if template else None) or {}
    first = next(iter(experiments.values()), None)
    return {
        "models": list(first.models) if first else [],
        "temperature": first.temperature if first else None,
        "maxTokens": first.max_tokens if first else None,
        "seed": first.seed if first else None,
    }
