"""The language server: made with its handlers, and run on the standard streams."""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import partial

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from promptls import __version__
from promptls.protocol.dispatch import ExpectedAnswers, isolated
from promptls.protocol.method_table import JSON_METHODS, METHODS
from promptls.protocol.session import Session
from promptls.protocol.stdio import StandardInput, StandardOutput, claim_output
from promptls.protocol.wire import PromptProtocol

log = logging.getLogger(__name__)


class PromptServer(LanguageServer):
    """pygls's server with one session."""

    protocol: PromptProtocol

    def __init__(self) -> None:
        super().__init__(
            "promptls",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=PromptProtocol,
            converter_factory=default_converter,
        )
        self.session = Session(self)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what pygls would show to the user in a popup."""
        log.error("%s: %s", source.__name__, error)


def create_server() -> PromptServer:
    """A server with all its handlers, ready to be connected."""
    server = PromptServer()
    protocol = server.protocol
    for method in METHODS:
        handler = isolated(server.session, method.name, method.handler)
        options = method.options() if method.options else None
        server.feature(method.name, options)(handler)
        if method.name.startswith(("textDocument/", "workspace/")):
            protocol.fm.builtin_features.pop(method.name, None)
    for name, json_handler, json_options in JSON_METHODS:
        protocol.json_handlers[name] = partial(json_handler, server.session)
        server.feature(name, json_options() if json_options else None)(protocol.json_handlers[name])
        protocol.fm.builtin_features.pop(name, None)
    return server


def run_stdio() -> None:
    """Serve on the standard streams until the client leaves; exits with the code that the protocol names."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(ExpectedAnswers())
    asyncio.run(_serve_stdio())


async def _serve_stdio() -> None:
    server = create_server()
    server.protocol.set_writer(StandardOutput(claim_output()))
    source = StandardInput(sys.stdin.fileno(), server.protocol.receive)
    server.session.input = source
    source.start()
    await source.ended.wait()
    log.warning("the client has closed the stream without saying that it leaves")
    await server.session.close()
