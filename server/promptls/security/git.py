"""Git commands in untrusted folders, which run no programs configured in the repository.

The configuration of a repository can name programs: a file system monitor, hooks, filters, a pager, a fetch
command. An archive or a shared folder can contain them, and plain `git status` runs several.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

from promptls.security.processes import find_program, minimal_environment, search_path
from promptls.text.errors import FilePlace, UserError

SECONDS: Final = 10.0
"""The time limit of a git command."""

_SETTINGS: Final = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.askPass=",
    "credential.helper=",
    "diff.external=",
    "log.showSignature=false",
    "protocol.allow=never",
    "status.submoduleSummary=false",
)
_VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # unlike `protocol.allow`, the repository cannot override it
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # the user's own git command may be waiting for the lock
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_OWN_SCOPES: Final = frozenset({"system", "global", "command"})
_PROGRAMS: Final = re.compile(
    r"filter\..*\.(clean|process)|lfs\.(extension|customtransfer)\..*", re.IGNORECASE | re.DOTALL
)
"""Configuration keys with programs that `git status` may run."""


def run_git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command in the folder.

    Raises UserError if git is missing, fails, takes too long, or its output is not UTF-8.
    """
    try:
        done = subprocess.run(  # noqa: S603 - git, without a shell
            _command(folder, arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            **_options(),
        )
    except OSError as error:
        raise _no_git() from error
    except subprocess.TimeoutExpired:
        raise _late(folder) from None
    return _text(folder, done.returncode, done.stdout, done.stderr)


async def run_git_async(folder: Path, *arguments: str) -> str:
    """Run git like `run_git`, without blocking the event loop."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_command(folder, arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_options(),
        )
    except OSError as error:
        raise _no_git() from error
    try:
        output, errors = await asyncio.wait_for(process.communicate(), SECONDS)
    except asyncio.TimeoutError:
        raise _late(folder) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return _text(folder, process.returncode, output, errors)


def is_dirty(folder: Path) -> bool | None:
    """Return whether tracked files have changed since the last commit.

    None if git fails, or would run a program that the repository names.
    """
    try:
        if _runs_programs(folder):
            return None
        # Git does not apply the settings above in the work tree of a submodule.
        arguments = ("--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
        return bool(run_git(folder, "status", *arguments).strip())
    except UserError:
        return None


def _runs_programs(folder: Path) -> bool:
    arguments = ("config", "--includes", "--show-scope", "--name-only", "--list", "-z")
    listed = run_git(folder, *arguments).split("\0")
    return any(
        scope not in _OWN_SCOPES and _PROGRAMS.fullmatch(name)
        for scope, name in zip(listed[::2], listed[1::2], strict=False)
    )


def _command(folder: Path, arguments: tuple[str, ...]) -> list[str]:
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    return [_program(), "--no-pager", *settings, "-C", str(folder.absolute()), *arguments]


def _program() -> str:
    found = find_program("git")
    if found is None:
        raise FileNotFoundError("git")
    return found


def _options() -> dict[str, Any]:
    return {
        "env": {**minimal_environment(), "PATH": os.pathsep.join(search_path()), **_VARIABLES},
        "cwd": Path(_program()).parent,
        # Without this flag, a console window opens on Windows.
        "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0),
    }


def _text(folder: Path, code: int, output: bytes, errors: bytes) -> str:
    if code != 0:
        first = (errors.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[0]
        if "not a git repository" in first:
            first = "the file lies in no git repository, so there is no commit to compare with"
        raise UserError(first.removeprefix("fatal: "), FilePlace(folder))
    try:
        return output.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("the file is not text in UTF-8", FilePlace(folder)) from None


def _no_git() -> UserError:
    return UserError("git cannot be started", remedy="install git to compare with the last commit")


def _late(folder: Path) -> UserError:
    return UserError("git did not answer in time", FilePlace(folder))
