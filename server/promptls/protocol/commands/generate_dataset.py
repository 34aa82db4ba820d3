"""`promptls.generateDataset`: a test data set out of documents, made in a process of its own."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol.client.editor_models import editor_of
from promptls.protocol.client.progress import Progress, progress
from promptls.protocol.convert import path_of, uri_of
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse

if TYPE_CHECKING:
    from promptls.experiments.events import Event, Planned
    from promptls.generation.request import GenerationRequest
    from promptls.protocol.session import Session

_PROCESS: Final = "promptls.generation.process"
_MAKE_IT: Final = "Make it"


async def generate_dataset(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The data set's `uri`, its `rows`, and what was made and left out in a `message`.

    `documents` are the URIs of files and folders, `output` that of the data set and `graph` that of a graph.
    `size`, `model`, `distribution`, `seed`, `embeddings` and `force` are as on the command line. With
    `onlyPlan`, it says what it would do and cost. Raises Failure where no data set can be made; one that the
    user has cancelled is `cancelled`.
    """
    from promptls.experiments.client import plan_in_process, run_in_process

    request = _request(session, arguments)
    if arguments.get("onlyPlan") is True:
        planned = await plan_in_process(request, _PROCESS)
        return {**asdict(planned), "message": _plan_words(planned)}
    async with progress(session, token, f"Making {Path(request.output).name}") as shown:
        watch = _Watch(session, shown)
        run = asyncio.ensure_future(
            run_in_process(request, watch.see, watch.may_spend, editor_of(session), _PROCESS)
        )

        def cancel() -> None:
            watch.is_ended = True
            run.cancel()

        shown.when_cancelled(cancel)
        try:
            finished = await run
        except asyncio.CancelledError:
            if not watch.is_ended:
                raise
            return {"uri": "", "rows": 0, "cancelled": True, "message": watch.words}
    manifest = finished.manifest
    uri = uri_of(finished.results)
    if not session.flags.panels:
        message = types.ShowMessageParams(types.MessageType.Info, manifest["message"])
        session.server.window_show_message(message)
        if session.flags.shows_documents:
            # Not waited for: some clients open nothing before they have the command's result.
            session.start(_open(session, uri), "the opening of a data set")
    return {**manifest, "uri": uri, "cancelled": False}


async def _open(session: Session, uri: str) -> None:
    await session.server.window_show_document_async(types.ShowDocumentParams(uri))


def _request(session: Session, arguments: dict[str, Any]) -> GenerationRequest:
    from promptls.generation.request import GenerationRequest

    documents = [path_of(str(each)) for each in optional(arguments, "documents", list) or ()]
    output = optional(arguments, "output", str)
    if output is None:
        raise WrongUse("the command needs the file of the data set", remedy='pass {"output": "file:///…"}')
    if session.trusted is False:
        raise WrongUse(
            "test data is not made in a workspace that is not trusted",
            remedy="trust the workspace first: its settings say which models are asked",
        )
    size = optional(arguments, "size", int)
    graph = optional(arguments, "graph", str)
    secrets = optional(arguments, "secrets", dict) or {}
    path = Path(path_of(output))
    root = next((root for root in session.snapshot.roots if path.is_relative_to(root)), path.parent)
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
        editor=session.flags.models,
        secrets={str(name): str(value) for name, value in secrets.items()},
    )


class _Watch:
    """Shows the events as progress, and asks before much is spent."""

    def __init__(self, session: Session, shown: Progress) -> None:
        self._session = session
        self._shown = shown
        self.is_ended = False
        self.words = "Nothing was made, and nothing was spent."

    def see(self, event: Event) -> None:
        """Take the next event."""
        from promptls.experiments.events import Planned, RowFinished

        if isinstance(event, Planned):
            self._shown.report(_plan_words(event), 0)
        elif isinstance(event, RowFinished):
            self.words = (
                f"Making the data set was cancelled after {event.done} of {event.total} queries; what was "
                "answered is kept for the next time."
            )
            told = f"{event.done} of {event.total} queries"
            self._shown.report(f"{told}, {event.left:.0f} s left", 100 * event.done // max(event.total, 1))

    async def may_spend(self, planned: Planned) -> bool:
        """Whether the user lets the calls be made that cost much."""
        make_it = types.MessageActionItem(_MAKE_IT)
        question = str(planned.question).removesuffix(" Run it?")
        answer = await self._session.server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                types.MessageType.Warning, f"{question}.", [make_it, types.MessageActionItem("Cancel")]
            )
        )
        self.is_ended = answer is None or answer.title != _MAKE_IT
        return not self.is_ended


def _plan_words(planned: Planned) -> str:
    return f"{planned.rows} queries; {planned.calls} calls to make, {planned.cached} answered before"
