"""`promptls.newPrompt`: the files of a prompt to begin with; the client writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features import new_prompt as beginning
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def new_prompt(
    _session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The texts of the files by their paths from the prompt's folder, the prompt's own first.

    `prompt` is its name, `kind` one of `parts`, `object` and `evaluation`, and `beside` what stands with it:
    `sample`, `dataset`, `experiment`.
    """
    name = optional(arguments, "prompt", str)
    if not name:
        raise WrongUse("the command needs the name of the prompt", remedy='pass {"prompt": "<name>"}')
    wanted = optional(arguments, "kind", str) or "parts"
    kind = next((each for each in beginning.KINDS if each == wanted), None)
    if kind is None:
        raise WrongUse(f"there is no kind `{wanted}`", remedy=f"it is one of {', '.join(beginning.KINDS)}")
    named = optional(arguments, "beside", list) or []
    beside = [each for each in beginning.BESIDE if each in named]
    return {"files": beginning.new_prompt(name, kind, beside)}
