"""Findings as GitHub workflow commands, which annotate the lines of a pull request.

Source: "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from promptls.cli.checked import region_of, repository_path
from promptls.cli.terminal import printed_path
from promptls.text.escape import annotation_message, annotation_property
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding, Severity

_COMMANDS: Final[dict[Severity, str]] = {
    "error": "error",
    "warning": "warning",
    "information": "notice",
    "hint": "notice",
}


def render(checked: Checked) -> str:
    """Return one command per line; empty if there is nothing to report."""
    return "".join(f"{line}\n" for line in _lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        place = problem.place
        properties: dict[str, str | int] = {"title": "promptls settings"}
        if place is not None:
            properties["file"] = repository_path(str(place.path))
            if place.line is not None:
                properties["line"] = place.line + 1
            if place.column is not None:
                properties["col"] = place.column + 1
        yield _command("error", properties, problem.message)
    for file in checked.files:
        for finding in file.findings:
            yield _finding(file, finding)
    if checked.gone and checked.baseline is not None:
        words = f"gone from {printed_path(checked.baseline)}: {plural(len(checked.gone), 'finding')}"
        yield _command(
            "notice", {"title": "promptls baseline"}, f"{words}; `--write-baseline` takes them out"
        )


def _finding(file: CheckedFile, finding: Finding) -> str:
    region = region_of(file.text, finding.span)
    properties: dict[str, str | int] = {
        "title": f"promptls {finding.rule}",
        "file": repository_path(file.path),
        "line": region.line,
        "endLine": region.end_line,
    }
    if region.line == region.end_line:
        # GitHub supports columns only in annotations of a single line.
        properties |= {"col": region.column, "endColumn": region.end_column}
    return _command(_COMMANDS[finding.severity or "error"], properties, finding.message)


def _command(name: str, properties: dict[str, str | int], message: str) -> str:
    listed = ",".join(f"{key}={annotation_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{annotation_message(message)}"
