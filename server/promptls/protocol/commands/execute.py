"""`workspace/executeCommand`: finds the command; what it cannot do is answered with a sentence."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.protocol.dispatch import resolved
from promptls.protocol.method_table import COMMANDS
from promptls.text.failure import Failure, WrongUse
from promptls.text.nearest import did_you_mean

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)


async def execute(session: Session, params: types.ExecuteCommandParams) -> Any:
    """The command's result; raises JsonRpcException, whose message is for the user, where there is none."""
    function = COMMANDS.get(params.command)
    if function is None:
        raise JsonRpcInvalidParams(
            f"there is no command `{params.command}`{did_you_mean(params.command, COMMANDS)}"
        )
    arguments = params.arguments[0] if params.arguments else {}
    if not isinstance(arguments, dict):
        raise JsonRpcInvalidParams(f'`{params.command}` takes one object, such as {{"uri": …}}')
    try:
        return await resolved(function)(session, arguments, params.work_done_token)
    except WrongUse as failure:
        raise JsonRpcInvalidParams(_sentence(failure)) from None
    except Failure as failure:
        raise JsonRpcException(_sentence(failure), types.LSPErrorCodes.RequestFailed.value) from None
    except JsonRpcException:
        raise
    except Exception as error:
        log.exception("%s failed", params.command)
        message = (
            f"`{params.command}` failed unexpectedly ({type(error).__name__}); the server's log says more"
        )
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value) from None


def _sentence(failure: Failure) -> str:
    """The failure as one text: what is wrong, what to do about it, and where.

    A notification shows the beginning of a text, and paths are long.
    """
    place = f" ({failure.place.text()})" if failure.place else ""
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    return f"{failure.message}{remedy}{place}"
