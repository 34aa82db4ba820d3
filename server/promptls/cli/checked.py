"""The result of `promptls check`, from which all reports are generated, and its baseline."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.facts import recording
from promptls.security.files import current_scope
from promptls.security.processes import end_with_owner
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code
from promptls.text.positions import line_column, line_end, line_starts

if TYPE_CHECKING:
    from promptls.cli.check_cache import CheckCache, FileResult, StoredResult
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.lint.rule import Finding, Severity
    from promptls.rendering.file_rendering import FileRendering
    from promptls.rendering.samples import Sample
    from promptls.rendering.worker import RenderWorkers
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
            "there is no such baseline",
            FilePlace(path),
            "`--write-baseline` creates it from the current findings",
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
    return Baseline(path, tuple(_entry(path, index, entry) for index, entry in enumerate(entries)))


_REMEDY: Final = "remove the file, and create it again with `--write-baseline`"


def _entry(path: Path, number: int, entry: Any) -> BaselineEntry:
    fields = BaselineEntry._fields
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in fields):
        keys = in_code(fields)
        raise UsageError(f"entry {number + 1} of the baseline lacks one of {keys}", FilePlace(path), _REMEDY)
    return BaselineEntry(*(entry[key] for key in fields))


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


class CheckedFile(NamedTuple):
    """A file with its kind, its text and its findings.

    `findings` are to be reported; `known` ones are in the baseline, and `suppressed` ones are those of a
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
        from promptls.convert.formats import guess
        from promptls.semantic.kind import Kind, top_keys

        if file.path not in self.named or file.kind is not Kind.OTHER or file.findings:
            return None
        if self.snapshot.project(file.path).excludes(file.path):
            return "not checked: the settings exclude it"
        if file.path.endswith(".py"):
            if "raw_template" in file.text:
                return "not checked: its `raw_template` is computed when the program runs"
            return "not checked: no OpenCompass configuration, and no calls that load prompts"
        template = self.snapshot.template(file.path)
        if template and template.names.bound_names("macro") and not template.source.whole.has_printed_content:
            return "only macros: they are checked with the prompts that import the file, but none here does"
        if template and not template.source.whole.has_printed_content:
            for reference in template.references:
                if reference.name and self.snapshot.resolve(file.path, reference) is None:
                    return f"not a prompt by its own text, and `{reference.name}` does not exist"
        if template and "instruction" in top_keys(template.source):
            return "not a prompt: its `instruction` is among keys of another program, without `input_keys`"
        if not self.snapshot.is_utf8(file.path):
            return "not read: the file is not UTF-8; save it as UTF-8"
        reason = "not a prompt: no list of parts, and no mapping with `instruction` or `infer_cfg`"
        is_convertible = guess(file.text, file.path) in {"chat", "jinja", "prompty"}
        return f"{reason}; `promptls convert` turns it into one" if is_convertible else reason

    def text(self, path: str) -> str | None:
        """Return the text of a file that a finding refers to, or None if it cannot be read."""
        return _text_of(self.snapshot, path)


def checked_file(
    snapshot: Snapshot, path: str, rules: Container[str], later: Iterable[Finding] = ()
) -> FileResult:
    """Return the diagnostics of the selected rules and of the runs of the file at `path`.

    `later` are the diagnostics of its renderings.
    """
    from promptls.cli.check_cache import FileResult
    from promptls.ide.data_files import findings_in_data
    from promptls.lint.runner import check
    from promptls.semantic.kind import Kind

    if path.endswith(".py"):
        from promptls.programs.findings import findings_of_python

        kind, own, all_found = findings_of_python(snapshot, path, later)
        later = ()
    else:
        kind, own = snapshot.kind(path), check(snapshot, path)
        all_found = check(snapshot, path, suppressed=True)
        if kind is Kind.OTHER and (in_data := findings_in_data(snapshot, path)) is not None:
            kind, own = Kind.DATA, in_data
    found = [*own, *later, *_findings_of_runs(snapshot, path, rules)]
    found.sort(key=lambda finding: (finding.span, finding.rule))
    chosen = tuple(finding for finding in found if finding.rule in rules)
    suppressed = tuple(finding for finding in all_found if finding.rule in rules)
    return FileResult(kind, chosen, suppressed)


class CheckedFiles(NamedTuple):
    """Files with their findings.

    `incomplete` are the paths of files that were rendered without code that they need, and `outside` the
    files that prompts name and that may not be read, as they are written.
    """

    files: tuple[CheckedFile, ...]
    incomplete: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


_FILES_AT_ONCE: Final = 20
"""How many files one process checks before it returns their findings."""


def checked_files(
    chosen: ChosenFiles,
    rules: Container[str],
    *,
    renders: bool = True,
    processes: int = 1,
    cache: CheckCache | None = None,
) -> CheckedFiles:
    """Return the chosen files with their findings, in order.

    Prompts are rendered for the rules that check renderings, unless `renders` is False. Many files are
    divided among `processes`, where the system can fork. Results in the `cache` are reused.
    """
    snapshot, paths = chosen.snapshot, chosen.all()
    job = _Job(snapshot, rules, renders, {} if cache is None else cache.read(paths))
    slices = [paths[start : start + _FILES_AT_ONCE] for start in range(0, len(paths), _FILES_AT_ONCE)]
    if min(processes, len(slices)) <= 1 or not hasattr(os, "fork"):
        done = [_check(job, paths)]
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        number = min(processes, len(slices))
        with ProcessPoolExecutor(number, get_context("fork"), _begin, (job,)) as pool:
            done = list(pool.map(_checked_slice, slices))
    fresh = {path: stored for each in done for path, stored in each.fresh.items()}
    if cache is not None and fresh:
        cache.write(fresh)
    found = {path: result for each in done for path, result in each.results.items()}
    results = {path: found[path] for path in paths}
    return CheckedFiles(
        tuple(_with_text(snapshot, path, result) for path, result in results.items()),
        tuple(path for path, result in results.items() if result.lacks_code),
        tuple(dict.fromkeys(name for result in results.values() for name in result.outside)),
    )


def _with_text(snapshot: Snapshot, path: str, result: FileResult) -> CheckedFile:
    text = _text_of(snapshot, path) or ""
    return CheckedFile(path, result.kind, text, result.findings, suppressed=result.suppressed)


def _text_of(snapshot: Snapshot, path: str) -> str | None:
    """Return the text of a file, which is not parsed for that; None if it cannot be read."""
    from promptls.workspace.disk import text_on_disk

    opened = snapshot.open_file(path)
    return text_on_disk(path) if opened is None else opened.template.source.text


class _Job(NamedTuple):
    """What files are checked with. A process of the pool inherits it, so that the snapshot is not copied."""

    snapshot: Snapshot
    rules: Container[str]
    renders: bool
    stored: Mapping[str, StoredResult]


class _Slice(NamedTuple):
    """The results of some files by their paths, and those of them to store."""

    results: dict[str, FileResult]
    fresh: dict[str, StoredResult]


_job: _Job


def _begin(job: _Job) -> None:
    global _job  # noqa: PLW0603 - the only way to reach the tasks of a pool
    _job = job
    end_with_owner()  # which can be killed, as by the time limit of a CI job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it, and ends the pool


def _checked_slice(paths: Sequence[str]) -> _Slice:
    return _check(_job, paths)


def _check(job: _Job, paths: Sequence[str]) -> _Slice:
    """Return the results of some files, those that are stored and valid first."""
    from promptls.cli.check_cache import valid_result

    known = ((path, valid_result(job.snapshot, job.stored[path])) for path in paths if path in job.stored)
    done = _Slice({path: result for path, result in known if result is not None}, {})
    others = [path for path in paths if path not in done.results]
    if others:
        import asyncio  # takes as long to load as a stored result

        asyncio.run(_check_others(job, others, done))
    return done


async def _check_others(job: _Job, paths: Sequence[str], done: _Slice) -> None:
    """Check some files, one after the other, so that each is parsed once; add the results to `done`."""
    from promptls.cli.check_cache import stored_result
    from promptls.rendering.worker import RenderWorkers

    async with RenderWorkers() as workers:
        for path in paths:
            began = time.time()
            with recording() as reads:
                result, is_repeatable = await _check_file(job, path, workers)
            fresh = stored_result(reads, result, began) if is_repeatable else None
            if fresh is not None:
                done.fresh[path] = fresh
            done.results[path] = result


_MACHINE_FAILURES: Final = frozenset({"timeout", "memory", "crash"})
"""The kinds of failures that depend on the machine."""


async def _check_file(job: _Job, path: str, workers: RenderWorkers) -> tuple[FileResult, bool]:
    """Return the result of a file, and whether it depends on nothing but what was recorded."""
    from promptls.ide.data_files import DATA_SUFFIXES
    from promptls.lint.runner import RENDERING_RULES, check_rendering
    from promptls.programs.templates import findings_in_renderings
    from promptls.rendering.make import code_of_rendering
    from promptls.semantic.kind import Kind

    snapshot = job.snapshot
    later: Sequence[Finding] = ()
    lacks_code = False
    is_repeatable = not (snapshot.trusts(path) and code_of_rendering(snapshot, [path]))
    if job.renders and any(rule.name in job.rules for rule in RENDERING_RULES):
        if path.endswith(".py"):
            later = await findings_in_renderings(snapshot, path, partial(_render, workers))
            is_repeatable = False  # how its templates were rendered is not known here
        elif (rendered := await _render(workers, snapshot, path)) is not None:
            later = check_rendering(snapshot, path, rendered)
            lacks_code = _lacks_code(snapshot, path, rendered)
            renderings = (rendered, *(rendered.failing or ()))
            is_repeatable &= not rendered.cut_short and not any(
                each.failure is not None and each.failure.kind in _MACHINE_FAILURES for each in renderings
            )
    result = checked_file(snapshot, path, job.rules, later)
    if Path(path).suffix.lower() in DATA_SUFFIXES and result.kind in {Kind.DATA, Kind.OTHER}:
        is_repeatable = False  # the prompts that name it were searched in the workspace
    outside = tuple(dict.fromkeys(_files_outside(snapshot, path)))
    return result._replace(lacks_code=lacks_code, outside=outside), is_repeatable


async def _render(
    workers: RenderWorkers,
    snapshot: Snapshot,
    path: str,
    sample: Callable[[], Sample] | None = None,
) -> FileRendering | None:
    """Return the rendering of the file with all its samples; None if no rule needs it."""
    from promptls.lint.runner import needs_rendering
    from promptls.rendering.make import (
        NOT_COUNTED,
        findings_need_counts,
        limits_for,
        render_file,
        weigh,
    )

    if not needs_rendering(snapshot, path):
        return None
    worker = workers.within(limits_for(snapshot, path))
    encoding = None if findings_need_counts(snapshot, path) else NOT_COUNTED
    made = await render_file(worker, snapshot, path, sample, encoding=encoding)
    return await weigh(worker, snapshot, made)


def _lacks_code(snapshot: Snapshot, path: str, rendered: FileRendering) -> bool:
    """Return whether the file was rendered without code that it needs, because its folder is not trusted."""
    from promptls.rendering.make import code_of_rendering

    if snapshot.trusts(path):
        return False
    code = code_of_rendering(snapshot, [path])
    return bool(code.models or (code.python and rendered.job.stand_ins))


def _files_outside(snapshot: Snapshot, path: str) -> Iterator[str]:
    """Yield the files that the prompt names and that may not be read, as they are written."""
    template = snapshot.template(path)
    if template is None:
        return
    settings = template.declarations.settings
    datasets = (each.dataset for each in settings.experiments.values())
    included = (reference.name for reference in template.references)
    for name in filter(None, (settings.samples, *datasets, *included)):
        if not current_scope().allows(Path(path).parent / name):
            yield name


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
        for finding, mark in _fingerprint(file)
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
        for finding, mark in _fingerprint(file):
            entry = BaselineEntry(name, finding.rule, mark, finding.message)
            entries[entry[:3]] = entry
    lines = [f"    {json.dumps(entry._asdict(), ensure_ascii=False)}" for entry in sorted(entries.values())]
    joined = ",\n".join(lines)
    listed = f"[\n{joined}\n  ]" if lines else "[]"
    return f'{{\n  "version": {VERSION},\n  "findings": {listed}\n}}\n'


def _without_known_in(file: CheckedFile, name: str, known: Container[tuple[str, str, str]]) -> CheckedFile:
    marked = [(finding, (name, finding.rule, mark) in known) for finding, mark in _fingerprint(file)]
    return file._replace(
        findings=tuple(finding for finding, is_known in marked if not is_known),
        known=tuple(finding for finding, is_known in marked if is_known),
    )


def _fingerprint(file: CheckedFile) -> tuple[tuple[Finding, str], ...]:
    """Return all findings of the file, including known ones, with their fingerprints."""
    found = sorted((*file.findings, *file.known), key=lambda finding: (finding.span, finding.rule))
    return tuple(zip(found, fingerprints(file.text, found), strict=True))


def _name_in(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # a different drive
        return Path(path).as_posix()


def _findings_of_runs(snapshot: Snapshot, path: str, rules: Container[str]) -> tuple[Finding, ...]:
    """Return the findings of the `rules` that check runs; runs of older prompts are ignored."""
    from promptls.ide.experiment_runs import experiment_runs, run_findings
    from promptls.lint.runner import RUN_RULES

    if not any(rule.name in rules for rule in RUN_RULES):
        return ()
    return run_findings(snapshot, path, experiment_runs(snapshot, path))
