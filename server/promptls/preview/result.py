"""A rendering as the page shows it, as plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from promptls.ide.preview import part_lines
from promptls.preview import wire
from promptls.preview.source_map import add_source_map
from promptls.preview.viewer import viewer_json
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.job import plain
from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering
from promptls.rendering.samples import dataset_path, sample_names
from promptls.text.positions import Unit
from promptls.workspace.snapshot import Snapshot


def preview_result(
    snapshot: Snapshot,
    path: str,
    made: FileRendering,
    uri_of: Callable[[str], str],
    unit: Unit = Unit.UTF16,
) -> wire.PreviewResult:
    """Return the rendering, and what it was made with; `failure` says why there is none.

    `uri_of` gives the URI of a file's path, as the reader's client writes it. Ranges of the source map
    count `unit`.
    """
    rendering = None if made.rendering is None else rendering_json(snapshot, path, made.rendering)
    files = [] if rendering is None else add_source_map(rendering, snapshot, made, uri_of, unit)
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
        "failure": failure_json(made.failure) if made.failure else None,
    }


def rendering_json(snapshot: Snapshot, path: str, rendering: Rendering) -> wire.Rendering:
    """Return the rendering with the first template line and the section names of each part."""
    lines = part_lines(snapshot, path, rendering)
    return {
        "parts": [_part_json(part, lines.get(part.index)) for part in rendering.parts],
        "string": rendering.string,
        "messages": cast("list[wire.ChatMessage]", rendering.messages),
        "tokens": rendering.tokens,
        "tokensKept": rendering.tokens_kept,
        "text": rendering.text,
        "seconds": rendering.seconds,
        "problems": [failure_json(problem) for problem in rendering.problems],
        "sourceMap": None,
    }


def failure_json(failure: RenderFailure) -> wire.RenderingFailure:
    """Return the failure with its place."""
    return {
        "kind": failure.kind,
        "message": failure.message,
        "path": failure.path,
        "line": failure.line,
        "renderedLine": failure.rendered_line,
        "excerpt": failure.excerpt,
    }


def _part_json(part: RenderedPart, line: int | None) -> wire.Part:
    return {
        "index": part.index,
        "name": part.name,
        "role": part.role,
        "content": part.content,
        "tokens": part.tokens,
        "truncationPriority": part.truncation_priority,
        "kept": part.kept,
        "sections": [section.name for section in part.sections] or None,
        "line": line,
        "sourceMap": None,
    }


def _named(name: str, source: str, dataset: Path | None) -> wire.SampleName:
    """Return a sample as the page chooses it: by its row, from 0, where it is a row of the dataset."""
    word, _, number = name.partition(" ")
    is_row = dataset is not None and source == dataset.name and word == "row" and number.isdecimal()
    if is_row:
        return {"name": name, "source": source, "row": int(number) - 1}
    return {"name": name, "source": source}


def _request(snapshot: Snapshot, path: str) -> wire.RequestParameters:
    """Return the models and parameters of the file's first experiment, for the page's view of the request."""
    template = snapshot.template(path)
    experiments = (template.declarations.settings.experiments if template else None) or {}
    first = next(iter(experiments.values()), None)
    return {
        "models": list(first.models) if first else [],
        "temperature": first.temperature if first else None,
        "maxTokens": first.max_tokens if first else None,
        "seed": first.seed if first else None,
    }
