"""The live preview of a file on disk, with the truncation lab, for pages in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.server import ServerConnection

from promptls.cli.pages.page_server import PageConversation, ShownPage, sentence, talk_among
from promptls.cli.permission import untrusted_error
from promptls.experiments.access import NOT_SENT, may_send_keys
from promptls.experiments.single_answer import AskRequest
from promptls.preview import preview_wire
from promptls.preview.asking import STOPPED, answer_of, answers_of, request_about
from promptls.preview.preview_answers import (
    committed_rendering,
    lab_answer,
    rendering_to_show,
    rows_of,
    tokens_of,
)
from promptls.preview.preview_result import (
    RenderingChoice,
    preview_job,
    preview_result,
    sample_to_show,
)
from promptls.preview.saved_data import saved_data, saved_truncation, write_text
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import dataset_path
from promptls.rendering.worker import Notify, RenderWorker
from promptls.security.files import Stamp, stamp_of
from promptls.security.trust import FolderCode
from promptls.text.errors import UsageError, UserError, optional
from promptls.workspace.contract import functions_path
from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE, folder_to_trust
from promptls.workspace.workspace import Workspace

_POLL_SECONDS: Final = 0.15
"""The interval of polling the files, which also detects changes on network drives."""


class LivePreview:
    """The preview of one prompt file in any number of pages."""

    def __init__(
        self, workspace: Workspace, path: str, worker: RenderWorker, choice: RenderingChoice
    ) -> None:
        self.path: Final = path
        self._workspace: Final = workspace
        self._worker: Final = worker
        self._choice: Final = choice
        self._pages: Final[set[PageConversation]] = set()
        self._files: set[str] = {path}

    async def converse(self, connection: ServerConnection) -> None:
        """Serve a page of the preview until it is closed."""
        await talk_among(self._pages, PreviewPage(self, connection, self._choice))

    async def converse_lab(self, connection: ServerConnection) -> None:
        """Serve a page of the truncation lab until it is closed."""
        await talk_among(self._pages, LabConversation(self.explore, self.apply_truncation, connection))

    async def watch(self) -> None:
        """Update the rendering whenever one of its files changes, until cancelled."""
        before = self._stamps()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            after = self._stamps()
            if before != after:
                for path in self._files:
                    self._workspace.file_changed(path)
                self._workspace.disk_changed()
                self._workspace.settings_changed()
                for page in self._pages:
                    page.refresh()
                after = self._stamps()
            before = after

    def _stamps(self) -> dict[str, Stamp | None]:
        """Return the time and size of each file, and of its folder: a missing file may be created."""
        watched = {*self._files, *(str(Path(file).parent) for file in self._files)}
        return {file: stamp_of(file) for file in watched}

    # -- what a page is shown --------------------------------------------------------

    async def result(self, choice: RenderingChoice) -> preview_wire.PreviewResult:
        """Return the rendering with the reader's choices; raises UserError if its data are unavailable."""
        snapshot = self._workspace.snapshot
        self._files = set(self._made_from())
        sample = sample_to_show(snapshot, self.path, choice)
        job = preview_job(snapshot, self.path, sample, choice)
        made = FileRendering(job, sample, await self._worker.render(job))
        if made.rendering is not None:
            self._files |= set(made.rendering.files)
        return preview_result(snapshot, self.path, made, _uri)

    async def explore(self, options: Mapping[str, Any], notify: Notify) -> preview_wire.LabResult:
        """Return the result of the truncation lab; raises UserError if there is nothing to explore."""
        snapshot = self._workspace.snapshot
        self._files |= set(self._made_from())
        data = self._choice.data
        return await lab_answer(snapshot, self.path, _uri(self.path), options, data, notify)

    def apply_truncation(self, argument: dict[str, Any]) -> None:
        """Write a limit and a step of the truncation lab into the prompt's header; raises UserError."""
        saved = saved_truncation(self._workspace.snapshot, self.path, argument)
        write_text(Path(self.path), saved.texts[self.path])

    async def answer(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the response to a page's request; raises UserError."""
        snapshot = self._workspace.snapshot
        if question == "tokens":
            return await tokens_of(self._worker, argument)
        if question == "rows":
            return await rows_of(snapshot, self.path, argument)
        if question == "committed":
            return await committed_rendering(snapshot, self.path, argument, self._worker.render)
        if question == "answers":
            return await answers_of(snapshot, self.path, argument, self._worker.render)
        if question == "save":
            return self._save(argument)
        if question == "source":
            return self._source(optional(argument, "of", str) or self.path)
        raise UsageError(f"there is no question `{question}`")

    async def request(self, argument: dict[str, Any]) -> AskRequest:
        """Return the request for an answer to what a page shows.

        Raises UserError if the prompt does not render, and UsageError for a model of an untrusted folder.
        """
        snapshot = self._workspace.snapshot
        outcome = await rendering_to_show(snapshot, self.path, argument, self._worker.render)
        request = request_about(snapshot, self.path, argument, outcome)
        if request.is_model_of_folder and not snapshot.trusts(self.path):
            raise untrusted_error(folder_to_trust(Path(self.path)), FolderCode(models=(request.model,)))
        return request

    def _save(self, argument: dict[str, Any]) -> preview_wire.SaveResult:
        saved = saved_data(self._workspace.snapshot, self.path, argument)
        for file, text in saved.texts.items():
            write_text(Path(file), text)
        return {"message": saved.message, "sample": saved.sample}

    def _source(self, of: str) -> preview_wire.SourceAnswer:
        """Return the text of one of the template files, by its path or URI; other files are refused."""
        snapshot = self._workspace.snapshot
        paths = (*snapshot.included(self.path), *self._files)
        path = next((each for each in paths if of in {each, _uri(each)}), None)
        template = snapshot.template(path) if path else None
        if path is None or template is None:
            raise UsageError("this is not a file of the prompt")
        return {"uri": _uri(path), "name": Path(path).name, "text": template.source.text}

    def _made_from(self) -> Iterable[str]:
        """Yield the files that the rendering depends on according to the template."""
        snapshot = self._workspace.snapshot
        yield from snapshot.included(self.path)
        template = snapshot.template(self.path)
        if template is None:
            return
        folder = Path(self.path).parent
        if template.declarations.settings.samples:
            yield str(folder / template.declarations.settings.samples)
        for other in (dataset_path(template, self.path), functions_path(snapshot, self.path)):
            if other is not None:
                yield str(other)
        yield str(folder / SETTINGS_FILE)
        project = snapshot.project(self.path)
        yield from (str(project.root / name) for name in (SETTINGS_FILE, PYPROJECT_FILE))


class PreviewPage(ShownPage):
    """One page of the preview, which shows the rendering of its choices."""

    def __init__(self, live: LivePreview, connection: ServerConnection, choice: RenderingChoice) -> None:
        super().__init__(connection)
        self._live: Final = live
        self._choice = choice
        self._asking: asyncio.Task[preview_wire.AskResult] | None = None
        self._confirmed: asyncio.Future[bool] | None = None
        self._unsent = ""
        self._sending: asyncio.Task[None] | None = None

    def receive(self, message: dict[str, Any]) -> None:
        """Handle a choice or a request of the page."""
        kind = message.get("type")
        if kind == "stop" and self._asking is not None:
            self._asking.cancel()
        if kind == "confirmed" and self._confirmed is not None and not self._confirmed.done():
            self._confirmed.set_result(message.get("yes") is True)
        if kind == "ready":
            self.refresh()
        elif kind == "choose" and isinstance(message.get("choice"), dict):
            try:
                chosen = RenderingChoice.from_json(message["choice"])
            except UsageError:
                return
            self._choice = chosen
            self.refresh()
        elif kind == "ask":
            self.start(self.answer(message))

    async def show(self) -> None:
        """Show the rendering of the page's choices."""
        await self.send({"type": "show", "result": await self._live.result(self._choice)})

    async def answered(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the response to a request about the prompt; raises UserError."""
        if question != "model":
            return await self._live.answer(question, argument)
        if self._asking is not None:
            raise UsageError("a model is being asked", remedy="stop it first")
        self._asking = asyncio.ensure_future(self._ask(argument))
        try:
            return await self._asking
        except asyncio.CancelledError:
            if self._asking is None or not self._asking.cancelled():
                raise
            return {"answer": None, "message": STOPPED}
        finally:
            self._asking.cancel()
            self._asking = None

    async def _ask(self, argument: dict[str, Any]) -> preview_wire.AskResult:
        request = await self._live.request(argument)
        if not await may_send_keys(request.access(), self._confirm):
            return {"answer": None, "message": NOT_SENT}
        result = await answer_of(request, self._show_text, self._confirm)
        if self._sending is not None:
            await self._sending
        return result

    async def _confirm(self, question: str, action: str) -> bool:
        self._confirmed = asyncio.get_running_loop().create_future()
        await self.send({"type": "confirm", "question": question, "action": action})
        return await self._confirmed

    def _show_text(self, text: str) -> None:
        self._unsent += text
        if self._sending is None or self._sending.done():
            self._sending = self.start(self._send_text())

    async def _send_text(self) -> None:
        while self._unsent:
            text, self._unsent = self._unsent, ""
            await self.send({"type": "answerText", "text": text})

    def failed(self, error: Exception) -> dict[str, Any]:
        """Return the message that the prompt could not be rendered."""
        return {**super().failed(error), "uri": _uri(self._live.path)}


def _uri(path: str) -> str:
    return Path(path).as_uri()


class LabConversation(PageConversation):
    """One page, which shows the result for its last options, and is notified when the file has changed."""

    def __init__(
        self,
        explore: Callable[[Mapping[str, Any], Notify], Awaitable[preview_wire.LabResult]],
        apply: Callable[[dict[str, Any]], None],
        connection: ServerConnection,
    ) -> None:
        super().__init__(connection)
        self._explore: Final = explore
        self._apply: Final = apply
        self._exploring: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Notify the page that the prompt has changed since the exploration."""
        self.start(self.send({"type": "stale"}))

    def receive(self, message: dict[str, Any]) -> None:
        """Explore with the page's choices, and cancel an exploration in progress; or apply a choice."""
        if message.get("type") == "apply":
            self.start(self._apply_choice(message))
        if message.get("type") not in {"ready", "explore"}:
            return
        options = message.get("options")
        if self._exploring is not None:
            self._exploring.cancel()
        self._exploring = self.start(self._show(options if isinstance(options, dict) else {}))

    async def _apply_choice(self, choice: dict[str, Any]) -> None:
        try:
            await asyncio.to_thread(self._apply, choice)
        except (UserError, OSError) as error:
            await self.send({"type": "fail", "message": sentence(error)})
        else:
            await self.send({"type": "applied"})

    async def _show(self, options: dict[str, Any]) -> None:
        def notify(what: str, done: int, count: int) -> None:
            self.start(self.send({"type": "progress", "message": f"{what}: {done} of {count}"}))

        await self.send({"type": "busy"})
        try:
            message = {"type": "show", "result": await self._explore(options, notify)}
        except Exception as error:  # noqa: BLE001 - the page must not wait forever, whatever it is
            message = {"type": "fail", "message": sentence(error)}
        await self.send(message)
