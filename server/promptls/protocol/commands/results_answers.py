"""What the page of the results asks for beside the view: rows, pairs, messages, notes, exports, going on.

Long tables take their time, in a process of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types

from promptls.protocol.convert import path_of
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_Answer: TypeAlias = (
    "Callable[[Session, dict[str, Any], types.ProgressToken | None], Awaitable[dict[str, Any]]]"
)


def _asked(question: str) -> _Answer:
    async def answered(
        session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
    ) -> dict[str, Any]:
        return await session.results.ask(question, arguments)

    return answered


results_rows = _asked("rows")
results_pairs = _asked("pairs")
results_messages = _asked("messages")
results_note = _asked("note")
results_numbers = _asked("numbers")
export_results = _asked("export")


async def results_going_on(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The `runs` that go on, but for those with a progress here, and the `folder` in which they are found.

    It is that of the table `run`, or of the runs of the prompt `uri`.
    """
    uri = optional(arguments, "uri", str)
    path = {} if uri is None else {"path": path_of(uri)}
    return await session.results.ask("goingOn", {**arguments, **path, "own": session.runs.journals()})
