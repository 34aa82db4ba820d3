"""`promptls check`: run the rules on prompt files, for people, CI and programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.cli.checked import GRAVEST_FIRST
from promptls.cli.permission import trust_where_decided, trusting
from promptls.cli.safe_stream import as_commands, write_document
from promptls.cli.terminal import error, printed_path
from promptls.security.processes import usable_cores
from promptls.security.trust import listed_names
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.cli.arguments import ChosenRules
    from promptls.cli.check_cache import CheckCache
    from promptls.cli.checked import Baseline, BaselineEntry, Checked, CheckedFile, CheckedFiles
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.ide.code_actions import FixedFile
    from promptls.lint.rule import Finding
    from promptls.workspace.settings import ProjectFile, SettingsProblem

DESCRIPTION = """\
Check prompt files. Each diagnostic shows its position, its rule and the available fixes.
Folders are searched for files that end in .yml.j2 or .yaml.j2, for prompts and metrics that Ragas
saved in folders named prompts, metrics or english, for programs that import Prompt Poet, Ragas or
promptls, and for OpenCompass configurations; Python is read and not run. Files that are not prompts
(Ansible, Docker Compose, …) are ignored. To check the samples and datasets of prompts at their
places, name the file.

examples:
  promptls check                        all prompts below this folder
  promptls check prompts/ a.yml.j2      a folder and a file
  promptls check mmlu_ppl.py            an OpenCompass configuration
  promptls check app.py                 the calls in a program that load prompts
  promptls check samples/tickets.yml    a samples file
  promptls check --fix                  apply all safe fixes
  promptls check --fix --diff           show the changes without writing them
  promptls check --select unknown-role,unused-input
  promptls check --baseline known.json --write-baseline   record current findings
  promptls check --baseline known.json                    report only new findings
  promptls check --format sarif > promptls.sarif          for code hosts
  promptls check --json | jq .findings                    for programs
  promptls explain unknown-role         explain a rule

exit codes: 0 no errors or warnings, 1 errors or warnings (see --fail-on), 2 usage error"""

FORMATS: Final = ("text", "json", "sarif", "github", "junit")
"""The formats of the report, as in `promptls.cli.reports`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the paths, what to report and how, and what to fix."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders (default: current folder)"
    )
    parser.add_argument(
        "--stdin-filename",
        metavar="FILE",
        help="check standard input as the content of FILE; with --fix, print the fixed text",
    )
    shown = parser.add_argument_group("report")
    shown.add_argument("--format", choices=FORMATS, default="text", help="report format (default: text)")
    shown.add_argument(
        "--json", action="store_const", const="json", dest="format", help="same as --format json"
    )
    shown.add_argument(
        "--select", metavar="RULES", action="append", help="run only these rules, separated by commas"
    )
    shown.add_argument("--ignore", metavar="RULES", action="append", help="skip these rules")
    shown.add_argument(
        "--severity",
        choices=GRAVEST_FIRST,
        default="hint",
        help="report findings of at least this severity (default: hint)",
    )
    shown.add_argument(
        "--fail-on",
        choices=(*GRAVEST_FIRST, "never"),
        default="warning",
        help="exit with 1 for findings of at least this severity (default: warning)",
    )
    shown.add_argument(
        "--no-render",
        action="store_true",
        help="skip checks that render prompts; starts no process",
    )
    shown.add_argument(
        "--trust",
        action="store_true",
        help="run the functions files of prompts to check their rendering; `promptls trust FOLDER` "
        "remembers it",
    )
    shown.add_argument(
        "--no-cache", action="store_true", help="check every file, also those that have not changed"
    )
    shown.add_argument("--verbose", action="store_true", help="print the kind of every file")
    known = parser.add_argument_group("baseline")
    known.add_argument("--baseline", metavar="FILE", help="do not report findings listed in FILE")
    known.add_argument(
        "--write-baseline", action="store_true", help="write the current findings to the file of --baseline"
    )
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument("--fix", action="store_true", help="apply all safe fixes")
    fixing.add_argument(
        "--diff", action="store_true", help="with --fix: show the changes without writing them"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Check every chosen file; return 1 if a finding reaches the severity of `--fail-on`."""
    from promptls.cli.arguments import chosen_rules
    from promptls.cli.checked import Checked, checked_files, gone_entries, without_known

    _refuse_contradictions(arguments)
    rules = chosen_rules(arguments.select, arguments.ignore)
    known = _baseline(arguments)
    chosen = _chosen(arguments)
    trust_where_decided(chosen.workspace, this_time=arguments.trust)
    renders = not arguments.no_render
    cache = None if arguments.no_cache else _cache(chosen, rules, renders=renders)
    check = partial(checked_files, chosen, rules, renders=renders, processes=usable_cores(), cache=cache)
    found = check()
    if arguments.fix:
        fixed_files = _fixed(chosen, found, rules)
        if arguments.diff:
            return _show_diff(fixed_files)
        _write_fixed(fixed_files, chosen, to_stdout=arguments.stdin_filename is not None)
        if any(file.before != file.after for file in fixed_files):
            found = check()
    files = found.files
    gone: tuple[BaselineEntry, ...] = ()
    if known is not None:
        files = without_known(files, known.entries, known.path.parent)
        gone = gone_entries(files, known.entries, known.path.parent, rules)
        if arguments.write_baseline:
            return _write_baseline(known, files, gone)
    checked = Checked(
        snapshot=chosen.snapshot,
        files=tuple(file.at_least(arguments.severity) for file in files),
        problems=_settings_problems(chosen.snapshot.project(file.path) for file in files),
        fail_on=None if arguments.fail_on == "never" else arguments.fail_on,
        baseline=known.path if known else None,
        gone=gone,
        verbose=arguments.verbose,
        named=frozenset(chosen.named),
        left_out=_left_out(chosen, found),
    )
    _report(checked, arguments)
    if arguments.fix:
        _explain_left(checked)
    if checked.left_out is not None and arguments.format != "json":
        print(f"promptls: {checked.left_out}", file=sys.stderr)
    return int(checked.failed())


def _cache(chosen: ChosenFiles, rules: ChosenRules, *, renders: bool) -> CheckCache:
    from promptls.cli.check_cache import CheckCache

    return CheckCache(chosen.snapshot, [str(rules), f"renders: {renders}"])


def _fixed(chosen: ChosenFiles, found: CheckedFiles, rules: ChosenRules) -> list[FixedFile]:
    # These import much that a check without fixes does not need.
    from promptls.ide.code_actions import fix_file
    from promptls.programs.findings import found_in_file

    def is_chosen(finding: Finding) -> bool:
        return finding.rule in rules

    return [
        fix_file(chosen.workspace, file.path, is_chosen, found_in_file, known=file.findings)
        for file in found.files
    ]


def _settings_problems(projects: Iterable[ProjectFile]) -> tuple[SettingsProblem, ...]:
    """Return the problems of the settings files of some projects."""
    by_file = {project.path: project for project in projects if project.path is not None}
    if not by_file:
        return ()
    from promptls.lint.settings_problems import settings_problems  # loads all rules

    return tuple(dict.fromkeys(problem for each in by_file.values() for problem in settings_problems(each)))


def _left_out(chosen: ChosenFiles, found: CheckedFiles) -> str | None:
    """Return what was not run or read, and how to include it; None if everything was."""
    said = []
    if found.incomplete:
        from promptls.rendering.make import code_of_rendering

        code = code_of_rendering(chosen.snapshot, found.incomplete)
        said.append(f"{code.left_out()} ({plural(len(found.incomplete), 'prompt')})")
    if found.outside:
        is_one = len(found.outside) == 1
        be = "leads out of the project and was" if is_one else "lead out of the project and were"
        said.append(f"{listed_names(found.outside)} {be} not read")
    if not said:
        return None
    return f"not trusted: {'; '.join(said)}; {trusting(chosen.snapshot.roots)} includes it"


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if arguments.diff and not arguments.fix:
        raise UsageError("`--diff` shows what `--fix` would change", remedy="give both: `--fix --diff`")
    if arguments.write_baseline and not arguments.baseline:
        raise UsageError(
            "`--write-baseline` needs a file",
            remedy="name it, as in `--baseline promptls-baseline.json`",
        )
    if arguments.stdin_filename is not None and arguments.paths not in ([], ["-"]):
        raise UsageError(
            "`--stdin-filename` checks one text, but paths were given too",
            remedy="leave out the paths, or `--stdin-filename`",
        )
    if arguments.paths == ["-"] and arguments.stdin_filename is None:
        raise UsageError(
            "the name of the text on standard input is missing",
            remedy="`--stdin-filename FILE` names it; includes and settings are found from there",
        )


def _chosen(arguments: argparse.Namespace) -> ChosenFiles:
    from promptls.cli.chosen_files import choose, choose_text, scan_callers

    if arguments.stdin_filename is None:
        chosen = choose(arguments.paths, all_kinds=True)
        scan_callers(chosen.workspace)
        return chosen
    return choose_text(arguments.stdin_filename, sys.stdin.buffer.read().decode("utf-8", errors="replace"))


def _baseline(arguments: argparse.Namespace) -> Baseline | None:
    """Return the specified baseline; an empty one if it is yet to be written."""
    from promptls.cli.checked import Baseline, read_baseline

    if not arguments.baseline:
        return None
    path = Path(arguments.baseline).absolute()
    return Baseline(path, ()) if arguments.write_baseline and not path.exists() else read_baseline(path)


def _write_baseline(known: Baseline, files: Sequence[CheckedFile], gone: Sequence[BaselineEntry]) -> int:
    from promptls.cli.checked import baseline_text
    from promptls.security.written_files import replace_file

    text = baseline_text(files, known.entries, gone, known.path.parent)
    with replace_file(known.path) as stream:
        stream.write(text)
    found = sum(len(file.findings) + len(file.known) for file in files)
    new = sum(len(file.findings) for file in files)
    print(f"{plural(found, 'finding')} in {printed_path(known.path)}: {new:,} new, {len(gone):,} removed.")
    return 0


def _report(checked: Checked, arguments: argparse.Namespace) -> None:
    from promptls.cli.reports import FORMATS as REPORTS

    report = REPORTS[arguments.format](checked)
    # If a text from standard input was fixed, the standard output is for the text.
    stream = sys.stderr if arguments.fix and arguments.stdin_filename is not None else sys.stdout
    stream.write(as_commands(report) if arguments.format == "github" else report)


def _show_diff(fixed_files: Sequence[FixedFile]) -> int:
    from promptls.cli.chosen_files import diff

    for file in fixed_files:
        write_document(diff(printed_path(file.path), file.before, file.after))
        _explain_refusal(file)
    return int(any(file.before != file.after for file in fixed_files))


def _write_fixed(fixed_files: Sequence[FixedFile], chosen: ChosenFiles, *, to_stdout: bool) -> None:
    """Write the fixed files; restore and report a file that cannot be written."""
    from promptls.cli.chosen_files import rewrite

    if to_stdout:
        write_document(fixed_files[0].after, as_utf8=True)
    written = []
    for file in fixed_files:
        _explain_refusal(file)
        if file.before == file.after:
            continue
        try:
            if not to_stdout:
                rewrite(file.path, file.before, file.after)
            written.append(file)
        except UserError as failure:
            error(failure.message, failure.place, failure.remedy)
            chosen.workspace.close(file.path)
        except OSError as failure:
            error(f"the file cannot be written: {failure.strerror}", FilePlace(file.path))
            chosen.workspace.close(file.path)
    if written:
        fixes = sum(file.fixes for file in written)
        print(f"{plural(fixes, 'fix')} in {plural(len(written), 'file')}.", file=sys.stderr)


def _explain_left(checked: Checked) -> None:
    """Print how many findings have only fixes that the user has to choose."""
    fixes = [finding.fixes for file in checked.files for finding in file.findings if finding.fixes]
    left = sum(not any(fix.preferred for fix in each) for each in fixes)
    if left:
        have = "finding has a fix" if left == 1 else "findings have fixes"
        message = f"{left:,} {have} that `--fix` does not apply, because you have to choose"
        print(f"promptls: {message}: use an editor, or change the text by hand", file=sys.stderr)


def _explain_refusal(file: FixedFile) -> None:
    if file.refused:
        error(
            "some fixes are left out, because together they would break the file",
            FilePlace(file.path),
            "apply them one by one in an editor",
        )
