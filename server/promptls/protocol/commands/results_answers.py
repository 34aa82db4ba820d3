"""What the page of the results asks for beside the view: rows, pairs, messages, notes, exports.

Long tables take their time, and nothing of the session is touched meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types

from promptls.results_view import answers
from promptls.text.failure import Failure

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_Answer: TypeAlias = (
    "Callable[[Session, dict[str, Any], types.ProgressToken | None], Awaitable[dict[str, Any]]]"
)


def _in_thread(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> _Answer:
    async def answered(
        _session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
    ) -> dict[str, Any]:
        try:
            return await asyncio.get_running_loop().run_in_executor(None, answer, arguments)
        except OSError as error:
            raise Failure(f"the file cannot be written: {error.strerror or error}") from None

    return answered


results_rows = _in_thread(answers.rows_answer)
results_pairs = _in_thread(answers.pairs_answer)
results_messages = _in_thread(answers.messages_answer)
results_note = _in_thread(answers.note_answer)
results_numbers = _in_thread(answers.numbers_answer)
export_results = _in_thread(answers.export_answer)
