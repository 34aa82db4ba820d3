"""Standard streams on which foreign text cannot control the terminal."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from promptls.text.escape import for_terminal, without_commands

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, ProgressColumn


_MARK: Final = f"\x1b{secrets.token_hex(8)}"
"""The prefix of promptls's own styles and commands; foreign text cannot contain it."""
_STYLE: Final = re.compile(r"\[[\d;]*m")
_OWN: Final = re.compile(rf"^(?:{_STYLE.pattern}|::)")
_CI: Final = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
"""Variables set by CI systems that interpret lines of a job's log as commands."""


def style_text(text: str, code: str) -> str:
    """Return the text in the style of the escape code `code`, for a `SafeStream`."""
    return f"{_MARK}[{code}m{text}{_MARK}[0m"


def as_commands(lines: str) -> str:
    """Return the text as workflow commands, one per line, for a `SafeStream`; foreign parts are escaped."""
    return re.sub(r"^(?=::)", _MARK, lines, flags=re.MULTILINE)


class SafeStream:
    """A text stream that writes foreign control characters as visible escapes.

    Escape sequences come only from `style_text`. In a CI job, no line becomes a command for the job's runner,
    except what `as_commands` made. Everything else is delegated to the wrapped stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self.inside = stream
        self._is_in_ci = any(os.environ.get(name) for name in _CI)
        self._at_line_start = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)

    def write(self, text: str) -> int:
        """Write the text, escaped; return the number of its characters."""
        first, *others = text.split(_MARK)
        pieces = [self._foreign(first)]
        for piece in others:
            if piece.startswith("::"):
                pieces.append("::")
                self._at_line_start = False
            elif style := _STYLE.match(piece):
                pieces.append(f"\x1b{style[0]}")
            pieces.append(self._foreign(_OWN.sub("", piece, count=1)))
        self.inside.write("".join(pieces))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines one after the other."""
        for line in lines:
            self.write(line)

    def _foreign(self, text: str) -> str:
        safe = for_terminal(text)
        if not self._is_in_ci or not safe:
            return safe
        # A line may be written in several pieces, so the previous output matters.
        before = "" if self._at_line_start else "."
        _, line_end, last = safe.rpartition("\n")
        self._at_line_start = (bool(line_end) or self._at_line_start) and not last.strip()
        return without_commands(before + safe)[len(before) :]


def install() -> None:
    """Wrap the standard output and the standard error stream of this process in a `SafeStream`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, SafeStream):
            setattr(sys, name, SafeStream(stream))
    # From Python 3.13 on, the interpreter's tracebacks are colored.
    sys.excepthook = _print_traceback


def _print_traceback(
    _kind: type[BaseException], error: BaseException, _traceback: TracebackType | None
) -> None:
    import traceback

    traceback.print_exception(error)


def inside(stream: TextIO) -> TextIO:
    """Return the stream wrapped by a `SafeStream`, for output that is not foreign or must not change."""
    return cast("SafeStream", stream).inside if isinstance(stream, SafeStream) else stream


def write_document(text: str, *, as_utf8: bool = False) -> None:
    """Write a requested document: unchanged to a file or pipe, and escaped to a terminal.

    In a CI job, a pipe may be the log, so no line of the document becomes a command there. `as_utf8` writes
    UTF-8 with the text's own line endings, regardless of the output's encoding.
    """
    stream = sys.stdout
    if _may_be_log(stream):
        text = without_commands(text)
    if stream.isatty():
        stream.write(text)
    elif as_utf8:
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "surrogatepass"))
        stream.buffer.flush()
    else:
        inside(stream).write(text)


def _may_be_log(stream: TextIO) -> bool:
    if not any(os.environ.get(name) for name in _CI):
        return False
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


@contextmanager
def live_progress(*columns: str | ProgressColumn) -> Iterator[Progress]:
    """Show a progress display on the error stream; what is printed meanwhile appears above it."""
    from rich.console import Console
    from rich.file_proxy import FileProxy
    from rich.progress import Progress

    # Printed text must not be interpreted as markup.
    console = Console(file=inside(sys.stderr), markup=False, emoji=False, highlight=False)
    # rich's own redirection would replace the streams that escape.
    display = Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    streams = {
        stream: stream.inside
        for stream in (sys.stdout, sys.stderr)
        if isinstance(stream, SafeStream) and stream.isatty()
    }
    with display:
        try:
            for stream, raw in streams.items():
                stream.inside = cast("TextIO", FileProxy(console, raw))
            yield display
        finally:
            for stream, raw in streams.items():
                stream.flush()
                stream.inside = raw
