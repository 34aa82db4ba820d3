"""The result of `promptls check`, from which all reports are generated."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from promptls.cli.checking.baseline import BaselineEntry
    from promptls.lint.rule import Finding, Severity
    from promptls.semantic.kind import Kind
    from promptls.text.positions import Span
    from promptls.workspace.settings import SettingsProblem
    from promptls.workspace.snapshot import Snapshot

GRAVEST_FIRST: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""Every severity, the gravest first."""


class CheckedFile(NamedTuple):
    """A file with its kind, its text and what the rules found in it.

    `findings` are to be reported; `known` ones stand in the baseline, and `suppressed` ones are
    silenced by a comment in the file.
    """

    path: str
    kind: Kind
    text: str
    findings: tuple[Finding, ...]
    known: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()

    def at_least(self, least: Severity) -> CheckedFile:
        """Return the file with only those findings to report that are as grave as `least`."""
        grave = (finding for finding in self.findings if at_least(finding.severity or "error", least))
        return self._replace(findings=tuple(grave))


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked files, the problems of their settings, and what the caller asked for.

    `fail_on` is the least severity that fails the check, None if no finding does. `gone` are
    the entries of `baseline` whose finding is no longer there.
    """

    snapshot: Snapshot
    files: tuple[CheckedFile, ...]
    problems: tuple[SettingsProblem, ...] = ()
    fail_on: Severity | None = "warning"
    baseline: Path | None = None
    gone: tuple[BaselineEntry, ...] = ()
    verbose: bool = False
    left_out: str | None = None
    """What was not checked because the folder is not trusted, why, and what includes it."""

    def failed(self) -> bool:
        """Return whether a finding is as grave as `fail_on`, or a setting is wrong."""
        return bool(self.problems) or any(
            self.is_grave(finding) for file in self.files for finding in file.findings
        )

    def is_grave(self, finding: Finding) -> bool:
        """Return whether a finding fails the check."""
        return self.fail_on is not None and at_least(finding.severity or "error", self.fail_on)

    def text(self, path: str) -> str | None:
        """Return the text of a file that a finding speaks of, or None if it cannot be read."""
        template = self.snapshot.template(path)
        return template.source.text if template else None


def checked_file(
    snapshot: Snapshot, path: str, rules: Container[str], rendered: tuple[Finding, ...] = ()
) -> CheckedFile:
    """Return the file at `path` with the diagnostics of the selected rules and of its rendering."""
    from promptls.ide.opencompass_python import findings_of_file

    template = snapshot.template(path)
    text = template.source.text if template else ""
    file = findings_of_file(snapshot, path)
    found = [*(finding for finding in file.findings if finding.rule in rules), *rendered]
    found.sort(key=lambda finding: (finding.span, finding.rule))
    suppressed = tuple(finding for finding in file.suppressed if finding.rule in rules)
    return CheckedFile(path, file.kind, text, tuple(found), suppressed=suppressed)


class Region(NamedTuple):
    """A stretch of a text: lines and columns from 1, in characters; the end is the first one behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


def at_least(severity: Severity, least: Severity) -> bool:
    """Return whether `severity` is as grave as `least`, or graver."""
    return GRAVEST_FIRST.index(severity) <= GRAVEST_FIRST.index(least)


def region_of(text: str, span: Span) -> Region:
    """Return where `span` stands in `text`, as people and the report formats count."""
    from promptls.text.positions import line_starts, place_of

    starts = line_starts(text)
    start, end = place_of(starts, span.start), place_of(starts, span.end)
    return Region(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def repository_path(path: str) -> str:
    """Return the path as code hosts and CI name it: from the root of the repository, with slashes.

    The root is what `GITHUB_WORKSPACE` names, else the nearest folder above with a `.git`, else
    the current folder; a file outside it keeps its whole path.
    """
    here = Path.cwd()
    named = os.environ.get("GITHUB_WORKSPACE")
    repository = next((above for above in (here, *here.parents) if (above / ".git").exists()), here)
    for root in (Path(named) if named else repository, repository):
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return Path(path).as_posix()
