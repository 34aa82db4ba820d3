"""Renderings of a prompt: the preview, the requests of its page, token reports and the truncation lab."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types

from promptls.ide.preview_parts import model_of, preview_markdown, report_json, token_report
from promptls.models.model_names import find_model
from promptls.preview import preview_wire
from promptls.preview.preview_answers import committed_rendering, lab_answer, rows_of, tokens_of
from promptls.preview.preview_result import (
    RenderingChoice,
    preview_job,
    preview_result,
    sample_to_show,
)
from promptls.programs.templates import configured_prompt, templates_of_program, with_file
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.job import RenderJob
from promptls.rendering.make import job_for
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.samples import Sample, default_sample
from promptls.semantic.template import Template
from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.server.lifecycle import PROGRAM_ENDING
from promptls.server.locations import prompt_path
from promptls.server.progress import progress
from promptls.server.shown_text import show_text
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.latest_renderings import Renderings
from promptls.server.to_proto import path_of
from promptls.syntax.source import Source
from promptls.text.errors import FilePlace, UsageError, UserError, optional
from promptls.workspace.disk import ENDINGS
from promptls.workspace.snapshot import Snapshot


async def preview(
    context: Context, renderings: Renderings, trust: Trust, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the rendering as JSON, with the data that it was made from.

    `failure` is the reason if there is none, and `leftOut` names what was not run because it is not trusted.
    """
    path = prompt_path(context, arguments)
    choice = RenderingChoice.from_json(arguments)
    left_out = await trust.left_out(path)

    def made_job(snapshot: Snapshot) -> tuple[Sample, RenderJob]:
        if choice.edited is None:
            renderings.choose(snapshot, path, choice.data)
        sample = sample_to_show(snapshot, path, choice)
        return sample, preview_job(snapshot, path, sample, choice)

    snapshot, made = await renderings.preview(path, made_job)
    result = {**preview_result(snapshot, path, made, context.uri_of, context.encoding), "leftOut": left_out}
    if not context.capabilities.panels:
        result["document"] = show_text(context, path, "preview", preview_markdown(made, left_out))
    return result


async def preview_template(
    context: Context, renderings: Renderings, auxiliary: AuxiliaryDocuments, arguments: dict[str, Any]
) -> dict[str, str]:
    """Show the rendering of a template that a program contains; return the path of the document.

    The arguments are the program's `uri`, and the number of the `template`, from 1.
    """
    auxiliary.flush(PROGRAM_ENDING)
    uri, number = optional(arguments, "uri", str), optional(arguments, "template", int)
    if uri is None or number is None:
        raise UsageError("the command needs the `uri` of a program and the number of a `template`")
    path = path_of(uri)
    templates = {each.written.number: each for each in templates_of_program(context.snapshot, path)}
    if number not in templates:
        raise UsageError("the program contains no such template", FilePlace(path))
    snapshot, virtual = templates[number].snapshot, templates[number].path
    sample = templates[number].sample(default_sample(snapshot, virtual))
    title = f"{Path(path).name}, template {number}"
    text = await _rendered(renderings, snapshot, virtual, sample, title)
    return {"document": show_text(context, path, f"template-{number}", text)}


async def preview_configuration(
    context: Context, renderings: Renderings, auxiliary: AuxiliaryDocuments, arguments: dict[str, Any]
) -> dict[str, str]:
    """Show the prompt of the first dataset of an OpenCompass configuration; return the document's path.

    The argument is the `uri` of the configuration, which is read, but not run.
    """
    auxiliary.flush(PROGRAM_ENDING)
    uri = optional(arguments, "uri", str)
    program = context.snapshot.template(path_of(uri)) if uri is not None else None
    if uri is None or program is None:
        raise UsageError("the command needs the `uri` of a configuration")
    path, project = path_of(uri), context.snapshot.project(path_of(uri))
    # In a thread, as it may import hundreds of files.
    text = await asyncio.to_thread(configured_prompt, program.source.text, path, project)
    snapshot, virtual = with_file(context.snapshot, path + ENDINGS[0], Template(Source.of(text)))
    sample = default_sample(snapshot, virtual)
    shown = await _rendered(renderings, snapshot, virtual, sample, f"{Path(path).name}, first dataset")
    return {"document": show_text(context, path, "preview", shown)}


async def _rendered(renderings: Renderings, snapshot: Snapshot, path: str, sample: Sample, title: str) -> str:
    """Return the rendering of a prompt as Markdown."""
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    return preview_markdown(FileRendering(job, sample, await renderings.render(snapshot, job)), title=title)


async def preview_tokens(
    context: Context, renderings: Renderings, arguments: dict[str, Any]
) -> preview_wire.TokensAnswer:
    """Return the tokens of `texts` in `encoding`, with their ids."""
    path = prompt_path(context, arguments)
    return await tokens_of(renderings.worker(context.snapshot, path), arguments)


async def preview_rows(context: Context, arguments: dict[str, Any]) -> preview_wire.DatasetRowsAnswer:
    """Return the rows of the prompt's dataset that match `search`, starting with the match `start`."""
    return await rows_of(context.snapshot, prompt_path(context, arguments), arguments)


async def preview_committed(
    context: Context, renderings: Renderings, arguments: dict[str, Any]
) -> preview_wire.CommittedAnswer:
    """Return the rendering of the prompt as of the last commit, with the data of the current preview."""
    path, snapshot = prompt_path(context, arguments), context.snapshot
    return await committed_rendering(snapshot, path, arguments, partial(renderings.render, snapshot))


async def tokens(
    context: Context, renderings: Renderings, trust: Trust, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the tokens of the rendered parts, as `report_json` writes them.

    The arguments are `uri` and, optionally, the `model` whose context window and price are used. `rows` are
    those rendered in the background so far. `leftOut` names what was not run because it is not trusted.
    Raises UserError for a prompt that does not render.
    """
    path = prompt_path(context, arguments)
    left_out = await trust.left_out(path)
    snapshot = context.snapshot
    name = optional(arguments, "model", str)
    model = find_model(name, snapshot.project(path).settings.models) if name else model_of(snapshot, path)
    sample = renderings.sample(snapshot, path)
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    outcome = await renderings.render(snapshot, job)
    if isinstance(outcome, RenderFailure):
        raise UserError(outcome.message, FilePlace(outcome.path or path, outcome.line))
    latest = renderings.latest(path)
    rows = latest.rows if latest is not None and latest.job.text == job.text else None
    made = FileRendering(job, sample, outcome, rows=rows)
    report = token_report(snapshot, made, model)
    assert report is not None
    return {**report_json(made, report), "leftOut": left_out}


async def truncation_lab(
    context: Context, trust: Trust, arguments: dict[str, Any], token: types.ProgressToken | None
) -> preview_wire.LabResult:
    """Return an object with `uri`, `found`, `failure`, `cancelled` and `leftOut`.

    The arguments are `uri`, and optionally `sample` or `row` (from 0), `limit`, `step`, `limits`,
    `steps`, `turns`, `rows`, `input` and `cache`. `found` is a `LabJson`, or null; `failure` is the
    reason if it is null, and `leftOut` names what was not run because it is not trusted.
    """
    path = prompt_path(context, arguments)
    left_out = await trust.left_out(path)
    snapshot, uri = context.snapshot, context.uri_of(path)
    data = RenderingChoice.from_json(arguments).data
    async with progress(context, token, "Growing the chat") as shown:

        def notify(what: str, done: int, count: int) -> None:
            shown.report(f"{what}: {done} of {count}", 100 * done // max(count, 1))

        answer = await shown.run(lab_answer(snapshot, path, uri, arguments, data, notify))
    if answer is None:
        return {"uri": uri, "found": None, "failure": None, "cancelled": True, "leftOut": left_out}
    return {**answer, "leftOut": left_out}
