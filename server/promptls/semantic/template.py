"""One text and its meaning without other files; immutable, and computed on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from promptls.dialects.opencompass.vocabulary import INFER_KEYS
from promptls.semantic.branches import Branches, branches_of
from promptls.semantic.header import (
    Declarations,
    declarations_of,
    header_of,
    ignored_header,
    mentions_prompt,
)
from promptls.semantic.kind import Kind, kind_of
from promptls.semantic.names.file_names import FileNames
from promptls.semantic.names.mentions import TemplateReference, template_references
from promptls.semantic.object_data import mapping_data
from promptls.semantic.parts import Part, chunk_items
from promptls.settings.header import Header
from promptls.syntax.facts import placed_fact, placed_items, summary
from promptls.syntax.jinja.file_blocks import block_problems, named_block_problems
from promptls.syntax.jinja.problems import meant_tag, tag_problems
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.error_recovery import recovered_file
from promptls.syntax.yaml.mapping_chunks import loose_aliases
from promptls.syntax.yaml.nodes import Mapping, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

_NOTHING: Final = Declarations()
_AT_TOP_LEVEL: Final = frozenset({Kind.OBJECT, Kind.EVALUATION})
"""The kinds of files that have the keys of a header at the top level."""


class PlacedPart(NamedTuple):
    """A part and the offset of its chunk, which the part's own spans are relative to."""

    start: int
    part: Part

    @property
    def span(self) -> Span:
        """The part's span in the file."""
        return self.part.span.shifted(self.start)


class Template:
    """The meaning of one text, without knowledge of other files.

    Spans in its properties count from the start of the file.
    """

    def __init__(self, source: Source) -> None:
        self.source: Final = source
        self.facts: Final[dict[object, object]] = {}

    @property
    def serial(self) -> int:
        """A number that is unique to this text."""
        return self.source.serial

    @property
    @placed_fact
    def header(self) -> Declarations | None:
        """The declarations in the header; None without a header, or if the file declares at its top level."""
        return None if self.kind in _AT_TOP_LEVEL else self._header_comment

    @property
    @placed_fact
    def _header_comment(self) -> Declarations | None:
        return header_of(self.source)

    @property
    @placed_fact
    def kind(self) -> Kind:
        """The kind of the file by its own text; a text that is not analyzed is not a prompt."""
        if self.source.refusal is not None:
            return Kind.OTHER
        header = self._header_comment
        has_header = header is not None and mentions_prompt(self.source.slice(header.span))
        return kind_of(self.source, has_header=has_header)

    @property
    @placed_fact
    def declarations(self) -> Declarations:
        """The declarations of the file, in its header or at its top level."""
        if self.header is not None:
            return self.header
        if self.kind in _AT_TOP_LEVEL and (root := self.root) is not None:
            keys = frozenset(text for entry in root.entries if (text := key_text(entry)) is not None)
            if self.kind is Kind.EVALUATION:  # its templates declare nothing
                own = [entry for entry in root.entries if key_text(entry) not in {"infer_cfg", *INFER_KEYS}]
                data = mapping_data(self.source, Mapping(root.span, tuple(own)))
            else:
                data = mapping_data(self.source, root)
            declared = declarations_of(root, data, Span(0, 0), keys, self.source)
            comment = self._header_comment
            if comment is None or not comment.data.keys() & Header.model_fields.keys():
                return declared
            return replace(declared, problems=(ignored_header(comment, self.kind.value), *declared.problems))
        return _NOTHING

    @property
    @placed_fact
    def root(self) -> Mapping | None:
        """The mapping under the Jinja; if its YAML is broken, with the keys that can be read."""
        if self.source.refusal is not None:
            return None
        if self.source.layout is Layout.LIST:
            return None
        yaml = self.source.yaml
        for root in yaml.roots:
            if isinstance(root, Mapping):
                return root
        if yaml.problems and self.kind in _AT_TOP_LEVEL:
            return recovered_file(self.source.root)
        return None

    @property
    @placed_fact
    def parts(self) -> tuple[PlacedPart, ...]:
        """The parts in the file, in order."""
        if self.source.refusal is not None:
            return ()
        return tuple(
            PlacedPart(start, part)
            for start, chunk in zip(self.source.starts, self.source.chunks, strict=False)
            for part in chunk_items(chunk).parts
        )

    @property
    def has_parts(self) -> bool:
        """Whether the file contains any part."""
        return self.source.refusal is None and _has_parts(self.source.root)

    @property
    @placed_fact
    def names(self) -> FileNames:
        """The variables that the file binds and reads."""
        return FileNames(self.source.root)

    @property
    @placed_fact
    def branches(self) -> Branches:
        """The branches around each position."""
        return branches_of(self.source)

    @property
    @placed_fact
    def references(self) -> tuple[TemplateReference, ...]:
        """The other templates that the file names."""
        return () if self.source.refusal is not None else _references(self.source.root)

    @property
    @placed_fact
    def syntax_problems(self) -> tuple[SyntaxProblem, ...]:
        """The errors of the Jinja and of the YAML under it, in file order.

        If the file extends another one, its blocks are in the YAML of that file, so that only the errors of
        Jinja are known.
        """
        problems = [
            *block_problems(self.source),
            *named_block_problems(self.source),
            *self._problems_in_chunks,
        ]
        aliases = loose_aliases(self.source.root)
        if aliases and not self.references:
            text = self.source.text
            problems += [
                SyntaxProblem("yaml", span, f"no anchor `&{name}` is defined before this alias")
                for name, span in aliases
                if re.search(rf"&{re.escape(name)}(?![^\s,\]}}])", text) is None
            ]
        return tuple(_once(sorted(problems, key=lambda problem: problem.span)))

    @property
    def has_broken_tags(self) -> bool:
        """Whether the file has errors of Jinja."""
        return any(problem.language == "jinja" for problem in self.syntax_problems)

    @property
    def _problems_in_chunks(self) -> tuple[SyntaxProblem, ...]:
        if any(reference.keyword == "extends" for reference in self.references):
            return _tag_problems(self.source.root)
        if self.source.layout is not Layout.MAPPING:
            return _problems(self.source.root)
        return _tag_problems(self.source.root) or self.source.yaml.problems


def _once(problems: list[SyntaxProblem]) -> Iterator[SyntaxProblem]:
    """Yield the problems without repetitions.

    An unknown tag may end an unknown block, such as `endfoo`, or be the misspelled end of a known one.
    """
    opened: set[str] = set()
    last: dict[str | None, int] = {}
    if any(problem.missing_end for problem in problems):
        for index, problem in enumerate(problems):
            if word := problem.unknown_tag:
                last[word] = last[meant_tag(word)] = index
    for index, problem in enumerate(problems):
        word = problem.unknown_tag
        is_misspelled = problem.missing_end and last.get(problem.missing_end, -1) > index
        if not is_misspelled and not (word.startswith("end") and word[3:] in opened):
            yield problem
        if word:
            opened.add(word)


_has_parts: Final = summary(lambda chunk: bool(chunk_items(chunk).parts), any)
_references: Final = placed_items(
    template_references, lambda reference, by: reference._replace(span=reference.span.shifted(by))
)
_problems: Final = placed_items(
    lambda chunk: tag_problems(chunk) or chunk_yaml(chunk).problems, SyntaxProblem.shifted
)
"""The errors in the tags of a chunk, or, if there are none, in its YAML."""
_tag_problems: Final = placed_items(tag_problems, SyntaxProblem.shifted)
