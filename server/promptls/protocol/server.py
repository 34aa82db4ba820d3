"""The language server: made with its handlers, and run on the standard streams."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Protocol

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from promptls import __version__
from promptls.protocol.dispatch import ExpectedAnswers, isolated
from promptls.protocol.method_table import METHODS
from promptls.protocol.stdio import StandardInput, StandardOutput, claim_output
from promptls.protocol.wire import PromptProtocol

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)


class Input(Protocol):
    """Where the client's messages come from."""

    def has_more(self) -> bool:
        """Whether further messages wait to be read; False where that cannot be known."""


class PromptServer(LanguageServer):
    """pygls's server with one session."""

    protocol: PromptProtocol

    def __init__(self) -> None:
        self.input: Input | None = None
        self.leave: Callable[[int], object] = self._leave_process
        """Ends what `exit` ends, with the code that the protocol names."""
        super().__init__(
            "promptls",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=PromptProtocol,
            converter_factory=default_converter,
        )

    @cached_property
    def session(self) -> Session:
        """The client's session, begun when it is first needed: after `initialize` was answered."""
        from promptls.protocol.session import Session

        return Session(self)

    async def end(self) -> None:
        """End the session, if there is one, with all its work and processes."""
        if "session" in self.__dict__:
            await self.session.close()

    def _leave_process(self, code: int) -> NoReturn:
        if isinstance(self.protocol.writer, StandardOutput):
            self.protocol.writer.close()
        sys.exit(code)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what pygls would show to the user in a popup; the errors of requests are answers already."""
        if source is not FeatureRequestError:
            log.error("%s: %s", source.__name__, error)


def create_server() -> PromptServer:
    """A server with all its handlers, ready to be connected."""
    server = PromptServer()
    protocol = server.protocol
    for method in METHODS:
        handler = isolated(server, method)
        server.feature(method.name, method.options() if method.options else None)(handler)
        if method.form == "json":
            protocol.json_handlers[method.name] = handler
        if method.name.startswith(("textDocument/", "workspace/")):
            # pygls would keep documents and folders too, and in its own way.
            protocol.fm.builtin_features.pop(method.name, None)
    return server


def run_stdio() -> None:
    """Serve on the standard streams until the client leaves; exits with the code that the protocol names."""
    set_up_logging()
    # Files are held as many small objects that live long. Looking through all of them for unused cycles
    # takes tens of milliseconds, and by default happens every few keystrokes.
    gc.set_threshold(50_000, 50, 100)
    asyncio.run(_serve_stdio())


def set_up_logging() -> None:
    """Log to the standard errors what goes wrong, and nothing of what the messages hold."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(ExpectedAnswers())


async def _serve_stdio() -> None:
    server = create_server()
    server.protocol.set_writer(StandardOutput(claim_output()))
    source = StandardInput(sys.stdin.fileno(), server.protocol)
    server.input = source
    source.start()
    await source.ended.wait()
    log.warning("the client has closed the stream without saying that it leaves")
    await server.end()
