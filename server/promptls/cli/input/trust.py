"""Trust in the folders of a command: by `--trust`, an earlier decision or an answer."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.output.terminal import shown_path
from promptls.security.trust import FolderCode, TrustStore, printable
from promptls.text.errors import UsageError

if TYPE_CHECKING:
    from promptls.cli.input.chosen_files import ChosenFiles
    from promptls.workspace.workspace import Workspace


def add_trust_argument(parser: argparse._ActionsContainer) -> None:
    """Declare the option that trusts the folder for one command."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="trust the folder this time and run its Python; `promptls trust FOLDER` remembers it",
    )


def is_trusted(folders: Iterable[str | Path], *, this_time: bool) -> bool:
    """Return whether the folders are trusted, without a question."""
    return this_time or TrustStore().decision(folders) is True


def trust_where_decided(workspace: Workspace, *, this_time: bool) -> bool:
    """Trust the workspace if its folders are trusted; return whether they are. Nobody is asked."""
    trusted = is_trusted(workspace.snapshot.roots, this_time=this_time)
    workspace.set_trusted(trusted=trusted)
    return trusted


def trust_to_render(chosen: ChosenFiles, paths: Sequence[str], *, this_time: bool) -> None:
    """Trust the workspace of the chosen files, where rendering those at `paths` needs it.

    Raises UsageError as `require_trust`.
    """
    from promptls.rendering.folder_code import code_of_rendering

    if trust_where_decided(chosen.workspace, this_time=this_time):
        return
    code = code_of_rendering(chosen.snapshot, paths)
    if code:
        require_trust(chosen.snapshot.roots, lambda: code)
        chosen.workspace.set_trusted(trusted=True)


def require_trust(folders: Iterable[str | Path], code_of: Callable[[], FolderCode]) -> None:
    """Return if all folders are trusted; on a terminal, undecided ones are asked for, once.

    `code_of` returns what the command would run of them. Raises UsageError for a folder that is not trusted,
    and UserError if the decisions cannot be read.
    """
    store = TrustStore()
    decisions = store.read()
    missing = [folder for folder in dict.fromkeys(map(Path, folders)) if decisions.on(folder) is not True]
    if not missing:
        return
    code = code_of()
    is_undecided = all(decisions.on(folder) is None for folder in missing)
    if is_undecided and sys.stdin.isatty() and sys.stderr.isatty() and _answers_yes(missing, code):
        for folder in missing:
            store.decide(folder, trusted=True)
        return
    raise refused(missing[0], code)


def refused(folder: Path, code: FolderCode) -> UsageError:
    """Return the error that the folder is not trusted, with the remedies."""
    would = f", and the command would {code}" if code else ""
    return UsageError(
        f"{printable(str(folder))} is not trusted{would}",
        remedy=f"`--trust` trusts it this time, {_command(folder)} from now on",
    )


def trusting(folders: Iterable[str | Path]) -> str:
    """Return what the user can do to trust the folders."""
    return " or ".join(["`--trust`", *(_command(Path(folder)) for folder in list(folders)[:1])])


def _answers_yes(folders: Sequence[Path], code: FolderCode) -> bool:
    names = " and ".join(printable(str(folder)) for folder in folders)
    question = f"promptls would {code}. " if code else ""
    sys.stderr.write(f"{question}Trust {names}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _command(folder: Path) -> str:
    """Return the command that trusts the folder, as a shell takes it."""
    return f"`promptls trust {shlex.quote(printable(shown_path(folder)))}`"
