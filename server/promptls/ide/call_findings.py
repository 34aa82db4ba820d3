"""Diagnostics for calls in a Python file that load templates, reported in that file; nothing is run."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from promptls.ide.raw_templates import WrittenTemplate, findings_in_template, inside, written_templates
from promptls.lint.analysis.call_objections import Objection, call_objections
from promptls.lint.analysis.suppression import silenced
from promptls.lint.rule import Finding, RelatedInformation
from promptls.lint.rules.header.missing_template_data import RULE
from promptls.lint.runner import check, severity_of
from promptls.semantic.template import Template
from promptls.text.positions import Span
from promptls.workspace.contract import template_of
from promptls.workspace.python_calls import TemplateCall, calls_in_text, key_spans
from promptls.workspace.snapshot import Snapshot

_TYPOS: Final = frozenset({"probable-typo", "undefined-variable"})
"""The rules that report a name that nobody provides in the template itself."""


def findings_in_calls(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...] | None:
    """Return the diagnostics of the Python file at `path`, with rule and severity, in text order.

    Templates in the program's string literals are checked too. None if the program neither loads a template
    of the workspace nor contains one. A call is not reported if the template suppresses the rule.
    """
    own = severity_of(RULE, snapshot.project(path).settings)
    templates = written_templates(text, path)
    calls = [
        (target, call)
        for call in calls_in_text(text, path)
        if (target := template_of(snapshot, call)) is not None and snapshot.kind(target) in RULE.kinds
    ]
    if not (calls or templates) or snapshot.project(path).excludes(path):
        return None
    found = {
        finding.of(RULE.name, finding.severity or own): None
        for target, call in calls
        if own is not None
        for finding in _found(snapshot, target, call, text)
    }
    for written in templates:
        made = inside(snapshot, path, written)
        if made is None:
            continue
        found |= dict.fromkeys(findings_in_template(*made, path, text, written))
        if own is None:
            continue
        typos = {each.span for each in check(*made) if each.rule in _TYPOS}
        for call in written.calls:
            for finding in _found(*made, call, text, typos):
                placed = _placed(finding, path, made[1], written)
                found[placed.of(RULE.name, placed.severity or own)] = None
    return tuple(sorted(found, key=lambda finding: (finding.span, finding.message)))


def _placed(finding: Finding, path: str, virtual: str, written: WrittenTemplate) -> Finding:
    """Return the finding with its related places in the template mapped to the program."""
    related = tuple(
        RelatedInformation(path, written.span(each.span), each.message) if each.path == virtual else each
        for each in finding.related
    )
    return replace(finding, related=related)


def _found(
    snapshot: Snapshot, target: str, call: TemplateCall, text: str, reported: Container[Span] = ()
) -> Iterator[Finding]:
    """Yield the diagnostics of a call, except about names whose spans in the template are `reported`."""
    template = snapshot.template(target)
    if template is None:
        return
    hidden = silenced(template.source)
    for each in call_objections(snapshot, target, template, [call]):
        if each.span not in reported and not hidden.hides(
            RULE.name, template.source.line_column(each.span.start).line
        ):
            yield _finding(each, target, template, text)


def _finding(each: Objection, target: str, template: Template, text: str) -> Finding:
    name = f"`{PurePath(target).name}`" if each.call.template else "the template"
    related: tuple[RelatedInformation, ...] = ()
    if each.kind in {"missing", "misfit", "broken"}:
        read_text = template.source.slice(each.span)
        note = "it is read here" if read_text == each.name else "this reads it"
        note = "it is printed here" if each.kind == "broken" else note
        related = (RelatedInformation(target, each.span, note),)
    match each.kind:
        case "missing":
            when = f", which is read where {each.detail}" if each.detail else ""
            suggestion = f"; `{each.meant}` is, which it does not read" if each.meant else ""
            message = f"`{each.name}` is not given to {name}{when}{suggestion}"
            return Finding(_place(each, text, each.meant), message, related=related)
        case "misfit":
            return Finding(_place(each, text, each.name), f"{name}: {each.detail}", related=related)
        case "broken":
            message = f"{name} fails with this `{each.name}`: {each.detail}"
            return Finding(_place(each, text, each.name), message, related=related, severity="error")
        case "refused":
            message = f"Prompt Poet refuses `{each.name}` in the data"
            return Finding(_place(each, text, each.name), message)
        case "unread":
            message = f"{name} does not read `{each.name}`"
            return Finding(_place(each, text, each.name), message, severity="hint")


def _place(each: Objection, text: str, key: str) -> Span:
    """Return the span of an argument's name in the call.

    If the name does not occur exactly once, return the span of the called name.
    """
    spans = key_spans(text, each.call, (key,)) if key else ()
    return spans[0] if len(spans) == 1 else each.call.span
