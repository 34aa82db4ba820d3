"""Trust in the files of a session, and grants to send keys: decided by the client or the user."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.security.trust import Decisions, FolderCode, TrustStore, printable
from promptls.server.context import Context, Event
from promptls.text.errors import UsageError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from promptls.experiments.run_protocol import ProcessRequest


log = logging.getLogger(__name__)

_TRUST: Final = "Trust"
_NOT_NOW: Final = "Not now"


class Trust:
    """Which folders of the session are trusted.

    A client that has a notion of trust decides alone. Otherwise, the user's decisions
    hold, for the folders of the workspace together, and for each folder that an opened file outside of them
    lies in. Undecided folders are not trusted; the user is asked about each once in a session, for something
    that runs its code.
    """

    def __init__(self, context: Context, options: Any) -> None:
        """`options` are the initialization options of the client."""
        self._context: Final = context
        self.on_change: Event[[]] = Event()
        """Other folders than before are trusted."""
        self._said: Final = _said(options)
        self._outside: Final[set[str]] = set()
        self._this_session: Final[set[str]] = set()
        """Folders that the user trusts, and whose decision could not be saved."""
        self._questions: Final[dict[tuple[str, ...], asyncio.Task[None]]] = {}

    def refresh(self) -> None:
        """Trust the folders that the client, or the user, trusts now."""
        workspace = self._context.workspace
        if self._said is not None:
            trusted, outside = self._said, None
        else:
            decisions = self._decisions()
            roots = workspace.snapshot.roots
            trusted = bool(roots) and all(self._allows(decisions, root) for root in roots)
            outside = frozenset(each for each in self._outside if self._allows(decisions, each))
        before = workspace.snapshot
        if (before.trusted, before.trusted_outside) != (trusted, outside):
            workspace.set_trusted(trusted=trusted, outside=outside)
            if before.open_files:
                self.on_change.emit()

    def on_did_open(self, path: str) -> None:
        """Look up the decision on the folder of a file that lies outside of the workspace."""
        if self._said is None and not self._context.snapshot.has_below_roots(path):
            self._outside.add(str(Path(path).parent))
            self.refresh()

    async def may_run(self, paths: Iterable[str], code_of: Callable[[], FolderCode]) -> bool:
        """Return whether code of the files' folders may run; ask the user if nothing is decided.

        `code_of` returns what would run. Raises UserError where it does.
        """
        if self._said is not None:
            return self._said
        files = list(paths)
        for path in files:
            self.on_did_open(path)
        if not self._trusts(files):
            self.refresh()  # the decision may have been taken in a terminal meanwhile
        if self._trusts(files):
            return True
        decisions = self._decisions()
        missing = tuple(each for each in self._folders_of(files) if not self._allows(decisions, each))
        if any(decisions.on(each) is False for each in missing):
            return False
        question = self._questions.get(missing)
        if question is None:
            asking = self._ask(missing, code_of())
            question = self._questions[missing] = self._context.start(asking, "the question for trust")
        await asyncio.shield(question)
        return self._trusts(files)

    @property
    def is_decided_by_client(self) -> bool:
        """Whether the client has a notion of trust, so that its word holds for all files."""
        return self._said is not None

    async def left_out(self, path: str) -> str | None:
        """Return what is not run when the user has the file rendered, and why; None if all of it is.

        Asks as `may_run`.
        """
        from promptls.rendering.folder_code import code_of_rendering

        snapshot = self._context.snapshot
        if snapshot.trusts(path):
            return None
        code = code_of_rendering(snapshot, [path])
        if not code or await self.may_run([path], lambda: code):
            return None
        return f"Not trusted: {code.left_out()}; {self.remedy([path])}."

    def refuse(self, what: str, paths: Iterable[str]) -> UsageError:
        """Return the error that `what` is not done, because the files' folders are not trusted."""
        return UsageError(f"{what} in a folder that is not trusted", remedy=self.remedy(paths))

    def remedy(self, paths: Iterable[str]) -> str:
        """Return what the user can do to trust the files' folders."""
        if self._said is not None:
            return "trust the workspace first"
        return f"`promptls trust {self._folders_of(paths)[0]}` in a terminal trusts it"

    async def _ask(self, folders: Sequence[str], code: FolderCode) -> None:
        names = " and ".join(printable(folder) for folder in folders)
        would = f" promptls would {code}." if code else ""
        message = f"{names} {'is' if len(folders) == 1 else 'are'} not trusted.{would}"
        actions = [types.MessageActionItem(_TRUST), types.MessageActionItem(_NOT_NOW)]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, message, actions)
        try:
            answer = await self._context.server.window_show_message_request_async(params)
        except Exception:  # noqa: BLE001 - a client that knows no questions gives no trust either
            log.warning("the client did not answer the question whether %s is trusted", names)
            return
        if answer is None or answer.title != _TRUST:
            return
        try:
            store = TrustStore()
            for folder in folders:
                store.decide(folder, trusted=True)
        except (OSError, UserError) as error:
            self._context.log(f"the decision could not be saved: {error}", types.MessageType.Warning)
            self._this_session.update(folders)
        self.refresh()

    def _decisions(self) -> Decisions:
        try:
            return TrustStore().read()
        except UserError as failure:
            if str(failure) not in self._context.reported:
                self._context.reported.add(str(failure))
                self._context.log(f"{failure.message}; {failure.remedy}", types.MessageType.Warning)
            return Decisions()

    def _allows(self, decisions: Decisions, folder: str) -> bool:
        return folder in self._this_session or decisions.on(folder) is True

    def _trusts(self, paths: Iterable[str]) -> bool:
        return all(map(self._context.snapshot.trusts, paths))

    def _folders_of(self, paths: Iterable[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for path in paths:
            inside = self._context.snapshot.has_below_roots(path)
            found |= dict.fromkeys(self._context.snapshot.roots if inside else [str(Path(path).parent)])
        return tuple(found)


def _said(options: Any) -> bool | None:
    """Return what the client says of trust; anything but a plain yes is a no, and None says nothing."""
    if not isinstance(options, dict) or "trusted" not in options:
        return None
    return options["trusted"] is True


SEND: Final = "Send"
NOT_SENT: Final = "Nothing was run, and no key was sent."
"""The message for a run that the user declined."""


async def may_send_keys(context: Context, request: ProcessRequest) -> bool:
    """Ask the user for each grant that the run needs and does not have, and remember what is given.

    Return False where the user declines. Raises UserError as `request.access` does.
    """
    from promptls.security.trust import TrustStore

    access = await asyncio.to_thread(request.access)
    for question in access.questions():
        answer = await context.server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                types.MessageType.Warning,
                question.words(),
                [types.MessageActionItem(SEND), types.MessageActionItem("Cancel")],
            )
        )
        if answer is None or answer.title != SEND:
            return False
        TrustStore().give([question.grant])
    return True
