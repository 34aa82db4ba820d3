"""Asking a model about what a preview shows, and writing what it shows into the prompt's files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types

from promptls.experiments.access import NOT_SENT, may_send_keys
from promptls.experiments.single_answer import AskRequest
from promptls.ide.code_actions import line_edits
from promptls.preview import preview_wire
from promptls.preview.asking import answer_of, answers_of, request_about
from promptls.preview.preview_answers import rendering_to_show
from promptls.preview.saved_data import saved_data, saved_truncation, write_text
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.security.trust import FolderCode
from promptls.server.commands.runs import editor_of, secrets_in
from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.server.locations import prompt_path, workspace_edit
from promptls.server.progress import progress
from promptls.server.shown_text import show_text
from promptls.server.state.latest_renderings import Renderings
from promptls.syntax.source import Source
from promptls.text.errors import FilePlace, UserError, optional
from promptls.text.escape import markdown_text

ANSWER_TEXT = "promptls/answerText"


async def ask(
    context: Context,
    renderings: Renderings,
    trust: Trust,
    arguments: dict[str, Any],
    token: types.ProgressToken | None,
) -> dict[str, Any]:
    """Ask the model about what the preview shows, and return its answer, which is stored.

    With `follow`, its text is sent under that name as it arrives. A client without panels shows progress,
    and can cancel there. Raises UserError if the prompt does not render or the model does not answer.
    """
    path = prompt_path(context, arguments)
    await trust.left_out(path)
    snapshot = context.snapshot
    outcome = await rendering_to_show(snapshot, path, arguments, partial(renderings.render, snapshot))
    request = request_to_ask(context, arguments, outcome)
    if request.is_model_of_folder and not await trust.may_run(
        [path], lambda: FolderCode(models=(request.model,))
    ):
        raise trust.refuse("a model that the folder names is not asked", [path])
    if not await may_send_keys(request.access(), context.confirmed):
        return {"answer": None, "message": NOT_SENT}
    follow = optional(arguments, "follow", str)

    def notify(text: str) -> None:
        if follow is not None:
            context.notify(ANSWER_TEXT, {"follow": follow, "text": text})

    if context.capabilities.panels:
        return {**await answer_of(request, notify, context.confirmed, editor_of(context))}
    async with progress(context, token, f"Asking {request.model}", percentage=None) as shown:
        answered = await shown.run(answer_of(request, notify, context.confirmed, editor_of(context)))
    if answered is None:
        return {"answer": None, "message": "cancelled"}
    result: dict[str, Any] = {**answered}
    answer = answered["answer"]
    if answer is not None:
        heading = f"# {markdown_text(answer['model'])}: {markdown_text(answer['sample'])}\n\n"
        result["document"] = show_text(context, path, "answer", heading + answer["response"])
    return result


def request_to_ask(
    context: Context, arguments: dict[str, Any], outcome: Rendering | RenderFailure | None = None
) -> AskRequest:
    """Return the request that the arguments describe; without an outcome, what it needs."""
    return replace(
        request_about(context.snapshot, prompt_path(context, arguments), arguments, outcome),
        yes=arguments.get("yes") is True,
        editor=context.capabilities.models,
        secrets=secrets_in(arguments),
    )


async def preview_answers(
    context: Context, renderings: Renderings, arguments: dict[str, Any]
) -> preview_wire.AnswersResult:
    """Return the stored answers to what the preview shows, and the models that can be asked."""
    path, snapshot = prompt_path(context, arguments), context.snapshot
    return await answers_of(snapshot, path, arguments, partial(renderings.render, snapshot))


async def save_data(context: Context, arguments: dict[str, Any]) -> preview_wire.SaveResult:
    """Add data to the samples, the examples or the dataset of the prompt, and say where it is then.

    Files that are open in the editor are edited there; others are written. `saved_data` has the arguments.
    """
    path, snapshot = prompt_path(context, arguments), context.snapshot
    saved = saved_data(snapshot, path, arguments)
    opened = {**snapshot.auxiliary, **snapshot.open_files}
    for file, text in saved.texts.items():
        if file not in opened:
            write_text(Path(file), text)
            context.workspace.file_changed(file)
    context.workspace.disk_changed()
    for file, text in saved.texts.items():
        if file in opened:
            await _edit(context, file, opened[file].template.source, text, "Save data of the preview")
    return {"message": saved.message, "sample": saved.sample}


async def apply_truncation(context: Context, arguments: dict[str, Any]) -> preview_wire.SaveResult:
    """Write a `limit` and a `step` of the truncation lab into the header of the prompt, in the editor.

    Raises UserError if the header has no place for them.
    """
    path, snapshot = prompt_path(context, arguments), context.snapshot
    saved = saved_truncation(snapshot, path, arguments)
    template = snapshot.template(path)
    assert template is not None
    await _edit(context, path, template.source, saved.texts[path], "Apply limit and step")
    return {"message": saved.message, "sample": None}


async def _edit(context: Context, path: str, source: Source, text: str, label: str) -> None:
    change = workspace_edit(context, path, line_edits(source.text, text))
    answer = await context.server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(change, label))
    if not answer.applied:
        raise UserError("the editor did not apply the change", FilePlace(path))
