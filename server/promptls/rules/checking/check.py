"""All findings of a file.

What rules find in a chunk is kept with the chunk and with the groups around it
(`kept_findings.py`), so that a change looks again at what changed, and at whole files only
with the rules that need them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from promptls.meaning.kind import Kind
from promptls.rules.checking.example_findings import in_examples
from promptls.rules.checking.file_findings import in_files
from promptls.rules.checking.kept_findings import Choice, in_chunks, in_declared, in_names
from promptls.rules.checking.unused_suppressions import unused_suppressions
from promptls.rules.facts.suppression import silenced
from promptls.rules.fixes.json_fixes import json_fixes
from promptls.rules.registry import RULES
from promptls.rules.rule import FileContext, Finding, Rule, Severity
from promptls.settings.project import Project
from promptls.workspace.snapshot import Snapshot

_MOST_CHOICES: Final = 64


_choices: list[Choice] = []


def check(snapshot: Snapshot, path: str, *, suppressed: bool = False) -> tuple[Finding, ...]:
    """The findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts. A rule that fails is logged and hides no other. Rules that
    the settings turn off, and findings that the file suppresses, are left out. With `suppressed`,
    the findings are those that the file suppresses instead.
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
    findings = in_files(context, choice)
    root = template.source.root
    findings += in_examples(context, choice)
    findings += in_chunks(root, choice)
    if choice.in_declared:
        findings += in_declared(root, choice, template.declarations)
    for rule, severity in choice.in_names:
        findings += in_names(context, choice, rule, severity)
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
    in_files = [each for each in rules if each[0].check is not None]
    in_chunks = [each for each in rules if each[0].check_chunk is not None]
    choice = Choice(
        project,
        kind,
        tuple(dict.fromkeys(aspect for rule, _ in in_files for aspect in rule.looks_at)),
        tuple((frozenset(rule.looks_at), rule, severity) for rule, severity in in_files if rule.looks_at),
        tuple(each for each in in_files if not each[0].looks_at),
        tuple(each for each in in_chunks if each[0].reads_prose),
        tuple(each for each in in_chunks if not each[0].reads_prose and each[0].reads_values),
        tuple(each for each in in_chunks if not each[0].reads_values),
        tuple(each for each in rules if each[0].check_declared is not None),
        tuple(each for each in rules if each[0].check_names is not None),
        tuple(each for each in rules if each[0].check_examples is not None),
        {rule.name: rule for rule, _ in rules},
    )
    _choices.insert(0, choice)
    del _choices[_MOST_CHOICES:]
    return choice
