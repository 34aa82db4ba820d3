"""The report formats of `promptls check`: text, JSON, GitHub workflow commands, JUnit and SARIF.

Sources: "Workflow commands for GitHub Actions"; "Static Analysis Results Interchange Format (SARIF) Version
2.1.0 Plus Errata 01".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement

from promptls import __version__
from promptls.cli.checked import fingerprints, region_of, repository_path
from promptls.cli.terminal import Color, json_text, paint, printed_path, shown_path, width
from promptls.lint.rule import sort_findings
from promptls.security.files import read_text
from promptls.text.errors import FilePlace
from promptls.text.escape import annotation_message, annotation_property, for_terminal_line
from promptls.text.format import junit_text, plural, upper_first, xml_text
from promptls.text.positions import Span, line_column, line_end, line_starts

if TYPE_CHECKING:
    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding, Fix, RelatedInformation, Rule, Severity
    from promptls.workspace.settings import SettingsProblem

_COLORS: dict[Severity, Color] = {
    "error": "red",
    "warning": "yellow",
    "information": "blue",
    "hint": "cyan",
}
_NOUNS: dict[Severity, str] = {
    "error": "error",
    "warning": "warning",
    "information": "remark",
    "hint": "hint",
}


_WORD: Final = re.compile(r"[\w-]+")


def as_text(checked: Checked) -> str:
    """Return the report, in color if the standard output supports it."""
    return "\n".join([*_lines_in_text(checked), _conclusion(checked), *_gone(checked)]) + "\n"


def _lines_in_text(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield from _settings_problem(problem)
    for file in checked.files:
        if checked.verbose:
            yield f"{paint(f'{file.kind.value:<17}', 'dim')} {printed_path(file.path)}"
        if (reason := checked.why_unchecked(file)) is not None:
            yield f"{printed_path(file.path)}: {paint(reason, 'dim')}"
        starts = line_starts(file.text)
        for finding in file.findings:
            severity = finding.severity or "error"
            color = _COLORS[severity]
            place = line_column(starts, finding.span.start)
            where = FilePlace(printed_path(file.path), place.line, place.column).text()
            message = for_terminal_line(finding.message)
            yield f"{where}: {paint(severity, color)} {paint(finding.rule, 'bold')}: {message}"
            yield excerpt(file.text, finding.span, color)
            for related in finding.related:
                where = _related_information(checked, related)
                yield f"        {where}: {for_terminal_line(related.message)}"
            for fix in finding.fixes:
                yield f"      {paint('→', 'green')} {for_terminal_line(fix.title)}"
            yield ""


def _settings_problem(problem: SettingsProblem) -> Iterator[str]:
    place = problem.place
    where = "editor settings" if place is None else place._replace(path=printed_path(place.path)).text()
    message = for_terminal_line(problem.message)
    yield f"{where}: {paint('error', 'red')} {paint('settings', 'bold')}: {message}"
    if place is not None and place.line is not None:
        try:
            text = read_text(place.path)
        except (OSError, UnicodeDecodeError):
            return
        starts = line_starts(text)
        start = starts[min(place.line, len(starts) - 1)] + (place.column or 0)
        word = _WORD.match(text, start)
        yield excerpt(text, Span(start, word.end() if word else start), "red")
    yield ""


def _related_information(checked: Checked, related: RelatedInformation) -> str:
    text = checked.text(related.path)
    if text is None:
        return printed_path(related.path)
    place = line_column(line_starts(text), related.span.start)
    return FilePlace(printed_path(related.path), place.line, place.column).text()


def _conclusion(checked: Checked) -> str:
    from promptls.semantic.kind import Kind
    from promptls.workspace.disk import ENDINGS

    files = checked.files
    programs = sum(file.kind is Kind.PROGRAM for file in files)
    data = sum(file.kind is Kind.DATA for file in files)
    prompts = sum(file.kind is not Kind.OTHER for file in files) - programs - data
    others = len(files) - prompts - programs - data
    left_alone = f" ({plural(others, 'other file')} left alone)" if others else ""
    if not files:
        return f"There is no file here whose name ends in {' or '.join(ENDINGS)}."
    if not prompts and not programs and not data:
        return f"There is no prompt here{left_alone}."
    counted = ((prompts, "prompt"), (programs, "program"), (data, "data file"))
    kinds = [plural(count, noun) for count, noun in counted if count]
    where = f"in {', '.join([*kinds[:-2], ' and '.join(kinds[-2:])])}{left_alone}"
    known = sum(len(file.known) for file in files)
    besides = f" besides {known:,} in the baseline" if known else ""
    found = Counter(finding.severity or "error" for file in files for finding in file.findings)
    found["error"] += len(checked.problems)
    if not found.total():
        return f"No findings{besides} {where}."
    counts = [
        paint(plural(found[severity], noun), _COLORS[severity])
        for severity, noun in _NOUNS.items()
        if found[severity]
    ]
    return f"{', '.join(counts)}{besides} {where}."


def _gone(checked: Checked) -> Iterator[str]:
    if not checked.gone or checked.baseline is None:
        return
    baseline = printed_path(checked.baseline)
    yield f"Gone from {baseline}: {plural(len(checked.gone), 'finding')}; `--write-baseline` removes them."
    for entry in checked.gone:
        yield for_terminal_line(f"  {entry.path}: {entry.rule}: {entry.message}")


WIDEST = 100
"""The number of characters shown of a source line; of a longer one, those around the finding."""


def excerpt(text: str, span: Span, color: Color = "red") -> str:
    """Return two lines: the first source line of `span` with its number, and carets under the span.

    A span of several lines is marked to the end of its first; an empty one gets one caret.
    """
    starts = line_starts(text)
    place = line_column(starts, span.start)
    start = starts[place.line]
    end = line_end(text, start)
    line = text[start:end]
    from_column, to_column = place.column, max(min(span.end, end) - start, place.column + 1)

    left = max(0, min(from_column - WIDEST // 3, len(line) - WIDEST)) if len(line) > WIDEST else 0
    shown = _printable(line[left : left + WIDEST])
    cut_left, cut_right = "…" if left else "", "…" if left + WIDEST < len(line) else ""
    before = width(cut_left + _printable(line[left:from_column]))
    marked = max(1, width(_printable(line[from_column : min(to_column, left + WIDEST)])))

    number = str(place.line + 1)
    return (
        f"{paint(f'{number:>5} |', 'blue')} {cut_left}{shown}{cut_right}\n"
        f"{paint('      |', 'blue')} {' ' * before}{paint('^' * marked, color)}"
    )


def _printable(text: str) -> str:
    # Tabs become single spaces, so that the caret is aligned regardless of the terminal's tab width.
    return "".join(
        " " if character == "\t" else character if character.isprintable() else "�" for character in text
    )


def as_json(checked: Checked) -> str:
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
                _finding_in_json(checked, file, finding)
                for file in checked.files
                for finding in file.findings
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


def _finding_in_json(checked: Checked, file: CheckedFile, finding: Finding) -> dict[str, Any]:
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
        "related": [_related_in_json(checked, related) for related in finding.related],
    }


def _related_in_json(checked: Checked, related: RelatedInformation) -> dict[str, Any]:
    text = checked.text(related.path)
    place = region_of(text, related.span)._asdict() if text is not None else {}
    return {"path": shown_path(related.path), "message": related.message, **place}


_COMMANDS: Final[dict[Severity, str]] = {
    "error": "error",
    "warning": "warning",
    "information": "notice",
    "hint": "notice",
}


def as_github(checked: Checked) -> str:
    """Return one command per line; empty if there is nothing to report."""
    return "".join(f"{line}\n" for line in _lines_in_github(checked))


def _lines_in_github(checked: Checked) -> Iterator[str]:
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
            yield _finding_in_github(file, finding)
    if checked.gone and checked.baseline is not None:
        message = f"gone from {printed_path(checked.baseline)}: {plural(len(checked.gone), 'finding')}"
        yield _command(
            "notice", {"title": "promptls baseline"}, f"{message}; `--write-baseline` removes them"
        )


def _finding_in_github(file: CheckedFile, finding: Finding) -> str:
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


def as_junit(checked: Checked) -> str:
    """Return the report as XML.

    A finding that fails the check is a failed case, a less severe one a passing case with its text as output;
    a prompt without findings is one passing case. Invalid settings are errors.
    """
    from promptls.semantic.kind import Kind

    root = Element("testsuites", name="promptls")
    if checked.problems:
        _settings(root, checked)
    for file in checked.files:
        if file.kind is not Kind.OTHER:
            path = xml_text(repository_path(file.path))
            suite = SubElement(root, "testsuite", name=path, skipped="0", time="0")
            for finding in file.findings:
                _case(suite, path, checked, file, finding)
            if not file.findings:
                SubElement(suite, "testcase", name="promptls", classname=path, file=path, time="0")
    return junit_text(root)


def _case(suite: Element, path: str, checked: Checked, file: CheckedFile, finding: Finding) -> None:
    line, column, *_ = region_of(file.text, finding.span)
    case = SubElement(
        suite,
        "testcase",
        name=f"{finding.rule} at {line}:{column}",
        classname=path,
        file=path,
        line=str(line),
        time="0",
    )
    message = xml_text(finding.message)
    where = f"{for_terminal_line(path)}:{line}:{column}"
    said = xml_text(f"{where}: {finding.severity} {finding.rule}: {finding.message}")
    if checked.is_grave(finding):
        SubElement(case, "failure", type=finding.rule, message=message).text = said
    else:
        SubElement(case, "system-out").text = said


def _settings(root: Element, checked: Checked) -> None:
    suite = SubElement(root, "testsuite", name="settings", skipped="0", time="0")
    for number, problem in enumerate(checked.problems, 1):
        name = repository_path(str(problem.place.path)) if problem.place else "settings"
        case = SubElement(suite, "testcase", name=f"setting {number}", classname=xml_text(name), time="0")
        where = f"{problem.place._replace(path=name).text()}: " if problem.place else ""
        message = xml_text(problem.message)
        SubElement(case, "error", type="settings", message=message).text = f"{xml_text(where)}{message}"


SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final[dict[Severity, str]] = {
    "error": "error",
    "warning": "warning",
    "information": "note",
    "hint": "note",
}
# The fingerprints are those of `promptls.cli.checked`; a changed algorithm needs a new name.
_FINGERPRINT: Final = "promptlsFinding/v1"


def as_sarif(checked: Checked) -> str:
    """Return the report as a SARIF log of one run.

    Findings suppressed by the file or the baseline are included, marked as suppressed. Locations are
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
    return sort_findings((*file.findings, *file.known, *file.suppressed))


def _rule(rule: Rule) -> dict[str, Any]:
    summary = f"{upper_first(rule.summary).rstrip('.')}."
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
                {
                    "id": number,
                    "physicalLocation": _location(related.path, checked.text(related.path), related.span),
                    "message": {"text": related.message},
                }
                for number, related in enumerate(finding.related)
            ]
        if finding.fixes:
            result["fixes"] = [_fix(file, fix) for fix in finding.fixes]
        yield result


def _suppressions(file: CheckedFile, finding: Finding) -> list[dict[str, str]]:
    if finding in file.suppressed:
        return [{"kind": "inSource", "justification": "A comment in the file suppresses it."}]
    if finding in file.known:
        return [{"kind": "external", "justification": "It is in the baseline."}]
    return []


def _location(path: str, text: str | None, span: Span) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if text is not None:
        location["region"] = _region(text, span)
    return location


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
        return {"uri": f"file://{'' if name.startswith('/') else '/'}{_quote(name)}"}
    return {"uri": _quote(name), "uriBaseId": "%SRCROOT%"}


def _quote(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe="/:" if path.startswith("/") else "/")


def _region(text: str, span: Span) -> dict[str, int]:
    region = region_of(text, span)
    return {
        "startLine": region.line,
        "startColumn": region.column,
        "endLine": region.end_line,
        "endColumn": region.end_column,
    }


FORMATS: Final[dict[str, Callable[[Checked], str]]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "junit": as_junit,
}
