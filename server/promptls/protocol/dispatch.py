"""How handlers run: one that fails is logged with its method, and the client gets an empty answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.text.failure import Failure

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

Handler = Callable[["Session", Any], Any]
Command = Callable[["Session", dict[str, Any], "types.ProgressToken | None"], Awaitable[Any]]


def isolated(session: Session, method: str, handler: Handler) -> Callable[..., Any]:
    """`handler` as pygls calls it: what it raises, other than an answer to the client, is logged."""
    if asyncio.iscoroutinefunction(handler):

        async def answer_later(params: Any = None) -> Any:
            try:
                return await handler(session, params)
            except JsonRpcException:
                raise
            except Exception:
                log.exception("%s failed", method)
                return None

        return answer_later

    def answer(params: Any = None) -> Any:
        try:
            return handler(session, params)
        except JsonRpcException:
            raise
        except Exception:
            log.exception("%s failed", method)
            return None

    return answer


def request_failed(message: str) -> JsonRpcException:
    """An answer that says in a sentence why there is no result, and what to do."""
    return JsonRpcException(message=message, code=types.LSPErrorCodes.RequestFailed)


def sentence(failure: Failure) -> str:
    """A failure as one text: where, what is wrong, what to do about it."""
    place = f"{failure.place.text()}: " if failure.place else ""
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    return f"{place}{failure.message}{remedy}"


class ExpectedAnswers(logging.Filter):
    """Keeps pygls from logging, as errors, the answers that a handler chose to give."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is of anything but a chosen answer."""
        return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException))
