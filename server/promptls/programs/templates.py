"""Templates in the string literals of a Python program: `Prompt(raw_template="…")`; nothing of it is run."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.lint.rule import Edit, Finding, Fix, RelatedInformation, Severity, apply_edits
from promptls.lint.rules.jinja.single_brace import single_brace
from promptls.lint.runner import check, check_rendering
from promptls.programs.configurations import is_configuration
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import CALL_DATA, Sample, default_sample
from promptls.semantic.kind import Kind
from promptls.semantic.names.template_names import leading_references
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import KnownValue
from promptls.syntax.python_places import PythonPlaces, last_name, text_of
from promptls.syntax.source import Source
from promptls.text.positions import Span
from promptls.workspace.configuration_files import ConfigurationFiles
from promptls.workspace.python_calls import TemplateCall, raw_templates_in
from promptls.workspace.python_scopes import Scope
from promptls.workspace.settings import ProjectFile
from promptls.workspace.snapshot import OpenFile, Snapshot

if TYPE_CHECKING:
    from promptls.ide.code_lenses import Lens
    from promptls.ide.hover import Hover

_INCLUDES: Final = frozenset({"unresolved-include", "unresolved-import"})
_DOUBLED: Final = re.compile(r"(?<!\{)\{\{\s*([A-Za-z_]\w*)[^{}]*\}\}(?!\})")
"""A tag in the source of an f-string, where doubled braces are single ones."""
_CONFIGURED: Final = re.compile(r"^(?:\w*_)?(?:datasets|infer_cfg|reader_cfg)[ \t]*=(?!=)", re.MULTILINE)
"""The assignment of the datasets of a configuration, or of the prompt or the reader of one."""
_PREFIX: Final = re.compile(r"[fF][rR]?|[rR][fF]")
_NO_FOLDER: Final = "a `raw_template` has no folder to include files from: load a file with `template_path`"


@dataclass(frozen=True, slots=True)
class WrittenTemplate:
    """A template in a program: its text, and the positions of its characters in the program."""

    text: str
    characters: tuple[Span, ...]
    calls: tuple[TemplateCall, ...]
    """The calls that provide its data, if they can be determined."""
    number: int

    def span(self, span: Span) -> Span:
        """Return the span in the program for a span in the template."""
        last = len(self.characters) - 1
        if span.is_empty():
            at = self.characters[min(span.start, last)]
            place = at.start if span.start <= last else at.end
            return Span(place, place)
        first = self.characters[min(span.start, last)].start
        return Span(first, self.characters[min(span.end - 1, last)].end)

    def offset(self, place: int) -> int | None:
        """Return the offset in the template for an offset in the program; None if it is elsewhere."""
        found = (index for index, span in enumerate(self.characters) if span.covers(place))
        return next(found, None)


@lru_cache(maxsize=32)
def written_templates(text: str, path: str) -> tuple[WrittenTemplate, ...]:
    """Return the templates in the Python text of the file at `path`."""
    found: dict[int, WrittenTemplate] = {}
    places = PythonPlaces(text)
    for number, raw in enumerate(raw_templates_in(text, path), start=1):
        made = _written(raw.node, raw.scope, places)
        if made is None or not made[0]:
            continue
        calls = () if raw.call is None else (raw.call,)
        start = made[1][0].start
        known = found.get(start)
        if known is None:
            found[start] = WrittenTemplate(made[0], tuple(made[1]), calls, number)
        else:
            found[start] = replace(known, calls=(*known.calls, *calls))
    return tuple(found.values())


def _written(node: ast.expr, scope: Scope, places: PythonPlaces) -> tuple[str, list[Span]] | None:
    """Return the literal text of an expression with the positions of its characters."""
    match node:
        case ast.Constant(value=str() as text):
            spans = places.characters(node, text)
            return None if spans is None else (text, list(spans))
        case ast.Name() | ast.Attribute(value=ast.Name()):
            value = scope.resolved(node)
            is_alias = isinstance(node, ast.Name) and isinstance(value, ast.Name)
            return None if value is None or is_alias else _written(value, scope, places)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _written(left, scope, places), _written(right, scope, places)
            return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[], keywords=[]) if method in {
            "strip",
            "lstrip",
            "rstrip",
        }:
            made = _written(inner, scope, places)
            return None if made is None else _strip(*made, method)
        case ast.Call(func=function, args=[inner], keywords=[]) if last_name(function) == "dedent":
            made = _written(inner, scope, places)
            return None if made is None else _dedent(*made)
    return None


def halved_braces(text: str, path: str, severity: Severity | None) -> Iterator[Finding]:
    """Yield the tags in f-strings that Python reduces to single braces, if the call passes what they name."""
    if severity is None:
        return
    places = PythonPlaces(text)
    for raw in raw_templates_in(text, path):
        node = raw.scope.resolved(raw.node)
        if raw.call is None:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            text = text_of(raw.scope.resolved(node.func.value)) or ""
            tag = next((each[0] for each in _DOUBLED.finditer(text) if each[1] in raw.call.keys), None)
            if tag is not None:
                message = f"`format` makes `{tag[1:-1]}` of `{tag}`, which Jinja leaves as it is"
                span = places.attribute_span(node.func)
                yield Finding(span, message, rule=single_brace.name, severity=severity)
        if not isinstance(node, ast.JoinedStr):
            continue
        whole = places.span(node)
        fixes = tuple(_without_f(text, whole))
        for match in _DOUBLED.finditer(text, whole.start, whole.end):
            if match[1] in raw.call.keys:
                message = (
                    f"in an f-string, `{match[0]}` becomes `{match[0][1:-1]}`, which Jinja leaves as it is"
                )
                yield Finding(Span(*match.span()), message, fixes, rule=single_brace.name, severity=severity)


def _without_f(text: str, span: Span) -> Iterator[Fix]:
    """Yield the removal of the `f` before a string that contains nothing but text."""
    prefix = _PREFIX.match(text, span.start)
    if prefix is None:
        return
    plain = prefix[0].replace("f", "").replace("F", "")
    try:
        ast.literal_eval(plain + text[prefix.end() : span.end])
        is_text = not any(
            isinstance(each, ast.FormattedValue) for each in ast.walk(ast.parse(text[span.start : span.end]))
        )
    except (SyntaxError, ValueError):
        return
    if is_text:
        yield Fix("Remove the `f`", (Edit(Span(*prefix.span()), plain),))


def _strip(text: str, spans: list[Span], method: str) -> tuple[str, list[Span]]:
    made = str(getattr(text, method)())
    start = text.index(made) if made else 0
    return made, spans[start : start + len(made)]


def _dedent(text: str, spans: list[Span]) -> tuple[str, list[Span]] | None:
    made: list[Span] = []
    at = 0
    shorter = textwrap.dedent(text)
    for line, dedented in zip(text.split("\n"), shorter.split("\n"), strict=True):
        if not line.endswith(dedented):
            return None
        made += spans[at + len(line) - len(dedented) : at + len(line) + 1]
        at += len(line) + 1
    return shorter, made


class ProgramTemplate(NamedTuple):
    """A parts template in the program at `program`, as a file of its own in a snapshot.

    `data` contains the arguments of the call that are literals: text, numbers, booleans or None. `text` is
    that of the program.
    """

    snapshot: Snapshot
    path: str
    data: dict[str, Any]
    written: WrittenTemplate
    program: str
    text: str

    def sample(self, sample: Sample) -> Sample:
        """Return the sample with the data of the call, which may be all of it."""
        if sample.data.keys() <= self.data.keys():
            return Sample(CALL_DATA, "the literals of the call", self.data, "call")
        source = f"{sample.source}, and the literals of the call" if self.data else sample.source
        return replace(sample, source=source, data={**sample.data, **self.data})

    def default_sample(self) -> Sample:
        """Return the sample for a preview."""
        return self.sample(default_sample(self.snapshot, self.path))

    def related(self, finding: Finding) -> tuple[RelatedInformation, ...]:
        """Return the related places of a finding, with those in the template mapped to the program."""
        return tuple(
            RelatedInformation(self.program, self.written.span(each.span), each.message)
            if each.path == self.path
            else each
            for each in finding.related
        )

    def in_program(self, finding: Finding) -> Finding:
        """Return a finding in the template at its place in the program."""
        fixes = tuple(mapped for fix in finding.fixes if (mapped := self._fix(fix)) is not None)
        span = self.written.span(finding.span)
        return replace(finding, span=span, related=self.related(finding), fixes=fixes)

    def _fix(self, fix: Fix) -> Fix | None:
        """Return the fix mapped to the program, if it results in the same template as the original fix."""
        characters = self.written.characters
        edits = tuple(
            Edit(self.written.span(each.span), _escape(each.text, self.text[: characters[0].start]))
            for each in fix.edits
        )
        changed = written_templates(apply_edits(self.text, edits), self.program)
        again = (each for each in changed if each.characters[0].start == characters[0].start)
        found = next(again, None)
        is_same = found is not None and found.text == apply_edits(self.written.text, fix.edits)
        return Fix(fix.title, edits, fix.preferred) if is_same else None


def templates_of_program(snapshot: Snapshot, path: str, text: str | None = None) -> list[ProgramTemplate]:
    """Return the parts templates of the program at `path`, or of its unsaved `text`."""
    if text is None:
        program = snapshot.template(path)
        text = "" if program is None else program.source.text
    found = []
    for written in written_templates(text, path) if "raw_template" in text else ():
        template = Template(Source.of(written.text))
        if template.kind is Kind.PARTS:
            arguments = written.calls[0].given if written.calls else ()
            data = {name: shape.value for name, shape in arguments if isinstance(shape, KnownValue)}
            made = with_file(snapshot, f"{path}:{written.number}.yml.j2", template)
            found.append(ProgramTemplate(*made, data, written, path, text))
    return found


PREVIEW_TEMPLATE: Final = "promptls.previewTemplate"
PREVIEW_CONFIGURATION: Final = "promptls.previewConfiguration"


def program_lenses(snapshot: Snapshot, path: str) -> tuple[Lens, ...]:
    """Return the lenses of the program at `path`: above each parts template, and above datasets."""
    from promptls.ide.code_lenses import Action, Lens

    tooltip = "Render the template with the literals of its call"
    templates = tuple(
        Lens(
            each.written.characters[0].start,
            Action("Preview", PREVIEW_TEMPLATE, {"template": each.written.number}, tooltip),
        )
        for each in templates_of_program(snapshot, path)
    )
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    configured = _CONFIGURED.search(text) if is_configuration(text) else None
    if configured is None:
        return templates
    tooltip = "Render the prompt of the first dataset, as OpenCompass sends it"
    return (*templates, Lens(configured.start(), Action("Preview", PREVIEW_CONFIGURATION, {}, tooltip)))


def configured_prompt(text: str, path: str, project: ProjectFile) -> str:
    """Return the first dataset of the configuration at `path` as the text of an evaluation prompt.

    Imported configurations are read, but not run. Raises UserError if there is no dataset.
    """
    from promptls.convert.formats import convert

    files = ConfigurationFiles(path, project)
    return convert(text, path, "opencompass", "evaluation", files=files).text


def with_file(snapshot: Snapshot, path: str, template: Template) -> tuple[Snapshot, str]:
    """Return a snapshot with another file, which need not exist, and its path."""
    return replace(snapshot, open_files={**snapshot.open_files, path: OpenFile(template, 0)}), path


def hover_in_program(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """Return the hover text at `offset` of a template in the program at `path`."""
    from promptls.ide.hover import hover

    for template in templates_of_program(snapshot, path):
        at = template.written.offset(offset)
        if at is not None:
            found = hover(template.snapshot, template.path, at, None)
            return None if found is None else replace(found, span=template.written.span(found.span))
    return None


def findings_in_template(template: ProgramTemplate) -> Iterator[Finding]:
    """Yield the diagnostics of a template in a program, at their places in the program."""
    for finding in check(template.snapshot, template.path):
        if finding.rule not in _INCLUDES:
            yield template.in_program(finding)
    file = template.snapshot.template(template.path)
    for reference in leading_references(file) if file is not None else ():
        rule = "unresolved-import" if reference.keyword in {"import", "from"} else "unresolved-include"
        yield Finding(template.written.span(reference.span), _NO_FOLDER, rule=rule, severity="error")


async def findings_in_renderings(
    snapshot: Snapshot,
    path: str,
    render: Callable[[Snapshot, str, Callable[[], Sample]], Awaitable[FileRendering | None]],
) -> list[Finding]:
    """Return the diagnostics of the renderings of a program's templates, at their places in the program.

    `render` returns the rendering of a file of a snapshot with a sample, or None if no rule needs it.
    """
    found: list[Finding] = []
    for each in templates_of_program(snapshot, path) if not snapshot.project(path).excludes(path) else ():
        rendering = await render(each.snapshot, each.path, each.default_sample)
        if rendering is not None:
            found += map(each.in_program, check_rendering(each.snapshot, each.path, rendering))
    return found


def _escape(added: str, before: str) -> str:
    """Return the inserted text as written in the literal that begins after a text; verified afterwards."""
    quotes = before.rstrip("\\\n\r")[-3:]
    if quotes in {'"""', "'''"}:
        return added
    return added.replace("\\", "\\\\").replace("\n", "\\n").replace(quotes[-1:], f"\\{quotes[-1:]}")
