"""The data about one client that handlers and components share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, ParamSpec

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from promptls.semantic.kind import Kind
from promptls.server.capabilities import ClientCapabilities
from promptls.server.to_proto import is_file, path_of, uri_of
from promptls.text.positions import PositionEncoding
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

log = logging.getLogger(__name__)
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Context:
    """One client: its workspace, its capabilities, and how to reach it. Used on the event loop only."""

    server: LanguageServer
    workspace: Workspace
    capabilities: ClientCapabilities
    encoding: PositionEncoding
    """What the columns of positions count."""
    uris: dict[str, str] = field(default_factory=dict)
    """The URIs of open documents as the client writes them, by path."""
    reported: set[str] = field(default_factory=set)
    """The problems that were logged for the user, each once."""
    shown_files: set[Path] = field(default_factory=set)
    """The files written to show texts to the user."""
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    """The work in the background."""

    @property
    def snapshot(self) -> Snapshot:
        """The workspace as it is now."""
        return self.workspace.snapshot

    # -- files --------------------------------------------------------------------

    def uri_of(self, path: str) -> str:
        """Return the URI of a file, as the client writes it if the file is open."""
        return self.uris.get(path) or uri_of(path)

    def kind(self, path: str) -> Kind:
        """Return the kind of a file; `OTHER` if neither its name nor a setting makes it a prompt.

        JSON files count, because Ragas saves its prompts there.
        """
        if path in self.snapshot.auxiliary:
            return Kind.OTHER
        named = has_prompt_name(path) or path.lower().endswith(".json") or not is_file(path)
        if named or self.snapshot.project(path).includes(path):
            return self.snapshot.kind(path)
        return Kind.OTHER

    def is_checked(self, path: str) -> bool:
        """Return whether a file is a prompt, or has a finding that explains why it is not one."""
        if self.kind(path) is not Kind.OTHER:
            return True
        if not has_prompt_name(path) and path not in self.snapshot.open_files:
            return False
        from promptls.lint.runner import check

        return bool(check(self.snapshot, path))

    def prompt_path(self, uri: str) -> str | None:
        """Return the path of a prompt file; None if the URI is not that of a prompt."""
        path = path_of(uri)
        return None if self.kind(path) is Kind.OTHER else path

    # -- the client -----------------------------------------------------------------

    def notify(self, method: str, params: Any) -> None:
        """Send a notification; the parameters are plain JSON or of the type of the method."""
        self.server.protocol.notify(method, params)

    def log(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Put a message into the client's log."""
        self.server.window_log_message(types.LogMessageParams(kind, message))

    def refresh_inlay_hints(self) -> None:
        """Have the client request its inlay hints again, if it supports that."""
        if self.capabilities.refreshes_inlay_hints:
            self.server.workspace_inlay_hint_refresh(None)

    def refresh_code_lenses(self) -> None:
        """Have the client request its code lenses again, if it supports that."""
        if self.capabilities.refreshes_code_lenses:
            self.server.workspace_code_lens_refresh(None)

    async def confirmed(self, question: str, action: str) -> bool:
        """Ask the user a question; return whether the answer is the action."""
        actions = [types.MessageActionItem(action), types.MessageActionItem("Cancel")]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, question, actions)
        answer = await self.server.window_show_message_request_async(params)
        return answer is not None and answer.title == action

    # -- work -----------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` in the background; an exception is logged under its name."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)

        def finished(done: asyncio.Task[None]) -> None:
            self.tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("%s failed", name, exc_info=error)

        task.add_done_callback(finished)
        return task


class Event(Generic[P]):
    """Something that happens; call it with a callback to subscribe, as in `documents.on_change(refresh)`."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, object]] = []

    def __call__(self, callback: Callable[P, object]) -> None:
        """Call `callback` from now on, after those that subscribed before."""
        self._callbacks.append(callback)

    def emit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the subscribers."""
        for callback in self._callbacks:
            callback(*args, **kwargs)
