"""What can be wrong with a data set's file before its format matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.text.nearest import nearest


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The file at `path`, open for reading as UTF-8 with or without a byte order mark.

    Raises `WrongUse` when there is no such file, with the nearest name in its folder.
    """
    try:
        stream = path.open(encoding="utf-8-sig", newline="")
    except FileNotFoundError:
        raise WrongUse("the data set does not exist", FilePlace(path), _other_files(path)) from None
    except IsADirectoryError:
        raise WrongUse("the data set is a folder", FilePlace(path), "name a file in it") from None
    except OSError as error:
        raise Failure(
            f"the data set cannot be opened: {error.strerror}", FilePlace(path), "check its permissions"
        ) from None
    except ValueError:
        raise WrongUse("no data set can have this name", FilePlace(path), _other_files(path)) from None
    with stream:
        yield stream


def opened_bytes(path: Path) -> None:
    """Raises what `opened` raises for a file that is not there or cannot be read, whatever is in it."""
    with opened(path):
        pass


def not_utf8(path: Path, error: UnicodeDecodeError) -> Failure:
    """The failure of a file whose bytes are no UTF-8."""
    return Failure(
        f"the data set is not UTF-8: byte 0x{error.object[error.start]:02x} is not valid there",
        FilePlace(path),
        "save the file in UTF-8; in a spreadsheet program choose `CSV UTF-8`",
    )


def _other_files(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return f"the folder `{path.parent}` does not exist either: check the path"
    near = nearest(path.name, names)
    if near is not None:
        return f"did you mean `{near}`, in the same folder?"
    return "check the path; it is read from the prompt file's folder"
