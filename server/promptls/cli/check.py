"""`promptls check`: what the rules find in prompt files, printed as a compiler prints it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.cli.excerpt import excerpt
from promptls.cli.terminal import Colour, counted, error, paint, print_json, shown_path
from promptls.text.failure import FilePlace
from promptls.text.lines import line_starts, place_of

if TYPE_CHECKING:
    from promptls.meaning.kind import Kind
    from promptls.rules.rule import Finding, Severity
    from promptls.text.span import Span
    from promptls.workspace.project_settings import SettingsProblem
    from promptls.workspace.snapshot import Snapshot

SUMMARY = "find mistakes in prompt files"

DESCRIPTION = """\
Checks prompt files, and prints each mistake with its place, the rule that found it
and how to mend it. Folders are walked for files that end in .yml.j2 or .yaml.j2;
those of them that are no prompts (Ansible, Docker Compose, …) are left alone.

examples:
  promptls check                        every prompt below this folder
  promptls check prompts/ a.yml.j2      a folder and a file
  promptls check --json | jq .findings  for programs
  promptls explain unknown-role         what a rule means

exit codes: 0 nothing that must be mended, 1 errors or warnings, 2 wrong use"""

_COLOURS: dict[Severity, Colour] = {
    "error": "red",
    "warning": "yellow",
    "information": "blue",
    "hint": "cyan",
}


class CheckedFile(NamedTuple):
    """A file with its kind, its text and what the rules found in it."""

    path: str
    kind: Kind
    text: str
    findings: tuple[Finding, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the paths and the output's form."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: this folder)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the output")
    parser.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json"
    )
    parser.add_argument("--verbose", action="store_true", help="say of every file which kind it is")


def execute(arguments: argparse.Namespace) -> int:
    """Checks every chosen file; 1 where something is an error or a warning."""
    from promptls.cli.chosen_files import choose
    from promptls.rules.settings_problems import settings_problems

    chosen = choose(arguments.paths)
    files = [_checked(chosen.snapshot, path) for path in chosen.all()]
    projects = [chosen.snapshot.project(file.path) for file in files]
    problems = list(dict.fromkeys(problem for project in projects for problem in settings_problems(project)))
    if arguments.format == "json":
        print_json(_as_json(files, problems))
    else:
        for problem in problems:
            error(problem.message, problem.place, "the other settings hold; `promptls doctor` shows them")
        _print_text(files, verbose=arguments.verbose)
    grave = any(finding.severity in {"error", "warning"} for file in files for finding in file.findings)
    return int(grave or bool(problems))


def _print_text(files: Sequence[CheckedFile], *, verbose: bool) -> None:
    for file in files:
        if verbose:
            print(f"{paint(f'{file.kind.value:<17}', 'dim')} {shown_path(file.path)}")
        starts = line_starts(file.text)
        for finding in file.findings:
            _print_finding(file, finding, starts)
    print(_conclusion(files))


def _print_finding(file: CheckedFile, finding: Finding, starts: list[int]) -> None:
    severity = finding.severity or "error"
    colour = _COLOURS[severity]
    place = place_of(starts, finding.span.start)
    where = FilePlace(shown_path(file.path), place.line, place.column).text()
    print(f"{where}: {paint(severity, colour)} {paint(finding.rule, 'bold')}: {finding.message}")
    print(excerpt(file.text, finding.span, colour))
    for related in finding.related:
        print(f"        {_related_place(file, related.path, related.span)}: {related.message}")
    for fix in finding.fixes:
        print(f"      {paint('→', 'green')} {fix.title}")
    print()


def _conclusion(files: Sequence[CheckedFile]) -> str:
    from promptls.meaning.kind import Kind
    from promptls.workspace.disk import ENDINGS

    prompts = sum(file.kind is not Kind.OTHER for file in files)
    others = sum(file.kind is Kind.OTHER for file in files)
    found = Counter(finding.severity for file in files for finding in file.findings)
    left_alone = f" ({counted(others, 'other file')} left alone)" if others else ""
    if not files:
        return f"There is no file here whose name ends in {' or '.join(ENDINGS)}."
    if not prompts:
        return f"There is no prompt here{left_alone}."
    where = f"in {counted(prompts, 'prompt')}{left_alone}"
    if not found:
        return f"No findings {where}."
    severities: tuple[tuple[Severity, str], ...] = (
        ("error", "error"),
        ("warning", "warning"),
        ("information", "remark"),
        ("hint", "hint"),
    )
    counts = [
        paint(counted(found[severity], noun), _COLOURS[severity])
        for severity, noun in severities
        if found[severity]
    ]
    return f"{', '.join(counts)} {where}."


def _checked(snapshot: Snapshot, path: str) -> CheckedFile:
    from promptls.rules.check import check

    template = snapshot.template(path)
    text = template.source.text if template else ""
    return CheckedFile(path, snapshot.kind(path), text, check(snapshot, path))


def _related_place(file: CheckedFile, path: str, span: Span) -> str:
    """The place in words; without line and column in another file, whose text is not at hand."""
    if path != file.path:
        return shown_path(path)
    place = place_of(line_starts(file.text), span.start)
    return FilePlace(shown_path(path), place.line, place.column).text()


def _as_json(files: Sequence[CheckedFile], problems: Sequence[SettingsProblem]) -> dict[str, Any]:
    return {
        "settings": [
            {"path": shown_path(problem.place.path) if problem.place else None, "message": problem.message}
            for problem in problems
        ],
        "files": [{"path": shown_path(file.path), "kind": file.kind.value} for file in files],
        "findings": [_finding_as_json(file, finding) for file in files for finding in file.findings],
    }


def _finding_as_json(file: CheckedFile, finding: Finding) -> dict[str, Any]:
    return {
        "path": shown_path(file.path),
        "severity": finding.severity,
        "rule": finding.rule,
        "message": finding.message,
        **_places(file.text, finding.span),
        "fixes": [
            {
                "title": fix.title,
                "edits": [{**_places(file.text, edit.span), "text": edit.text} for edit in fix.edits],
            }
            for fix in finding.fixes
        ],
        "related": [
            {"path": shown_path(related.path), "message": related.message} for related in finding.related
        ],
    }


def _places(text: str, span: Span) -> dict[str, int]:
    """Lines and columns from 1, in characters; the end is the first character behind the stretch."""
    starts = line_starts(text)
    start, end = place_of(starts, span.start), place_of(starts, span.end)
    return {
        "line": start.line + 1,
        "column": start.column + 1,
        "end_line": end.line + 1,
        "end_column": end.column + 1,
    }
