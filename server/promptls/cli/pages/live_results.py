"""The live results of runs for pages in a browser, including rerunning rows."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.server import ServerConnection

from promptls.cli.pages.page_server import ShownPage, talk_among
from promptls.cli.permission import is_trusted, untrusted_error
from promptls.experiments.client import plan_in_process, run_in_process
from promptls.experiments.folder_code import code_of_run, folders_of_run
from promptls.experiments.history import last_run
from promptls.experiments.named_runs import find_run
from promptls.experiments.run_protocol import Event, RunRequest, Started
from promptls.ide.code_lenses import plan_text
from promptls.results_view import results_wire
from promptls.results_view.results_client import ResultsProcess
from promptls.results_view.running_runs import UnfinishedRuns
from promptls.security.files import read_bytes
from promptls.security.trust import TrustStore
from promptls.security.written_files import TEMPORARY_PREFIX
from promptls.text.errors import UsageError, UserError, optional
from promptls.text.format import plural

_POLL_SECONDS: Final = 0.3
"""The interval of polling the folder of the runs, which also detects changes on network drives."""
_QUESTIONS: Final = frozenset({"rows", "pairs", "messages", "note", "numbers"})
"""The requests of a page that are forwarded unchanged to the process that reads runs."""


class LiveResults:
    """The runs of one folder for any number of pages."""

    def __init__(
        self, arguments: Mapping[str, Any], folder: Path, process: ResultsProcess, *, trusted: bool = False
    ) -> None:
        """`arguments` are the arguments of the initial `view` request; `folder` is that of the runs.

        With `trusted`, experiments are rerun regardless of the user's decision on their folder.
        """
        self.trusted: Final = trusted
        self._arguments: Final = arguments
        self._folder: Final = folder
        self._process: Final = process
        self._unfinished: Final = UnfinishedRuns(folder)
        self._own: Final[dict[str, asyncio.Task[Any]]] = {}
        self._pages: Final[set[ResultsPage]] = set()
        self._running: list[results_wire.RunningRun] = []

    async def converse(self, connection: ServerConnection) -> None:
        """Serve a page until it is closed."""
        await talk_among(self._pages, ResultsPage(self, connection, self._arguments))

    async def watch(self) -> None:
        """Notify the pages of runs in progress, and of files that have changed, until cancelled."""
        before = self._stamps()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            found = self._unfinished.look()
            running = [each.as_json(can_cancel=str(each.path) in self._own) for each in found]
            if running != self._running:
                self._running = running
                self._notify_running()
            after = self._stamps()
            if before != after:
                before = after
                for page in self._pages:
                    page.refresh()

    async def close(self) -> None:
        """Stop the runs started here; their finished rows are already on disk."""
        tasks = list(self._own.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Return the time and size of each manifest and of the notes, and of the prompts that pages show."""
        prompts = (Path(prompt) for page in self._pages for prompt in page.prompts)
        return {
            str(path): stamp for path in [*self._folder.glob("*.json"), *prompts] for stamp in _stamp(path)
        }

    def _notify_running(self) -> None:
        message = self.running_message()
        for page in self._pages:
            page.start(page.send(message))

    # -- what pages ask for ------------------------------------------------------------

    def running_message(self) -> dict[str, Any]:
        """Return the message to pages about unfinished runs."""
        return {"type": "running", "runs": self._running}

    async def view(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the view of the requested runs; raises UserError if they cannot be shown."""
        return await self._process.ask("view", arguments)

    async def answer(self, question: str, argument: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a page's request; raises UserError."""
        if question == "export":
            return await self._exported(argument)
        if question not in _QUESTIONS:
            raise UsageError(f"there is no question `{question}`")
        return await self._process.ask(question, argument)

    async def _exported(self, argument: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rows as the `text` of a file for the browser to save."""
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX) as folder:
            target = Path(folder) / "rows"
            answer = await self._process.ask("export", {**argument, "to": str(target)})
            return {**answer, "text": read_bytes(target).decode("utf-8", "replace")}

    async def run(self, request: RunRequest) -> str:
        """Return the table of the run after it has ended; raises UserError, also if it is cancelled.

        The run continues if the page that requested it is closed.
        """
        names: list[str] = []

        def see(event: Event) -> None:
            if isinstance(event, Started):
                names.append(event.run)
                self._own[event.path] = task

        def forget(_ended: object) -> None:
            for path in [each for each, its in self._own.items() if its is task]:
                del self._own[path]

        task = asyncio.ensure_future(run_in_process(request, see))
        task.add_done_callback(forget)
        await asyncio.wait([task])
        if task.cancelled():
            raise UserError(
                "the run was cancelled; its finished rows are stored",
                remedy=f"resume it: `promptls run --resume {names[0]}`" if names else None,
            )
        return task.result().results

    def cancel(self, path: str) -> None:
        """End the run of this path, if it was started here."""
        if path in self._own:
            self._own[path].cancel()


def _stamp(path: Path) -> Iterator[tuple[int, int]]:
    try:
        state = path.stat()
    except OSError:
        return
    yield state.st_mtime_ns, state.st_size


class ResultsPage(ShownPage):
    """One page, which shows the runs that it chose, and follows the latest one if that is shown."""

    def __init__(self, live: LiveResults, connection: ServerConnection, arguments: Mapping[str, Any]) -> None:
        super().__init__(connection)
        self._live: Final = live
        self._arguments = arguments
        self._follows = False
        self._has_shown = False
        self._ids: Final = itertools.count(1)
        self._questions: Final[dict[int, asyncio.Future[bool]]] = {}
        self.prompts: frozenset[str] = frozenset()
        """The prompts of the runs that are shown."""

    def receive(self, message: dict[str, Any]) -> None:
        """Handle a choice or a request of the page."""
        kind = message.get("type")
        if kind == "ready":
            self.start(self.send(self._live.running_message()))
            self.refresh()
        elif kind == "choose" and isinstance(message.get("run"), str):
            self._choose({"run": message["run"], "against": message.get("against")})
        elif kind == "ask":
            self.start(self.answer(message))
        elif kind == "runAgain":
            self.start(self._run_again(message))
        elif kind == "confirm":
            for question_id, question in self._questions.items():
                if question_id == message.get("id") and not question.done():
                    question.set_result(message.get("yes") is True)
        elif kind == "cancelRun":
            self._live.cancel(str(message.get("id")))

    # -- what is shown ---------------------------------------------------------------

    def _choose(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._follows = False
        self.refresh()

    async def show(self) -> None:
        """Show a quick view first, then the complete one unless a different view is requested meanwhile."""
        arguments = self._arguments
        prompt = optional(arguments, "path", str)
        if prompt is not None and last_run(Path(prompt)) is None:
            self.prompts = frozenset([prompt])
            self._follows = True
            await self.send({"type": "nothing", "prompt": prompt, "name": Path(prompt).name})
            return
        view = await self._live.view({**arguments, "quick": True})
        latest = view["history"][-1]["path"] if view["history"] else None
        if self._follows and latest not in {None, view["runs"][-1]["path"]}:
            # A run has ended since: it replaces the one that was the latest.
            arguments = self._arguments = {"run": latest}
            view = await self._live.view({**arguments, "quick": True})
        self._follows = latest == view["runs"][-1]["path"]
        self.prompts = frozenset(run["prompt"] for run in view["runs"])
        self._has_shown = True
        await self.send({"type": "show", "view": view})
        if arguments is self._arguments:
            await self.send({"type": "show", "view": await self._live.view(arguments)})

    # -- questions of the page ---------------------------------------------------------------

    async def answered(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the response to a request about the runs; raises UserError."""
        return await self._live.answer(question, argument)

    async def _run_again(self, message: dict[str, Any]) -> None:
        """Run an experiment of a shown prompt, after the reader has confirmed its cost."""
        try:
            request = self._request(message)
            await self.send({"type": "planning"})
            planned = await plan_in_process(request)
            again = " again" if self._has_shown else ""
            title = f"Run {plural(planned.rows, 'row')} of {planned.experiment}{again}?"
            if request.complete:
                title = f"Run the rows of {planned.experiment} that were left out?"
            if not await self._agrees(title, plan_text(planned)):
                return
            table = await self._live.run(request)
        except Exception as error:  # noqa: BLE001 - the page must be notified, whatever it is
            await self.send(self.failed(error))
        else:
            self._choose({"run": table})

    def _request(self, message: dict[str, Any]) -> RunRequest:
        prompt = optional(message, "prompt", str)
        if prompt not in self.prompts or prompt is None:
            raise UsageError("only the prompts whose runs are shown are run from here")
        partial = optional(message, "complete", str)
        if partial is not None and str(find_run(partial).prompt) != prompt:
            raise UsageError("only the runs that are shown are completed from here")
        request = RunRequest(
            prompt="" if partial else prompt,
            experiment=None if partial else optional(message, "experiment", str),
            rows=optional(message, "rows", str),
            retry_errors=partial,
            complete=partial is not None,
            fresh=message.get("fresh") is True,
            yes=True,
            models_base=str(Path.cwd()),
        )
        folders = folders_of_run(request)
        if is_trusted(folders, this_time=self._live.trusted):
            return request
        code = code_of_run(request)
        if code or TrustStore().decision(folders) is False:
            raise untrusted_error(folders[0], code)
        return replace(request, roots=tuple(map(str, folders)))

    async def _agrees(self, title: str, message: str) -> bool:
        question_id = next(self._ids)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[question_id] = answer
        try:
            await self.send({"type": "question", "id": question_id, "title": title, "message": message})
            return await answer
        finally:
            del self._questions[question_id]
