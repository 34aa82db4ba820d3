"""Permission of the user: to run a folder's code, to send keys, to spend money, to install a model."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.arguments import dollars, whole_number
from promptls.cli.terminal import shown_path
from promptls.security.files import (
    ANYWHERE,
    FileScope,
    absolute_path,
    reading_within,
    restrict_reading,
    scope_of,
)
from promptls.security.processes import IMPORT_FOLDER
from promptls.security.trust import FolderCode, KeyGrant, TrustStore, covers_home, printable
from promptls.text.errors import UsageError, UserError
from promptls.workspace.settings import folder_to_trust

if TYPE_CHECKING:
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.experiments.access import Access
    from promptls.experiments.run_protocol import Planned
    from promptls.workspace.workspace import Workspace


def add_trust_argument(parser: argparse._ActionsContainer) -> None:
    """Declare the option that trusts the folder for one command."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="trust the folder this time and run its Python; `promptls trust FOLDER` remembers it",
    )


def read_as_trusted(arguments: argparse.Namespace) -> None:
    """Restrict reading to the folders of the command, unless they are trusted.

    These are the projects around the files in the arguments and around the working directory, unless that is
    the home folder. They are determined when the first file is read.
    """

    @cache
    def scope() -> FileScope:
        with reading_within(lambda: ANYWHERE):
            named, here = list(_paths_in(arguments)), Path.cwd()
            roots = list(map(folder_to_trust, named if named and covers_home(here) else [here, *named]))
            trusted = is_trusted(roots, this_time=getattr(arguments, "trust", False) is True)
        return ANYWHERE if trusted else scope_of(dict.fromkeys(roots))

    restrict_reading(scope)


def _paths_in(arguments: argparse.Namespace) -> Iterator[Path]:
    for value in vars(arguments).values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str | Path):
                path = absolute_path(each)
                with contextlib.suppress(OSError, ValueError):  # for arguments that are invalid as file names
                    if path.exists():
                        yield path
                    elif path.name != str(each) and path.parent.is_dir():
                        yield path.parent


def is_trusted(folders: Iterable[str | Path], *, this_time: bool) -> bool:
    """Return whether the folders are trusted, without asking the user."""
    return this_time or TrustStore().decision(folders) is True


def trust_where_decided(workspace: Workspace, *, this_time: bool) -> bool:
    """Trust the workspace if its folders are trusted, without asking the user; return whether they are."""
    trusted = is_trusted(workspace.snapshot.roots, this_time=this_time)
    workspace.set_trusted(trusted=trusted)
    return trusted


def trust_to_render(chosen: ChosenFiles, paths: Sequence[str], *, this_time: bool) -> None:
    """Trust the workspace of the chosen files, if rendering those at `paths` requires it.

    Raises UsageError like `require_trust`.
    """
    from promptls.rendering.make import code_of_rendering

    if trust_where_decided(chosen.workspace, this_time=this_time):
        return
    code = code_of_rendering(chosen.snapshot, paths)
    if code:
        require_trust(chosen.snapshot.roots, lambda: code)
        chosen.workspace.set_trusted(trusted=True)


def require_trust(folders: Iterable[str | Path], code_of: Callable[[], FolderCode]) -> None:
    """Ensure that all folders are trusted; on a terminal, ask the user once about undecided ones.

    `code_of` returns the code in them that the command would run. If there is none and the user has decided
    nothing, the command continues without trust, and reads only what is inside the folders. Raises UsageError
    for a folder that is not trusted, and UserError if the decisions cannot be read.
    """
    store = TrustStore()
    decisions = store.read()
    missing = [folder for folder in dict.fromkeys(map(Path, folders)) if decisions.on(folder) is not True]
    if not missing:
        restrict_reading(lambda: ANYWHERE)
        return
    code = code_of()
    is_undecided = all(decisions.on(folder) is None for folder in missing)
    if is_undecided and not code:
        return
    if is_undecided and can_ask() and _answers_yes(missing, code):
        for folder in missing:
            store.decide(folder, trusted=True)
        restrict_reading(lambda: ANYWHERE)
        return
    raise untrusted_error(missing[0], code)


def untrusted_error(folder: Path, code: FolderCode, remedy: str | None = None) -> UsageError:
    """Return the error that the folder is not trusted, with the remedies."""
    would = f", and the command would {code}" if code else ""
    return UsageError(
        f"{printable(str(folder))} is not trusted{would}",
        remedy=remedy or f"`--trust` trusts it this time, {_command(folder)} from now on",
    )


def trusting(folders: Iterable[str | Path]) -> str:
    """Return what the user can do to trust the folders."""
    return " or ".join(["`--trust`", *(_command(Path(folder)) for folder in list(folders)[:1])])


def _answers_yes(folders: Sequence[Path], code: FolderCode) -> bool:
    names = " and ".join(printable(str(folder)) for folder in folders)
    are, them = ("is", "it") if len(folders) == 1 else ("are", "them")
    would = f" promptls would {code}." if code else ""
    return agrees(f"{names} {are} not trusted.{would} Trust {them}?")


def _command(folder: Path) -> str:
    """Return the command that trusts the folder, quoted for a shell."""
    return f"`promptls trust {shlex.quote(printable(shown_path(folder)))}`"


def add_allow_key(parser: argparse._ActionsContainer) -> None:
    """Declare `--allow-key`."""
    parser.add_argument(
        "--allow-key",
        metavar="VARIABLE@HOST",
        type=_grant,
        action="append",
        default=[],
        help="allow the key in VARIABLE to be sent to this server this time, such as "
        "`OPENAI_API_KEY@https://llm.example.com`; may be repeated",
    )


def add_spending_arguments(parser: argparse.ArgumentParser, *plan: str) -> argparse._ArgumentGroup:
    """Declare the options about the cost of a run; `plan` are the names of the option that only prints it."""
    spending = parser.add_argument_group("cost")
    spending.add_argument(*plan, action="store_true", help="print the plan and its cost, and stop")
    spending.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    spending.add_argument("--fresh", action="store_true", help="ignore cached answers")
    add_allow_key(spending)
    spending.add_argument("--max-calls", metavar="N", type=whole_number, help="stop after N calls")
    spending.add_argument("--max-tokens", metavar="N", type=whole_number, help="stop after N tokens")
    spending.add_argument("--max-cost", metavar="DOLLARS", type=dollars, help="stop after so many US dollars")
    return spending


@contextmanager
def keys_allowed(accesses: Sequence[Access], grants: Sequence[KeyGrant], *, asks: bool) -> Iterator[None]:
    """Hide variables that the runs do not need from this process, inside the `with` block.

    With `asks`, the user is asked about each key that the settings of a project send elsewhere. Raises
    NotAllowedError if the user declines, or cannot be asked.
    """
    from promptls.experiments.access import limited_to
    from promptls.models.keys import granting

    with granting(grants):
        if asks:
            for access in accesses:
                ask_for_keys(access)
        with limited_to(accesses):
            yield


def can_ask() -> bool:
    """Return whether there is an interactive terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """Ask a question on the terminal; return whether the answer is yes."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def ask_for_keys(access: Access) -> None:
    """Ask the user for each missing grant, and save it; raises like `keys_allowed`."""
    if not can_ask():
        access.check()
        return
    from promptls.models.keys import NotAllowedError

    for question in access.questions():
        if not agrees(question.text()):
            message = "nothing was run, and no key was sent"
            raise NotAllowedError(message, question.place, "choose another model")
        TrustStore().give([question.grant])


def sent_lines(sends: Sequence[Mapping[str, Any]], environment: Sequence[str]) -> list[str]:
    """Describe which keys are sent where, and which variables are read, one line for each."""
    from promptls.models.keys import Destination

    lines = list(dict.fromkeys(Destination(**each).description() for each in sends))
    if environment:
        lines.append(f"functions and metrics may read {', '.join(environment)}")
    return lines


def _grant(text: str) -> KeyGrant:
    try:
        return KeyGrant.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def ask_before_spending(plans: Iterable[Planned], less: str = "`--rows 20`") -> None:
    """Raise `UsageError` if the cost is high and the user does not allow it.

    `less` is the option of a smaller run.
    """
    questions = [plan.question for plan in plans if plan.question is not None]
    if questions:
        confirm_spending(
            " ".join(questions),
            f"a smaller run: {less}, or a budget: `--max-cost 0.5`",
            f"run less: {less}, `--max-cost 0.5`",
        )


def confirm_spending(question: str, less: str, alone: str) -> None:
    """Ask the question, which ends in `Run it?`; raise `UsageError` if the answer is not yes.

    `less` is the remedy if the user declines, `alone` the one if the user cannot be asked.
    """
    if can_ask():
        if agrees(question):
            return
        raise UsageError("nothing was run", remedy=less)
    raise UsageError(
        question.removesuffix(" Run it?"),
        remedy=f"pass `--yes` to run it, or {alone}; "
        "the setting `ask_above` determines what runs without a question",
    )


def installed_model(failure: UserError) -> bool:
    """Return whether the command failed for want of a model of this machine, which is installed now.

    On a terminal, the user is asked first.
    """
    from promptls.models.weights import MissingModelError, installation

    if not isinstance(failure, MissingModelError) or not can_ask():
        return False
    sys.stderr.write(f"The {failure.message[4:]}.\n  {shlex.join(installation(failure.model))}\n")
    return agrees("Run this command now? It downloads 127 MB, once.") and install_model(failure.model)


def install_model(name: str) -> bool:
    """Install a model of this machine; return whether that succeeded. The installer prints what it does."""
    import subprocess

    from promptls.models.weights import installation

    done = subprocess.run(installation(name), cwd=IMPORT_FOLDER, stdout=sys.stderr, check=False)  # noqa: S603
    importlib.invalidate_caches()
    return done.returncode == 0
