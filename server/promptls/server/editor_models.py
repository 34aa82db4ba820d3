"""Models of the editor: requested by runs, answered by the client that offers them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptls.models.editor_model import AskEditor
    from promptls.server.context import Context

ASK_MODEL: Final = "promptls/askModel"
"""The request: `{"run", "model", "messages", "parameters"}`.

The model is `<vendor>/<family>`, and `run` is the same in one run. The answer is `{"text", "model",
"inputTokens", "outputTokens"}`, the counts null where they are not known, or `{"error": {"code", "message"}}`
with one of the codes `notFound`, `noPermissions`, `blocked`, `failed`.
"""


def editor_of(context: Context) -> AskEditor | None:
    """Return a function that asks a model of the client; None if the client has none. It never raises.

    A cancelled question is cancelled at the client.
    """
    if not context.capabilities.models:
        return None

    run = str(uuid4())

    async def ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
        request_id = str(uuid4())
        params = {"run": run, **question}
        request = context.server.protocol.send_request_async(ASK_MODEL, params, msg_id=request_id)
        try:
            answer = await request
        except JsonRpcException as error:
            return _failed(error.message)
        except asyncio.CancelledError:
            context.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))
            raise
        return answer if isinstance(answer, dict) else _failed("the editor gave no answer")

    return ask


def editor_models(context: Context, params: dict[str, Any]) -> None:
    """`promptls/editorModels`: the client says which models it offers now, as `<vendor>/<family>`."""
    models = params.get("models")
    if isinstance(models, list):
        context.workspace.set_editor_models(tuple(dict.fromkeys(map(str, models))))


def _failed(message: str) -> dict[str, Any]:
    return {"error": {"code": "failed", "message": message}}
