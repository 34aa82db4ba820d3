"""Findings in the style of a compiler: position, message, source line, fixes, and a summary."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from promptls.cli.terminal import Colour, paint, printed_path, width
from promptls.security.files import read_text
from promptls.text.errors import FilePlace
from promptls.text.escape import for_terminal_line
from promptls.text.format import plural
from promptls.text.positions import Span, line_column, line_end, line_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptls.cli.checked import Checked, CheckedFile
    from promptls.lint.rule import Finding, RelatedInformation, Severity
    from promptls.workspace.settings import SettingsProblem


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
    """Return the report, in color if the standard output supports it."""
    return "\n".join([*_lines(checked), _conclusion(checked), *_gone(checked)]) + "\n"


def _lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield from _settings_problem(problem)
    for file in checked.files:
        if checked.verbose:
            yield f"{paint(f'{file.kind.value:<17}', 'dim')} {printed_path(file.path)}"
        if (reason := checked.why_unchecked(file)) is not None:
            yield f"{printed_path(file.path)}: {paint(reason, 'dim')}"
        starts = line_starts(file.text)
        for finding in file.findings:
            yield from _finding(checked, file, finding, starts)


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


def _finding(checked: Checked, file: CheckedFile, finding: Finding, starts: list[int]) -> Iterator[str]:
    severity = finding.severity or "error"
    colour = _COLOURS[severity]
    place = line_column(starts, finding.span.start)
    where = FilePlace(printed_path(file.path), place.line, place.column).text()
    message = for_terminal_line(finding.message)
    yield f"{where}: {paint(severity, colour)} {paint(finding.rule, 'bold')}: {message}"
    yield excerpt(file.text, finding.span, colour)
    for related in finding.related:
        yield f"        {_related_information(checked, related)}: {for_terminal_line(related.message)}"
    for fix in finding.fixes:
        yield f"      {paint('→', 'green')} {for_terminal_line(fix.title)}"
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
    prompts = sum(file.kind is not Kind.OTHER for file in files) - programs
    others = len(files) - prompts - programs
    left_alone = f" ({plural(others, 'other file')} left alone)" if others else ""
    if not files:
        return f"There is no file here whose name ends in {' or '.join(ENDINGS)}."
    if not prompts and not programs:
        return f"There is no prompt here{left_alone}."
    kinds = [plural(count, noun) for count, noun in ((prompts, "prompt"), (programs, "program")) if count]
    where = f"in {' and '.join(kinds)}{left_alone}"
    known = sum(len(file.known) for file in files)
    besides = f" besides {known:,} in the baseline" if known else ""
    found = Counter(finding.severity or "error" for file in files for finding in file.findings)
    found["error"] += len(checked.problems)
    if not found.total():
        return f"No findings{besides} {where}."
    counts = [
        paint(plural(found[severity], noun), _COLOURS[severity])
        for severity, noun in _NOUNS.items()
        if found[severity]
    ]
    return f"{', '.join(counts)}{besides} {where}."


def _gone(checked: Checked) -> Iterator[str]:
    if not checked.gone or checked.baseline is None:
        return
    baseline = printed_path(checked.baseline)
    yield f"Gone from {baseline}: {plural(len(checked.gone), 'finding')}; `--write-baseline` takes them out."
    for entry in checked.gone:
        yield for_terminal_line(f"  {entry.path}: {entry.rule}: {entry.message}")


WIDEST = 100
"""The number of characters shown of a source line; of a longer one, those around the finding."""


def excerpt(text: str, span: Span, colour: Colour = "red") -> str:
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
        f"{paint('      |', 'blue')} {' ' * before}{paint('^' * marked, colour)}"
    )


def _printable(text: str) -> str:
    # Tabs become single spaces, so that the caret is aligned regardless of the terminal's tab width.
    return "".join(
        " " if character == "\t" else character if character.isprintable() else "�" for character in text
    )
