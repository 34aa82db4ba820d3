"""The folder that the server works in: which files its tools may use, and what the user allows there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from promptls.cli.chosen_files import ChosenFiles, choose, refuse_other_files
from promptls.cli.permission import is_trusted, trust_where_decided, untrusted_error
from promptls.rendering.make import code_of_rendering
from promptls.security.files import ANYWHERE, join_path, reading_within, scope_of
from promptls.security.trust import FolderCode, printable
from promptls.text.errors import FilePlace, UsageError
from promptls.workspace.settings import folder_to_trust


class ToolResult(NamedTuple):
    """The answer of a tool: short text for a model, and the same as data for programs."""

    text: str
    data: dict[str, Any]


@dataclass(slots=True)
class Folder:
    """The working directory of the server.

    `trusts` says that the user trusts it for this session; otherwise, the stored decision holds. `max_cost`
    limits all runs of the session together, of which `paid` US dollars are spent.
    """

    path: Path
    trusts: bool = False
    max_cost: float | None = None
    paid: float = 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Restrict reading to the project of the folder, unless it is trusted, inside the `with` block."""
        with reading_within(lambda: ANYWHERE):
            root = folder_to_trust(self.path)
        scope = ANYWHERE if is_trusted([root], this_time=self.trusts) else scope_of([root])
        with reading_within(lambda: scope):
            yield

    def file(self, name: str) -> Path:
        """Return the absolute path of a file or folder; raises UsageError if it is outside."""
        path = join_path(self.path, name)
        if not path.is_relative_to(self.path) or not _resolved(path).is_relative_to(_resolved(self.path)):
            raise UsageError(
                f"the file is outside of {self.path}, where the server works",
                FilePlace(path),
                "name a file inside; the user can start `promptls mcp` in another folder",
            )
        return path

    def choose(self, names: Sequence[str]) -> ChosenFiles:
        """Return the files at the names, or all prompts; trusted if the user trusts them."""
        chosen = choose([str(self.file(name)) for name in names or ["."]])
        trust_where_decided(chosen.workspace, this_time=self.trusts)
        return chosen

    def choose_prompt(self, name: str) -> tuple[ChosenFiles, str]:
        """Return the prompt file with this name, and its path; raises UsageError for any other file."""
        path = self.file(name)
        if path.is_dir():
            raise UsageError("this is a folder: a prompt file is needed", FilePlace(path))
        chosen = self.choose([name])
        refuse_other_files(chosen.snapshot, str(path))
        return chosen, str(path)

    def require_trust_to_render(self, chosen: ChosenFiles, paths: Iterable[str]) -> None:
        """Raise UsageError if rendering the prompts needs code or models that may not be used."""
        if not chosen.snapshot.trusted and (code := code_of_rendering(chosen.snapshot, list(paths))):
            raise not_trusted(folder_to_trust(self.path), code)


def not_trusted(folder: Path, code: FolderCode) -> UsageError:
    """Return the error that the folder is not trusted, with what the user can do."""
    command = f"promptls trust {shlex.quote(printable(str(folder)))}"
    return untrusted_error(folder, code, f"only the user can decide that, in a terminal: `{command}`")


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
