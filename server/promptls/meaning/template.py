"""One text, with everything that it means by itself; immutable, and worked out when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

from promptls.meaning.branches import Branches, branches_of
from promptls.meaning.header import Declarations, declarations_of, header_of
from promptls.meaning.kind import Kind, kind_of
from promptls.meaning.names import FileNames, file_names
from promptls.meaning.object_data import plain_data
from promptls.meaning.parts import Part, chunk_items
from promptls.meaning.references import TemplateReference, template_references
from promptls.syntax.jinja.blocks import block_problems
from promptls.syntax.jinja.problems import tag_problems
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.span import Span


class PlacedPart(NamedTuple):
    """A part and the offset of its chunk, to which the part's own spans are relative."""

    start: int
    part: Part

    @property
    def span(self) -> Span:
        """The part's span in the file."""
        return self.part.span.shifted(self.start)


class Template:
    """What one text means; it knows nothing of other files.

    Spans that its properties give count from the start of the file.
    """

    def __init__(self, source: Source) -> None:
        self.source: Final = source

    @cached_property
    def header(self) -> Declarations | None:
        """What the header declares, or None where there is no header."""
        return header_of(self.source)

    @cached_property
    def kind(self) -> Kind:
        """The kind of the file by its own text."""
        return kind_of(self.source, has_header=self.header is not None)

    @cached_property
    def declarations(self) -> Declarations:
        """What the file declares, in its header or at its top level."""
        if self.header is not None:
            return self.header
        if self.kind in {Kind.OBJECT, Kind.EVALUATION} and (root := self.root) is not None:
            keys = frozenset(text for entry in root.entries if (text := key_text(entry)) is not None)
            return declarations_of(root, plain_data(root), Span(0, 0), keys)
        return Declarations()

    @cached_property
    def root(self) -> Mapping | None:
        """The mapping under the Jinja, where the YAML is one."""
        for root in chunk_yaml(self.source.chunks[0]).roots:
            if isinstance(root, Mapping):
                return root
        return None

    @cached_property
    def parts(self) -> tuple[PlacedPart, ...]:
        """The parts that stand in the file, in order."""
        return tuple(
            PlacedPart(start, part)
            for start, chunk in zip(self.source.starts, self.source.chunks, strict=False)
            for part in chunk_items(chunk).parts
        )

    @cached_property
    def names(self) -> FileNames:
        """The variables that the file binds and reads."""
        return file_names(self.source)

    @cached_property
    def branches(self) -> Branches:
        """Which branches lie around each place."""
        return branches_of(self.source)

    @cached_property
    def references(self) -> tuple[TemplateReference, ...]:
        """The other templates that the file names."""
        return tuple(
            reference._replace(span=reference.span.shifted(start))
            for start, chunk in zip(self.source.starts, self.source.chunks, strict=False)
            for reference in template_references(chunk)
        )

    @cached_property
    def syntax_problems(self) -> tuple[SyntaxProblem, ...]:
        """The errors of the Jinja and of the YAML under it, in the order of their places."""
        problems = list(block_problems(self.source))
        for start, chunk in zip(self.source.starts, self.source.chunks, strict=False):
            in_tags = tag_problems(chunk)
            yaml = chunk_yaml(chunk)
            if in_tags or yaml.problems:
                problems += [problem.shifted(start) for problem in in_tags or yaml.problems]
            if yaml.aliases and "&" not in self.source.text:
                problems += [
                    SyntaxProblem(
                        "yaml", span.shifted(start), f"no anchor `&{name}` is defined before this alias"
                    )
                    for name, span in yaml.aliases
                ]
        return tuple(sorted(problems, key=lambda problem: problem.span))
