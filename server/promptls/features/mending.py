"""Fixes applied until nothing is left to mend: on the command line and as `source.fixAll`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from promptls.features.code_actions import fixes_together
from promptls.rules.checking.check import check
from promptls.rules.rule import Edit, Finding
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

MOST_PASSES: Final = 50
"""A fix may make the next one possible; no file needs more passes than this."""
_SYNTAX_RULES: Final = frozenset({"jinja-syntax", "yaml-syntax"})


class Mended(NamedTuple):
    """A file's text before and after its fixes, and how many were applied.

    `refused` says that fixes were left out because they would have broken the file's syntax.
    """

    path: str
    before: str
    after: str
    fixes: int
    refused: bool = False


def mend(
    workspace: Workspace,
    path: str,
    wanted: Callable[[Finding], bool],
    find: Callable[[Snapshot, str], Sequence[Finding]] = check,
) -> Mended:
    """Applies the preferred fixes of the wanted findings, again and again until none is left.

    `find` gives the findings of the file.

    The workspace takes the new text as unsaved; nothing is written. Ends when a text comes back,
    when a pass would add an error of syntax (that pass is taken back), or after `MOST_PASSES`.
    """
    template = workspace.snapshot.template(path)
    text = before = template.source.text if template else ""
    findings = find(workspace.snapshot, path)
    seen = {before}
    fixes = 0
    for _ in range(MOST_PASSES):
        chosen = fixes_together(finding for finding in findings if wanted(finding))
        after = edited(text, [edit for fix in chosen for edit in fix.edits])
        if after in seen:
            break
        seen.add(after)
        workspace.open(path, after, len(seen))
        found = find(workspace.snapshot, path)
        if _syntax_errors(found) > _syntax_errors(findings):
            workspace.open(path, text, len(seen) + 1)
            return Mended(path, before, text, fixes, refused=True)
        fixes += len(chosen)
        text, findings = after, found
    return Mended(path, before, text, fixes)


def mending_edits(snapshot: Snapshot, path: str) -> tuple[Edit, ...]:
    """The edits that apply every preferred fix of the file, and of what is found once those are applied."""
    workspace = Workspace()
    workspace.snapshot = snapshot
    mended = mend(workspace, path, lambda _finding: True)
    return tuple(line_edits(mended.before, mended.after))


def line_edits(before: str, after: str) -> Iterator[Edit]:
    """Edits over whole lines that turn one text into the other."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for tag, first, last, other, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(Span(starts[first], starts[last]), "".join(new[other:end]))


def edited(text: str, edits: Sequence[Edit]) -> str:
    """`text` with edits applied that do not overlap; line ends that they bring are the text's own."""
    line_end = "\r\n" if "\r\n" in text and text.count("\n") == text.count("\r\n") else "\n"
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        brought = edit.text.replace("\r\n", "\n").replace("\n", line_end)
        text = text[: edit.span.start] + brought + text[edit.span.end :]
    return text


def _syntax_errors(findings: Sequence[Finding]) -> int:
    return sum(finding.rule in _SYNTAX_RULES for finding in findings)
