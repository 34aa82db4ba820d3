"""Safe reading of files named by a folder, a prompt or a command.

A file is read only if it is a regular file: a device such as `/dev/zero` has no end, and opening a named pipe
blocks. In an untrusted folder, it must also be inside the folder after all symbolic links are resolved, so
that `samples: /proc/self/environ` or a link to `~/.ssh/id_rsa` reveals nothing.

The readable folders are a context variable. The handler of a message, a command or a job sets it once with
`reading_within`; everything below reads through this module, which always applies the check.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TextIO, TypeAlias, TypeVar, cast

from promptls.facts import Reads, note, repeatable
from promptls.text.filenames import MAX_BYTES

_Function = TypeVar("_Function", bound=Callable[..., Any])

AnyPath: TypeAlias = "str | os.PathLike[str]"

_MAX_LINKS: Final = 40
_PIECE: Final = 1 << 18
_IS_WINDOWS: Final = os.name == "nt"
_WINDOWS_DEVICE: Final = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])[ .]*(\..*)?",
    re.IGNORECASE,
)
_PRIVATE_FOLDER: Final = re.compile(r"\.git|git~\d+", re.IGNORECASE)
"""A folder whose files are never read without trust: CI stores the token of a checkout in `.git/config`."""
_OPEN_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class OutsideScopeError(PermissionError):
    """The file is outside of the readable folders."""

    def __init__(self, path: AnyPath) -> None:
        super().__init__(
            errno.EACCES, "it is outside of the workspace, which is not trusted", os.fspath(path)
        )


class NotRegularFileError(OSError):
    """The path is a device, a pipe, a socket or a folder."""

    def __init__(self, path: AnyPath) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file", os.fspath(path))


class FileTooLargeError(OSError):
    """The file exceeds the size limit for its kind."""

    def __init__(self, path: AnyPath, limit: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {limit / 1_000_000:g} MB", os.fspath(path))


@dataclass(frozen=True, slots=True)
class FileScope:
    """The folders whose files may be read; None for all folders."""

    roots: tuple[str, ...] | None = None

    def allows(self, path: AnyPath) -> bool:
        """Return whether the file at `path`, which need not exist, may be read."""
        return self.resolve(path) is not None

    def resolve(self, path: AnyPath) -> str | None:
        """Return the path with its links resolved; None if it is outside of the roots.

        No file outside of the roots is accessed. On Windows, an access would send the user's credentials to
        the server in a UNC path.
        """
        try:
            full = os.path.abspath(path)  # noqa: PTH100 - removes `..`, but does not follow links
        except ValueError:  # an embedded NUL
            return None
        if self.roots is None:
            return full
        for root in self.roots:
            inside = _below(full, root)
            if inside is not None:
                return self._resolve_below(root, inside)
        return None

    def _resolve_below(self, root: str, inside: str) -> str | None:
        parts = [*Path(inside).parts][::-1]
        current = root
        links = 0
        while parts:
            part = parts.pop()
            if _is_private(part) or (_IS_WINDOWS and _names_device(part)):
                return None
            current = os.path.join(current, part)  # noqa: PTH118 - runs for each part of each path
            try:
                target = os.readlink(current)  # noqa: PTH115 - as above
            except (OSError, ValueError):  # not a link, or missing
                continue
            links += 1
            target = target.removeprefix("\\\\?\\")
            target = os.path.normpath(os.path.join(os.path.dirname(current), target))  # noqa: PTH118, PTH120
            found = next((each for each in self.roots or () if _below(target, each) is not None), None)
            if found is None or links > _MAX_LINKS:
                return None
            parts += [*Path(_below(target, found) or "").parts][::-1]
            current = found
        return current


ANYWHERE: Final = FileScope()
"""No restriction: for programs, and for folders that the user trusts."""

Scope: TypeAlias = Callable[[], FileScope]
"""A function that returns the current scope, which changes when a file is opened or a folder is trusted."""


def _anywhere() -> FileScope:
    return ANYWHERE


_scope: ContextVar[Scope] = ContextVar("file_scope", default=_anywhere)


def scope_of(roots: Iterable[AnyPath]) -> FileScope:
    """Return the scope of some folders, including the real paths of links to them."""
    spellings = (
        spelling
        for root in roots
        for spelling in (os.path.abspath(root), os.path.realpath(root))  # noqa: PTH100
    )
    return FileScope(tuple(dict.fromkeys(spellings)))


def current_scope() -> FileScope:
    """Return the currently readable folders."""
    return _scope.get()()


@contextmanager
def reading_within(scope: Scope) -> Iterator[None]:
    """Restrict reading to `scope` inside the `with` block, and in tasks started there."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def restrict_reading(scope: Scope) -> None:
    """Restrict reading to `scope` from now on, for a process that serves one folder."""
    _scope.set(scope)


def absolute_path(path: str | Path) -> Path:
    """Return the absolute path without `..`; links are not followed, and no file is accessed."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `Path.resolve` follows links


def join_path(folder: AnyPath, name: AnyPath) -> Path:
    """Return the absolute path, without `..`, of the file `name` relative to a folder.

    Unlike `Path.resolve`, it accesses no files, since a name may refer to a foreign server.
    """
    return absolute_path(os.path.join(folder, name))  # noqa: PTH118 - as it is written


def open_bytes(path: AnyPath) -> BinaryIO:
    """Open a regular file that may be read.

    Raises OSError: OutsideScopeError, NotRegularFileError, or the error of the system.
    """
    file_status(path)  # lets recorders of dependencies detect a later change
    resolved = current_scope().resolve(path)
    if resolved is None:
        raise OutsideScopeError(path)
    try:
        descriptor = os.open(resolved, _OPEN_FLAGS)
    except ValueError:
        raise FileNotFoundError(errno.ENOENT, "no file can have this name", os.fspath(path)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise NotRegularFileError(path)


def open_text(path: AnyPath, encoding: str = "utf-8", errors: str = "strict") -> TextIO:
    """Open a regular file that may be read as text, with its line breaks; raises like `open_bytes`."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, errors=errors, newline="")


def read_bytes(path: AnyPath, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a file; raises like `open_bytes`, and FileTooLargeError above `limit` bytes."""
    content = bytearray()
    with open_bytes(path) as stream:
        # In pieces: a read of `limit` bytes at once would reserve that much memory for a small file.
        while piece := stream.read(_PIECE):
            content += piece
            if len(content) > limit:
                raise FileTooLargeError(path, limit)
    return bytes(content)


def read_text(path: AnyPath, encoding: str = "utf-8", limit: int = MAX_BYTES) -> str:
    r"""Return the text of a file, with line breaks normalized to `\n`.

    Raises like `read_bytes`, and UnicodeDecodeError.
    """
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, limit)), encoding=encoding).read()


def file_status(path: AnyPath) -> os.stat_result | None:
    """Return the status of a readable regular file; None if it does not exist."""
    status = _file_status(path)
    note(stamp_again, (path,), _stamp(status))
    return status


@repeatable
def stamp_again(_subject: object, path: AnyPath) -> Stamp | None:
    """Return the state of a file: the question that `file_status` records."""
    return _stamp(_file_status(path))


def _file_status(path: AnyPath) -> os.stat_result | None:
    status = _status(path)
    return status if status is not None and stat.S_ISREG(status.st_mode) else None


def _status(path: AnyPath) -> os.stat_result | None:
    resolved = current_scope().resolve(path)
    if resolved is None:
        return None
    try:
        return os.stat(resolved)  # noqa: PTH116 - runs at each keystroke, and a Path takes twice as long
    except (OSError, ValueError):  # ValueError: an invalid file name
        return None


def is_file(path: AnyPath) -> bool:
    """Return whether `path` is a regular file that may be read."""
    return file_status(path) is not None


def is_folder(path: AnyPath) -> bool:
    """Return whether `path` is a folder whose files may be read."""
    return folder_changed(path) is not None


def folder_changed(path: AnyPath) -> int | None:
    """Return the modification time of a folder; None if it does not exist."""
    changed = _folder_changed(path)
    note(folder_changed_again, (path,), changed)
    return changed


@repeatable
def folder_changed_again(_subject: object, path: AnyPath) -> int | None:
    """Return the state of a folder: the question that `folder_changed` records."""
    return _folder_changed(path)


def _folder_changed(path: AnyPath) -> int | None:
    status = _status(path)
    return status.st_mtime_ns if status is not None and stat.S_ISDIR(status.st_mode) else None


def names_in(folder: AnyPath) -> list[str]:
    """Return the sorted names in a folder; empty if it cannot or must not be read."""
    folder_changed(folder)  # lets recorders of dependencies detect a later change
    resolved = current_scope().resolve(folder)
    try:
        return [] if resolved is None else sorted(os.listdir(resolved))  # noqa: PTH208 - names alone
    except (OSError, ValueError):
        return []


def file_reads(reads: Reads) -> list[list[Any]]:
    """Return which files and folders were read, with their states, as JSON for `note_file_reads`."""
    return [
        [question.ask is folder_changed_again, os.fspath(cast("AnyPath", question.arguments[0])), state]
        for question, state in reads.answers.items()
        if question.ask in {stamp_again, folder_changed_again}
    ]


def note_file_reads(reads: Iterable[tuple[bool, str, Any]]) -> None:
    """Record what another process has read for the current computation."""
    for is_of_folder, path, state in reads:
        if is_of_folder:
            note(folder_changed_again, (path,), state)
        else:
            note(stamp_again, (path,), state and Stamp(*state))


class Stamp(NamedTuple):
    """A file's modification time in nanoseconds, and its size in bytes, for detecting changes."""

    changed: int
    size: int


def stamp_of(path: AnyPath) -> Stamp | None:
    """Return the stamp of a readable regular file; None if it does not exist."""
    return _stamp(file_status(path))


def _stamp(status: os.stat_result | None) -> Stamp | None:
    return None if status is None else Stamp(status.st_mtime_ns, status.st_size)


def cached_by_file(limit: int) -> Callable[[_Function], _Function]:
    """Cache a function's results for a file until the file changes, for the last `limit` calls.

    The function takes a path and further hashable arguments. Nothing is cached for an unreadable file.
    """

    def keeping(function: _Function) -> _Function:
        @lru_cache(maxsize=limit)
        def known(_stamp: Stamp, *arguments: Any) -> Any:
            return function(*arguments)

        @wraps(function)
        def answer(path: AnyPath, *more: Any) -> Any:
            stamp = stamp_of(path)
            return function(path, *more) if stamp is None else known(stamp, cast("Any", path), *more)

        return cast("_Function", answer)

    return keeping


def _is_private(part: str) -> bool:
    """Return whether some file system takes a part of a path for `.git`.

    Windows ignores dots and spaces at the end and has short names; macOS may ignore invisible characters.
    """
    if not part.isascii():
        part = "".join(each for each in part if unicodedata.category(each) != "Cf")
    return _PRIVATE_FOLDER.fullmatch(part.rstrip(". ")) is not None


def _names_device(part: str) -> bool:
    """Return whether Windows interprets a part of a path as a device or an alternate stream."""
    return ":" in part or _WINDOWS_DEVICE.fullmatch(part) is not None


def _below(path: str, root: str) -> str | None:
    """Return the rest of `path` below `root`; None if it is not below it."""
    same = os.path.normcase(path), os.path.normcase(root)
    if same[0] == same[1]:
        return ""
    prefix = same[1] if same[1].endswith(os.sep) else same[1] + os.sep
    return path[len(prefix) :] if same[0].startswith(prefix) else None
