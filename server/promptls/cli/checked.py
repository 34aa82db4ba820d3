"""The result of `promptls check`, from which all reports are generated, and its baseline."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.text.errors import FilePlace, UsageError
from promptls.text.positions import line_column, line_end, line_starts

if TYPE_CHECKING:
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.lint.rule import Finding, Severity
    from promptls.rendering.file_rendering import FileRendering
    from promptls.semantic.kind import Kind
    from promptls.text.positions import Span
    from promptls.workspace.settings import SettingsProblem
    from promptls.workspace.snapshot import Snapshot

VERSION: Final = 1


class BaselineEntry(NamedTuple):
    """A known finding. `path` is relative to the baseline's folder; `message` is informative."""

    path: str
    rule: str
    fingerprint: str
    message: str


class Baseline(NamedTuple):
    """A baseline and its absolute path."""

    path: Path
    entries: tuple[BaselineEntry, ...]


def read_baseline(path: Path) -> Baseline:
    """Return the baseline at `path`; raises UsageError if it is missing or invalid."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(
            "there is no such baseline", FilePlace(path), "`--write-baseline` makes it of what is found now"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("the baseline is not UTF-8", FilePlace(path), _REMEDY) from None
    try:
        read = json.loads(text)
    except JSONDecodeError as failure:
        place = FilePlace(path, failure.lineno - 1, failure.colno - 1)
        raise UsageError(f"the baseline is not JSON: {failure.msg}", place, _REMEDY) from None
    except RecursionError:
        raise UsageError("the baseline is nested too deeply", FilePlace(path), _REMEDY) from None
    version = read.get("version") if isinstance(read, dict) else None
    if version != VERSION:
        wrong = f"its version is {json.dumps(version)}, and this promptls reads version {VERSION}"
        raise UsageError(f"the baseline cannot be read: {wrong}", FilePlace(path), _REMEDY)
    entries = read.get("findings")
    if not isinstance(entries, list):
        raise UsageError("the baseline has no list `findings`", FilePlace(path), _REMEDY)
    return Baseline(path, tuple(_entry(path, number, entry) for number, entry in enumerate(entries)))


_REMEDY: Final = "remove the file, and create it again with `--write-baseline`"


def _entry(path: Path, number: int, entry: Any) -> BaselineEntry:
    wanted = BaselineEntry._fields
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in wanted):
        keys = ", ".join(f"`{key}`" for key in wanted)
        raise UsageError(f"entry {number + 1} of the baseline lacks one of {keys}", FilePlace(path), _REMEDY)
    return BaselineEntry(*(entry[key] for key in wanted))


_SUGGESTION: Final = re.compile(r"; did you mean .*", re.DOTALL)
_DIGEST_LENGTH: Final = 16


def fingerprints(text: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return a unique fingerprint for each finding of one file: 16 hexadecimal digits.

    It is computed from the rule, the first line of the finding, the marked text and the message, ignoring
    what edits elsewhere may change: indentation, numbers in the message, and suggested names. Equal findings
    are distinguished by their order.
    """
    starts = line_starts(text)
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        start = starts[line_column(starts, finding.span.start).line]
        end = line_end(text, finding.span.start)
        what = (
            finding.rule,
            " ".join(text[start:end].split()),
            text[finding.span.start : min(finding.span.end, end)],
            re.sub(r"\d+", "#", _SUGGESTION.sub("", finding.message)),
        )
        same = "\0".join(what)
        found.append(_digest(f"{same}\0{seen[same]}"))
        seen[same] += 1
    return tuple(found)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


GRAVEST_FIRST: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""Every severity, most severe first."""


class CheckedFile(NamedTuple):
    """A file with its kind, its text and its findings.

    `findings` are to be reported; `known` ones are in the baseline, and `suppressed` ones are silenced by a
    comment in the file.
    """

    path: str
    kind: Kind
    text: str
    findings: tuple[Finding, ...]
    known: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()

    def at_least(self, least: Severity) -> CheckedFile:
        """Return the file with only the findings that are at least as severe as `least`."""
        grave = (finding for finding in self.findings if at_least(finding.severity or "error", least))
        return self._replace(findings=tuple(grave))


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked files, the problems of their settings, and the options of the caller.

    `fail_on` is the lowest severity that fails the check, or None if no finding does. `gone` are the entries
    of `baseline` whose findings no longer occur.
    """

    snapshot: Snapshot
    files: tuple[CheckedFile, ...]
    problems: tuple[SettingsProblem, ...] = ()
    fail_on: Severity | None = "warning"
    baseline: Path | None = None
    gone: tuple[BaselineEntry, ...] = ()
    verbose: bool = False
    named: frozenset[str] = frozenset()
    """The paths of files named explicitly, as opposed to those found in folders."""
    left_out: str | None = None
    """What was not checked because the folder is not trusted, the reason, and how to include it."""

    def failed(self) -> bool:
        """Return whether a finding reaches the severity `fail_on`, or a setting is invalid."""
        return bool(self.problems) or any(
            self.is_grave(finding) for file in self.files for finding in file.findings
        )

    def is_grave(self, finding: Finding) -> bool:
        """Return whether a finding fails the check."""
        return self.fail_on is not None and at_least(finding.severity or "error", self.fail_on)

    def why_unchecked(self, file: CheckedFile) -> str | None:
        """Return why a file named explicitly was not checked; None if it was checked, or not named."""
        from promptls.semantic.kind import Kind

        if file.path not in self.named or file.kind is not Kind.OTHER or file.findings:
            return None
        if self.snapshot.project(file.path).excludes(file.path):
            return "not checked: the settings exclude it"
        if file.path.endswith(".py"):
            if "raw_template" in file.text:
                return "not checked: its `raw_template` is computed when the program runs"
            return "not checked: no OpenCompass configuration, and no calls that load prompts"
        return "not a prompt: no list of parts, and no mapping with `instruction` or `infer_cfg`"

    def text(self, path: str) -> str | None:
        """Return the text of a file that a finding refers to, or None if it cannot be read."""
        template = self.snapshot.template(path)
        return template.source.text if template else None


def checked_file(
    snapshot: Snapshot, path: str, rules: Container[str], rendered: tuple[Finding, ...] = ()
) -> CheckedFile:
    """Return the file at `path` with the diagnostics of the selected rules and of its rendering."""
    from promptls.lint.runner import check

    template = snapshot.template(path)
    text = template.source.text if template else ""
    if path.endswith(".py"):
        from promptls.ide.opencompass_python import findings_of_python

        kind, own, silenced = findings_of_python(snapshot, path)
    else:
        kind, own = snapshot.kind(path), check(snapshot, path)
        silenced = check(snapshot, path, suppressed=True)
    found = [*(finding for finding in own if finding.rule in rules), *rendered]
    found.sort(key=lambda finding: (finding.span, finding.rule))
    suppressed = tuple(finding for finding in silenced if finding.rule in rules)
    return CheckedFile(path, kind, text, tuple(found), suppressed=suppressed)


def checked_files(
    chosen: ChosenFiles, rules: Container[str], *, renders: bool = True
) -> tuple[tuple[CheckedFile, ...], tuple[str, ...]]:
    """Return the chosen files with their findings, and the paths rendered without code that they need.

    Prompts are rendered for the rules that check renderings, unless `renders` is False.
    """
    snapshot, paths = chosen.snapshot, chosen.all()
    rendered, incomplete = findings_of_renderings(snapshot, paths, rules) if renders else ({}, ())
    of_runs = findings_of_runs(snapshot, paths, rules)
    files = (
        checked_file(snapshot, path, rules, (*rendered.get(path, ()), *of_runs.get(path, ())))
        for path in paths
    )
    return tuple(files), tuple(incomplete)


class Region(NamedTuple):
    """A range of a text: lines and columns from 1, in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def at_least(severity: Severity, least: Severity) -> bool:
    """Return whether `severity` is at least as severe as `least`."""
    return GRAVEST_FIRST.index(severity) <= GRAVEST_FIRST.index(least)


def region_of(text: str, span: Span) -> Region:
    """Return the region of `span` in `text`, with lines and columns from 1 as in reports."""
    from promptls.text.positions import line_column, line_starts

    starts = line_starts(text)
    start, end = line_column(starts, span.start), line_column(starts, span.end)
    return Region(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def repository_path(path: str) -> str:
    """Return the path as used by code hosts and CI: relative to the root of the repository, with slashes.

    The root is `GITHUB_WORKSPACE`, else the nearest parent folder with a `.git`, else the working directory;
    the path of a file outside of it remains absolute.
    """
    here = Path.cwd()
    named = os.environ.get("GITHUB_WORKSPACE")
    repository = next((above for above in (here, *here.parents) if (above / ".git").exists()), here)
    for root in (Path(named) if named else repository, repository):
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return Path(path).as_posix()


def without_known(
    files: Sequence[CheckedFile], entries: Iterable[BaselineEntry], folder: Path
) -> tuple[CheckedFile, ...]:
    """Return the files with the findings in the baseline of `folder` moved to `known`."""
    known = {entry[:3] for entry in entries}
    return tuple(_without_known_in(file, _name_in(file.path, folder), known) for file in files)


def gone_entries(
    files: Sequence[CheckedFile],
    entries: Iterable[BaselineEntry],
    folder: Path,
    checked_rules: Container[str],
) -> tuple[BaselineEntry, ...]:
    """Return the entries for the checked files and rules whose findings no longer occur.

    `files` come from `without_known`. Entries of an existing file that was not checked are not returned,
    since its findings are unknown.
    """
    there = {
        (name, finding.rule, mark)
        for file in files
        for name in [_name_in(file.path, folder)]
        for finding, mark in _fingerprinted(file)
    }
    checked = {_name_in(file.path, folder) for file in files}
    return tuple(
        entry
        for entry in entries
        if entry[:3] not in there
        and entry.rule in checked_rules
        and (entry.path in checked or not (folder / entry.path).exists())
    )


def baseline_text(
    files: Iterable[CheckedFile], before: Iterable[BaselineEntry], gone: Iterable[BaselineEntry], folder: Path
) -> str:
    """Return a baseline as JSON: every finding of the files, and the entries of `before` that are not gone.

    Entries are sorted, one per line, so that changes are easy to review.
    """
    dropped = {entry[:3] for entry in gone}
    entries = {entry[:3]: entry for entry in before if entry[:3] not in dropped}
    for file in files:
        name = _name_in(file.path, folder)
        for finding, mark in _fingerprinted(file):
            entry = BaselineEntry(name, finding.rule, mark, finding.message)
            entries[entry[:3]] = entry
    lines = [f"    {json.dumps(entry._asdict(), ensure_ascii=False)}" for entry in sorted(entries.values())]
    joined = ",\n".join(lines)
    listed = f"[\n{joined}\n  ]" if lines else "[]"
    return f'{{\n  "version": {VERSION},\n  "findings": {listed}\n}}\n'


def _without_known_in(file: CheckedFile, name: str, known: Container[tuple[str, str, str]]) -> CheckedFile:
    marked = [(finding, (name, finding.rule, mark) in known) for finding, mark in _fingerprinted(file)]
    return file._replace(
        findings=tuple(finding for finding, is_known in marked if not is_known),
        known=tuple(finding for finding, is_known in marked if is_known),
    )


def _fingerprinted(file: CheckedFile) -> tuple[tuple[Finding, str], ...]:
    """Return all findings of the file, including known ones, with their fingerprints."""
    found = sorted((*file.findings, *file.known), key=lambda finding: (finding.span, finding.rule))
    return tuple(zip(found, fingerprints(file.text, found), strict=True))


def _name_in(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # a different drive
        return Path(path).as_posix()


class RenderingFindings(NamedTuple):
    """The findings of renderings, by file, and the files that were rendered without code they need."""

    findings: Mapping[str, tuple[Finding, ...]]
    incomplete: tuple[str, ...] = ()


def findings_of_renderings(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str]
) -> RenderingFindings:
    """Return the findings of the enabled `rules` that check renderings.

    Functions files are run only if the snapshot is trusted. Otherwise, only the
    template is run, in the sandbox, and the rules skip what functions of the user may affect.
    """
    from promptls.lint.runner import RENDERING_RULES, check_rendering, needs_rendering
    from promptls.rendering.make import code_of_rendering

    if not any(rule.name in rules for rule in RENDERING_RULES):
        return RenderingFindings({})
    asked = [path for path in paths if needs_rendering(snapshot, path)]
    if not asked:
        return RenderingFindings({})
    found: dict[str, tuple[Finding, ...]] = {}
    incomplete: list[str] = []
    for made in asyncio.run(_rendered(snapshot, asked)):
        path = made.job.path
        found[path] = tuple(
            finding for finding in check_rendering(snapshot, path, made) if finding.rule in rules
        )
        if not snapshot.trusts(path):
            code = code_of_rendering(snapshot, [path])
            if code.models or (code.python and made.job.stand_ins):
                incomplete.append(path)
    return RenderingFindings(found, tuple(incomplete))


async def _rendered(snapshot: Snapshot, paths: Iterable[str]) -> list[FileRendering]:
    from promptls.rendering.make import limits_for, render_file, weigh_rows
    from promptls.rendering.worker import Limits, RenderWorker

    workers: dict[Limits, RenderWorker] = {}
    made = []
    try:
        for path in paths:
            limits = limits_for(snapshot, path)
            worker = workers.setdefault(limits, RenderWorker(limits))
            rendering = await render_file(worker, snapshot, path)
            made.append(await weigh_rows(worker, snapshot, rendering))
    finally:
        for worker in workers.values():
            await worker.close()
    return made


def findings_of_runs(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str]
) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of the `rules` that check runs, by file; runs of older prompts are ignored."""
    from promptls.ide.experiments import experiment_runs, run_findings
    from promptls.lint.runner import RUN_RULES

    if not any(rule.name in rules for rule in RUN_RULES):
        return {}
    return {
        path: tuple(
            finding
            for finding in run_findings(snapshot, path, experiment_runs(snapshot, path))
            if finding.rule in rules
        )
        for path in paths
    }
