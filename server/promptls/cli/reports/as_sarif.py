"""Findings as SARIF 2.1.0, for the security and quality views of code hosts.

Source: "Static Analysis Results Interchange Format (SARIF) Version 2.1.0 Plus Errata 01".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from promptls import __version__
from promptls.cli.baseline import fingerprints
from promptls.cli.checked import region_of, repository_path
from promptls.cli.terminal import json_text

if TYPE_CHECKING:
    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding, Fix, RelatedInformation, Rule, Severity
    from promptls.text.positions import Span
    from promptls.workspace.settings import SettingsProblem

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final[dict[Severity, str]] = {
    "error": "error",
    "warning": "warning",
    "information": "note",
    "hint": "note",
}
# The fingerprints are those of `promptls.cli.baseline`; a changed algorithm needs a new name.
_FINGERPRINT: Final = "promptlsFinding/v1"


def render(checked: Checked) -> str:
    """Return the report as a SARIF log of one run.

    Findings silenced by the file or the baseline are included, marked as suppressed. Locations are
    relative to the root of the repository.
    """
    from promptls.lint.registry import RULES

    used = {finding.rule for file in checked.files for finding in _all(file)}
    rules = [rule for rule in RULES if rule.name in used]
    index = {rule.name: number for number, rule in enumerate(rules)}
    driver = {
        "name": "promptls",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not checked.problems,
                "toolConfigurationNotifications": [_notification(problem) for problem in checked.problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [result for file in checked.files for result in _results(checked, file, index)],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _all(file: CheckedFile) -> tuple[Finding, ...]:
    found = (*file.findings, *file.known, *file.suppressed)
    return tuple(sorted(found, key=lambda finding: (finding.span, finding.rule)))


def _rule(rule: Rule) -> dict[str, Any]:
    summary = f"{rule.summary[:1].upper()}{rule.summary[1:].rstrip('.')}."
    return {
        "id": rule.name,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": rule.page.partition("\n\n")[0].replace("\n", " ")},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["prompt"], "precision": "high"},
    }


def _results(checked: Checked, file: CheckedFile, index: dict[str, int]) -> Iterator[dict[str, Any]]:
    findings = _all(file)
    for finding, mark in zip(findings, fingerprints(file.text, findings), strict=True):
        result: dict[str, Any] = {
            "ruleId": finding.rule,
            "ruleIndex": index[finding.rule],
            "level": _LEVELS[finding.severity or "error"],
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": _location(file.path, file.text, finding.span)}],
            "partialFingerprints": {_FINGERPRINT: mark},
            "suppressions": _suppressions(file, finding),
        }
        if checked.baseline is not None:
            result["baselineState"] = "unchanged" if finding in file.known else "new"
        if finding.related:
            result["relatedLocations"] = [
                _related(checked, number, related) for number, related in enumerate(finding.related)
            ]
        if finding.fixes:
            result["fixes"] = [_fix(file, fix) for fix in finding.fixes]
        yield result


def _suppressions(file: CheckedFile, finding: Finding) -> list[dict[str, str]]:
    if finding in file.suppressed:
        return [{"kind": "inSource", "justification": "A comment in the file says to ignore it."}]
    if finding in file.known:
        return [{"kind": "external", "justification": "It is in the baseline."}]
    return []


def _location(path: str, text: str | None, span: Span) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if text is not None:
        location["region"] = _region(text, span)
    return location


def _related(checked: Checked, number: int, related: RelatedInformation) -> dict[str, Any]:
    return {
        "id": number,
        "physicalLocation": _location(related.path, checked.text(related.path), related.span),
        "message": {"text": related.message},
    }


def _fix(file: CheckedFile, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(file.text, edit.span), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{"artifactLocation": _artifact(file.path), "replacements": replacements}],
    }


def _notification(problem: SettingsProblem) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": problem.message}}
    if problem.place is not None:
        location: dict[str, Any] = {"artifactLocation": _artifact(str(problem.place.path))}
        if problem.place.line is not None:
            location["region"] = {"startLine": problem.place.line + 1}
        notification["locations"] = [{"physicalLocation": location}]
    return notification


def _artifact(path: str) -> dict[str, str]:
    name = repository_path(path)
    if name.startswith("/") or ":" in name.partition("/")[0]:
        return {"uri": f"file://{'' if name.startswith('/') else '/'}{_quoted(name)}"}
    return {"uri": _quoted(name), "uriBaseId": "%SRCROOT%"}


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe="/:" if path.startswith("/") else "/")


def _region(text: str, span: Span) -> dict[str, int]:
    region = region_of(text, span)
    return {
        "startLine": region.line,
        "startColumn": region.column,
        "endLine": region.end_line,
        "endColumn": region.end_column,
    }
