"""Messages as JSON, and the errors that answer malformed ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import orjson
from lsprotocol import types

_written: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def decode_body(body: bytes) -> Any:
    """Return the JSON of a body; None if it is not JSON.

    Lone surrogates and numbers of any length are accepted, as by Python's `json`.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def encode_message(message: dict[str, Any]) -> bytes:
    """Return the message as JSON; as ASCII if it has lone surrogates."""
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:
        return _written(message).encode()


Json = dict[str, Any]


def readable_initialize(message: Json, is_readable: Callable[[Json], bool]) -> Json:
    """Return an `initialize` message without the parameters and capabilities that cannot be read."""
    params = message.get("params")
    if not isinstance(params, dict):
        params = {}

    def alone(its: Json) -> bool:
        return is_readable({**message, "method": types.INITIALIZE, "params": {"capabilities": {}, **its}})

    readable = {key: value for key, value in params.items() if key != "capabilities" and alone({key: value})}
    capabilities: Json = {}
    given = params.get("capabilities")
    for section, value in given.items() if isinstance(given, dict) else ():
        if alone({"capabilities": {section: value}}):
            capabilities[section] = value
        elif isinstance(value, dict):
            capabilities[section] = {
                key: its for key, its in value.items() if alone({"capabilities": {section: {key: its}}})
            }
    return {**message, "params": {**readable, "capabilities": capabilities}}


def with_configured_encoding(params: types.InitializeParams) -> types.InitializeParams:
    """Return the parameters with the `positionEncoding` of the initialization options as the only one.

    Without that option, or with an unknown encoding, return them unchanged.
    """
    options: Any = params.initialization_options
    name = options.get("positionEncoding") if isinstance(options, dict) else None
    if name not in {"utf-8", "utf-16", "utf-32"}:
        return params
    if params.capabilities.general is None:
        params.capabilities.general = types.GeneralClientCapabilities()
    params.capabilities.general.position_encodings = [types.PositionEncodingKind(name)]
    return params


_BEFORE_ALL: Final = frozenset({types.INITIALIZE, types.EXIT})


def error_of(code: types.ErrorCodes | types.LSPErrorCodes, message: str) -> Json:
    """Return an error as JSON."""
    return {"code": code.value, "message": message}


def violation_of(message: Any) -> Json | None:
    """Return how a message violates JSON-RPC, or None; `message` is None if the text was not JSON."""
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


def untimely(method: str, *, is_initialized: bool, is_shut_down: bool) -> Json | None:
    """Return why a method cannot be called before `initialize` or after `shutdown`; None if it can."""
    if is_shut_down and method != types.EXIT:
        return error_of(types.ErrorCodes.InvalidRequest, "the server is shut down")
    if not is_initialized and method not in _BEFORE_ALL:
        return error_of(types.ErrorCodes.ServerNotInitialized, "the server waits for `initialize`")
    return None
