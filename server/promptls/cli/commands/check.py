"""`promptls check`: what the rules find in prompt files, for people, for CI and for programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.cli.checking.checked import GRAVEST_FIRST
from promptls.cli.output.terminal import error, shown_path
from promptls.text.counted import counted
from promptls.text.failure import Failure, FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.cli.checking.baseline import Baseline, BaselineEntry
    from promptls.cli.checking.checked import Checked, CheckedFile
    from promptls.cli.input.chosen_files import ChosenFiles
    from promptls.features.mending import Mended
    from promptls.rules.rule import Finding

SUMMARY = "find mistakes in prompt files"

DESCRIPTION = """\
Checks prompt files, and prints each mistake with its place, the rule that found it
and how to mend it. Folders are walked for files that end in .yml.j2 or .yaml.j2;
those of them that are no prompts (Ansible, Docker Compose, …) are left alone.
A configuration of OpenCompass in Python, or a program that loads prompts, is checked where
it is named; it is read, not run.

examples:
  promptls check                        every prompt below this folder
  promptls check prompts/ a.yml.j2      a folder and a file
  promptls check mmlu_ppl.py            a configuration of OpenCompass
  promptls check app.py                 the calls in a program that load prompts
  promptls check --fix                  mend what can be mended without looking
  promptls check --fix --diff           show what that would change, and change nothing
  promptls check --select unknown-role,unused-input
  promptls check --baseline known.json --write-baseline   take what there is as known
  promptls check --baseline known.json                    report only what is new
  promptls check --format sarif > promptls.sarif          for code hosts
  promptls check --json | jq .findings                    for programs
  promptls explain unknown-role         what a rule means

exit codes: 0 nothing that must be mended, 1 errors or warnings (see --fail-on), 2 wrong use"""

FORMATS: Final = ("text", "json", "sarif", "github", "junit")
"""The forms of the report, each a module `promptls.cli.reports.as_…`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the paths, what to report and how, and what to mend."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: this folder)")
    parser.add_argument(
        "--stdin-filename",
        metavar="FILE",
        help="check the text on standard input as that of FILE; with --fix, print it mended",
    )
    shown = parser.add_argument_group("what is reported, and how")
    shown.add_argument("--format", choices=FORMATS, default="text", help="form of the report (default: text)")
    shown.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json"
    )
    shown.add_argument(
        "--select", metavar="RULES", action="append", help="only these rules, separated by commas"
    )
    shown.add_argument("--ignore", metavar="RULES", action="append", help="not these rules")
    shown.add_argument(
        "--severity",
        choices=GRAVEST_FIRST,
        default="hint",
        help="report findings at least this grave (default: hint)",
    )
    shown.add_argument(
        "--fail-on",
        choices=(*GRAVEST_FIRST, "never"),
        default="warning",
        help="findings at least this grave make the exit code 1 (default: warning)",
    )
    shown.add_argument(
        "--no-render",
        action="store_true",
        help="leave out what needs the prompts rendered; starts no process",
    )
    shown.add_argument(
        "--trust",
        action="store_true",
        help="run the functions files that prompts name, to check what is rendered with them",
    )
    shown.add_argument("--verbose", action="store_true", help="say of every file which kind it is")
    known = parser.add_argument_group("known findings")
    known.add_argument("--baseline", metavar="FILE", help="do not report the findings that FILE lists")
    known.add_argument(
        "--write-baseline", action="store_true", help="write what is found now to the file of --baseline"
    )
    fixing = parser.add_argument_group("mending")
    fixing.add_argument("--fix", action="store_true", help="apply every fix that is safe without looking")
    fixing.add_argument("--diff", action="store_true", help="with --fix: show the changes, and write nothing")


def execute(arguments: argparse.Namespace) -> int:
    """Checks every chosen file; 1 where something is found that `--fail-on` names."""
    from promptls.cli.checking.checked import Checked, checked_file
    from promptls.cli.checking.known_findings import gone_entries, without_known
    from promptls.cli.checking.runs import findings_of_runs
    from promptls.cli.input.rule_choice import chosen_rules
    from promptls.features.configurations.file_findings import found_in_file
    from promptls.features.mending import mend
    from promptls.rules.checking.settings_problems import settings_problems

    _refuse_contradictions(arguments)
    rules = chosen_rules(arguments.select, arguments.ignore)
    known = _baseline(arguments)
    chosen = _chosen(arguments)
    if arguments.fix:
        mended = [
            mend(chosen.workspace, path, lambda finding: finding.rule in rules, found_in_file)
            for path in chosen.all()
        ]
        if arguments.diff:
            return _show_diff(mended)
        _keep(mended, chosen, to_stdout=arguments.stdin_filename is not None)
    rendered = {} if arguments.no_render else _findings_of_renderings(chosen, rules, arguments)
    of_runs = findings_of_runs(chosen.snapshot, chosen.all(), rules)
    files = tuple(
        checked_file(chosen.snapshot, path, rules, (*rendered.get(path, ()), *of_runs.get(path, ())))
        for path in chosen.all()
    )
    gone: tuple[BaselineEntry, ...] = ()
    if known is not None:
        files = without_known(files, known.entries, known.path.parent)
        gone = gone_entries(files, known.entries, known.path.parent, rules)
        if arguments.write_baseline:
            return _write_baseline(known, files, gone)
    projects = [chosen.snapshot.project(file.path) for file in files]
    checked = Checked(
        snapshot=chosen.snapshot,
        files=tuple(file.at_least(arguments.severity) for file in files),
        problems=tuple(
            dict.fromkeys(problem for project in projects for problem in settings_problems(project))
        ),
        fail_on=None if arguments.fail_on == "never" else arguments.fail_on,
        baseline=known.path if known else None,
        gone=gone,
        verbose=arguments.verbose,
    )
    _report(checked, arguments)
    return int(checked.failed())


def _findings_of_renderings(
    chosen: ChosenFiles, rules: Container[str], arguments: argparse.Namespace
) -> Mapping[str, tuple[Finding, ...]]:
    """What renderings show; says once which prompts were rendered without their functions."""
    from promptls.cli.checking.renderings import findings_of_renderings

    found = findings_of_renderings(chosen.snapshot, chosen.all(), rules, trusted=arguments.trust)
    if found.without_functions:
        first = shown_path(found.without_functions[0])
        others = len(found.without_functions) - 1
        what = f"{first} and {counted(others, 'other prompt')} call" if others else f"{first} calls"
        print(
            f"promptls: {what} functions of a functions file, which was not run: what they render to is "
            "not checked (`--trust` runs it)",
            file=sys.stderr,
        )
    return found.findings


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raises WrongUse for options that mean nothing together."""
    if arguments.diff and not arguments.fix:
        raise WrongUse("`--diff` shows what `--fix` would change", remedy="give both: `--fix --diff`")
    if arguments.write_baseline and not arguments.baseline:
        raise WrongUse(
            "`--write-baseline` needs to know where",
            remedy="`--baseline promptls-baseline.json` names the file",
        )
    if arguments.stdin_filename is not None and arguments.paths not in ([], ["-"]):
        raise WrongUse(
            "`--stdin-filename` checks one text, and paths were given too",
            remedy="leave out the paths, or `--stdin-filename`",
        )
    if arguments.paths == ["-"] and arguments.stdin_filename is None:
        raise WrongUse(
            "the name of the text on standard input is missing",
            remedy="`--stdin-filename FILE` names it; includes and settings are found from there",
        )


def _chosen(arguments: argparse.Namespace) -> ChosenFiles:
    from promptls.cli.input.chosen_files import choose, choose_text

    if arguments.stdin_filename is None:
        chosen = choose(arguments.paths)
        chosen.workspace.scan_calls()
        return chosen
    return choose_text(arguments.stdin_filename, sys.stdin.buffer.read().decode("utf-8", errors="replace"))


def _baseline(arguments: argparse.Namespace) -> Baseline | None:
    """The baseline that was named; an empty one where it is yet to be written."""
    from promptls.cli.checking.baseline import Baseline, read_baseline

    if not arguments.baseline:
        return None
    path = Path(arguments.baseline).absolute()
    return Baseline(path, ()) if arguments.write_baseline and not path.exists() else read_baseline(path)


def _write_baseline(known: Baseline, files: Sequence[CheckedFile], gone: Sequence[BaselineEntry]) -> int:
    from promptls.cli.checking.known_findings import baseline_text
    from promptls.datasets.atomic import replaced

    text = baseline_text(files, known.entries, gone, known.path.parent)
    with replaced(known.path) as stream:
        stream.write(text)
    found = sum(len(file.findings) + len(file.known) for file in files)
    new = sum(len(file.findings) for file in files)
    print(f"{counted(found, 'finding')} in {shown_path(known.path)}: {new:,} new, {len(gone):,} taken out.")
    return 0


def _report(checked: Checked, arguments: argparse.Namespace) -> None:
    report: str = import_module(f"promptls.cli.reports.as_{arguments.format}").render(checked)
    # Where a text from standard input was mended, the standard output is for the text.
    stream = sys.stderr if arguments.fix and arguments.stdin_filename is not None else sys.stdout
    stream.write(report)


def _show_diff(mended: Sequence[Mended]) -> int:
    from promptls.cli.output.rewrite import diff

    for file in mended:
        sys.stdout.write(diff(shown_path(file.path), file.before, file.after))
        _explain_refusal(file)
    return int(any(file.before != file.after for file in mended))


def _keep(mended: Sequence[Mended], chosen: ChosenFiles, *, to_stdout: bool) -> None:
    """Writes what was mended; a file that cannot be written is as it was again, and is said."""
    from promptls.cli.output.rewrite import rewrite

    if to_stdout:
        sys.stdout.buffer.write(mended[0].after.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()
    written = []
    for file in mended:
        _explain_refusal(file)
        if file.before == file.after:
            continue
        try:
            if not to_stdout:
                rewrite(file.path, file.before, file.after)
            written.append(file)
        except Failure as failure:
            error(failure.message, failure.place, failure.remedy)
            chosen.workspace.close(file.path)
        except OSError as failure:
            error(f"the file cannot be written: {failure.strerror}", FilePlace(file.path))
            chosen.workspace.close(file.path)
    if written:
        fixes = sum(file.fixes for file in written)
        print(f"{counted(fixes, 'fix')} in {counted(len(written), 'file')}.", file=sys.stderr)


def _explain_refusal(file: Mended) -> None:
    if file.refused:
        error(
            "some fixes are left out, because together they would break the file",
            FilePlace(file.path),
            "apply them one by one in an editor",
        )
