"""The progress of a run on standard error: a bar on a terminal, otherwise occasional lines."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from promptls.cli.safe_stream import live_progress
from promptls.cli.terminal import paint, printed_path
from promptls.experiments.run_protocol import Event, RowFinished, Started, Stopped

LINES = 4
"""Fractions of a run after which a line is written if there is no terminal."""

MANY = 20
"""The rate in rows per second from which on no decimals are shown."""


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as Ctrl+C inside the `with` block: the run then reports how to resume it."""
    before: dict[int, Any] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` ignores SIGHUP, which must remain ignored.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    if callable(signal.getsignal(signal.SIGINT)):
        # The event loop has its own handler, which cancels the run.
        signal.raise_signal(signal.SIGINT)
    else:
        raise KeyboardInterrupt


T = TypeVar("T")


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; Ctrl+C cancels it and raises KeyboardInterrupt."""
    if sys.version_info >= (3, 11):
        return asyncio.run(work)

    # Python 3.10 raises KeyboardInterrupt in whatever task happens to run.
    async def run() -> T:
        task = asyncio.ensure_future(work)
        with suppress(NotImplementedError):  # on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        return await task

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextmanager
def shown_progress(*, quiet: bool, noun: str = "rows") -> Iterator[Callable[[Event], None]]:
    """Provide a function that shows a run's events; with `quiet`, only an interruption.

    `noun` is the plural of the counted items.
    """
    if quiet or not sys.stderr.isatty():
        yield _RunProgress(None, noun, quiet=quiet).notify
        return
    with live_progress(*_columns()) as bar:
        yield _RunProgress(bar, noun, quiet=quiet).notify


class _RunProgress:
    def __init__(self, bar: Progress | None, noun: str, *, quiet: bool) -> None:
        self._bar = bar
        self._noun = noun
        self._quiet = quiet
        self._task = TaskID(0)
        self._reported = 0
        self._failed = 0

    def notify(self, event: Event) -> None:
        """Show `event`."""
        if isinstance(event, Stopped):
            stopped = paint(f"stopped after {event.done} of {event.total} {self._noun}", "yellow", sys.stderr)
            print(f"{stopped}; {_how_to_resume(event.path)}", file=sys.stderr)
        elif self._quiet:
            return
        elif isinstance(event, Started) and self._bar is not None:
            self._task = self._bar.add_task(
                "asking", total=event.total, completed=event.done, failed="", rate=""
            )
        elif isinstance(event, RowFinished):
            self._row(event)

    def _row(self, event: RowFinished) -> None:
        self._failed += event.error is not None
        failed = f"{self._failed} failed" if self._failed else ""
        rate = _rate_text(event.rate)
        if self._bar is not None:
            self._bar.update(self._task, completed=event.done, failed=failed, rate=rate)
            return
        part = event.done * LINES // event.total
        if part > self._reported:
            self._reported = part
            left = f", {rate}, about {event.left:.0f} s left" if event.done < event.total else ""
            shown = f", {failed}" if failed else ""
            print(f"{event.done} of {event.total} in {event.seconds:.0f} s{shown}{left}", file=sys.stderr)


def _rate_text(rate: float) -> str:
    """Return the results per second, or per minute if there are few."""
    if rate < 1:
        return f"{60 * rate:.1f}/min"
    return f"{rate:.1f}/s" if rate < MANY else f"{rate:,.0f}/s"


def _columns() -> Iterator[ProgressColumn]:
    yield from (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
    )


def _how_to_resume(path: str) -> str:
    """Return what happens to the finished rows: the run can be resumed, or reuses cached answers."""
    if not path:
        return "their answers are kept: run it again to continue"
    return f"they are kept\ncontinue: promptls run --resume {printed_path(path)}"
