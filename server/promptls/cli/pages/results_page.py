"""A results page in a browser: the runs it shows, its requests, and the rows it runs again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.input.trust import is_trusted, refused
from promptls.cli.pages.shown_page import ShownPage
from promptls.experiments.client import plan_in_process
from promptls.experiments.folder_code import code_of_run, folders_of_run
from promptls.experiments.history import last_run
from promptls.experiments.run_protocol import RunRequest
from promptls.ide.code_lenses import plan_text
from promptls.text.errors import UsageError, optional
from promptls.text.format import plural

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

    from promptls.cli.pages.live_results import LiveResults


class ResultsPage(ShownPage):
    """One page: it is shown the runs that it chose, and the newest one where it has shown that so far."""

    def __init__(self, live: LiveResults, connection: ServerConnection, asked: Mapping[str, Any]) -> None:
        super().__init__(connection)
        self._live: Final = live
        self._asked = asked
        self._follows = False
        self._has_shown = False
        self._numbers: Final = itertools.count(1)
        self._questions: Final[dict[int, asyncio.Future[bool]]] = {}
        self.prompts: frozenset[str] = frozenset()
        """The prompts of the runs that are shown."""

    def receive(self, message: dict[str, Any]) -> None:
        """Take what the page chose, or answer what it asks."""
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
            for number, question in self._questions.items():
                if number == message.get("id") and not question.done():
                    question.set_result(message.get("yes") is True)
        elif kind == "cancelRun":
            self._live.cancel(str(message.get("id")))

    # -- what is shown ---------------------------------------------------------------

    def _choose(self, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        self._follows = False
        self.refresh()

    async def show(self) -> None:
        """Show what is known at once, and then the whole, unless something else is wanted meanwhile."""
        asked = self._asked
        prompt = optional(asked, "path", str)
        if prompt is not None and last_run(Path(prompt)) is None:
            self.prompts = frozenset([prompt])
            self._follows = True
            await self.send({"type": "nothing", "prompt": prompt, "name": Path(prompt).name})
            return
        view = await self._live.view({**asked, "quick": True})
        newest = view["history"][-1]["path"] if view["history"] else None
        if self._follows and newest not in {None, view["runs"][-1]["path"]}:
            # A run has ended since: it takes the place of the one that was the newest.
            asked = self._asked = {"run": newest}
            view = await self._live.view({**asked, "quick": True})
        self._follows = newest == view["runs"][-1]["path"]
        self.prompts = frozenset(run["prompt"] for run in view["runs"])
        self._has_shown = True
        await self.send({"type": "show", "view": view})
        if asked is self._asked:
            await self.send({"type": "show", "view": await self._live.view(asked)})

    # -- what is asked ---------------------------------------------------------------

    async def answered(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a question about the runs; raises UserError."""
        return await self._live.answer(question, argument)

    async def _run_again(self, message: dict[str, Any]) -> None:
        """Run an experiment of a prompt that is shown, once the reader has said yes to what it takes."""
        try:
            request = self._request(message)
            await self.send({"type": "planning"})
            planned = await plan_in_process(request)
            again = " again" if self._has_shown else ""
            title = f"Run {plural(planned.rows, 'row')} of {planned.experiment}{again}?"
            if not await self._agrees(title, plan_text(planned)):
                return
            table = await self._live.run(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page must be told
            await self.send(self.failed(error))
        else:
            self._choose({"run": table})

    def _request(self, message: dict[str, Any]) -> RunRequest:
        prompt = optional(message, "prompt", str)
        if prompt not in self.prompts or prompt is None:
            raise UsageError("only the prompts whose runs are shown are run from here")
        request = RunRequest(
            prompt=prompt,
            experiment=optional(message, "experiment", str),
            rows=optional(message, "rows", str),
            yes=True,
            models_base=str(Path.cwd()),
        )
        folders = folders_of_run(request)
        if not is_trusted(folders, this_time=self._live.trusted):
            raise refused(folders[0], code_of_run(request))
        return request

    async def _agrees(self, title: str, words: str) -> bool:
        number = next(self._numbers)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[number] = answer
        try:
            await self.send({"type": "question", "id": number, "title": title, "words": words})
            return await answer
        finally:
            del self._questions[number]
