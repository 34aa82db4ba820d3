"""pygls' protocol, with strict answers to malformed and untimely messages.

Documents live in the workspace of the session (`open_documents.py`); pygls' own document store is not used.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Generator
from concurrent.futures import InvalidStateError
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from typing import Any, Final

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from lsprotocol.validators import UINTEGER_MAX_VALUE
from pygls.exceptions import JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    lsp_method,
)
from pygls.protocol.json_rpc import RPCMessage

from promptls.security.files import FileScope, reading_within
from promptls.server import json_rpc

log = logging.getLogger(__name__)

_NEVER_DEFERRED: Final = frozenset({types.INITIALIZE, types.INITIALIZED, types.EXIT, types.SET_TRACE})
_OWN_DOCUMENTS: Final = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    types.WORKSPACE_EXECUTE_COMMAND,
)
_PLAIN_MESSAGES: Final = {
    JsonRPCRequestMessage: ("jsonrpc", "id", "method", "params"),
    JsonRPCNotification: ("jsonrpc", "method", "params"),
    JsonRPCResponseMessage: ("jsonrpc", "id", "result"),
    types.PublishDiagnosticsNotification: ("jsonrpc", "method", "params"),
}
"""The fields of messages whose content is plain JSON, or left to the JSON encoder.

These are pygls' messages for unknown methods, its responses, and diagnostics: as types they are slow to send.
"""


class PromptProtocol(LanguageServerProtocol):
    """The protocol of one connection.

    `initialized` is handled to its end before anything that follows it, so that every request sees the
    settings of the client.
    """

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        for method in _OWN_DOCUMENTS:
            self.fm.builtin_features.pop(method)
        self.initialize_params = types.InitializeParams(types.ClientCapabilities())
        self.commands: list[str] = []
        """The commands to announce; pygls' own registry passes no progress token to them."""
        self.leave: Callable[[int], object] = sys.exit
        """Called after `exit` with the exit code of the process."""
        self.file_scope: Callable[[], FileScope] = lambda: FileScope(())
        """Returns the folders whose files may be read for this client; empty until it is initialized."""
        self.request_scope: Callable[[str, str], AbstractContextManager[None]] = lambda *_: nullcontext()
        """Called with the method and document of a request; it is handled in the context that is returned."""
        self._is_initialized = False
        self._is_shut_down = False
        self._deferred: list[RPCMessage] | None = None
        self._queues: Final[dict[str, list[RPCMessage]]] = {}

    # -- in ---------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Handle the message in `body`; answer one that is malformed or untimely with an error."""
        message = json_rpc.decode_body(body)
        if (error := json_rpc.violation_of(message)) is not None:
            log.error("a message of the client is refused: %s", error["message"])
            self.refuse(message, error)
            return
        method = message.get("method")
        if method is not None:
            if self.trace is not types.TraceValue.Off:
                self._log_trace(message)
            error = json_rpc.untimely(
                method, is_initialized=self._is_initialized, is_shut_down=self._is_shut_down
            )
            if error is not None:
                if "id" in message:
                    self.refuse(message, error)
                return
        if (structured := self._structured(message)) is not None:
            self.handle_message(structured)

    def refuse(self, message: Any, error: dict[str, Any]) -> None:
        """Answer a message with an error; a message without a usable id is answered with the id null."""
        request_id = message.get("id") if isinstance(message, dict) else None
        if not isinstance(request_id, int | str):
            request_id = None
        if self.writer is not None:
            self.writer.write(
                json_rpc.encode_message({"jsonrpc": self.VERSION, "id": request_id, "error": error})
            )

    def _structured(self, message: dict[str, Any]) -> Any:
        """Return the message as a typed object; None if that is not possible, which is answered."""
        try:
            if message.get("method") == types.INITIALIZE and not self._is_readable(message):
                log.warning("capabilities of the client that are not as the protocol defines are ignored")
                message = json_rpc.readable_initialize(message, self._is_readable)
            return self.structure_message(message)
        except Exception as error:  # noqa: BLE001 - cattrs raises many kinds
            method = message.get("method")
            log.error("%s is refused: %s", method or "an answer", error or type(error).__name__)  # noqa: TRY400 - the traceback is not about the message
            if method is None:
                failure = types.ResponseError(types.ErrorCodes.InvalidParams.value, "the answer is malformed")
                return types.ResponseErrorMessage(jsonrpc=self.VERSION, id=message["id"], error=failure)
            if "id" in message:
                self.refuse(message, json_rpc.error_of(types.ErrorCodes.InvalidParams, "Invalid Params"))
            return None

    def handle_message(self, message: RPCMessage) -> None:
        """Handle one message, or queue it until `initialized` is handled and its document released."""
        method = getattr(message, "method", None)
        if self._deferred is not None and method is not None and method not in _NEVER_DEFERRED:
            self._deferred.append(message)
            return
        if self._queues and (queue := self._queues.get(_document_of(message))) is not None:
            queue.append(message)
            return
        scope: AbstractContextManager[None] = nullcontext()
        if method is not None and hasattr(message, "id"):
            scope = self.request_scope(method, _document_of(message))
        with reading_within(self.file_scope), scope, suppress(InvalidStateError):
            super().handle_message(message)  # a response to a cancelled request raises InvalidStateError

    def hold(self, uri: str) -> None:
        """Queue the messages about a document until it is released; others are handled meanwhile."""
        self._queues[uri] = []

    def release(self, uri: str) -> None:
        """Handle the queued messages about a document, and those that follow."""
        for message in self._queues.pop(uri):
            self.handle_message(message)

    def _is_readable(self, message: dict[str, Any]) -> bool:
        try:
            self.structure_message(message)
        except Exception:  # noqa: BLE001 - cattrs raises many kinds
            return False
        return True

    # -- out --------------------------------------------------------------------

    def _log_trace(self, message: dict[str, Any]) -> None:
        """Log that a message was received, for a client that follows the trace of the server."""
        request_id = f" ({message['id']})" if "id" in message else ""
        params = types.LogTraceParams(f"received {message['method']}{request_id}")
        if self.trace is types.TraceValue.Verbose:
            params.verbose = json.dumps(_without_secrets(message.get("params")))
        self.notify(types.LOG_TRACE, params)

    # -- lifecycle --------------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Answer with the capabilities that pygls derives, without those that this client cannot use."""
        if self._is_initialized:
            raise JsonRpcInvalidRequest("the server is initialized already")
        self._is_initialized = True
        self.initialize_params = params
        self.trace = params.trace or types.TraceValue.Off
        result = yield from super().lsp_initialize(json_rpc.with_configured_encoding(params))
        capabilities = result.capabilities
        text_document = params.capabilities.text_document
        if text_document is None or text_document.diagnostic is None:
            capabilities.diagnostic_provider = None
        actions = text_document.code_action if text_document is not None else None
        if actions is None or actions.code_action_literal_support is None:
            capabilities.code_action_provider = True  # kinds are only for clients that support them
        capabilities.execute_command_provider = types.ExecuteCommandOptions(
            self.commands, work_done_progress=True
        )
        return result

    @lsp_method(types.INITIALIZED)
    def lsp_initialized(self, *args: Any) -> Generator[Any, Any, None]:
        """Handle `initialized`, and then the messages that arrived meanwhile."""
        if self._deferred is not None:
            return  # the client has sent it twice
        self._deferred = []
        try:
            yield from super().lsp_initialized(*args)  # type: ignore[no-untyped-call]  # pygls has no types
        finally:
            deferred, self._deferred = self._deferred, None
            for message in deferred:
                self.handle_message(message)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Cancel the requests in flight, and accept nothing but `exit`."""
        self._is_shut_down = True
        for queue in self._queues.values():
            for message in queue:
                if (request_id := getattr(message, "id", None)) is not None:
                    error = json_rpc.error_of(types.LSPErrorCodes.RequestCancelled, "the server shuts down")
                    self.refuse({"id": request_id}, error)
            queue.clear()
        yield from super().lsp_shutdown(*args)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_args: Any) -> Any:
        """Close the connection and leave, with 0 after `shutdown`, else with 1; drop deferred messages."""
        deferred = self._deferred or []
        is_shut_down = self._is_shut_down or any(
            getattr(message, "method", None) == types.SHUTDOWN for message in deferred
        )
        deferred.clear()
        if self.writer is not None:
            self.writer.close()
        self.leave(0 if is_shut_down else 1)


def _document_of(message: Any) -> str:
    """Return the URI of the document that a message is about, also a command; else an empty text."""
    params = getattr(message, "params", None)
    if (document := getattr(params, "text_document", None)) is not None:
        return str(document.uri)
    arguments = getattr(params, "arguments", None)
    first = arguments[0] if arguments else None
    return str(first.get("uri", "")) if isinstance(first, dict) else ""


@lru_cache(maxsize=1)  # it writes code for each type that it meets, which takes longer than any conversion
def make_converter() -> Converter:
    """Return lsprotocol's converter, except that it leaves plain JSON unchanged; all servers share it.

    The JSON encoder converts the typed objects that it encounters in a result.
    """
    converter = get_converter()
    for kind, fields in _PLAIN_MESSAGES.items():

        def structure(message: dict[str, Any], cls: Any, fields: tuple[str, ...] = fields) -> Any:
            return cls(**{name: message.get(name) for name in fields})

        def unstructure(message: Any, fields: tuple[str, ...] = fields) -> dict[str, Any]:
            return {name: getattr(message, name) for name in fields}

        converter.register_structure_hook(kind, structure)
        converter.register_unstructure_hook(kind, unstructure)
    converter.register_structure_hook(types.VersionedTextDocumentIdentifier, _lenient_identifier)
    converter.register_structure_hook(types.Position, _lenient_position)
    return converter


def _lenient_identifier(value: dict[str, Any], _cls: Any) -> types.VersionedTextDocumentIdentifier:
    """Accept a document without a version, as older clients send it."""
    return types.VersionedTextDocumentIdentifier(uri=value["uri"], version=value.get("version") or 0)


def _lenient_position(value: dict[str, Any], _cls: Any) -> types.Position:
    """Accept a position beyond the protocol's maximum, which clients send for the end of a line."""
    return types.Position(*(min(value[name], UINTEGER_MAX_VALUE) for name in ("line", "character")))


def _without_secrets(params: Any) -> Any:
    """Return the parameters without the API keys passed to a run."""
    if isinstance(params, dict):
        return {
            name: "[left out]" if name == "secrets" else _without_secrets(value)
            for name, value in params.items()
        }
    return [_without_secrets(value) for value in params] if isinstance(params, list) else params
