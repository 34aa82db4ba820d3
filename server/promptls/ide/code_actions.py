"""Quick fixes: the edits of one finding, or of all findings at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from promptls.lint.rule import Edit, Finding, Fix, apply_edits
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class QuickFix:
    """A fix of a finding."""

    finding: Finding
    fix: Fix


def quick_fixes(findings: Iterable[Finding], within: Span) -> tuple[QuickFix, ...]:
    """Return the fixes of the findings that touch the span `within`."""
    return tuple(
        QuickFix(finding, fix)
        for finding in findings
        if finding.span.start <= within.end and within.start <= finding.span.end
        for fix in finding.fixes
    )


def fixes_together(findings: Iterable[Finding]) -> tuple[Fix, ...]:
    """Return the preferred fixes that can be applied at once; if two touch, only the first."""
    fixes: list[Fix] = []
    chosen: list[Edit] = []
    for finding in findings:
        fix = next((fix for fix in finding.fixes if fix.preferred), None)
        if fix is not None and not any(_touch(edit, other) for edit in fix.edits for other in chosen):
            fixes.append(fix)
            chosen += fix.edits
    return tuple(fixes)


def _touch(first: Edit, second: Edit) -> bool:
    return first.span.start <= second.span.end and second.span.start <= first.span.end


MAX_PASSES: Final = 50
"""The maximum number of passes, because a fix may enable further fixes; no file needs more."""
_SYNTAX_RULES: Final = frozenset({"jinja-syntax", "yaml-syntax"})


class FixedFile(NamedTuple):
    """A file's text before and after its fixes, and the number of applied fixes.

    `refused` is true if fixes were left out because they would have introduced syntax errors.
    """

    path: str
    before: str
    after: str
    fixes: int
    refused: bool = False


def fix_file(
    workspace: Workspace,
    path: str,
    is_selected: Callable[[Finding], bool],
    find: Callable[[Snapshot, str], Sequence[Finding]] = check,
    known: Sequence[Finding] | None = None,
) -> FixedFile:
    """Apply the preferred fixes of the selected findings repeatedly, until none is left.

    `find` returns the findings of the file. `known` are those of the present text, which may include those of
    its rendering.

    The new text is added to the workspace as an unsaved file; nothing is written. The loop ends when a text
    repeats, when a pass would introduce a syntax error (that pass is reverted), or after `MAX_PASSES`.
    """
    template = workspace.snapshot.template(path)
    text = before = template.source.text if template else ""
    findings = find(workspace.snapshot, path) if known is None else known
    seen = {before}
    fixes = 0
    for _ in range(MAX_PASSES):
        chosen = fixes_together(finding for finding in findings if is_selected(finding))
        after = edited_text(text, [edit for fix in chosen for edit in fix.edits])
        if after in seen:
            break
        seen.add(after)
        workspace.open(path, after, len(seen))
        found = find(workspace.snapshot, path)
        if _syntax_errors(found) > _syntax_errors(findings):
            workspace.open(path, text, len(seen) + 1)
            return FixedFile(path, before, text, fixes, refused=True)
        fixes += len(chosen)
        text, findings = after, found
    return FixedFile(path, before, text, fixes)


def fix_all_edits(snapshot: Snapshot, path: str, known: Sequence[Finding]) -> tuple[Edit, ...]:
    """Return the edits that apply all preferred fixes, including those that become possible afterwards.

    `known` are the findings of the file, with those of its rendering.
    """
    workspace = Workspace()
    workspace.snapshot = snapshot
    fixed = fix_file(workspace, path, lambda _finding: True, known=known)
    return tuple(line_edits(fixed.before, fixed.after))


def line_edits(before: str, after: str) -> Iterator[Edit]:
    """Yield edits of whole lines that turn one text into the other."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for tag, first, last, other, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(Span(starts[first], starts[last]), "".join(new[other:end]))


def edited_text(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` with non-overlapping edits applied; their line breaks are converted to the text's."""
    line_end = "\r\n" if "\r\n" in text and text.count("\n") == text.count("\r\n") else "\n"
    return apply_edits(
        text, [Edit(each.span, each.text.replace("\r\n", "\n").replace("\n", line_end)) for each in edits]
    )


def _syntax_errors(findings: Sequence[Finding]) -> int:
    return sum(finding.rule in _SYNTAX_RULES for finding in findings)
