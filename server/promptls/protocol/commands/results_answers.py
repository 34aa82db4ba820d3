"""What the page of the results asks for beside the view: rows, pairs, messages, notes, exports.

Long tables take their time, in a process of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types

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
