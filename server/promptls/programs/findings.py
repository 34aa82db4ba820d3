"""Diagnostics of a Python file: in the calls that load templates, and all together; nothing is run."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final, NamedTuple

from promptls.lint.analysis.call_problems import CallProblem, call_problems
from promptls.lint.analysis.suppression import suppressions_in, suppressions_of
from promptls.lint.rule import Edit, Finding, Fix, RelatedInformation
from promptls.lint.rules.header.data_for_inputs import missing_template_data
from promptls.lint.rules.jinja.single_brace import single_brace
from promptls.lint.rules.parts.unescaped_inputs import unescaped_multiline_input
from promptls.lint.runner import check, severity_of
from promptls.programs.configurations import broken_configuration, findings_in_configuration
from promptls.programs.experiments import findings_in_tests
from promptls.programs.library_calls import findings_in_library_calls, imports_library
from promptls.programs.templates import (
    WrittenTemplate,
    findings_in_template,
    halved_braces,
    templates_of_program,
    written_templates,
)
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.text.positions import Span, line_column, line_starts
from promptls.workspace.configuration_files import ConfigurationFiles
from promptls.workspace.contract import template_of
from promptls.workspace.python_calls import TemplateCall, calls_in, key_spans
from promptls.workspace.snapshot import Snapshot

_MARK: Final = "promptls:"
_TYPOS: Final = frozenset({"probable-typo", "undefined-variable"})
"""The rules that report a name that nobody provides in the template itself."""


class FileFindings(NamedTuple):
    """The kind of a file, its findings, and those that its comments suppress."""

    kind: Kind
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]


def findings_of_python(snapshot: Snapshot, path: str, rendered: Iterable[Finding] = ()) -> FileFindings:
    """Return the findings in a Python file.

    Those are in the OpenCompass configuration that it may be, in its calls that load templates, and, as
    `rendered`, in the renderings of its own templates.
    """
    project = snapshot.project(path)
    if project.excludes(path):
        return FileFindings(Kind.OTHER, (), ())
    template = snapshot.template(path)
    text = template.source.text if template else ""
    configured = findings_in_configuration(text, ConfigurationFiles(path, project), project.settings)
    called = _findings_in_uses(snapshot, path, text)
    if called is None and any(snapshot.written.get(path, ())):
        called = ()
    if configured is None and called is None:
        broken = broken_configuration(text, project.settings)
        if broken is None and imports_library(text, path):
            return FileFindings(Kind.PROGRAM, (), ())
        return FileFindings(Kind.OTHER, () if broken is None else (broken,), ())
    kind = Kind.PROGRAM if configured is None else Kind.EVALUATION
    return _without_suppressed(kind, text, (*(configured or ()), *(called or ()), *rendered))


def findings_of_program(
    snapshot: Snapshot, path: str, text: str, others: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Return the findings in a Python text's calls that load templates, without suppressed ones.

    `others` are those of the configuration that it may be, and of the renderings of its templates.
    """
    found = (*others, *(_findings_in_uses(snapshot, path, text) or ()))
    return _without_suppressed(Kind.PROGRAM, text, found).findings


def found_in_file(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """Return the findings of the rules in a file, which may be a Python file."""
    if path.endswith(".py"):
        return findings_of_python(snapshot, path).findings
    return check(snapshot, path)


def _without_suppressed(kind: Kind, text: str, found: tuple[Finding, ...]) -> FileFindings:
    """Return the findings in a Python text without those that its comments suppress."""
    suppressions = suppressions_in(_comments(text))
    starts = line_starts(text)
    hidden = [
        finding
        for finding in found
        if suppressions.hides(finding.rule, line_column(starts, finding.span.start).line)
    ]
    shown = tuple(finding for finding in found if finding not in hidden)
    return FileFindings(kind, shown, tuple(hidden))


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the suppression comments of a Python text, each with the 0-based line that it applies to."""
    if _MARK not in text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.removeprefix("\ufeff"), newline="").readline):
            if token.type == tokenize.COMMENT and _MARK in token.string:
                line, column = token.start
                is_alone = not token.line[:column].strip()
                yield line if is_alone else line - 1, token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _findings_in_uses(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...] | None:
    """Return the diagnostics in the uses of templates and libraries; None if there are no such uses.

    Uses of libraries that are right do not count.
    """
    project = snapshot.project(path)
    if project.excludes(path):
        return None
    called = _findings_in_calls(snapshot, path, text)
    in_library = findings_in_library_calls(text, path, project.settings)
    in_library += findings_in_tests(snapshot, path, text)
    return called if called is None and not in_library else (*(called or ()), *in_library)


def _findings_in_calls(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...] | None:
    """Return the diagnostics of the Python file at `path`, with rule and severity, in text order.

    Templates in the program's string literals are checked too. None if the program neither loads a template
    of the workspace nor contains one. A call is not reported if the template suppresses the rule.
    """
    own = severity_of(missing_template_data, snapshot.project(path).settings)
    calls = [
        (target, call)
        for call in calls_in(text, path)
        if (target := template_of(snapshot, call)) is not None
        and snapshot.kind(target) in missing_template_data.kinds
    ]
    halved = halved_braces(text, path, severity_of(single_brace, snapshot.project(path).settings))
    found = dict.fromkeys(halved)
    if not (calls or written_templates(text, path) or found):
        return None
    found |= {
        finding.of(missing_template_data.name, finding.severity or own): None
        for target, call in calls
        if own is not None
        for finding in _found(snapshot, target, call, text)
    }
    for template in templates_of_program(snapshot, path, text):
        found |= dict.fromkeys(findings_in_template(template))
        if own is None:
            continue
        inside = (template.snapshot, template.path)
        typos = {each.span for each in check(*inside) if each.rule in _TYPOS}
        explained: set[Span] = set()
        for call in template.written.calls:
            for finding in _found(*inside, call, text, typos, template.written):
                placed = replace(finding, related=template.related(finding))
                found[placed.of(missing_template_data.name, placed.severity or own)] = None
                explained |= {each.span for each in placed.related}
        found = {
            each: None
            for each in found
            if each.rule != unescaped_multiline_input.name or each.span not in explained
        }
    return tuple(sorted(found, key=lambda finding: (finding.span, finding.message)))


def _found(
    snapshot: Snapshot,
    target: str,
    call: TemplateCall,
    text: str,
    reported: Container[Span] = (),
    written: WrittenTemplate | None = None,
) -> Iterator[Finding]:
    """Yield the diagnostics of a call, except about names whose spans in the template are `reported`.

    A typo in a template that is `written` in the program is reported there.
    """
    template = snapshot.template(target)
    if template is None:
        return
    hidden = suppressions_of(template.source)
    for each in call_problems(snapshot, target, template, [call]):
        if each.span not in reported and not hidden.hides(
            missing_template_data.name, template.source.line_column(each.span.start).line
        ):
            if written is not None and each.meant and _is_the_typo(text, each.name, each.meant):
                message = f"`{each.name}` is not given to the template"
                yield Finding.suggest(written.span(each.span), message, each.meant)
            else:
                yield _finding(each, target, template, text)


def _is_the_typo(text: str, name: str, given: str) -> bool:
    """Return whether the program has the words of `given` elsewhere, and not those of `name`."""
    words, others = name.split("_"), given.split("_")
    own = [word for word in words if word not in others]
    its = [word for word in others if word not in words]
    return bool(own and its) and all(
        (len(re.findall(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", text)) > 1) is is_known
        for each, is_known in ((own, False), (its, True))
        for word in each
    )


def _finding(each: CallProblem, target: str, template: Template, text: str) -> Finding:
    name = f"`{PurePath(target).name}`" if each.call.template else "the template"
    related: tuple[RelatedInformation, ...] = ()
    if each.kind in {"missing", "mismatch", "broken"}:
        read_text = template.source.slice(each.span)
        note = "it is read here" if read_text == each.name else "this reads it"
        is_declared = any(each.span == key.span for key in template.declarations.inputs)
        note = "it is declared here" if is_declared else note
        note = "it is printed here" if each.kind == "broken" else note
        related = (RelatedInformation(target, each.span, note),)
    match each.kind:
        case "missing":
            when = f", which is read where {each.detail}" if each.detail else ""
            suggestion = f"; `{each.meant}` is, which it does not read" if each.meant else ""
            message = f"`{each.name}` is not given to {name}{when}{suggestion}"
            place = _place(each, text, each.meant)
            is_key = text[place.start : place.end] == each.meant
            fixes = (Fix(f"Change to `{each.name}`", (Edit(place, each.name),)),) if is_key else ()
            return Finding(place, message, fixes, related)
        case "mismatch":
            spans = key_spans(text, each.call, (each.name, each.meant)) if each.meant else ()
            place = spans[0] if len(spans) == 1 else _place(each, text, each.name)
            return Finding(place, f"{name}: {each.detail}", related=related)
        case "broken":
            message = f"{name} fails with this `{each.name}`: {each.detail}"
            return Finding(_place(each, text, each.name), message, related=related, severity="error")
        case "refused":
            message = f"Prompt Poet refuses `{each.name}` in the data"
            return Finding(_place(each, text, each.name), message)
        case "unread":
            message = f"{name} does not read `{each.name}`"
            return Finding(_place(each, text, each.name), message, severity="hint")


def _place(each: CallProblem, text: str, key: str) -> Span:
    """Return the span of an argument's name in the call.

    If the name does not occur exactly once, return the span of the called name.
    """
    spans = key_spans(text, each.call, (key,)) if key else ()
    return spans[0] if len(spans) == 1 else each.call.span
