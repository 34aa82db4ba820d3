"""`workspace/executeCommand`: finds the command; what it cannot do is answered with a sentence."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.server.commands import COMMANDS
from promptls.server.messages import decoded, encoded
from promptls.text.errors import UsageError, UserError
from promptls.text.escape import for_message
from promptls.text.suggest import did_you_mean

if TYPE_CHECKING:
    from promptls.server.session import Session

log = logging.getLogger(__name__)


async def execute(session: Session, params: types.ExecuteCommandParams) -> Any:
    """Return the result of a command; raises JsonRpcException with a message for the user if it fails."""
    function = COMMANDS.get(params.command)
    if function is None:
        raise JsonRpcInvalidParams(
            f"there is no command `{params.command}`{did_you_mean(params.command, COMMANDS)}"
        )
    arguments = params.arguments[0] if params.arguments else {}
    if not isinstance(arguments, dict):
        raise JsonRpcInvalidParams(f'`{params.command}` takes one object, such as {{"uri": …}}')
    try:
        result = await function(session, arguments, params.work_done_token)
    except UsageError as failure:
        raise JsonRpcInvalidParams(_sentence(failure)) from None
    except UserError as failure:
        raise JsonRpcException(_sentence(failure), types.LSPErrorCodes.RequestFailed.value) from None
    except JsonRpcException:
        raise
    except Exception as error:
        log.exception("%s failed", params.command)
        message = (
            f"`{params.command}` failed unexpectedly ({type(error).__name__}); the server's log says more"
        )
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value) from None
    result = decoded(encoded(result))  # JSON has no NaN: it becomes null
    # Clients show the sentence of a result as they show messages.
    if isinstance(result, dict) and isinstance(result.get("message"), str):
        result["message"] = for_message(result["message"])
    return result


def _sentence(failure: UserError) -> str:
    """Return the failure as one text: what is wrong, what to do about it, and where.

    A notification shows the beginning of a text, and paths are long.
    """
    place = f" ({failure.place.text()})" if failure.place else ""
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    return f"{failure.message}{remedy}{place}"
