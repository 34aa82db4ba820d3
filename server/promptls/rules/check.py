"""All findings of a file.

What rules find in a chunk is kept with the chunk and with the groups around it, so that a
change looks again at what changed and at whole files only with the rules that need them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from promptls.meaning.header import Declarations
from promptls.meaning.kind import Kind
from promptls.rules.registry import RULES
from promptls.rules.rule import FileContext, Finding, Rule, Severity
from promptls.rules.suppression import suppressed_lines
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Piece
from promptls.workspace.snapshot import Snapshot

_LOG: Final = logging.getLogger(__name__)
_MOST_CHOICES: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The rules that look at files of one kind under one project's settings, each with its severity.

    Two are equal only when they are the same object: findings are kept as long as their choice is.
    """

    project: Project
    kind: Kind
    in_files: tuple[tuple[Rule, Severity], ...]
    in_chunks: tuple[tuple[Rule, Severity], ...]
    in_declared: tuple[tuple[Rule, Severity], ...]


_choices: list[Choice] = []


def check(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts. A rule that fails is logged and hides no other. Rules that
    the settings turn off, and findings that the file suppresses, are left out.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    kind = snapshot.kind(path)
    if kind is Kind.OTHER:
        return ()
    project = snapshot.project(path).settings
    choice = _choice(project, kind)
    context = FileContext(snapshot, path, template, kind, project)
    findings: list[Finding] = []
    for rule, severity in choice.in_files:
        assert rule.check is not None
        findings += _found(rule, severity, rule.check, context)
    root = template.source.root
    findings += _in_piece(root, choice)
    if choice.in_declared:
        findings += _in_declared(root, choice, template.declarations)
    if not findings:
        return ()
    silenced = suppressed_lines(template.source)
    if silenced:
        findings = [
            finding
            for finding in findings
            if finding.rule not in silenced.get(template.source.place(finding.span.start).line, ())
        ]
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))


def severity_of(rule: Rule, project: Project) -> Severity | None:
    """The severity that the settings give a rule, or its own; None where it is off."""
    chosen = project.rules.get(rule.name, rule.severity)
    return None if chosen == "off" else chosen


def _choice(project: Project, kind: Kind) -> Choice:
    for known in _choices:
        if known.project is project and known.kind is kind:
            return known
    rules = [
        (rule, severity)
        for rule in RULES
        if kind in rule.kinds and (severity := severity_of(rule, project)) is not None
    ]
    choice = Choice(
        project,
        kind,
        tuple(each for each in rules if each[0].check is not None),
        tuple(each for each in rules if each[0].check_chunk is not None),
        tuple(each for each in rules if each[0].check_declared is not None),
    )
    _choices.insert(0, choice)
    del _choices[_MOST_CHOICES:]
    return choice


def _in_piece(piece: Piece, choice: Choice) -> tuple[Finding, ...]:
    """What the rules for chunks find in a piece; spans count from its start."""
    known = piece.kept.get(_in_piece)
    if isinstance(known, tuple) and known[0] is choice:
        return known[1]  # type: ignore[no-any-return]  # put there below
    if isinstance(piece, Chunk):
        found = tuple(
            finding
            for rule, severity in choice.in_chunks
            if rule.check_chunk is not None
            for finding in _found(rule, severity, rule.check_chunk, piece, choice.project)
        )
    else:
        found = _placed(piece.starts, [_in_piece(child, choice) for child in piece.children])
    piece.kept[_in_piece] = (choice, found)
    return found


def _in_declared(piece: Piece, choice: Choice, declared: Declarations) -> tuple[Finding, ...]:
    """What the rules find in a piece that compare it with what the file declares."""
    known = piece.kept.get(_in_declared)
    if isinstance(known, tuple) and known[0] is choice and known[1] is declared:
        return known[2]  # type: ignore[no-any-return]  # put there below
    if isinstance(piece, Chunk):
        found = tuple(
            finding
            for rule, severity in choice.in_declared
            if rule.check_declared is not None
            for finding in _found(rule, severity, rule.check_declared, piece, declared, choice.project)
        )
    else:
        found = _placed(piece.starts, [_in_declared(child, choice, declared) for child in piece.children])
    piece.kept[_in_declared] = (choice, declared, found)
    return found


def _placed(starts: list[int], found: list[tuple[Finding, ...]]) -> tuple[Finding, ...]:
    return tuple(
        finding.shifted(start)
        for start, findings in zip(starts, found, strict=False)
        if findings
        for finding in findings
    )


def _found(
    rule: Rule, severity: Severity, look: Callable[..., Iterable[Finding]], *at: object
) -> list[Finding]:
    """What a rule finds; nothing where it fails, which is logged.

    A finding's own severity counts as long as the settings leave the rule's as it is.
    """
    is_set = severity != rule.severity
    try:
        return [
            replace(finding, rule=rule.name, severity=severity if is_set else finding.severity or severity)
            for finding in look(*at)
        ]
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed", rule.name)
        return []
