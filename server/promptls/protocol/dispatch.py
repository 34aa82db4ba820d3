"""How handlers run: one that fails is logged with its method, and the client gets an empty answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from promptls.protocol.method_table import Method
    from promptls.protocol.server import PromptServer
    from promptls.workspace.snapshot import Snapshot

log = logging.getLogger(__name__)

ASKED: Final[ContextVar[Snapshot | None]] = ContextVar("asked", default=None)
"""The workspace as it was when the request that is being answered arrived."""
_PART: Final = 200
"""How many things are sent at a time to a client that takes results in parts."""
Answer = TypeVar("Answer")


def isolated(server: PromptServer, method: Method) -> Callable[..., Any]:
    """The method's handler as pygls calls it: loaded by its first call, and no failure of it leaves it.

    An exception of JSON-RPC is an answer that the handler chose to give, and goes through. Handlers
    of plain JSON fail freely: `PromptProtocol` answers for them.
    """
    if method.form == "json":
        return lambda params: _in_parts(server, params, resolved(method.handler)(server.session, params))
    if method.form == "typed, later":

        async def answer_later(params: Any = None) -> Any:
            try:
                _refuse_former_text(server, params)
                result = await resolved(method.handler)(server.session, params)
                _refuse_former_text(server, params)
                return _in_parts(server, params, result)
            except JsonRpcException:
                raise
            except Exception:
                log.exception("%s failed", method.name)
                return None

        return answer_later

    def answer(params: Any = None) -> Any:
        try:
            return _in_parts(server, params, resolved(method.handler)(server.session, params))
        except JsonRpcException:
            raise
        except Exception:
            log.exception("%s failed", method.name)
            return None

    return answer


def attempted(name: str, feature: Callable[[], Answer]) -> Answer | None:
    """What a feature gives; None where it fails, which is logged under the method's name.

    For handlers of plain JSON, whose parameters may be wrong as well: that is for the client to hear.
    """
    try:
        return feature()
    except Exception:
        log.exception("%s failed", name)
        return None


def _refuse_former_text(server: PromptServer, params: Any) -> None:
    """Raise ContentModified where a position is of a text that was edited since it was asked about."""
    asked = ASKED.get()
    if asked is None or not isinstance(getattr(params, "position", None), types.Position):
        return
    from promptls.protocol.convert import path_of

    path = path_of(params.text_document.uri)
    former, now = asked.open_files.get(path), server.session.snapshot.open_files.get(path)
    if former is not None and (now is None or now.template is not former.template):
        raise JsonRpcException("the text has changed", types.LSPErrorCodes.ContentModified.value)


def _in_parts(server: PromptServer, params: Any, result: Any) -> Any:
    """The result; an empty one where the client wants it in parts, which are sent."""
    is_plain = isinstance(params, dict)
    token = params.get("partialResultToken") if is_plain else getattr(params, "partial_result_token", None)
    if token is None or not isinstance(result, list):
        return result
    for start in range(0, len(result), _PART):
        part = {"token": token, "value": result[start : start + _PART]}
        server.protocol.notify_json(types.PROGRESS, part)
    return []


_loaded: dict[str, Callable[..., Any]] = {}


def resolved(handler: str) -> Callable[..., Any]:
    """The function that a table's row names as `module:function` of this package."""
    found = _loaded.get(handler)
    if found is None:
        found = _loaded[handler] = resolve_name(f"promptls.protocol.{handler}")
    return found


class ExpectedAnswers(logging.Filter):
    """Keeps pygls from logging, as errors, the answers that a handler chose to give.

    Messages that cannot be read are logged where they are answered, without all of cattrs' frames.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is of anything but a chosen answer."""
        if str(record.msg).startswith("Unable to deserialize message"):
            return False
        return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException))
