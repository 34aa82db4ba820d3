"""`promptls format`: format prompt files without changing what they render to."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from promptls.cli.safe_stream import write_document
from promptls.cli.terminal import error, paint, print_json, printed_path, shown_path
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.escape import for_terminal_line
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.workspace.snapshot import Snapshot

DESCRIPTION = """\
Format prompt files: one space inside Jinja tags, around operators and after the colon of a
key, two columns of indentation for the keys of a part, no trailing white space, and at most
one blank line between parts. The text of prompts never changes: if promptls cannot prove that
a file renders to the same text, it leaves the text unchanged. Files that are not prompts are
ignored; files with syntax errors are skipped and reported.

examples:
  promptls format                    all prompts below this folder
  promptls format prompts/ a.yml.j2  a folder and a file
  promptls format --check            report files that would change, without writing them
  promptls format --diff             show changes without writing them
  promptls format - < a.yml.j2       standard input to standard output

exit codes: 0 done, or nothing to do; 1 a file would change (with --check or --diff) or has
syntax errors; 2 usage error"""

_STDIN = "-"
Outcome = Literal["formatted", "unchanged", "refused", "no prompt"]


class FormattedFile(NamedTuple):
    """A file's text before and after, and the result; `place` and `reason` explain a refusal."""

    path: str
    before: str
    after: str
    outcome: Outcome
    reason: str = ""
    place: FilePlace | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the paths, and the alternatives to writing."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and folders (default: current folder); - for standard input",
    )
    parser.add_argument(
        "--check", action="store_true", help="list files that would change, without writing them"
    )
    parser.add_argument("--diff", action="store_true", help="show the changes without writing them")
    parser.add_argument(
        "--stdin-filename", metavar="NAME", default="stdin.yml.j2", help="file name for standard input"
    )
    parser.add_argument("--json", action="store_true", help="print the result of each file as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Format every chosen file; return 1 if a dry run finds changes, or a file cannot be formatted."""
    only_look = arguments.check or arguments.diff
    if _STDIN in arguments.paths:
        if len(arguments.paths) > 1 or arguments.json:
            raise UsageError("`-` must be the only path: it reads one file from standard input")
        return _format_input(arguments)
    from promptls.cli.chosen_files import choose

    chosen = choose(arguments.paths)
    files = [_format(chosen.snapshot, path) for path in chosen.all()]
    if not only_look:
        files = [_written(file) for file in files]
    _report(files, arguments)
    refused = any(file.outcome == "refused" for file in files)
    return int(refused or (only_look and any(file.outcome == "formatted" for file in files)))


def _format(snapshot: Snapshot, path: str) -> FormattedFile:
    from promptls.format.prompt_file import file_edits
    from promptls.lint.rule import apply_edits
    from promptls.semantic.kind import Kind

    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return FormattedFile(path, "", "", "no prompt")
    text = template.source.text
    problems = [each for each in template.syntax_problems if kind is not Kind.TEXT or each.language != "yaml"]
    if problems:
        problem = problems[0]
        place = FilePlace(path, *template.source.line_column(problem.span.start))
        return FormattedFile(path, text, text, "refused", problem.message, place)
    after = apply_edits(text, file_edits(snapshot, path))
    return FormattedFile(path, text, after, "unchanged" if after == text else "formatted")


def _written(file: FormattedFile) -> FormattedFile:
    """Write the file and return it, marked as refused if it cannot be written."""
    from promptls.cli.chosen_files import rewrite

    if file.outcome != "formatted":
        return file
    try:
        rewrite(file.path, file.before, file.after)
    except UserError as failure:
        return file._replace(outcome="refused", reason=failure.message, place=failure.place)
    except OSError as failure:
        reason = f"it cannot be written: {failure.strerror or failure}"
        return file._replace(outcome="refused", reason=reason, place=FilePlace(file.path))
    return file


def _report(files: Sequence[FormattedFile], arguments: argparse.Namespace) -> None:
    from promptls.cli.chosen_files import diff

    if arguments.json:
        print_json(
            {
                "files": [
                    {"path": shown_path(file.path), "outcome": file.outcome, "reason": file.reason or None}
                    for file in files
                ]
            }
        )
        return
    only_look = arguments.check or arguments.diff
    for file in files:
        if file.outcome == "formatted":
            if arguments.diff:
                write_document(diff(printed_path(file.path), file.before, file.after))
            else:
                print(f"{'would format' if only_look else 'formatted'} {printed_path(file.path)}")
        elif file.outcome == "refused":
            error(f"not changed: {file.reason}", file.place, "fix it, and format again")
    print(_conclusion(files, only_look=only_look), file=sys.stderr if arguments.diff else sys.stdout)


def _conclusion(files: Sequence[FormattedFile], *, only_look: bool) -> str:
    outcomes = Counter(file.outcome for file in files)
    said: tuple[tuple[Outcome, str], ...] = (
        ("formatted", "would change" if only_look else "changed"),
        ("unchanged", "already formatted"),
        ("refused", "left with errors"),
    )
    shown = [f"{plural(outcomes[outcome], 'prompt')} {text}" for outcome, text in said if outcomes[outcome]]
    others = outcomes["no prompt"]
    left_alone = f" ({plural(others, 'other file')} left alone)" if others else ""
    if not shown:
        return f"There is no prompt here{left_alone}."
    return paint(", ".join(shown), "bold") + f"{left_alone}."


def _format_input(arguments: argparse.Namespace) -> int:
    """Format the standard input; text that is not a prompt, or has errors, is printed unchanged."""
    from promptls.cli.chosen_files import diff
    from promptls.workspace.workspace import Workspace

    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as failure:
        raise UserError("the standard input is not UTF-8", remedy="save the file as UTF-8") from failure
    path = str(Path(arguments.stdin_filename).absolute())
    workspace = Workspace([Path.cwd()])
    workspace.open(path, text, 1)
    file = _format(workspace.snapshot, path)
    changed = file.outcome == "formatted"
    if file.outcome == "refused":
        error(f"not changed: {file.reason}", file.place, "fix it, and format again")
    if arguments.diff and changed:
        write_document(diff(for_terminal_line(arguments.stdin_filename), text, file.after))
    elif not arguments.check and not arguments.diff:
        write_document(file.after if changed else text, as_utf8=True)
    return int(file.outcome == "refused" or (changed and (arguments.check or arguments.diff)))
