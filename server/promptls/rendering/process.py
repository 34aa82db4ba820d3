"""The worker's process: reads jobs from standard input, writes answers to standard output.

Started as `python -m promptls.rendering.process MEMORY_BYTES MARK` by `promptls.rendering.worker`.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, BinaryIO, NoReturn, TypeAlias

from promptls.rendering import frames
from promptls.rendering.execute import execute, execute_rows
from promptls.rendering.functions_file import MODULE_PREFIX
from promptls.rendering.job import LabRequest, RenderJob, packed_rows, unpack
from promptls.rendering.outcome import RenderFailure, packed_outcome
from promptls.rendering.worker import MARK, limit_memory
from promptls.security.files import FileScope, reading_within
from promptls.security.owner import end_with_owner
from promptls.tokens.counting import count, pieces
from promptls.tokens.encodings import UnknownEncodingError, VocabularyError, load

Tell: TypeAlias = Callable[[str, int, int], None]
"""Hears what is being done, how much of it is done, and of how much."""

REPORTS_PER_LIMIT = 10
"""How often a running job says where it is, within its time limit."""

PROGRESS_SECONDS = 0.05
"""How often a long job says how far it is."""

OBJECTS_UNTIL_COLLECTED = 200_000
"""How many new objects a job may make before rings that nobody holds are looked for."""

GRACE_SECONDS = 5.0
"""How long over its limit a job may run before the process ends itself, where no one else ended it."""


OWN_PID = os.getpid()
"""The process that was asked; one that a function forks has another number."""


class Outbox:
    """The way back to the server; whole messages only, whichever thread writes."""

    def __init__(self, stream: BinaryIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message, at once."""
        frame = frames.encode(message)
        with self._lock:
            self._stream.write(frame)
            self._stream.flush()


class Reporter:
    """Says, now and then while a job runs, which template line it is at."""

    def __init__(self, outbox: Outbox) -> None:
        """Report jobs that the thread runs which makes this object."""
        self._outbox = outbox
        self._watched = threading.get_ident()
        self._job: tuple[int, float] | None = None
        self._begun = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    @contextmanager
    def watching(self, request: int, seconds: float) -> Iterator[None]:
        """Report some times in `seconds` where the job of this request is, until it is done."""
        self._job = request, seconds
        self._begun.set()
        try:
            yield
        finally:
            # The thread finds that out when it looks next: to wake it costs more than a quick job takes.
            self._job = None

    def _run(self) -> None:
        told: tuple[int, tuple[str, int]] | None = None
        while self._begun.wait():
            self._begun.clear()
            while (job := self._job) is not None:
                request, seconds = job
                time.sleep(seconds / REPORTS_PER_LIMIT)
                MARK.look()
                place = template_place(sys._current_frames().get(self._watched))  # noqa: SLF001 - its documented use
                if self._job is job and place is not None and told != (request, place):
                    told = request, place
                    self._outbox.send({"id": request, "at": place})


def template_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Return the file and 0-based line of the innermost template that runs in `frame` or its callers.

    Of no template, those of the functions file that is being run.
    """
    outside: tuple[str, int] | None = None
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and frame.f_code.co_filename == template.filename:
            # Between two lines, a frame that runs has none.
            number = frame.f_lineno or frame.f_code.co_firstlineno
            return template.filename, template.get_corresponding_lineno(number) - 1
        if outside is None and str(frame.f_globals.get("__name__")).startswith(MODULE_PREFIX):
            outside = frame.f_code.co_filename, (frame.f_lineno or 1) - 1
        frame = frame.f_back
    return outside


def main(arguments: list[str]) -> NoReturn:
    """Answer jobs until standard input is closed, and end the process then, in the middle of a job too.

    The arguments are the memory limit, or `none`, and that of the file to share the mark in.
    """
    end_with_owner()
    inbox, outbox = _take_streams()
    # Ctrl+C in a terminal reaches every process of it; the server decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(None if arguments[0] == "none" else int(arguments[0]))
    MARK.share(arguments[1])
    reporter = Reporter(outbox)
    # The pieces of a rendering live as long as it does: to look for rings among them over and over takes
    # longer than to make them.
    gc.freeze()
    gc.set_threshold(OBJECTS_UNTIL_COLLECTED, 20, 20)
    requests: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
    threading.Thread(target=_read, args=(inbox, requests), daemon=True).start()
    outbox.send({"ready": True})
    while True:
        request = requests.get()
        is_job = "job" in request or "lab" in request
        answer = _answer_job(request, outbox, reporter) if is_job else _answer_count(request)
        outbox.send({"id": request["id"], **answer})


def _read(inbox: BinaryIO, requests: SimpleQueue[Mapping[str, Any]]) -> None:
    try:
        while True:
            requests.put(frames.read(inbox))
    finally:
        # Nobody waits for an answer any more.
        os._exit(0)


def _take_streams() -> tuple[BinaryIO, Outbox]:
    """Return standard input and output as message streams; from now on, prints go to standard error."""
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _keep_from_children(*(stream.fileno() for stream in streams))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor, kept open
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - as above
    return streams[0], Outbox(streams[1])


def _keep_from_children(*descriptors: int) -> None:
    """Let no process that a function forks read or answer jobs: to it, the streams are empty."""
    if not hasattr(os, "register_at_fork"):  # Windows, where nothing forks
        return

    def cut_off() -> None:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in descriptors:
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)

    os.register_at_fork(after_in_child=cut_off)


_shown: set[str] = set()


def _show(variables: Mapping[str, str]) -> None:
    """Show these variables to the functions of a job, and none of those that the job before it had."""
    for name in _shown:
        os.environ.pop(name, None)
    _shown.clear()
    _shown.update(variables.keys() - os.environ.keys())
    os.environ.update({name: variables[name] for name in _shown})


def _answer_job(request: Mapping[str, Any], outbox: Outbox, reporter: Reporter) -> dict[str, Any]:
    """Return the outcome of the job or the exploration in `request`, as JSON."""
    asked = LabRequest.from_json(request["lab"]) if "lab" in request else None
    job = asked.job if asked else RenderJob.from_json(request["job"])
    try:
        load(job.encoding)
    except (UnknownEncodingError, VocabularyError) as error:
        return {"outcome": RenderFailure("encoding", str(error), job.path).to_json()}
    if request["tells_start"]:
        outbox.send({"id": request["id"], "started": job.encoding})
    # Functions that open files by relative names mean files beside themselves. A prompt without a
    # file must not find what lies beside the one before it.
    _show(job.environment)
    folder = Path(job.functions or job.path).parent
    os.chdir(folder if folder.is_absolute() and folder.is_dir() else os.sep)
    scope = FileScope(job.roots)
    MARK.clear()
    seconds: float = request["seconds"]
    faulthandler.dump_traceback_later(seconds + GRACE_SECONDS, exit=True)
    try:
        with reporter.watching(request["id"], seconds), reading_within(lambda: scope):
            if asked is not None:
                return _answer_lab(asked, _teller(outbox, request["id"], seconds))
            if "rows" in request:
                return packed_rows(execute_rows(job, map(unpack, request["rows"])))
            return {"outcome": packed_outcome(execute(job))}
    except MemoryError:
        return {"outcome": RenderFailure("memory", "Rendering needs more memory than it may have.").to_json()}
    except Exception as error:  # noqa: BLE001 - whatever it is, the next job must still be answered
        traceback.print_exc()
        message = f"Rendering failed in a way that promptls does not know: {type(error).__name__}: {error}"
        return {"outcome": RenderFailure("crash", message, job.path).to_json()}
    finally:
        if os.getpid() != OWN_PID:
            # A function has forked this process. The watchdog's thread is not in it: to cancel that would
            # wait for ever.
            os._exit(0)
        faulthandler.cancel_dump_traceback_later()


def _answer_lab(request: LabRequest, tell: Tell) -> dict[str, Any]:
    """Return what the truncation lab finds, or the failure as an outcome."""
    from promptls.rendering.turns import explore_turns

    found = explore_turns(request, tell)
    return {"outcome": found.to_json()} if isinstance(found, RenderFailure) else {"found": found}


def _teller(outbox: Outbox, request: int, seconds: float) -> Tell:
    """Send how far a job is, now and then; with each such message, its time begins anew."""
    sent = 0.0

    def tell(what: str, done: int, count: int) -> None:
        nonlocal sent
        now = time.monotonic()
        if now - sent < PROGRESS_SECONDS and done < count:
            return
        sent = now
        faulthandler.dump_traceback_later(seconds + GRACE_SECONDS, exit=True)
        outbox.send({"id": request, "progress": (what, done, count)})

    return tell


def _answer_count(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token counts of the texts in `request`, or their tokens one by one.

    Or why there are none.
    """
    try:
        if request.get("cut"):
            return {"pieces": [pieces(text, request["encoding"])._asdict() for text in request["texts"]]}
        return {"counts": [count(text, request["encoding"]) for text in request["texts"]]}
    except (UnknownEncodingError, VocabularyError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main(sys.argv[1:])
