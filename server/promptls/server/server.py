"""The language server with its handlers, and the function that runs it on the standard streams."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcContentModified, JsonRpcException
from pygls.lsp.server import LanguageServer

from promptls import __version__
from promptls.security.files import FileScope
from promptls.server.commands import COMMANDS
from promptls.server.features import ABOUT_SYMBOLS, FEATURES, Feature
from promptls.server.json_rpc import error_of
from promptls.server.protocol import PromptProtocol, make_converter
from promptls.server.stdio import StandardInput, StandardOutput, claim_output
from promptls.server.to_proto import path_of
from promptls.text.errors import UserError
from promptls.text.escape import for_message, for_terminal

if TYPE_CHECKING:
    from promptls.server.session import Session

log = logging.getLogger(__name__)

_RESULTS_PER_PART: Final = 200
_REQUESTED: Final[ContextVar[int | None]] = ContextVar("requested", default=None)
"""The serial number of the document's text when the current request arrived.

Tasks, timers and streams that a request starts retain its context, so this must not be the text itself.
"""


class PromptServer(LanguageServer):
    """pygls' server with one session."""

    protocol: PromptProtocol

    def __init__(self) -> None:
        super().__init__(
            "promptls",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=PromptProtocol,
            converter_factory=make_converter,
        )
        self.protocol.commands = list(COMMANDS)
        self.protocol.file_scope = self._file_scope
        self.protocol.request_scope = self._request_scope
        for method, feature in FEATURES.items():
            options = feature.options() if feature.options is not None else None
            self.feature(method, options)(self._answer(method, feature))

    @cached_property
    def session(self) -> Session:
        """The session of the client, created on first use after `initialize`."""
        from promptls.server.session import Session

        return Session(self, self.protocol)

    @property
    def _known_session(self) -> Session | None:
        return self.__dict__.get("session")

    async def end(self) -> None:
        """End the session, if it exists, with all its work and processes."""
        if (session := self._known_session) is not None:
            await session.close()

    # -- handlers -------------------------------------------------------------------

    def _file_scope(self) -> FileScope:
        session = self._known_session
        return FileScope(()) if session is None else session.context.snapshot.file_scope

    @contextmanager
    def _request_scope(self, method: str, uri: str) -> Iterator[None]:
        session = self._known_session
        if session is not None and method in ABOUT_SYMBOLS:
            session.auxiliary.flush()
        token = _REQUESTED.set(None if session is None or not uri else self._serial(path_of(uri)))
        try:
            yield
        finally:
            _REQUESTED.reset(token)

    def _answer(self, method: str, feature: Feature) -> Callable[..., Any]:
        """Wrap the handler for pygls, so that an exception fails only its own request."""
        if feature.is_async:

            async def answer_later(params: Any = None) -> Any:
                try:
                    self._refuse_former_text(params)
                    result = await feature.handler(self.session, params)
                    self._refuse_former_text(params)
                except Exception as error:  # noqa: BLE001 - it is logged
                    return _failed(method, error)
                return self._in_parts(params, result)

            return answer_later

        def answer(params: Any = None) -> Any:
            try:
                result = feature.handler(self.session, params)
            except Exception as error:  # noqa: BLE001 - it is logged
                return _failed(method, error)
            return self._in_parts(params, result)

        return answer

    def _refuse_former_text(self, params: Any) -> None:
        """Raise JsonRpcContentModified if the document of a position was edited since the request."""
        requested = _REQUESTED.get()
        if requested is None or not isinstance(getattr(params, "position", None), types.Position):
            return
        if self._serial(path_of(params.text_document.uri)) != requested:
            raise JsonRpcContentModified("the text has changed")

    def _serial(self, path: str) -> int | None:
        opened = self.session.context.snapshot.open_files.get(path)
        return None if opened is None else opened.template.serial

    def _in_parts(self, params: Any, result: Any) -> Any:
        """Return a result; if partial results were requested, send it in parts and return an empty list."""
        token = getattr(params, "partial_result_token", None)
        if token is None or not isinstance(result, list):
            return result
        for start in range(0, len(result), _RESULTS_PER_PART):
            part = types.ProgressParams(token, result[start : start + _RESULTS_PER_PART])
            self.protocol.notify(types.PROGRESS, part)
        return []

    # -- messages to the user -------------------------------------------------------

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        """Have the client show a message, escaped so that foreign text in it does not become a link."""
        params.message = for_message(params.message)
        super().window_show_message(params)

    async def window_show_message_request_async(
        self, params: types.ShowMessageRequestParams
    ) -> types.MessageActionItem | None:
        """Return the user's answer to a message, escaped so that foreign text does not become a link."""
        params.message = for_message(params.message)
        return await super().window_show_message_request_async(params)

    def window_log_message(self, params: types.LogMessageParams) -> None:
        """Write a message to the log of the client."""
        params.message = for_terminal(params.message)
        super().window_log_message(params)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what pygls would show in a popup; errors of requests are already sent as responses."""
        if source is not FeatureRequestError:
            log.error("%s: %s", source.__name__, error)


def _failed(method: str, error: Exception) -> None:
    """Log an unexpected exception, so that the response is null; raise a `JsonRpcException` again."""
    if isinstance(error, JsonRpcException):
        error.message = for_message(error.message)
        raise error
    log.error("%s failed", method, exc_info=error)


class ExpectedAnswers(logging.Filter):
    """Filters out log records of pygls that are not errors of the server.

    These are error responses raised by handlers, unreadable messages (which are logged elsewhere), and
    cancellations of requests that were already answered.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record."""
        if str(record.msg).startswith(("Unable to deserialize message", "Cancel notification for unknown")):
            return False
        return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException))


def create_server() -> PromptServer:
    """Return a server with all its handlers, ready to be connected."""
    return PromptServer()


def run_stdio() -> None:
    """Serve on the standard streams until the client exits; end with the exit code of the protocol.

    Raises UserError if the input is not a stream of messages.
    """
    set_up_logging()
    gc.freeze()  # the modules that are loaded now are no garbage to look for while the others are loaded
    asyncio.run(_serve_stdio())


def set_up_logging() -> None:
    """Configure logging of failures to stderr, without the content of messages."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(ExpectedAnswers())


async def _serve_stdio() -> None:
    server = create_server()
    server.protocol.set_writer(StandardOutput(claim_output()), include_headers=False)
    source = StandardInput(sys.stdin.fileno(), server.protocol.receive)
    server.protocol.leave = source.leave
    source.start()
    await source.ended.wait()
    if source.error is not None:
        server.protocol.refuse(None, error_of(types.ErrorCodes.ParseError, source.error))
    elif source.exit_code is None:
        log.warning("the client has closed the stream without `exit`")
    await server.end()
    # Requests in flight are cancelled now, which pygls would log as failures.
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    if source.exit_code is not None:
        sys.exit(source.exit_code)
    if source.error is not None:
        raise UserError(f"the standard input cannot be read further: {source.error}")
