"""Findings as a compiler prints them: place, message, source line, fixes, and the counts at the end."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.cli.output.terminal import Colour, paint, shown_path
from promptls.cli.reports.excerpt import excerpt
from promptls.text.counted import counted
from promptls.text.failure import FilePlace
from promptls.text.lines import line_starts, place_of
from promptls.text.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptls.cli.checking.checked import Checked, CheckedFile
    from promptls.rules.rule import Finding, RelatedPlace, Severity
    from promptls.workspace.project_settings import SettingsProblem

_COLOURS: dict[Severity, Colour] = {
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


def render(checked: Checked) -> str:
    """The report, in colours where the standard output gets them."""
    return "\n".join([*_lines(checked), _conclusion(checked), *_gone(checked)]) + "\n"


def _lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield from _settings_problem(problem)
    for file in checked.files:
        if checked.verbose:
            yield f"{paint(f'{file.kind.value:<17}', 'dim')} {shown_path(file.path)}"
        starts = line_starts(file.text)
        for finding in file.findings:
            yield from _finding(checked, file, finding, starts)


def _settings_problem(problem: SettingsProblem) -> Iterator[str]:
    place = problem.place
    where = "editor settings" if place is None else place._replace(path=shown_path(place.path)).text()
    yield f"{where}: {paint('error', 'red')} {paint('settings', 'bold')}: {problem.message}"
    if place is not None and place.line is not None:
        try:
            text = Path(place.path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return
        starts = line_starts(text)
        start = starts[min(place.line, len(starts) - 1)] + (place.column or 0)
        word = _WORD.match(text, start)
        yield excerpt(text, Span(start, word.end() if word else start), "red")
    yield ""


def _finding(checked: Checked, file: CheckedFile, finding: Finding, starts: list[int]) -> Iterator[str]:
    severity = finding.severity or "error"
    colour = _COLOURS[severity]
    place = place_of(starts, finding.span.start)
    where = FilePlace(shown_path(file.path), place.line, place.column).text()
    yield f"{where}: {paint(severity, colour)} {paint(finding.rule, 'bold')}: {finding.message}"
    yield excerpt(file.text, finding.span, colour)
    for related in finding.related:
        yield f"        {_related_place(checked, related)}: {related.message}"
    for fix in finding.fixes:
        yield f"      {paint('→', 'green')} {fix.title}"
    yield ""


def _related_place(checked: Checked, related: RelatedPlace) -> str:
    text = checked.text(related.path)
    if text is None:
        return shown_path(related.path)
    place = place_of(line_starts(text), related.span.start)
    return FilePlace(shown_path(related.path), place.line, place.column).text()


def _conclusion(checked: Checked) -> str:
    from promptls.meaning.kind import Kind
    from promptls.workspace.disk import ENDINGS

    files = checked.files
    programs = sum(file.kind is Kind.PROGRAM for file in files)
    prompts = sum(file.kind is not Kind.OTHER for file in files) - programs
    others = len(files) - prompts - programs
    left_alone = f" ({counted(others, 'other file')} left alone)" if others else ""
    if not files:
        return f"There is no file here whose name ends in {' or '.join(ENDINGS)}."
    if not prompts and not programs:
        return f"There is no prompt here{left_alone}."
    kinds = [counted(count, noun) for count, noun in ((prompts, "prompt"), (programs, "program")) if count]
    where = f"in {' and '.join(kinds)}{left_alone}"
    known = sum(len(file.known) for file in files)
    besides = f" besides {known:,} in the baseline" if known else ""
    found = Counter(finding.severity or "error" for file in files for finding in file.findings)
    found["error"] += len(checked.problems)
    if not found.total():
        return f"No findings{besides} {where}."
    counts = [
        paint(counted(found[severity], noun), _COLOURS[severity])
        for severity, noun in _NOUNS.items()
        if found[severity]
    ]
    return f"{', '.join(counts)}{besides} {where}."


def _gone(checked: Checked) -> Iterator[str]:
    if not checked.gone or checked.baseline is None:
        return
    baseline = shown_path(checked.baseline)
    yield f"Gone from {baseline}: {counted(len(checked.gone), 'finding')}; `--write-baseline` takes them out."
    for entry in checked.gone:
        yield f"  {entry.path}: {entry.rule}: {entry.message}"
