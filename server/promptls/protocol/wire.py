"""What differs from pygls between the client's bytes and a handler.

pygls keeps the text of each document itself and applies edits to the whole of it, at lines
that the protocol does not know; here documents live in the session's workspace, and none of
pygls's own document handlers is used. The messages of a keystroke are read and answered as
plain JSON, because making typed objects of them costs more than the analysis.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol, lsp_method

from promptls.protocol.bursts import gathered
from promptls.protocol.configured_encoding import with_configured_encoding
from promptls.protocol.dispatch import ASKED
from promptls.protocol.json_bytes import decoded, encoded
from promptls.protocol.message_errors import (
    cancelled_ids,
    error_of,
    malformed,
    refusal,
    without_cancelled,
)
from promptls.protocol.method_table import ABOUT_SYMBOLS, COMMANDS

if TYPE_CHECKING:
    from collections.abc import Generator

    from cattrs import Converter

    from promptls.protocol.server import PromptServer
    from promptls.protocol.stdio import Arrived

log = logging.getLogger(__name__)

JsonHandler = Callable[[dict[str, Any]], Any]
_NEVER_HELD: Final = frozenset({types.INITIALIZE, types.INITIALIZED, types.EXIT})


class PromptProtocol(LanguageServerProtocol):
    """The protocol with handlers for plain JSON, and with messages held until the settings are known."""

    _server: PromptServer

    def __init__(self, server: PromptServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.json_handlers: Final[dict[str, JsonHandler]] = {}
        self.initialize_params = types.InitializeParams(types.ClientCapabilities())
        """What the client said of itself."""
        self._asked: Final[dict[str, asyncio.Future[Any]]] = {}
        self._held: list[dict[str, Any]] | None = None
        self._is_initialized = False

    # -- in ---------------------------------------------------------------------

    def receive(self, bodies: list[bytes]) -> None:
        """Handle messages that have arrived together, in order."""
        self.handle_together(self.messages(bodies))

    def messages(self, bodies: list[bytes]) -> list[dict[str, Any]]:
        """The messages of these bodies; whoever sent what is none is told so at once."""
        found = []
        for body in bodies:
            message = decoded(body)
            if (error := malformed(message)) is None:
                found.append(message)
            else:
                log.error("a message of the client is refused: %s", error["message"])
                number = message.get("id") if isinstance(message, dict) else None
                self._send_error(number if isinstance(number, int | str) else None, error)
        return found

    def handle_together(self, messages: list[dict[str, Any]], arrived: Arrived = list) -> None:
        """Handle messages in order, of which the last one was there before the first was begun.

        A request whose cancelling is among them is not worked on. Where a change has been taken and its
        diagnostics are asked for, `arrived` is looked at once: in the middle of a burst, nobody waits for
        those of its first letter.
        """
        if len(messages) == 1:
            self._handle(messages[0])
            return
        waiting, refused = _wanted(messages)
        is_changed = False
        while waiting:
            message = waiting.popleft()
            method = message.get("method")
            if method == types.TEXT_DOCUMENT_DID_CHANGE:
                is_changed = True
            elif is_changed and method == types.TEXT_DOCUMENT_DIAGNOSTIC and (more := arrived()):
                waiting, further = _wanted([message, *waiting, *more])
                refused += further
                arrived = list
                continue
            self._handle(message)
        if refused:
            error = error_of(types.LSPErrorCodes.RequestCancelled, "the request was cancelled")
            answers = [{"jsonrpc": self.VERSION, "id": number, "error": error} for number in refused]
            self._send_json(*answers)

    def hold(self) -> None:
        """Keep what the client sends, other than answers, until `release`."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Handle what was held, in order, and hold nothing from now on."""
        held, self._held = self._held, None
        for message in held or ():
            self._handle(message)

    def _handle(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if self._is_refused(method, message) if method is not None else self._is_answer(message):
            return
        if self._held is not None and method is not None and method not in _NEVER_HELD:
            self._held.append(message)
            return
        handler = self.json_handlers.get(method) if method and not self._shutdown else None
        try:
            if handler is None:
                if method is not None and method not in types.METHOD_TO_TYPES:
                    message.setdefault("params", None)  # pygls makes no message without them
                if method == types.INITIALIZE:
                    message = self._readable_initialize(message)
                self.handle_message(self.structure_message(message))
            elif "id" in message:
                self._send_response(message["id"], handler(message.get("params") or {}))
            else:
                handler(message.get("params") or {})
        except Exception as error:  # noqa: BLE001  (it is logged below, with its trace where it is ours)
            known = self._reason(error, message)
            _log_failure(method or "an answer", error, known)
            if "id" not in message:
                return
            if handler is not None and isinstance(known, JsonRpcInternalError):
                self._send_response(message["id"], None)
            elif method is not None:
                self._send_response(message["id"], error=known.to_response_error())
            else:
                self._handle_response(message["id"], error=known.to_response_error())

    def _is_refused(self, method: str, message: dict[str, Any]) -> bool:
        """Whether the message comes too early or too late, which a request is told."""
        if self.trace is not types.TraceValue.Off:
            self._log_trace(message)
        if self._is_initialized and not self._shutdown:
            return False
        error = refusal(method, is_initialized=self._is_initialized, is_shut_down=self._shutdown)
        if error is not None and "id" in message:
            self._send_error(message["id"], error)
        return error is not None

    def _readable_initialize(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._is_initialize(message):
            return message
        from promptls.protocol.lenient_initialize import readable_initialize

        log.warning("what the client says of itself is left out where it is not as the protocol wants it")
        return readable_initialize(message, self._is_initialize)

    def _is_initialize(self, message: dict[str, Any]) -> bool:
        try:
            self._converter.structure(message, types.InitializeRequest)
        except Exception:  # noqa: BLE001  (cattrs raises many kinds)
            return False
        return True

    def _reason(self, error: Exception, message: dict[str, Any]) -> JsonRpcException:
        """What the client is told of a failure: that its parameters are wrong, where they are."""
        if isinstance(error, JsonRpcException):
            return error
        try:
            self.structure_message(message)
        except JsonRpcException as wrong:
            return wrong
        return JsonRpcInternalError(str(error))

    def _handle_request(self, msg_id: str | int, method_name: str, params: Any) -> None:
        if "session" in self._server.__dict__:
            if method_name in ABOUT_SYMBOLS:
                self._server.session.held.settle()
            ASKED.set(self._server.session.snapshot)
        super()._handle_request(msg_id, method_name, params)

    def _handle_cancel_notification(self, msg_id: str | int) -> None:
        """Cancel a request that is still worked on; one that is answered already is no mistake."""
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    # -- out --------------------------------------------------------------------

    def notify_json(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification whose parameters are plain JSON."""
        self._send_json({"jsonrpc": self.VERSION, "method": method, "params": params})

    async def ask_json(self, method: str, params: dict[str, Any]) -> Any:
        """The client's answer to a request whose parameters are plain JSON, as plain JSON.

        Raises `JsonRpcException` where the client refuses it. A cancelled call cancels the request.
        """
        number = str(uuid4())
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._send_data({"jsonrpc": self.VERSION, "id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            self.notify_json(types.CANCEL_REQUEST, {"id": number})
            raise
        finally:
            del self._asked[number]

    def _is_answer(self, message: dict[str, Any]) -> bool:
        """Whether the message answers what `ask_json` has asked, which then goes on."""
        waiting = self._asked.get(message.get("id", ""))
        if waiting is None:
            return False
        error = message.get("error")
        if waiting.done():
            pass  # it was cancelled meanwhile
        elif isinstance(error, dict):
            waiting.set_exception(JsonRpcException(str(error.get("message") or ""), error.get("code")))
        else:
            waiting.set_result(message.get("result"))
        return True

    def _send_json(self, *messages: dict[str, Any]) -> None:
        """Send messages of plain JSON; pygls would look for objects of its own types in each."""
        if self.writer is None or not self._include_headers:
            for message in messages:
                self._send_data(message)
            return
        bodies = [encoded(message) for message in messages]
        self.writer.write(b"".join([b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies]))

    def _send_error(self, number: str | int | None, error: dict[str, Any]) -> None:
        self._send_json({"jsonrpc": self.VERSION, "id": number, "error": error})

    def _log_trace(self, message: dict[str, Any]) -> None:
        """Say that a message was received, to a client that follows the server's trace."""
        number = f" ({message['id']})" if "id" in message else ""
        params: dict[str, Any] = {"message": f"received {message['method']}{number}"}
        if self.trace is types.TraceValue.Verbose:
            params["verbose"] = json.dumps(_without_secrets(message.get("params")))
        self.notify_json(types.LOG_TRACE, params)

    def _send_response(
        self, msg_id: str | int, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        if error is None and _is_plain(result):
            self._result_types.pop(msg_id, None)
            self._send_json({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    # -- capabilities -----------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """The answer of pygls, without what this client has no use for."""
        if self._is_initialized:
            raise JsonRpcInvalidRequest("the server is initialized already")
        self._is_initialized = True
        self.initialize_params = params
        self.trace = params.trace or types.TraceValue.Off
        result = yield from super().lsp_initialize(with_configured_encoding(params))
        capabilities = result.capabilities
        text_document = params.capabilities.text_document
        if text_document is None or text_document.diagnostic is None:
            capabilities.diagnostic_provider = None
        actions = text_document.code_action if text_document is not None else None
        if actions is None or actions.code_action_literal_support is None:
            capabilities.code_action_provider = True  # kinds are for clients that know them
        capabilities.execute_command_provider = types.ExecuteCommandOptions(
            list(COMMANDS), work_done_progress=True
        )
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_params: Any) -> Any:
        """Leave: with 0 where `shutdown` came before, else with 1."""
        self._server.leave(0 if self._shutdown else 1)


def _wanted(messages: list[dict[str, Any]]) -> tuple[deque[dict[str, Any]], list[str | int]]:
    """The messages to be handled, with changes that follow one another as one; and the requests cancelled."""
    cancelled = cancelled_ids(messages)
    wanted, refused = without_cancelled(messages, cancelled) if cancelled else (messages, [])
    return deque(gathered(wanted)), refused


def _log_failure(what: str, error: Exception, known: JsonRpcException) -> None:
    """Log a message that could not be handled: in one line where the fault is the client's."""
    if isinstance(known, JsonRpcInternalError):
        log.error("%s failed", what, exc_info=error)
    else:
        log.error("%s is refused: %s", what, known.message)


def _is_plain(result: Any) -> bool:
    """Whether an answer is JSON already, and no object of the protocol's types."""
    if isinstance(result, list):
        return not result or isinstance(result[0], dict)
    return isinstance(result, dict)


def _without_secrets(params: Any) -> Any:
    """The parameters as a trace may have them: the keys of a run's models are left out."""
    if isinstance(params, dict):
        return {
            name: "[left out]" if name == "secrets" else _without_secrets(value)
            for name, value in params.items()
        }
    return [_without_secrets(value) for value in params] if isinstance(params, list) else params
