"""Trust in the files of a session, and grants to send keys: decided by the client or the user."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from promptls.security.files import ANYWHERE, reading_within
from promptls.security.trust import Decisions, FolderCode, TrustStore, covers_home, printable
from promptls.server.context import Context, Event
from promptls.text.errors import UsageError, UserError
from promptls.workspace.settings import folder_to_trust

log = logging.getLogger(__name__)

_TRUST: Final = "Trust"
_NOT_NOW: Final = "Not now"


class Trust:
    """Which folders of the session are trusted.

    A client that supports workspace trust decides alone. Otherwise, the user's decisions apply: one for all
    folders of the workspace, and one for the project of each opened file outside of them. Undecided folders
    are not trusted; the user is asked about each once per session, when something would run its code.
    The home folder is not a folder of the workspace unless the client decides on trust: some clients send it
    for each file without a project, or because it is a repository.
    """

    def __init__(self, context: Context, options: Any) -> None:
        """`options` are the initialization options of the client."""
        self._context: Final = context
        self.on_change: Event[[]] = Event()
        """The set of trusted folders has changed."""
        self._said: Final = _said(options)
        self._outside: Final[set[str]] = set()
        """The projects of opened files outside of the workspace."""
        self._this_session: Final[set[str]] = set()
        """Folders that the user trusts, for which saving the decision failed."""
        self._questions: Final[dict[tuple[str, ...], asyncio.Task[None]]] = {}

    def refresh(self) -> None:
        """Apply the current decisions of the client, or of the user."""
        workspace = self._context.workspace
        if self._said is None and any(covers_home(Path(root)) for root in workspace.snapshot.roots):
            workspace.set_roots(root for root in map(Path, workspace.snapshot.roots) if not covers_home(root))
        if self._said is not None:
            trusted, outside = self._said, None
        else:
            decisions = self._decisions()
            roots = workspace.snapshot.roots
            trusted = bool(roots) and all(self._allows(decisions, root) for root in roots)
            outside = {each: self._allows(decisions, each) for each in self._outside}
        before = workspace.snapshot
        if (before.trusted, before.trusted_outside) != (trusted, outside):
            workspace.set_trusted(trusted=trusted, outside=outside)
            if before.open_files:
                self.on_change.emit()

    def on_did_open(self, path: str) -> None:
        """Look up the decision on the project of a file outside of the workspace."""
        with reading_within(lambda: ANYWHERE):  # the user has opened the file
            self._look_up(path)

    def _look_up(self, path: str) -> None:
        if self._said is None and not self._context.snapshot.has_below_roots(path):
            self._outside.add(str(folder_to_trust(Path(path))))
            self.refresh()

    async def may_run(self, paths: Iterable[str], code_of: Callable[[], FolderCode]) -> bool:
        """Return whether code of the files' folders may run; ask the user if that is undecided.

        `code_of` returns the code that would run; a UserError that it raises is passed on. If there is none,
        the user is not asked: the work may go on, but reads only what `Snapshot.file_scope` allows.
        """
        if self._said is not None:
            return self._said
        files = list(paths)
        for path in files:
            self._look_up(path)
        if not self._trusts(files):
            self.refresh()  # the user may have decided in a terminal meanwhile
        if self._trusts(files):
            return True
        decisions = self._decisions()
        missing = tuple(each for each in self._folders_of(files) if not self._allows(decisions, each))
        if any(decisions.on(each) is False for each in missing):
            return False
        question = self._questions.get(missing)
        if question is None:
            code = code_of()
            if not code:
                return True
            asking = self._ask(missing, code)
            question = self._questions[missing] = self._context.start(asking, "the question for trust")
        await asyncio.shield(question)
        return self._trusts(files)

    @property
    def is_decided_by_client(self) -> bool:
        """Whether the client supports workspace trust, so that its decision applies to all files."""
        return self._said is not None

    async def left_out(self, path: str) -> str | None:
        """Return what is not run when the user renders the file, and why; None if everything is run.

        Ask the user if necessary, like `may_run`.
        """
        from promptls.rendering.make import code_of_rendering

        snapshot = self._context.snapshot
        if snapshot.trusts(path):
            return None
        code = code_of_rendering(snapshot, [path])
        if not code or await self.may_run([path], lambda: code):
            return None
        return f"Not trusted: {code.left_out()}; {self.remedy([path])}."

    def refuse(self, what: str, paths: Iterable[str]) -> UsageError:
        """Return the error that refuses `what`, because the files' folders are not trusted."""
        return UsageError(f"{what} in a folder that is not trusted", remedy=self.remedy(paths))

    def remedy(self, paths: Iterable[str]) -> str:
        """Return what the user can do to trust the files' folders."""
        if self._said is not None:
            return "trust the workspace first"
        return f"`promptls trust {self._folders_of(paths)[0]}` in a terminal trusts it"

    async def _ask(self, folders: Sequence[str], code: FolderCode) -> None:
        names = " and ".join(printable(folder) for folder in folders)
        message = f"{names} {'is' if len(folders) == 1 else 'are'} not trusted. promptls would {code}."
        actions = [types.MessageActionItem(_TRUST), types.MessageActionItem(_NOT_NOW)]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, message, actions)
        try:
            answer = await self._context.server.window_show_message_request_async(params)
        except Exception:  # noqa: BLE001 - a client that cannot ask the user grants no trust
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
            snapshot = self._context.snapshot
            inside = snapshot.has_below_roots(path)
            found |= dict.fromkeys(snapshot.roots if inside else [snapshot.project_outside(path)])
        return tuple(found)


def _said(options: Any) -> bool | None:
    """Return the trust option of the client: None if it is absent, and False for anything but true."""
    if not isinstance(options, dict) or "trusted" not in options:
        return None
    return options["trusted"] is True
