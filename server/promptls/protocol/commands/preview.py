"""`promptls.preview`: what a prompt renders to, with the data, the limit and the step that are asked for."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.preview import part_lines, preview_markdown
from promptls.protocol.commands.arguments import optional, prompt_path
from promptls.protocol.renderings import with_consent
from promptls.protocol.shown_text import show_text
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.outcome import Rendering
from promptls.rendering.request import job_for
from promptls.rendering.samples import Sample, row_samples, samples_of
from promptls.rendering.values import plain
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def preview(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The rendering as JSON, and what it was made with; `failure` says why there is none."""
    path = prompt_path(session, arguments)
    row = optional(arguments, "row", int)
    limit, step = optional(arguments, "limit", int), optional(arguments, "step", int)
    snapshot = with_consent(session.snapshot, session.trusted)
    chosen = optional(arguments, "sample", str) if row is None else row + 1
    sample = session.renderings.choose(snapshot, path, chosen)
    job = job_for(snapshot, path, sample.data, token_limit=limit, truncation_step=step, with_stand_ins=True)
    made = FileRendering(job, sample, await session.renderings.render(snapshot, job))
    result = _result(session, snapshot, path, made)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "preview", preview_markdown(made))
    return result


def _result(session: Session, snapshot: Snapshot, path: str, made: FileRendering) -> dict[str, Any]:
    opened = snapshot.open_files.get(path)
    rows = row_samples(snapshot, path)
    numbers = {(each.name, each.source): row for row, each in enumerate(rows)}
    samples = [
        _named(each, numbers) for each in dict.fromkeys(map(_key, [*samples_of(snapshot, path), *rows]))
    ]
    chosen = _named(_key(made.sample), numbers)
    return {
        "uri": session.uri_of(path),
        "path": path,
        "version": opened.version if opened else None,
        "kind": snapshot.kind(path).value,
        "encoding": made.job.encoding,
        "sample": chosen,
        "samples": samples if chosen in samples else [*samples, chosen],
        "data": plain(made.sample.data),
        "tokenLimit": made.token_limit,
        "truncationStep": made.job.truncation_step,
        "rendering": _rendering(snapshot, path, made.rendering),
        "failure": asdict(made.failure) if made.failure else None,
    }


def _key(sample: Sample) -> tuple[str, str]:
    return sample.name, sample.source


def _named(sample: tuple[str, str], rows: dict[tuple[str, str], int]) -> dict[str, Any]:
    """A sample as the client chooses it: by its row, from 0, where it is a row of the data set."""
    name, source = sample
    found: dict[str, Any] = {"name": name, "source": source}
    return {**found, "row": rows[sample]} if sample in rows else found


def _rendering(snapshot: Snapshot, path: str, rendering: Rendering | None) -> dict[str, Any] | None:
    if rendering is None:
        return None
    lines = part_lines(snapshot, path, rendering)
    found = rendering.to_json()
    for part in found["parts"]:
        part["line"] = lines.get(part["index"])
        part["sections"] = [section["name"] for section in part["sections"]] or None
    return found
