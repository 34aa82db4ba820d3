"""The live results of runs for pages in a browser, including running rows again."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.pages.conversation import talk_among
from promptls.cli.pages.results_page import ResultsPage
from promptls.experiments.client import run_in_process
from promptls.results_view import wire
from promptls.results_view.going_on import RunsGoingOn
from promptls.security.files import read_bytes
from promptls.security.private_files import TEMPORARY_PREFIX
from promptls.text.errors import UsageError, UserError

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

    from promptls.experiments.run_protocol import RunRequest
    from promptls.results_view.client import ResultsProcess

_POLL_SECONDS: Final = 0.3
"""How often the folder of the runs is looked at: this also notices changes on network drives."""
_QUESTIONS: Final = frozenset({"rows", "pairs", "messages", "note", "numbers"})
"""What a page may ask of the process that reads runs, as it is."""


class LiveResults:
    """The runs of one folder for any number of pages."""

    def __init__(
        self, asked: Mapping[str, Any], folder: Path, process: ResultsProcess, *, trusted: bool = False
    ) -> None:
        """`asked` is what a page shows first, as for the question `view`; `folder` is that of the runs.

        With `trusted`, experiments are run again whatever the user has decided on their folder.
        """
        self.trusted: Final = trusted
        self._asked: Final = asked
        self._folder: Final = folder
        self._process: Final = process
        self._going_on: Final = RunsGoingOn(folder)
        self._own: Final[dict[str, asyncio.Task[Any]]] = {}
        self._pages: Final[set[ResultsPage]] = set()
        self._running: list[wire.RunningRun] = []

    async def converse(self, connection: ServerConnection) -> None:
        """Talk with a page until it is closed."""
        await talk_among(self._pages, ResultsPage(self, connection, self._asked))

    async def watch(self) -> None:
        """Tell the pages of runs that go on, and of files that have changed, until cancelled."""
        before = self._stamps()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            found = self._going_on.look()
            running = [each.as_json(can_cancel=str(each.path) in self._own) for each in found]
            if running != self._running:
                self._running = running
                self._tell_running()
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

    def _tell_running(self) -> None:
        message = self.running_message()
        for page in self._pages:
            page.start(page.send(message))

    # -- what pages ask for ------------------------------------------------------------

    def running_message(self) -> dict[str, Any]:
        """Return what a page is told of the runs that go on."""
        return {"type": "running", "runs": self._running}

    async def view(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the view of the runs that are asked for; raises UserError where they cannot be shown."""
        return await self._process.ask("view", asked)

    async def answer(self, question: str, argument: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a page's question; raises UserError."""
        if question == "export":
            return await self._exported(argument)
        if question not in _QUESTIONS:
            raise UsageError(f"there is no question `{question}`")
        return await self._process.ask(question, argument)

    async def _exported(self, argument: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rows as the `text` of a file, which the browser saves."""
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX) as folder:
            target = Path(folder) / "rows"
            answer = await self._process.ask("export", {**argument, "to": str(target)})
            return {**answer, "text": read_bytes(target).decode("utf-8", "replace")}

    async def run(self, request: RunRequest) -> str:
        """Return the table of the run, once it has ended; raises UserError, also where it is cancelled.

        It goes on when the page that asked for it is closed.
        """
        from promptls.experiments.run_protocol import Event, Started

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
                "the run was cancelled, and its finished rows are kept",
                remedy=f"go on with it: `promptls run --resume {names[0]}`" if names else None,
            )
        return task.result().results

    def cancel(self, path: str) -> None:
        """End the run of this path, if it was begun here."""
        if path in self._own:
            self._own[path].cancel()


def _stamp(path: Path) -> Iterator[tuple[int, int]]:
    try:
        state = path.stat()
    except OSError:
        return
    yield state.st_mtime_ns, state.st_size
