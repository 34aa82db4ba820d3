"""The files that a command processes, and writing changes to them."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from glob import escape
from pathlib import Path
from typing import Final

from promptls.security.files import absolute_path, reading_within, restrict_reading, scope_of
from promptls.security.trust import covers_home
from promptls.security.written_files import replace_file
from promptls.semantic.kind import Kind
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.filenames import MAX_BYTES
from promptls.text.suggest import nearest
from promptls.workspace.disk import has_prompt_name, is_saved_prompt, program_paths, prompt_paths
from promptls.workspace.settings import folder_to_trust, project_folder
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The unique absolute paths of the files: `named` explicitly, or `found` in folders."""

    workspace: Workspace
    named: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def snapshot(self) -> Snapshot:
        """The workspace as it is now."""
        return self.workspace.snapshot

    def all(self) -> tuple[str, ...]:
        """Return every file, named ones first."""
        return tuple(dict.fromkeys([*self.named, *self.found]))


def choose(arguments: Sequence[str], *, all_kinds: bool = False) -> ChosenFiles:
    """Return the files at the paths `arguments`, searching folders for prompt files.

    The default is the working directory. Files matched by the setting `include` are also prompt files.
    With `all_kinds`, folders are also searched for prompts that Ragas has saved, and for Python files that
    may contain what is checked.

    The snapshot's roots are the projects around the files, because includes are resolved from there.
    The workspace is not trusted; `cli.permission` decides that.
    For a file outside of any project, only nearby files are read, since its folder may contain anything.
    Raises UsageError for a path that does not exist or cannot be read.
    """
    paths = [existing(argument) for argument in arguments or ["."]]
    workspace = _around(paths)
    named = tuple(str(path) for path in paths if not path.is_dir())
    snapshot = workspace.snapshot

    def is_prompt(path: str) -> bool:
        is_saved = all_kinds and is_saved_prompt(path)
        return is_saved or has_prompt_name(path) or snapshot.project(path).includes(path)

    folders = [path for path in paths if path.is_dir()]
    found = [file for folder in folders for file in prompt_paths(folder, is_prompt)]
    if all_kinds:
        found += [file for folder in folders for file in program_paths(folder)]
    return ChosenFiles(workspace, named, tuple(found))


def choose_text(word: str, text: str) -> ChosenFiles:
    """Return the single file at `word`, which need not exist, with `text` in place of its content on disk."""
    path = absolute_path(word)
    if not word or path.is_dir():
        raise UsageError(
            "this is not the name of a file", FilePlace(path), "name a prompt file, which need not exist"
        )
    workspace = _around([path])
    workspace.open(str(path), text, 1)
    return ChosenFiles(workspace, (str(path),), ())


def choose_one(word: str) -> tuple[ChosenFiles, str]:
    """Return the single file at `word`, and its absolute path; raises UsageError like `choose`."""
    path = existing(word)
    if path.is_dir():
        raise UsageError("this is a folder: a prompt file is needed", FilePlace(path), _example_in(path))
    return choose([word]), str(path)


def existing(word: str) -> Path:
    """Return the absolute path of the file or folder `word`; raises UsageError if it cannot be read."""
    path = absolute_path(word)
    if word and path.is_symlink() and not path.exists():
        problem = f"this link leads to no file: it names {path.readlink()}"
        raise UsageError(problem, FilePlace(path), "correct the link")
    if not word or not path.exists():
        kind = "folder" if word.endswith(("/", os.sep)) else "file or folder"
        raise UsageError(f"there is no such {kind}", FilePlace(path), _near(path))
    if not os.access(path, os.R_OK):
        raise UsageError("the file is not readable", FilePlace(path), "change its permissions")
    if not path.is_file() and not path.is_dir():
        raise UsageError("this is neither a file nor a folder", FilePlace(path), "save it to a file first")
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise UsageError(
            f"the file is larger than {MAX_BYTES // 1_000_000} MB",
            FilePlace(path),
            "prompts and their data are shorter; put many rows into a dataset",
        )
    return path


def _around(paths: Sequence[Path]) -> Workspace:
    """Return the projects around some paths, whose files are scanned for references."""
    roots = [_root(path) for path in paths]
    whole = {root for path, root in zip(paths, roots, strict=True) if path.is_dir() or project_folder(path)}
    # The folder of a single file is no project of its own if a folder around it is processed too.
    roots = [
        root for root in roots if root in whole or not any(Path(root).is_relative_to(each) for each in whole)
    ]
    workspace = Workspace(dict.fromkeys(roots), shallow=set(roots) - whole)
    restrict_reading(lambda: workspace.snapshot.file_scope)
    workspace.scan()
    return workspace


def _root(path: Path) -> Path:
    """Return the project around a file, or else its folder; for a program the working directory around it.

    The paths in a program refer to the folder where it is started.
    """
    here = Path.cwd()
    is_program = path.suffix == ".py" and not project_folder(path) and path.is_relative_to(here)
    return here if is_program and not covers_home(here) else folder_to_trust(path)


def scan_callers(workspace: Workspace) -> None:
    """Read the Python calls that load templates, in the workspace and in the working directory around it.

    Programs are started there, so their relative paths refer to it. The home folder is not searched.
    """
    here, roots = str(Path.cwd()), workspace.snapshot.roots
    is_around = any(root != here and Path(root).is_relative_to(here) for root in roots)
    if not is_around or covers_home(Path(here)):
        workspace.scan_calls()
        return
    with reading_within(lambda: scope_of([here])):
        workspace.scan_calls(here)


def _near(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} is not there either; check the path"
    names = sorted(_names_in(folder))
    near = next((name for name in names if name.startswith(f"{path.name}.")), None) or nearest(
        path.name, names
    )
    return f"did you mean `{os.path.relpath(path.with_name(near))}`?" if near else "check the path"


def _names_in(folder: Path) -> Iterator[str]:
    try:
        yield from (entry.name for entry in folder.iterdir())
    except OSError:
        return


def _example_in(folder: Path) -> str:
    first = next(prompt_paths(folder), None)
    if first is None:
        return "name a file that ends in .yml.j2"
    return f"name a file in it, such as {os.path.relpath(first)}"


def refuse_other_files(snapshot: Snapshot, path: str) -> None:
    """Raise UsageError for a file that is not a prompt."""
    template = snapshot.template(path)
    if template is not None and (refusal := template.source.refusal) is not None:
        raise UsageError(refusal.message, FilePlace(path), "split the file, or correct it there")
    if snapshot.kind(path) is Kind.OTHER:
        if not snapshot.is_utf8(path):
            raise UsageError("the file is not UTF-8", FilePlace(path), "save it as UTF-8")
        raise UsageError(
            "this is not a prompt file",
            FilePlace(path),
            "`--viewer` shows a configuration of OpenCompass, and `promptls convert` converts it"
            if path.endswith(".py")
            else "a prompt is a list of parts with `name` and `content`, or a mapping with `instruction`",
        )


_WRITABLE: Final = 0o222
_LEFTOVER_SECONDS: Final = 3600


def rewrite(path: str, before: str, after: str) -> None:
    """Replace the text `before` of a file by `after`, atomically unless it has other names or another owner.

    Permissions, owner and links are preserved. Raises UserError, without a change, if the file is read-only,
    or if its bytes are not those of `before`, because it has changed or is not UTF-8. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    state = target.stat()
    if not state.st_mode & _WRITABLE:
        raise UserError("the file is read-only", FilePlace(path), "make it writable first")
    if target.read_bytes() != before.encode("utf-8", "surrogatepass"):
        raise UserError(
            "the file was not written: it is not UTF-8, or has changed in the meantime",
            FilePlace(path),
            "save it as UTF-8, and run the command again",
        )
    if state.st_nlink > 1 or state.st_uid != getattr(os, "geteuid", lambda: state.st_uid)():
        with target.open("r+b") as opened:
            opened.write(after.encode())
            opened.truncate()
        return
    with replace_file(target) as stream:
        stream.write(after)
    target.chmod(stat.S_IMODE(state.st_mode))
    # Commands that were killed have left temporary files.
    for each in target.parent.glob(f".{escape(target.name)}-????????"):
        with contextlib.suppress(OSError):
            if time.time() - each.stat().st_mtime > _LEFTOVER_SECONDS:
                each.unlink()


def diff(path: str, before: str, after: str) -> str:
    """Return the change as a unified diff for `patch` and `git apply`; empty if there is none."""
    name = Path(path).as_posix().lstrip("/")
    lines = unified_diff(_diff_lines(before), _diff_lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _diff_lines(text: str) -> list[str]:
    # Diff tools split lines at "\n" only, and treat a "\r" before it as part of the line.
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
