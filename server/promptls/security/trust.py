"""The user's decisions: the trusted folders, and the servers to which keys may be sent.

Decisions are stored in the user's configuration folder (`trust.json`), outside of any project. The decision
on a folder applies to its subfolders, unless one of them has its own decision.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from promptls.text.errors import FilePlace, UserError

_FILE: Final = "trust.json"
_FORM: Final = 1
_MAX_LISTED: Final = 8
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True, order=True)
class KeyGrant:
    """Permission to send the value of an environment variable to a server, identified by its origin."""

    variable: str
    origin: str

    @classmethod
    def parse(cls, text: str) -> KeyGrant:
        """Parse a grant `VARIABLE@ORIGIN`; raises ValueError for other formats."""
        variable, _, origin = text.partition("@")
        if not variable.isidentifier() or not origin:
            raise ValueError(f"`{text}` is not `VARIABLE@https://HOST`")
        return cls(variable, origin_of(origin if "://" in origin else f"https://{origin}"))

    def __str__(self) -> str:
        return f"{self.variable}@{self.origin}"


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, in lower case, without a port that the scheme implies.

    User names, passwords, paths and queries are not included. Raises ValueError without a host.
    """
    parts = urlsplit(url.strip())
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise ValueError(f"`{url}` names no host")
    shown = f"[{host}]" if ":" in host else host.encode("idna").decode() if not host.isascii() else host
    port = parts.port
    scheme = parts.scheme.lower()
    return f"{scheme}://{shown}" + (f":{port}" if port is not None and port != _PORTS.get(scheme) else "")


@dataclass(frozen=True, slots=True)
class FolderCode:
    """The Python files and models of a folder that a command would run or use."""

    python: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.python or self.models)

    def __str__(self) -> str:
        listed = (("run its Python", self.python), ("use its models", self.models))
        return " and ".join(f"{what}: {listed_names(names)}" for what, names in listed if names)

    def left_out(self) -> str:
        """Return a message that none of it was run."""
        be = "was" if len(self.python) == 1 else "were"
        python = f"{listed_names(self.python)} {be} not run" if self.python else ""
        be = "was" if len(self.models) == 1 else "were"
        models = f"{listed_names(self.models)} {be} not loaded" if self.models else ""
        return " and ".join(filter(None, (python, models)))


def printable(text: str) -> str:
    """Return the text without characters that a terminal or an editor does not show literally."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)


def listed_names(names: tuple[str, ...]) -> str:
    """Return the first of some foreign names as an enumeration."""
    shown = ", ".join(printable(name) for name in names[:_MAX_LISTED])
    more = len(names) - _MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True, slots=True)
class Decisions:
    """The content of the file: folders and whether they are trusted, and grants."""

    folders: dict[str, bool] = field(default_factory=dict)
    grants: frozenset[KeyGrant] = frozenset()

    def on(self, folder: str | os.PathLike[str]) -> bool | None:
        """Return whether the folder is trusted; None if that is undecided."""
        path = Path(os.path.realpath(folder))
        return next(
            (self.folders[str(each)] for each in (path, *path.parents) if str(each) in self.folders), None
        )


def covers_home(folder: Path) -> bool:
    """Return whether a folder is the user's home folder, one above it, or a drive.

    Trust in it would include everything that the user has ever downloaded.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path.home` raises without a home
    homes = {Path(home), Path(os.path.realpath(home))}
    return folder == Path(folder.anchor) or any(each.is_relative_to(folder) for each in homes)


def config_folder() -> Path:
    """Return the user's configuration folder: `$PROMPTLS_CONFIG_DIR`, or the default of the system."""
    from platformdirs import user_config_path

    named = os.environ.get("PROMPTLS_CONFIG_DIR", "").strip()
    return Path(named) if named else user_config_path("promptls", appauthor=False)


class TrustStore:
    """The user's decisions on disk.

    Each query reads the file, so that decisions saved by other processes apply immediately.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file: Final = file or config_folder() / _FILE

    def read(self) -> Decisions:
        """Return all decisions; raises UserError for a file that cannot be read."""
        if not self.file.is_absolute():  # without a home, a folder could supply its own decisions
            return Decisions()
        try:
            return _decisions(json.loads(self.file.read_text("utf-8")))
        except FileNotFoundError:
            return Decisions()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"the decisions on trust cannot be read: {error}",
                FilePlace(self.file),
                "correct or delete the file; then nothing is trusted until you decide again",
            ) from None

    def decision(self, folders: Iterable[str | os.PathLike[str]]) -> bool | None:
        """Return whether all `folders` are trusted; None if some are undecided and none is distrusted."""
        decisions = self.read()
        found = [decisions.on(folder) for folder in folders]
        if not found or False in found:
            return False if found else None
        return None if None in found else True

    def decide(self, folder: str | os.PathLike[str], *, trusted: bool | None) -> None:
        """Save whether the folder is trusted; None deletes the decision."""
        path = os.path.realpath(folder)
        known = self.read()
        folders = {name: value for name, value in known.folders.items() if name != path}
        self._write(Decisions(folders if trusted is None else {**folders, path: trusted}, known.grants))

    def give(self, grants: Iterable[KeyGrant]) -> None:
        """Save grants."""
        known = self.read()
        self._write(Decisions(known.folders, known.grants | set(grants)))

    def revoke(self, grant: KeyGrant) -> None:
        """Delete a grant."""
        known = self.read()
        self._write(Decisions(known.folders, known.grants - {grant}))

    def _write(self, decisions: Decisions) -> None:
        if not self.file.is_absolute():
            raise UserError(
                "there is no folder for the user's configuration",
                remedy="set `PROMPTLS_CONFIG_DIR` to the absolute path of one",
            )
        value = {
            "form": _FORM,
            "folders": dict(sorted(decisions.folders.items())),
            "keys": [{"variable": each.variable, "origin": each.origin} for each in sorted(decisions.grants)],
        }
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(value, indent=2) + "\n")
        temporary.replace(self.file)


def _decisions(value: dict[str, Any]) -> Decisions:
    if value["form"] != _FORM:
        raise ValueError(f"the form {value['form']} is of another version")
    folders = {
        str(folder): trusted for folder, trusted in value["folders"].items() if isinstance(trusted, bool)
    }
    return Decisions(folders, frozenset(KeyGrant(each["variable"], each["origin"]) for each in value["keys"]))
