"""What differs from pygls between the client's bytes and a handler.

pygls keeps the text of each document itself and applies edits to the whole of it, at lines
that the protocol does not know; here documents live in the session's workspace, and none of
pygls's own document handlers is used. The messages of a keystroke are read and answered as
plain JSON, because making typed objects of them costs more than the analysis.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import LanguageServerProtocol, lsp_method

from promptls.protocol.method_table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Generator

    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

log = logging.getLogger(__name__)

JsonHandler = Callable[[dict[str, Any]], Any]
_NEVER_HELD: Final = frozenset({types.INITIALIZE, types.INITIALIZED, types.EXIT})


class PromptProtocol(LanguageServerProtocol):
    """The protocol with handlers for plain JSON, and with messages held until the settings are known."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.json_handlers: Final[dict[str, JsonHandler]] = {}
        self.initialize_params = types.InitializeParams(types.ClientCapabilities())
        """What the client said of itself."""
        self._held: list[dict[str, Any]] | None = None

    # -- in ---------------------------------------------------------------------

    def receive(self, bodies: list[bytes]) -> None:
        """Handle messages that have arrived together, in order."""
        for body in bodies:
            try:
                message = json.loads(body)
            except ValueError:
                log.exception("a message of the client is not JSON")
                continue
            if isinstance(message, dict):
                self._handle(message)

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
        if self._held is not None and method is not None and method not in _NEVER_HELD:
            self._held.append(message)
            return
        handler = self.json_handlers.get(method) if method and not self._shutdown else None
        try:
            if handler is None:
                if method is not None and method not in types.METHOD_TO_TYPES:
                    message.setdefault("params", None)  # pygls makes no message without them
                self.handle_message(self.structure_message(message))
            elif "id" in message:
                self._send_response(message["id"], handler(message.get("params") or {}))
            else:
                handler(message.get("params") or {})
        except Exception as error:
            log.exception("%s could not be handled", method or "an answer")
            known = error if isinstance(error, JsonRpcException) else JsonRpcInternalError(str(error))
            if "id" not in message:
                return
            if method is not None:
                self._send_response(message["id"], error=known.to_response_error())
            else:
                self._handle_response(message["id"], error=known.to_response_error())

    # -- out --------------------------------------------------------------------

    def notify_json(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification whose parameters are plain JSON."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    def _send_response(
        self, msg_id: str | int, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        if error is None and isinstance(result, dict):
            self._result_types.pop(msg_id, None)
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    # -- capabilities -----------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """The answer of pygls, without what this client has no use for."""
        self.initialize_params = params
        result = yield from super().lsp_initialize(params)
        capabilities = result.capabilities
        text_document = params.capabilities.text_document
        if text_document is None or text_document.diagnostic is None:
            capabilities.diagnostic_provider = None
        capabilities.execute_command_provider = types.ExecuteCommandOptions(
            list(COMMANDS), work_done_progress=True
        )
        return result
