"""The types of rules and findings, and decorators for checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from inspect import cleandoc
from itertools import islice
from pathlib import Path
from sys import modules
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from promptls.facts import current, unrecorded
from promptls.semantic.header import Example, example_fact
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk, ChunkList
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.rendering.file_rendering import FileRendering

Basis = TypeVar("Basis")
Severity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of one span of the file with a text."""

    span: Span
    text: str

    @classmethod
    def insert(cls, offset: int, text: str) -> Edit:
        """Return the edit that inserts the text."""
        return cls(Span(offset, offset), text)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits, which do not overlap; edits at one offset are inserted in order."""
    pieces = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [text[position : edit.span.start], edit.text]
        position = edit.span.end
    return "".join([*pieces, text[position:]])


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that resolve a finding; a preferred fix can be applied without review."""

    title: str
    edits: tuple[Edit, ...]
    preferred: bool = False

    @classmethod
    def change_to(cls, span: Span, text: str, *, preferred: bool = False) -> Fix:
        """Return the fix that replaces the span with the text."""
        return cls(f"Change to `{text}`", (Edit(span, text),), preferred)

    @classmethod
    def insert(cls, offset: int, text: str, *, preferred: bool = True) -> Fix:
        """Return the fix that inserts a text."""
        return cls(f"Insert `{text.strip()}`", (Edit.insert(offset, text),), preferred)

    @classmethod
    def put_into_list(cls, span: Span, *, preferred: bool = True) -> Fix:
        """Return the fix that puts brackets around a value."""
        edits = (Edit.insert(span.start, "["), Edit.insert(span.end, "]"))
        return cls("Put it into a list", edits, preferred)

    def shifted(self, by: int) -> Fix:
        """Return the fix with its edits moved by `by` characters."""
        return Fix(
            self.title, tuple(Edit(edit.span.shifted(by), edit.text) for edit in self.edits), self.preferred
        )


@dataclass(frozen=True, slots=True)
class RelatedInformation:
    """Another position that a finding mentions, in the file at `path`."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem at one place of a file, with the fixes for it.

    `severity` is None for the rule's default. `unnecessary` marks text that can be removed.
    """

    span: Span
    message: str
    fixes: tuple[Fix, ...] = ()
    related: tuple[RelatedInformation, ...] = ()
    unnecessary: bool = False
    rule: str = ""
    severity: Severity | None = None

    @classmethod
    def suggest(
        cls,
        span: Span,
        message: str,
        meant: str | None,
        *,
        preferred: bool = False,
        related: tuple[RelatedInformation, ...] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """Return a finding that asks whether `meant` was meant, with the fix that writes it.

        It asks nothing if that is None.
        """
        if meant is None:
            return cls(span, message, related=related, severity=severity)
        fix = Fix.change_to(span, meant, preferred=preferred)
        return cls(span, f"{message}; did you mean `{meant}`?", (fix,), related, severity=severity)

    def of(self, rule: str, severity: Severity) -> Finding:
        """Return the finding with a rule name and severity."""
        return Finding(self.span, self.message, self.fixes, self.related, self.unnecessary, rule, severity)

    def shifted(self, by: int) -> Finding:
        """Return the finding moved by `by` characters; related places are not moved."""
        if not by:
            return self
        return Finding(
            self.span.shifted(by),
            self.message,
            tuple([fix.shifted(by) for fix in self.fixes]),
            self.related,
            self.unnecessary,
            self.rule,
            self.severity,
        )


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings by position."""
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))


@dataclass(frozen=True, slots=True)
class File:
    """The file that a rule checks.

    What a check reads from it is recorded, and the findings are reused until any of it changes. `rendering`
    and `runs` are set only for rules that need them.
    """

    snapshot: Snapshot
    path: str
    template: Template
    kind: Kind
    project: Project
    rendering: FileRendering | None = None
    """The result of rendering the file, which may be a failure."""
    found: tuple[Finding, ...] = ()
    """With a rendering, the findings of the rules that need no rendering."""
    runs: tuple[RunSummary, ...] = ()
    """The latest runs of the file's experiments."""

    @property
    def chunks(self) -> ChunkList:
        """The chunks of the file."""
        return self.template.source.root


Check = Callable[[File], Iterable[Finding]]
"""A function that returns the findings of one rule in a file."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: a function that checks a file, and its metadata.

    The function has the name of the rule. The docstring of its module is the page of the rule, and the first
    line of the page its summary. In a module with several rules, the docstring has a heading with the name of
    the rule above each page. `needs` is what must be available before the rule can run.
    """

    check: Check
    severity: Severity
    kinds: frozenset[Kind]
    needs: Literal["rendering", "runs"] | None
    since: str

    @cached_property
    def name(self) -> str:
        """The name that findings, settings and suppressions use."""
        return self.check.__name__.replace("_", "-")

    @cached_property
    def page(self) -> str:
        """The rule's documentation, in Markdown."""
        text = cleandoc(modules[self.check.__module__].__doc__ or "")
        pages = re.split(r"^# ([a-z]+(?:-[a-z]+)+)\n\n", text, flags=re.MULTILINE)
        return dict(zip(pages[1::2], pages[2::2], strict=True)).get(self.name, text).rstrip()

    @cached_property
    def summary(self) -> str:
        """A one-line description of what the rule reports."""
        return self.page.partition("\n")[0].rstrip(".")


defined_rules: Final[dict[str, Rule]] = {}
"""The rules of the modules that are loaded, by name."""


def rule(
    *,
    severity: Severity,
    kinds: frozenset[Kind],
    needs: Literal["rendering", "runs"] | None = None,
    since: str = "0.1.0",
) -> Callable[[Check], Rule]:
    """Make a rule of a function, and add it to `defined_rules`."""

    def decorate(check: Check) -> Rule:
        made = Rule(check, severity, kinds, needs, since)
        defined_rules[made.name] = made
        return made

    return decorate


@cache
def page_file(rule: str) -> Path | None:
    """Return the file with a rule's page, to link to; None if the installed package does not contain it."""
    file = Path(__file__).with_name("pages") / f"{rule}.md"
    return file if file.is_file() else None


PARTS_KINDS = frozenset({Kind.PARTS, Kind.SECTION})
"""The kinds whose YAML is a list of parts."""
JINJA_KINDS = PARTS_KINDS | {Kind.TEXT}
"""The kinds that Jinja renders to a list of parts, and the text files that they include."""
OBJECT_KINDS = frozenset({Kind.OBJECT})
EVALUATION_KINDS = frozenset({Kind.EVALUATION})
YAML_KINDS = PARTS_KINDS | OBJECT_KINDS | EVALUATION_KINDS
"""The kinds that contain YAML, with or without Jinja."""
DECLARING_KINDS = YAML_KINDS | {Kind.TEXT}
"""The kinds that can declare inputs and examples: all prompt files."""


MAX_FINDINGS: Final = 500
"""How many findings of one rule are reported in a file; to find one may need a search of the whole file."""

# -- checks of one thing at a time -----------------------------------------------------------


class _Found(NamedTuple):
    """The findings in a chunk, and what they were computed from besides its text."""

    value: object
    findings: tuple[Finding, ...]


def each_chunk(find: Callable[[Chunk], Iterable[Finding]]) -> Check:
    """Make a check from a function that checks one chunk, so that only edited chunks are checked again.

    The spans that the function yields are relative to the start of the chunk.
    """
    return each_chunk_given(_nothing)(wraps(find)(lambda chunk, _: find(chunk)))


def each_chunk_given(
    basis: Callable[[File], Basis],
) -> Callable[[Callable[[Chunk, Basis], Iterable[Finding]]], Check]:
    """Make a check from a function that checks one chunk and takes a second value, returned by `basis`.

    All chunks are checked again if that value changes.
    """

    def decorate(find: Callable[[Chunk, Basis], Iterable[Finding]]) -> Check:
        @wraps(find)
        def check(file: File) -> Iterator[Finding]:
            value = basis(file)

            def in_chunk(chunk: Chunk) -> tuple[Finding, ...]:
                """Return the findings in a chunk, which caches them for the last `value`."""
                known = chunk.facts.get(find)
                if not isinstance(known, _Found) or (known.value is not value and known.value != value):
                    findings = unrecorded(lambda: tuple(islice(find(chunk, value), MAX_FINDINGS + 1)))
                    known = chunk.facts[find] = _Found(value, findings)
                return known.findings

            reads = current.get()
            if reads is not None:
                reads.columns[in_chunk] = None
            source = file.template.source
            if file.kind is Kind.EVALUATION:
                source = source.uncut()  # entries of an evaluation have no meaning on their own
            for start, chunk in zip(source.starts, source.chunks, strict=False):
                for finding in in_chunk(chunk):
                    yield finding.shifted(start)

        return check

    return decorate


def _nothing(_file: File) -> None:
    return None


def each_example(
    basis: Callable[[File], Basis | None],
) -> Callable[[Callable[[Example, Basis], Iterable[Finding]]], Check]:
    """Make a check from a function that checks one example and takes a second value, returned by `basis`.

    If that is None, no example is checked. An example is checked again only if it, its number or the second
    value has changed.
    """

    def decorate(find: Callable[[Example, Basis], Iterable[Finding]]) -> Check:
        @example_fact
        def found(example: Example, value: Basis, _number: int) -> tuple[Finding, ...]:
            """Return the findings with spans that count from the start of the example."""
            return tuple(finding.shifted(-example.span.start) for finding in find(example, value))

        @wraps(find)
        def check(file: File) -> Iterator[Finding]:
            examples = file.template.declarations.examples
            value = basis(file) if examples else None
            if value is None:
                return
            for example in examples:
                for finding in found(example, value, example.number):
                    yield finding.shifted(example.span.start)

        return check

    return decorate
