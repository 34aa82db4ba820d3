"""Findings as JSON with all details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.cli.checked import region_of
from promptls.cli.terminal import json_text, shown_path

if TYPE_CHECKING:
    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding, RelatedInformation


def render(checked: Checked) -> str:
    """Return the report as a JSON object; lines and columns start at 1, in characters."""
    return json_text(
        {
            "settings": [
                {
                    "path": shown_path(problem.place.path) if problem.place else None,
                    "line": _from_one(problem.place.line if problem.place else None),
                    "column": _from_one(problem.place.column if problem.place else None),
                    "message": problem.message,
                }
                for problem in checked.problems
            ],
            "files": [{"path": shown_path(file.path), "kind": file.kind.value} for file in checked.files],
            "findings": [
                _finding(checked, file, finding) for file in checked.files for finding in file.findings
            ],
            "baseline": {
                "known": sum(len(file.known) for file in checked.files),
                "gone": [entry._asdict() for entry in checked.gone],
            },
            "left_out": checked.left_out,
        }
    )


def _from_one(number: int | None) -> int | None:
    return None if number is None else number + 1


def _finding(checked: Checked, file: CheckedFile, finding: Finding) -> dict[str, Any]:
    return {
        "path": shown_path(file.path),
        "severity": finding.severity,
        "rule": finding.rule,
        "message": finding.message,
        **region_of(file.text, finding.span)._asdict(),
        "fixes": [
            {
                "title": fix.title,
                "preferred": fix.preferred,
                "edits": [
                    {**region_of(file.text, edit.span)._asdict(), "text": edit.text} for edit in fix.edits
                ],
            }
            for fix in finding.fixes
        ],
        "related": [_related(checked, related) for related in finding.related],
    }


def _related(checked: Checked, related: RelatedInformation) -> dict[str, Any]:
    text = checked.text(related.path)
    place = region_of(text, related.span)._asdict() if text is not None else {}
    return {"path": shown_path(related.path), "message": related.message, **place}
