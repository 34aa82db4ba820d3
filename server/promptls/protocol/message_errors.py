"""Messages that are no messages, or come at the wrong time, and the errors that answer them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final

from lsprotocol import types

Json = dict[str, Any]

_BEFORE_ALL: Final = frozenset({types.INITIALIZE, types.EXIT})


def error_of(code: types.ErrorCodes | types.LSPErrorCodes, message: str) -> Json:
    """The error as the wire has it."""
    return {"code": code.value, "message": message}


def malformed(message: Any) -> Json | None:
    """What is wrong with the form of a message, or None; a text that is no JSON comes as None."""
    if message is None:
        return error_of(types.ErrorCodes.ParseError, "a message is not JSON")
    if not isinstance(message, dict):
        return error_of(types.ErrorCodes.InvalidRequest, "a message is not a JSON object")
    if message.get("jsonrpc") != "2.0":
        return error_of(types.ErrorCodes.InvalidRequest, "a message does not say that it is JSON-RPC 2.0")
    method = message.get("method")
    if not (isinstance(method, str) or (method is None and "id" in message)):
        return error_of(types.ErrorCodes.InvalidRequest, "a message names no method")
    if "id" in message and not isinstance(message["id"], int | str):
        return error_of(types.ErrorCodes.InvalidRequest, "a request's id is neither a number nor a text")
    return None


def refusal(method: str, *, is_initialized: bool, is_shut_down: bool) -> Json | None:
    """Why a method cannot be called before `initialize` or after `shutdown`; None where it can."""
    if is_shut_down and method != types.EXIT:
        return error_of(types.ErrorCodes.InvalidRequest, "the server is shut down")
    if not is_initialized and method not in _BEFORE_ALL:
        return error_of(types.ErrorCodes.ServerNotInitialized, "the server waits for `initialize`")
    return None


def cancelled_ids(messages: Iterable[Json]) -> frozenset[str | int]:
    """The ids of the requests that the messages cancel."""
    return frozenset(
        [
            number
            for message in messages
            if message.get("method") == types.CANCEL_REQUEST
            and isinstance(params := message.get("params"), dict)
            and isinstance(number := params.get("id"), int | str)
        ]
    )


def without_cancelled(
    messages: Iterable[Json], cancelled: frozenset[str | int]
) -> tuple[list[Json], list[str | int]]:
    """The messages but for the requests that are cancelled behind them, and for their cancelling.

    With them the ids of those requests, which are still to be told.
    """
    wanted: list[Json] = []
    refused: dict[str | int, None] = {}
    for message in messages:
        if "method" in message and message.get("id") in cancelled:
            refused[message["id"]] = None
        elif not refused or not _cancels(message, refused):
            wanted.append(message)
    return wanted, list(refused)


def _cancels(message: Json, ids: Container[str | int]) -> bool:
    """Whether the message cancels one of the requests."""
    if message.get("method") != types.CANCEL_REQUEST:
        return False
    params = message.get("params")
    return isinstance(params, dict) and isinstance(params.get("id"), int | str) and params["id"] in ids
