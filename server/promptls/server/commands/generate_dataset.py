"""Generation of test data from documents, in its own process, and the keys that commands need."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.experiments.access import NOT_SENT, may_send_keys
from promptls.experiments.client import RUNS, plan_in_process, run_in_process
from promptls.experiments.run_protocol import Event, Planned, ProcessRequest, RowFinished
from promptls.preview.asking import ANSWERS
from promptls.security.trust import FolderCode
from promptls.server import command_types
from promptls.server.commands.model_questions import request_to_ask
from promptls.server.commands.runs import editor_of, run_request, secrets_in
from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.server.progress import WorkDoneProgress, progress
from promptls.server.to_proto import path_of, uri_of
from promptls.text.errors import UsageError, optional

if TYPE_CHECKING:
    from promptls.testset.generation import GenerationRequest


_MAKE_IT: Final = "Make it"


async def generate_dataset(
    context: Context, trust: Trust, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """Return the dataset's `uri`, its `rows`, and a `message` that summarizes the generation.

    `documents` are the URIs of files and folders, `output` that of the dataset and `graph` that of a graph.
    `size`, `model`, `distribution`, `seed`, `embeddings` and `force` are as on the command line. With
    `onlyPlan`, return the planned calls and their cost. Raises UserError if no dataset can be generated;
    if the user cancels, the result is `cancelled`.
    """
    from promptls.testset.generation import GENERATION

    request = generation_request(context, arguments)
    files = [request.output]
    if not await trust.may_run(files, partial(_code, request)):
        raise trust.refuse("test data is not made", files)
    if arguments.get("onlyPlan") is True:
        planned = await plan_in_process(request, GENERATION)
        return {**asdict(planned), "message": _plan_text(planned)}
    if not await may_send_keys(await asyncio.to_thread(GENERATION.access, request), context.confirmed):
        return {"uri": "", "rows": 0, "cancelled": True, "message": NOT_SENT}
    async with progress(context, token, f"Making {Path(request.output).name}") as shown:
        watch = _Watch(context, shown)
        finished = await shown.run(
            run_in_process(request, watch.see, watch.may_spend, editor_of(context), GENERATION)
        )
    if finished is None:
        return {"uri": "", "rows": 0, "cancelled": True, "message": watch.message}
    manifest = finished.manifest
    uri = uri_of(finished.results)
    if not context.capabilities.panels:
        message = types.ShowMessageParams(types.MessageType.Info, manifest["message"])
        context.server.window_show_message(message)
        if context.capabilities.shows_documents:
            # Not waited for: some clients open nothing before they have the command's result.
            context.start(_open(context, uri), "the opening of a dataset")
    return {**manifest, "uri": uri, "cancelled": False}


def _code(request: GenerationRequest) -> FolderCode:
    from promptls.testset.generation import model_of

    return FolderCode(models=(model_of(request).name,))


async def _open(context: Context, uri: str) -> None:
    await context.server.window_show_document_async(types.ShowDocumentParams(uri))


def generation_request(context: Context, arguments: dict[str, Any]) -> GenerationRequest:
    """Return the request that the arguments describe; raises `UsageError` in an untrusted workspace."""
    from promptls.testset.generation import GenerationRequest

    documents = [path_of(str(each)) for each in optional(arguments, "documents", list) or ()]
    output = optional(arguments, "output", str)
    if output is None:
        raise UsageError("the command needs the file of the dataset", remedy='pass {"output": "file:///…"}')
    size = optional(arguments, "size", int)
    graph = optional(arguments, "graph", str)
    path = Path(path_of(output))
    root = next((root for root in context.snapshot.roots if path.is_relative_to(root)), path.parent)
    return GenerationRequest(
        documents=documents,
        output=str(path),
        size=20 if size is None else max(size, 1),
        model=optional(arguments, "model", str),
        distribution=optional(arguments, "distribution", str),
        seed=optional(arguments, "seed", int) or 0,
        graph=path_of(graph) if graph is not None else None,
        embeddings=arguments.get("embeddings") is not False,
        force=arguments.get("force") is True,
        yes=arguments.get("yes") is True,
        base=str(root),
        editor=context.capabilities.models,
        secrets=secrets_in(arguments),
    )


class _Watch:
    """Shows the events as progress, and asks the user before expensive calls."""

    def __init__(self, context: Context, shown: WorkDoneProgress) -> None:
        self._context = context
        self._shown = shown
        self.message = "Nothing was made, and nothing was spent."

    def see(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Planned):
            self._shown.report(_plan_text(event), 0)
        elif isinstance(event, RowFinished):
            self.message = (
                f"Making the dataset was cancelled after {event.done} of {event.total} queries; what was "
                "answered is kept for the next time."
            )
            done = f"{event.done} of {event.total} queries"
            self._shown.report(f"{done}, {event.left:.0f} s left", 100 * event.done // max(event.total, 1))

    async def may_spend(self, planned: Planned) -> bool:
        """Ask the user whether expensive calls may be made."""
        question = str(planned.question).removesuffix(" Run it?")
        self._shown.is_cancelled = not await self._context.confirmed(f"{question}.", _MAKE_IT)
        return not self._shown.is_cancelled


def _plan_text(planned: Planned) -> str:
    return f"{planned.rows} queries; {planned.calls} calls to make, {planned.cached} already answered"


async def key_variables(
    context: Context, trust: Trust, arguments: dict[str, Any]
) -> command_types.KeyVariablesResult:
    """Return the names of the variables for the `command` with these `arguments`.

    Raises `UsageError` if the command itself would, since no keys are needed then.
    """
    from promptls.testset.generation import GENERATION

    command = optional(arguments, "command", str)
    request_arguments = optional(arguments, "arguments", dict) or {}
    request: ProcessRequest
    if command == "promptls.generateDataset":
        program, request = GENERATION, generation_request(context, request_arguments)
    elif command == "promptls.ask":
        program, request = ANSWERS, request_to_ask(context, request_arguments)
    else:
        program, request = RUNS, await run_request(context, trust, request_arguments)
    return {"variables": sorted(await asyncio.to_thread(program.named_variables, request))}
