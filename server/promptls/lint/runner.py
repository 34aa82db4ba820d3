"""Run the rules on a file and collect its findings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

from promptls.facts.reads import Question, recording
from promptls.lint.analysis.moved_findings import Found, moved
from promptls.lint.analysis.suppression import silenced, silenced_names
from promptls.lint.fixes.text import json_fixes
from promptls.lint.registry import RULES
from promptls.lint.rule import FileContext, Finding, Rule, Severity
from promptls.semantic.contents import before_printing, before_typing
from promptls.semantic.header import Declarations, Example
from promptls.semantic.kind import Kind
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.chunk_list import Memo, Step
from promptls.syntax.facts import chunk_fact_given, is_unchanged
from promptls.syntax.source import Source
from promptls.workspace.snapshot import Snapshot

_LOG: Final = logging.getLogger(__name__)

Chosen = tuple[Rule, Severity]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The rules that look at files of one kind under one project's settings, each with its severity.

    Two are equal only when they are the same object: findings are kept as long as their choice is.
    """

    project: Project
    kind: Kind
    in_files: tuple[Chosen, ...]
    """The rules for whole files."""
    in_prose: tuple[Chosen, ...]
    """The rules for chunks that look at all of their text."""
    around_prose: tuple[Chosen, ...]
    """The rules for chunks that find the same whatever the prose says."""
    around_values: tuple[Chosen, ...]
    """The rules for chunks that find the same whatever the prose says and prints."""
    in_declared: tuple[Chosen, ...]
    in_names: tuple[Chosen, ...]
    in_examples: tuple[Chosen, ...]
    by_name: Mapping[str, Rule]


def in_chunks(context: FileContext, choice: Choice) -> Iterator[Finding]:
    """Yield what the rules find that look at one chunk alone."""
    for located in context.template.source.root.placed():
        for finding in _of_chunk(located.chunk, choice):
            yield finding.shifted(located.start)


@chunk_fact_given
def _of_chunk(chunk: Chunk, choice: Choice) -> Found:
    return (
        *_unless_typed(chunk, choice, choice.around_values, before_printing),
        *_unless_typed(chunk, choice, choice.around_prose, before_typing),
        *_in_chunk(chunk, choice, choice.in_prose),
    )


def _in_chunk(chunk: Chunk, choice: Choice, rules: tuple[Chosen, ...]) -> Found:
    return tuple(
        [
            finding
            for rule, severity in rules
            if rule.check_chunk is not None
            for finding in found_by(rule, severity, rule.check_chunk, chunk, choice.project)
        ]
    )


def _unless_typed(
    chunk: Chunk, choice: Choice, rules: tuple[Chosen, ...], before: Callable[[Chunk], Chunk | None]
) -> Found:
    """Return what those rules find: the same as in the chunk `before` the typing that they do not look at."""
    key = (_unless_typed, before)
    former = before(chunk)
    known = former.kept.get(key) if former is not None else None
    found: Found | None = None
    if isinstance(known, tuple) and known[0] is choice and chunk.before is not None:
        found = moved(known[1], chunk.before.edited, chunk.before.growth)
    if found is None:
        found = _in_chunk(chunk, choice, rules)
    chunk.kept[key] = (choice, found)
    return found


def in_declared(context: FileContext, choice: Choice) -> Iterator[Finding]:
    """Yield what the rules find that compare a chunk with what the file declares."""
    basis = (choice, context.template.declarations)
    for located in context.template.source.root.placed():
        for finding in _beside_declared(located.chunk, basis):
            yield finding.shifted(located.start)


@chunk_fact_given
def _beside_declared(chunk: Chunk, basis: tuple[Choice, Declarations]) -> Found:
    choice, declared = basis
    return tuple(
        [
            finding
            for rule, severity in choice.in_declared
            if rule.check_declared is not None
            for finding in found_by(rule, severity, rule.check_declared, chunk, declared, choice.project)
        ]
    )


def in_names(context: FileContext, rule: Rule) -> Iterator[Finding]:
    """Yield what a rule finds that needs to know what the names of a chunk mean in the file."""
    assert rule.check_names is not None
    root = context.template.source.root
    if not rule.check_names.mentioned(root):
        return
    facts = rule.check_names.facts(context)
    for located in root.where(rule.check_names.mentioned):
        mentioned = rule.check_names.mentioned(located.chunk)
        known = {name: facts[name] for name in sorted(mentioned & facts.keys())}
        for finding in rule.check_names.check(located.chunk, known):
            yield finding.shifted(located.start)


def found_by(
    rule: Rule, severity: Severity, look: Callable[..., Iterable[Finding]], *at: object
) -> list[Finding]:
    """Return what a rule finds; nothing where it fails, which is logged.

    A finding's own severity counts as long as the settings leave the rule's as it is.
    """
    is_set = severity != rule.severity
    try:
        return [
            finding.of(rule.name, severity if is_set else finding.severity or severity)
            for finding in look(*at)
        ]
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed", rule.name)
        return []


def _found(
    context: FileContext,
    choice: Choice,
    key: str,
    look: Callable[[], Iterable[Finding]],
    asked: dict[Question, object],
) -> tuple[Finding, ...]:
    """Return what `look` finds, as it was found before if all that was read for it is the same.

    `asked` holds the answers of questions that other rules have asked about the same snapshot.
    """
    root = context.template.source.root
    memo = root.memos.get(key)
    if memo is not None and memo.value[0] is choice:
        steps = root.steps_since(memo.serial)
        if steps is not None and is_unchanged(memo, root) and memo.reads.hold(context.snapshot, asked):
            found = _moved(memo.value[1], steps, context.path)
            if found is not None:
                root.memos[key] = Memo(root.serial, (choice, found), memo.reads)
                memo.reads.pass_on()
                return found
    with recording(context.snapshot.reads_about(context.path)) as reads:
        found = tuple(look())
    root.memos[key] = Memo(root.serial, (choice, found), reads)
    return found


def _moved(found: Found, steps: Iterable[Step], path: str) -> Found | None:
    """Return the findings where they are after some edits; None if one of them has to do with an edit."""
    for step in steps:
        if not found:
            return found
        after = (
            moved(found, step.edited, step.growth, path) if step.keeps_lines else None
        )  # findings name lines
        if after is None:
            return None
        found = after
    return found


_Asked = tuple[tuple[Chosen, Any], ...]
"""The rules that look at the examples, each with what it needs to know of the file."""


class _KnownExamples(NamedTuple):
    """What was found in an example that had this number and began at `start`."""

    choice: Choice
    asked: _Asked
    number: int
    start: int
    findings: tuple[Finding, ...]


def in_examples(context: FileContext, choice: Choice) -> list[Finding]:
    """Return what the rules find that look at one example alone."""
    examples = context.template.declarations.examples
    if not examples or not choice.in_examples:
        return []
    asked = tuple(_asked(context, choice))
    if not asked:
        return []
    found: list[Finding] = []
    for example in examples:
        core = example.node.core
        known = core.kept.get(in_examples) if core.kept is not None else None
        if (
            isinstance(known, _KnownExamples)
            and known.choice is choice
            and (known.number == example.number or not known.findings)
            and (known.asked is asked or known.asked == asked)
        ):
            asked = known.asked  # that the next ones have the same one is seen without comparing
        else:
            known = _look(context.template.source.text, example, choice, asked)
            core.kept = {} if core.kept is None else core.kept
            core.kept[in_examples] = known
        if known.findings:
            by = example.node.span.start - known.start
            found += [finding.shifted(by) for finding in known.findings]
    return found


def _asked(context: FileContext, choice: Choice) -> Iterator[tuple[Chosen, Any]]:
    for rule, severity in choice.in_examples:
        assert rule.check_examples is not None
        try:
            basis = rule.check_examples.basis(context)
        except Exception:  # noqa: BLE001 - one rule that fails hides no other
            _LOG.exception("the rule %s failed", rule.name)
            continue
        if basis is not None:
            yield (rule, severity), basis


def _look(text: str, example: Example, choice: Choice, asked: _Asked) -> _KnownExamples:
    findings: list[Finding] = []
    for (rule, severity), basis in asked:
        assert rule.check_examples is not None
        findings += found_by(rule, severity, rule.check_examples.check, text, example, basis)
    return _KnownExamples(choice, asked, example.number, example.node.span.start, tuple(findings))


_RULE: Final = "invalid-suppression"
_SYNTAX: Final = frozenset({"jinja-syntax", "yaml-syntax", "invalid-header"})


def unused_suppressions(
    source: Source, choice: Choice, findings: Sequence[Finding], lines: Sequence[int]
) -> Iterator[Finding]:
    """Yield the names that silence nothing, as hints, where that is certain.

    `findings` are all of the file, each with its line in `lines`. Nothing is said where a syntax error may
    hide what a rule would find, nor of rules that are off, or that look at renderings and runs.
    """
    on = choice.by_name
    if _RULE not in on or any(finding.rule in _SYNTAX for finding in findings):
        return
    found = {(finding.rule, line) for finding, line in zip(findings, lines, strict=True)}
    rules = {rule for rule, _ in found}
    for each in silenced_names(source):
        rule = on.get(each.name)
        if rule is None or rule.check_rendering is not None or rule.check_runs is not None:
            continue
        is_used = each.name in rules if each.line is None else (each.name, each.line) in found
        if not is_used:
            where = "this file" if each.line is None else "that line"
            message = f"`{each.name}` finds nothing in {where}: there is nothing to silence"
            yield Finding(each.span, message, unnecessary=True, rule=_RULE, severity="hint")


_MAX_CHOICES: Final = 64


_choices: list[Choice] = []


def check(snapshot: Snapshot, path: str, *, suppressed: bool = False) -> tuple[Finding, ...]:
    """Return the findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts; of a file that is not analysed, the reason. A rule that fails is logged and hides no other. Rules that
    the settings turn off, and findings that the file suppresses, are left out. With `suppressed`,
    the findings are those that the file suppresses instead.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    kind = snapshot.kind(path)
    if kind is Kind.OTHER and template.source.refusal is None:
        return ()
    project = snapshot.project(path).settings
    choice = _choice(project, kind)
    context = FileContext(snapshot, path, template, kind, project)
    findings: list[Finding] = []
    asked: dict[Question, object] = {}
    for rule, severity in choice.in_files:
        assert rule.check is not None
        look = partial(found_by, rule, severity, rule.check, context)
        findings += _found(context, choice, rule.name, look, asked)
    findings += in_examples(context, choice)
    findings += _found(context, choice, "chunks", partial(in_chunks, context, choice), asked)
    if choice.in_declared:
        findings += _found(context, choice, "declared", partial(in_declared, context, choice), asked)
    for rule, severity in choice.in_names:
        look = partial(found_by, rule, severity, in_names, context, rule)
        findings += _found(context, choice, f"{rule.name} names", look, asked)
    if findings and not template.source.has_jinja:
        findings = [
            replace(finding, fixes=json_fixes(finding.fixes, template.source)) for finding in findings
        ]
    hidden = silenced(template.source)
    if suppressed or any(hidden):
        lines = [template.source.place(finding.span.start).line for finding in findings]
        unused = () if suppressed else unused_suppressions(template.source, choice, findings, lines)
        findings = [
            finding
            for finding, line in zip(findings, lines, strict=True)
            if hidden.hides(finding.rule, line) is suppressed
        ]
        findings += unused
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))


def severity_of(rule: Rule, project: Project) -> Severity | None:
    """Return the severity that the settings give a rule, or its own; None if it is off."""
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
    in_files = [each for each in rules if each[0].check is not None]
    in_chunks = [each for each in rules if each[0].check_chunk is not None]
    choice = Choice(
        project,
        kind,
        tuple(in_files),
        tuple(each for each in in_chunks if each[0].reads_prose),
        tuple(each for each in in_chunks if not each[0].reads_prose and each[0].reads_values),
        tuple(each for each in in_chunks if not each[0].reads_values),
        tuple(each for each in rules if each[0].check_declared is not None),
        tuple(each for each in rules if each[0].check_names is not None),
        tuple(each for each in rules if each[0].check_examples is not None),
        {rule.name: rule for rule, _ in rules},
    )
    _choices.insert(0, choice)
    del _choices[_MAX_CHOICES:]
    return choice
