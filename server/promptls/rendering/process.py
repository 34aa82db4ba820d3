"""The worker process: reads jobs from standard input, and writes responses to standard output.

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

from promptls.facts import recording
from promptls.rendering.execute import execute, execute_rows
from promptls.rendering.functions_file import MODULE_PREFIX
from promptls.rendering.job import (
    PARTS_PER_MESSAGE,
    TIMES_BUSY,
    LabRequest,
    RenderJob,
    encode_frame,
    packed_rows,
    read_frame,
    unpack,
)
from promptls.rendering.mark import MARK
from promptls.rendering.outcome import RenderFailure, packed_outcome
from promptls.security.files import FileScope, file_reads, reading_within
from promptls.security.processes import end_with_owner
from promptls.tokens import UnknownEncodingError, VocabularyError, count, encoding_name, load, pieces

Notify: TypeAlias = Callable[[str, int, int], None]
"""A progress callback: the current activity, the amount done, and the total."""

REPORTS_PER_LIMIT = 10
"""The number of times a running job reports its position within its time limit."""

PROGRESS_SECONDS = 0.05
"""The interval between progress reports of a long job."""

OBJECTS_UNTIL_COLLECTED = 200_000
"""The number of new objects a job may create before the garbage collector looks for cycles."""

GRACE_SECONDS = 5.0
"""How long after its longest time a job ends its process, if the server has not ended it."""


OWN_PID = os.getpid()
"""The id of this process; a process that a function forks has a different one."""

MAX_BYTES = 64_000_000
"""The maximum size of an answer. The server holds several copies of a rendering while it reads it."""


class Outbox:
    """The output stream to the server; messages are written atomically from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        """Create an outbox that writes to `stream`."""
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message and flush the stream."""
        self._write(encode_frame(message))

    def answer(self, request: int, answer: Mapping[str, Any]) -> None:
        """Write the answer to a request, the parts of a rendering first; a failure if it is too large."""
        try:
            frames = [encode_frame({"id": request, **message}) for message in _messages(answer)]
        except MemoryError:
            frames = []
        if not 0 < sum(map(len, frames)) <= MAX_BYTES:
            size = f"{MAX_BYTES / 1_000_000:g} MB"
            message = f"The rendering is larger than {size}: look for a loop or a value that grows."
            failure = RenderFailure("render", message).to_json()
            failed = {"outcome": failure, "error": message, "reads": answer.get("reads", [])}
            frames = [encode_frame({"id": request, **failed})]
        self._write(*frames)

    def _write(self, *frames: bytes) -> None:
        with self._lock:
            try:
                self._stream.writelines(frames)
                self._stream.flush()
            except BrokenPipeError:  # the server has been killed
                os._exit(0)


def _messages(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a large rendering, some in each message, and last the answer without them."""
    outcome = answer.get("outcome")
    parts = outcome.get("parts", ()) if outcome else ()
    if outcome is None or len(parts) <= PARTS_PER_MESSAGE:
        yield answer
        return
    for start in range(0, len(parts), PARTS_PER_MESSAGE):
        yield {"parts": parts[start : start + PARTS_PER_MESSAGE]}
    yield {**answer, "outcome": {**outcome, "parts": []}}


def _limit_memory(memory_bytes: int | None) -> None:
    """Limit the memory of this process, if the platform supports that."""
    if memory_bytes is None or sys.platform == "win32":
        return
    import resource

    # On Linux, RLIMIT_DATA counts memory actually written to; RLIMIT_AS would also count mapped files.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    soft = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (OSError, ValueError):
        # macOS rejects limits below what a process has mapped; then, only the time limit applies.
        return


class Reporter:
    """Reports the current template line of a running job at intervals."""

    def __init__(self, outbox: Outbox) -> None:
        """Create a reporter for the jobs that the current thread runs."""
        self._outbox = outbox
        self._watched = threading.get_ident()
        self._job: tuple[int, float] | None = None
        self._begun = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    @contextmanager
    def watching(self, request: int, seconds: float) -> Iterator[None]:
        """Report the position of the job of this request several times within `seconds`, until it is done."""
        self._job = request, seconds
        self._begun.set()
        try:
            yield
        finally:
            # The thread notices this at its next wake-up: waking it costs more than a quick job takes.
            self._job = None

    def _run(self) -> None:
        reported: tuple[int, tuple[str, int]] | None = None
        while self._begun.wait():
            self._begun.clear()
            while (job := self._job) is not None:
                request, seconds = job
                time.sleep(seconds / REPORTS_PER_LIMIT)
                MARK.look()
                place = template_place(sys._current_frames().get(self._watched))  # noqa: SLF001 - its documented use
                if self._job is job and place is not None and reported != (request, place):
                    reported = request, place
                    self._outbox.send({"id": request, "at": place})


def template_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Return the file and 0-based line of the innermost template running in `frame` or its callers.

    Without a template, return those of the functions file that is being run.
    """
    outside: tuple[str, int] | None = None
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and frame.f_code.co_filename == template.filename:
            # A running frame has no line number between two lines.
            line_number = frame.f_lineno or frame.f_code.co_firstlineno
            return template.filename, template.get_corresponding_lineno(line_number) - 1
        if outside is None and str(frame.f_globals.get("__name__")).startswith(MODULE_PREFIX):
            outside = frame.f_code.co_filename, (frame.f_lineno or 1) - 1
        frame = frame.f_back
    return outside


def main(arguments: list[str]) -> NoReturn:
    """Process jobs until standard input is closed, then end the process, even during a job.

    The arguments are the memory limit, or `none`, and the `MarkFile` argument of the file for the mark.
    """
    end_with_owner()
    inbox, outbox = _take_streams()
    # Ctrl+C in a terminal reaches all its processes; the server decides which ones end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(None if arguments[0] == "none" else int(arguments[0]))
    MARK.share(arguments[1])
    reporter = Reporter(outbox)
    # The pieces of a rendering live as long as it does: searching them for cycles repeatedly takes longer
    # than creating them.
    gc.freeze()
    gc.set_threshold(OBJECTS_UNTIL_COLLECTED, 20, 20)
    requests: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
    threading.Thread(target=_read, args=(inbox, requests), daemon=True).start()
    outbox.send({"ready": True})
    while True:
        request = requests.get()
        is_job = "job" in request or "lab" in request
        with recording() as reads:
            answer = _answer_job(request, outbox, reporter) if is_job else _answer_count(request)
        outbox.answer(request["id"], {**answer, "reads": file_reads(reads)})


def _read(inbox: BinaryIO, requests: SimpleQueue[Mapping[str, Any]]) -> None:
    try:
        while True:
            requests.put(read_frame(inbox))
    finally:
        # Nothing is waiting for a response any more.
        os._exit(0)


def _take_streams() -> tuple[BinaryIO, Outbox]:
    """Return standard input and output as message streams; redirect prints to standard error."""
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _keep_from_children(*(stream.fileno() for stream in streams))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor that stays open
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - as above
    return streams[0], Outbox(streams[1])


def _keep_from_children(*descriptors: int) -> None:
    """Prevent forked processes from reading jobs or writing responses, by replacing their streams."""
    if not hasattr(os, "register_at_fork"):  # Windows has no fork
        return

    def cut_off() -> None:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in descriptors:
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)

    os.register_at_fork(after_in_child=cut_off)


_shown: set[str] = set()


def _show(variables: Mapping[str, str]) -> None:
    """Set the environment variables for the functions of a job, and remove those of the previous job."""
    for name in _shown:
        os.environ.pop(name, None)
    _shown.clear()
    _shown.update(variables.keys() - os.environ.keys())
    os.environ.update({name: variables[name] for name in _shown})


def _answer_job(request: Mapping[str, Any], outbox: Outbox, reporter: Reporter) -> dict[str, Any]:
    """Return the outcome of the job or the exploration in `request`, as JSON."""
    lab_request = LabRequest.from_json(request["lab"]) if "lab" in request else None
    job = lab_request.job if lab_request else RenderJob.from_json(request["job"])
    try:
        with reading_within(lambda: FileScope(job.roots)):
            if job.counts:
                load(job.encoding)
            else:
                encoding_name(job.encoding)  # raises UnknownEncodingError
    except (UnknownEncodingError, VocabularyError) as error:
        return {"outcome": RenderFailure("encoding", str(error), job.path).to_json()}
    if request["tells_start"]:
        outbox.send({"id": request["id"], "started": job.encoding})
    # Relative file names in functions refer to the folder of the functions file. A prompt without a
    # functions file must not find the files beside that of the previous job.
    _show(job.environment)
    folder = Path(job.functions or job.path).parent
    os.chdir(folder if folder.is_absolute() and folder.is_dir() else os.sep)
    scope = FileScope(job.roots)
    MARK.clear()
    seconds: float = request["seconds"]
    faulthandler.dump_traceback_later(TIMES_BUSY * seconds + GRACE_SECONDS, exit=True)
    try:
        with reporter.watching(request["id"], seconds), reading_within(lambda: scope):
            if lab_request is not None:
                return _answer_lab(lab_request, _progress_sender(outbox, request["id"], seconds))
            if "rows" in request:
                return packed_rows(execute_rows(job, map(unpack, request["rows"])))
            return {"outcome": packed_outcome(execute(job))}
    except MemoryError:
        return {"outcome": RenderFailure("memory", "Rendering needs more memory than its limit.").to_json()}
    except Exception as error:  # noqa: BLE001 - the next job must be processed, whatever it is
        traceback.print_exc()
        message = f"Rendering failed in a way that promptls does not know: {type(error).__name__}: {error}"
        return {"outcome": RenderFailure("crash", message, job.path).to_json()}
    finally:
        if os.getpid() != OWN_PID:
            # This process was forked by a function. It has no watchdog thread, so cancelling that would
            # wait forever.
            os._exit(0)
        faulthandler.cancel_dump_traceback_later()


def _answer_lab(request: LabRequest, notify: Notify) -> dict[str, Any]:
    """Return the result of the truncation lab, or the failure as an outcome."""
    from promptls.rendering.turns import explore_turns

    found = explore_turns(request, notify)
    return {"outcome": found.to_json()} if isinstance(found, RenderFailure) else {"found": found}


def _progress_sender(outbox: Outbox, request: int, seconds: float) -> Notify:
    """Return a callback that sends the progress of a job at intervals, and restarts its time limit."""
    sent = 0.0

    def notify(what: str, done: int, count: int) -> None:
        nonlocal sent
        now = time.monotonic()
        if now - sent < PROGRESS_SECONDS and done < count:
            return
        sent = now
        faulthandler.dump_traceback_later(TIMES_BUSY * seconds + GRACE_SECONDS, exit=True)
        outbox.send({"id": request, "progress": (what, done, count)})

    return notify


def _answer_count(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token counts of the texts in `request`, or their individual tokens.

    If that fails, return the reason as `error`.
    """
    try:
        if request.get("cut"):
            return {"pieces": [pieces(text, request["encoding"])._asdict() for text in request["texts"]]}
        return {"counts": [count(text, request["encoding"]) for text in request["texts"]]}
    except (UnknownEncodingError, VocabularyError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main(sys.argv[1:])
