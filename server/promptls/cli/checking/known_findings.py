"""Known findings: excluded from the report, reported when they are gone, written to a baseline."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.checking.baseline import VERSION, BaselineEntry
from promptls.cli.checking.fingerprint import fingerprints

if TYPE_CHECKING:
    from promptls.cli.checking.checked import CheckedFile
    from promptls.lint.rule import Finding


def without_known(
    files: Sequence[CheckedFile], entries: Iterable[BaselineEntry], folder: Path
) -> tuple[CheckedFile, ...]:
    """Return the files with the findings that the baseline in `folder` knows moved to `known`."""
    known = {entry[:3] for entry in entries}
    return tuple(_sorted_out(file, _name(file.path, folder), known) for file in files)


def gone_entries(
    files: Sequence[CheckedFile],
    entries: Iterable[BaselineEntry],
    folder: Path,
    checked_rules: Container[str],
) -> tuple[BaselineEntry, ...]:
    """Return the entries whose finding is no longer there, of the files and rules that were checked.

    `files` come from `without_known`. Entries of a file that is there and was not checked are
    never gone: nothing is known about it.
    """
    there = {
        (name, finding.rule, mark)
        for file in files
        for name in [_name(file.path, folder)]
        for finding, mark in _marked(file)
    }
    checked = {_name(file.path, folder) for file in files}
    return tuple(
        entry
        for entry in entries
        if entry[:3] not in there
        and entry.rule in checked_rules
        and (entry.path in checked or not (folder / entry.path).exists())
    )


def baseline_text(
    files: Iterable[CheckedFile], before: Iterable[BaselineEntry], gone: Iterable[BaselineEntry], folder: Path
) -> str:
    """Return a baseline as JSON: every finding of the files, and of `before` what is not gone.

    Sorted, one entry a line, so that a change of it is easy to review.
    """
    dropped = {entry[:3] for entry in gone}
    entries = {entry[:3]: entry for entry in before if entry[:3] not in dropped}
    for file in files:
        name = _name(file.path, folder)
        for finding, mark in _marked(file):
            entry = BaselineEntry(name, finding.rule, mark, finding.message)
            entries[entry[:3]] = entry
    lines = [f"    {json.dumps(entry._asdict(), ensure_ascii=False)}" for entry in sorted(entries.values())]
    joined = ",\n".join(lines)
    listed = f"[\n{joined}\n  ]" if lines else "[]"
    return f'{{\n  "version": {VERSION},\n  "findings": {listed}\n}}\n'


def _sorted_out(file: CheckedFile, name: str, known: Container[tuple[str, str, str]]) -> CheckedFile:
    marked = [(finding, (name, finding.rule, mark) in known) for finding, mark in _marked(file)]
    return file._replace(
        findings=tuple(finding for finding, is_known in marked if not is_known),
        known=tuple(finding for finding, is_known in marked if is_known),
    )


def _marked(file: CheckedFile) -> tuple[tuple[Finding, str], ...]:
    """Return every finding of the file, known or not, with its fingerprint."""
    found = sorted((*file.findings, *file.known), key=lambda finding: (finding.span, finding.rule))
    return tuple(zip(found, fingerprints(file.text, found), strict=True))


def _name(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return Path(path).as_posix()
