"""Models of the editor: asked for by runs, answered by the client that offers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from promptls.models.editor_model import AskEditor
    from promptls.protocol.session import Session

ASK_MODEL: Final = "promptls/askModel"
"""The request: `{"run", "model", "messages", "parameters"}`.

The model is `<vendor>/<family>`, and `run` is the same in one run. The answer is `{"text", "model",
"inputTokens", "outputTokens"}`, the counts null where they are not known, or `{"error": {"code", "message"}}`
with one of the codes `notFound`, `noPermissions`, `blocked`, `failed`.
"""


def editor_of(session: Session) -> AskEditor | None:
    """What asks the client for its models; None for a client that has none. It never raises.

    A cancelled question is cancelled at the client.
    """
    if not session.flags.models:
        return None

    run = str(uuid4())

    async def ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            answer = await session.server.protocol.ask_json(ASK_MODEL, {"run": run, **question})
        except JsonRpcException as error:
            return _failed(error.message)
        return answer if isinstance(answer, dict) else _failed("the editor gave no answer")

    return ask


def editor_models(session: Session, params: dict[str, Any]) -> None:
    """`promptls/editorModels`: the client says which models it offers now, as `<vendor>/<family>`."""
    models = params.get("models")
    if isinstance(models, list):
        session.workspace.set_editor_models(tuple(dict.fromkeys(map(str, models))))


def _failed(message: str) -> dict[str, Any]:
    return {"error": {"code": "failed", "message": message}}
