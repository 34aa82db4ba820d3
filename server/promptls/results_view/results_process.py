"""The process that reads runs: `python -m promptls.results_view.results_process`, started by the server.

Requests are JSON on standard input, one per line: `{"id", "question", "arguments", "roots"}`; files are
read only inside of the folders `roots`, or everywhere if they are null. The response to each is a line on
standard output, `{"id", "answer"}` or `{"id", "failure"}`, in the order of completion: a page of rows does
not wait for a comparison. Tables are cached for the next request. The end of standard input ends the
process, even during a request.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NoReturn, TypeAlias

from promptls.results_view import results_answers, running_runs
from promptls.security.files import FileScope, reading_within
from promptls.security.processes import end_with_owner
from promptls.text.errors import UserError, refused_by_system

log = logging.getLogger(__name__)

Answer: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, object]]

QUESTIONS: Final[Mapping[str, Answer]] = {
    "view": results_answers.view_answer,
    "report": results_answers.report_answer,
    "compare": results_answers.compare_answer,
    "rows": results_answers.rows_answer,
    "text": results_answers.text_answer,
    "pairs": results_answers.pairs_answer,
    "messages": results_answers.messages_answer,
    "note": results_answers.note_answer,
    "numbers": results_answers.numbers_answer,
    "export": results_answers.export_answer,
    "goingOn": running_runs.running_answer,
}

_AT_ONCE: Final = 4
"""The number of requests that are processed concurrently."""

_NEW_OBJECTS: Final = 200_000
"""The number of new objects before the garbage collector looks for cycles."""


def main() -> NoReturn:
    """Process requests until the end of the input, then end the process."""
    end_with_owner()
    # The output of libraries must not be mixed with the responses.
    output, sys.stdout = sys.stdout, sys.stderr
    writing = threading.Lock()

    def work(request: Mapping[str, Any]) -> None:
        roots = request["roots"]
        scope = FileScope(None if roots is None else tuple(roots))
        with reading_within(lambda: scope):
            line = json.dumps({"id": request["id"], **_response(request)}, default=str)
        with writing:
            output.write(line + "\n")
            output.flush()

    # The cells of a long table are very many objects without cycles.
    gc.set_threshold(_NEW_OBJECTS, 50, 50)
    threads = ThreadPoolExecutor(_AT_ONCE)
    for line in sys.stdin:
        threads.submit(work, json.loads(line))
    # Nothing is waiting for a response any more, and files are written atomically.
    os._exit(0)


def _response(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": QUESTIONS[request["question"]](request["arguments"])}
    except UserError as failure:
        error = failure
    except OSError as failure:
        error = refused_by_system(failure)
    except Exception as failure:
        log.exception("the question %s", request["question"])
        name = type(failure).__name__
        error = UserError(f"the results cannot be read ({name}); see the log")
    return {"failure": error.to_json()}


if __name__ == "__main__":
    main()
