"""Texts with marks: a test's input and its expectation in one picture.

A line with only spaces, carets and words marks the text above the carets:

    {{ txt }}
       ^^^ undeclared-input: `txt` is not in `input_keys`

`<CURSOR>` marks a place, and `… 1,200 tokens of fixed text …` is replaced by that many tokens. A line
`-- name --` begins another file. Marks and headers are removed before the text is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from promptls.experiments.history import RunSummary
from promptls.lint.rule import Finding
from promptls.lint.runner import RENDERING_RULES, check, check_rendering, check_runs
from promptls.rendering.make import RENDERED_KINDS
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.finished_run import write_run
from support.rendered import rendered_with_all

MAIN = "main.yml.j2"
SAVED = "saved.json"
"""A prompt saved by Ragas that is open; other JSON is data."""
LAST_RUN = "last-run.csv"
"""The results of a run of the first experiment, in a fixture that has one."""
DATA_SUFFIXES = frozenset({".csv", ".jsonl", ".json", ".py", ".toml"})
"""The suffixes of files that are on disk, but not open."""
_HEADER = re.compile(r"^-- (\S+) --$")
_FIXED = re.compile(r"^(\s*)… ([\d,]+) tokens of fixed text …$")
_MARK = re.compile(r"^\s*(\^+) ([\w-]+)(?:: (.*))?$")


@dataclass(frozen=True)
class Mark:
    span: Span
    label: str
    message: str = ""


@dataclass
class Marked:
    """One file's text without its marks, the marks, and the cursor's offset."""

    text: str
    marks: list[Mark] = field(default_factory=list)
    cursor: int | None = None


def parse(fixture: str) -> dict[str, Marked]:
    """Return the files of a fixture by name; a fixture without headers is `main.yml.j2`."""
    files: dict[str, list[str]] = {}
    name = MAIN
    for line in fixture.splitlines(keepends=True):
        header = _HEADER.match(line.rstrip("\r\n"))
        if header:
            name = header.group(1)
            files[name] = []
        else:
            files.setdefault(name, []).append(line)
    return {name: _marked(lines) for name, lines in files.items()}


def _marked(lines: list[str]) -> Marked:
    kept: list[str] = []
    marked = Marked("")
    for line in lines:
        mark = _MARK.match(line.rstrip("\r\n"))
        if mark:
            assert kept, "a mark with nothing above it"
            start = sum(len(above) for above in kept[:-1]) + mark.start(1)
            marked.marks.append(Mark(Span(start, start + len(mark[1])), mark[2], mark[3] or ""))
            continue
        if "<CURSOR>" in line:
            assert marked.cursor is None, "two cursors"
            marked.cursor = sum(len(above) for above in kept) + line.index("<CURSOR>")
        kept.append(_FIXED.sub(_fixed_text, line.replace("<CURSOR>", "")))
    marked.text = "".join(kept)
    return marked


def _fixed_text(match: re.Match[str]) -> str:
    """Return words of one token each in the default encoding."""
    return match[1] + " ".join(["word"] * int(match[2].replace(",", "")))


NOWHERE = Path("/project")
"""The folder of fixtures whose files are all open."""


def opened(fixture: str, root: Path = NOWHERE) -> tuple[Snapshot, dict[str, Marked]]:
    """Return a snapshot in which every template of the fixture is open below `root`, and the files' marks.

    A JSON file with the cursor is open, too. Other files, such as datasets, are written below `root`, which
    exists afterwards.
    """
    files = parse(fixture)
    workspace = Workspace([root])
    for name, marked in files.items():
        suffix = Path(name).suffix
        is_open = name == SAVED or (suffix == ".json" and marked.cursor is not None)
        if suffix in DATA_SUFFIXES and not is_open:
            assert root != NOWHERE, f"pass the test's own folder as `root`: `{name}` is written there"
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(marked.text, "utf-8")
        else:
            workspace.open(str(root / name), marked.text, 1)
    if any(name.endswith(".py") for name in files):
        workspace.scan_calls()
    return workspace.snapshot, files


def check_findings(
    fixture: str,
    rule: str | None = None,
    root: Path = NOWHERE,
    *,
    with_rendering: bool = False,
    hints: str | None = None,
    fixable: bool = True,
) -> Snapshot:
    """Assert that the findings of every file are the marked ones, one to one; of one rule if given.

    Hints count only if a mark, `rule` or `hints` names their rule. Files are rendered on request, or if a
    mark, `rule` or `hints` names a rule about renderings. Unless the fixture is `fixable`, no finding may
    have a fix. Returns the checked findings.
    """
    snapshot, files = opened(fixture, root)
    named = {rule, hints, *(mark.label for marked in files.values() for mark in marked.marks)}
    with_rendering = with_rendering or any(rule.name in named for rule in RENDERING_RULES)
    for name, marked in files.items():
        findings = [
            finding
            for finding in found_in(snapshot, str(root / name), with_rendering=with_rendering)
            if rule in {None, finding.rule} and (finding.severity != "hint" or finding.rule in named)
        ]
        assert fixable or not any(finding.fixes for finding in findings)
        found = [Mark(finding.span, finding.rule, finding.message) for finding in findings]
        expected = sorted(marked.marks, key=lambda mark: (mark.span, mark.label))
        for mark, finding in zip(expected, found, strict=False):
            assert _shown(marked.text, finding, with_message=bool(mark.message)) == _shown(
                marked.text, mark, with_message=True
            )
        assert [_shown(marked.text, mark, with_message=False) for mark in found] == [
            _shown(marked.text, mark, with_message=False) for mark in expected
        ]
    return snapshot


def found_in(snapshot: Snapshot, path: str, *, with_rendering: bool) -> list[Finding]:
    """Return the findings of a file, optionally with those of its rendering."""
    found = list(check(snapshot, path))
    if with_rendering and snapshot.kind(path) in RENDERED_KINDS:
        found += check_rendering(snapshot, path, rendered_with_all(snapshot, path))
    table = Path(path).parent / LAST_RUN
    if Path(path).name == MAIN and table.is_file():
        found += check_runs(snapshot, path, [_last_run(snapshot, path, table)])
    return sorted(found, key=lambda finding: (finding.span, finding.rule))


def _last_run(snapshot: Snapshot, path: str, table: Path) -> RunSummary:
    """Return the run whose results a fixture contains, of the file's first experiment."""
    template = snapshot.template(path)
    assert template is not None
    experiments = template.declarations.settings.experiments
    assert experiments
    experiment, declared = next(iter(experiments.items()))
    dataset = table.parent / declared.dataset
    text = template.source.text
    return write_run(Path(path), text, table.read_text("utf-8"), experiment=experiment, dataset=dataset)


def _shown(text: str, mark: Mark, *, with_message: bool) -> str:
    line = text.count("\n", 0, mark.span.start) + 1
    message = f": {mark.message}" if with_message and mark.message else ""
    return f"line {line} {text[mark.span.start : mark.span.end]!r} {mark.label}{message}"
