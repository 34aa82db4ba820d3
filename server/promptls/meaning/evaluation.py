"""An evaluation prompt as OpenCompass will read it: its templates, its retriever, its reader.

Everything here is a function of the YAML under the Jinja. Where Jinja takes part, nothing is
said that another rendering could make untrue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from promptls.meaning.evaluation_template import EvaluationTemplate, class_name, template_of
from promptls.meaning.meta_template import MetaTemplate, meta_template_of
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.syntax.yaml.salvage import salvaged_mapping
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.opencompass.evaluation_keys import INFER_KEYS
from promptls.systems.opencompass.vocabulary import LABEL_INFERENCERS
from promptls.text.span import Span

_PRINTING: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "include", "import", "call"})


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation prompt holds; spans count from the start of the file.

    `is_open` says that Jinja may print keys of its own, so that nothing can be said to be missing.
    """

    root: Mapping
    holder: Mapping
    """The mapping with the templates: `infer_cfg`, or the top level."""
    ice: EvaluationTemplate | None
    prompt: EvaluationTemplate | None
    retriever: Entry | None
    inferencer: Entry | None
    reader: Mapping | None
    meta: Entry | None
    is_open: bool

    @property
    def templates(self) -> tuple[EvaluationTemplate, ...]:
        """The templates that there are."""
        return tuple(template for template in (self.ice, self.prompt) if template)

    @property
    def asked(self) -> EvaluationTemplate | None:
        """The template that writes the question: `prompt_template`, or else `ice_template`."""
        return self.prompt or self.ice

    @property
    def retriever_class(self) -> str | None:
        """The retriever's class, without its module."""
        return class_name(self.retriever.value if self.retriever else None)

    @property
    def inferencer_class(self) -> str | None:
        """The inferencer's class, without its module."""
        return class_name(self.inferencer.value if self.inferencer else None)

    @property
    def retrieves(self) -> bool | None:
        """Whether examples are retrieved; None where nothing tells."""
        name = self.retriever_class
        if name is None:
            return None
        if name == "FixKRetriever" and isinstance(self.retriever, Entry):
            rows = (
                self.retriever.value.value("fix_id_list")
                if isinstance(self.retriever.value, Mapping)
                else None
            )
            if isinstance(rows, Sequence) and not rows.items:
                return False
        return name != "ZeroRetriever"

    def used_bodies(self, template: EvaluationTemplate) -> tuple[Node, ...]:
        """The texts and dialogues that go into a prompt: of labels that no inferencer weighs, the first's."""
        if template is not self.asked:
            return () if self.retrieves is False else template.bodies
        weighs = self.inferencer_class is None or self.inferencer_class in LABEL_INFERENCERS
        return template.bodies if weighs else template.bodies[:1]

    @property
    def output_column(self) -> str | None:
        """The reader's column with the answer."""
        return scalar_text(self.reader.value("output_column")) if self.reader else None

    @property
    def meta_template(self) -> MetaTemplate | None:
        """How the model lays a dialogue out, where the file says so."""
        return meta_template_of(self.meta.value) if self.meta else None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that the reader names; None where it does not name its inputs."""
        inputs = self.reader.value("input_columns") if self.reader else None
        if isinstance(inputs, Sequence):
            names = [scalar_text(item) for item in inputs.items]
        elif (text := scalar_text(inputs)) is not None:
            names = list(text.split())
        else:
            return None
        if any(name is None for name in names):
            return None
        output = self.output_column
        return tuple(name for name in [*names, output] if name)


@kept
def evaluation_of(chunk: Chunk) -> Evaluation | None:
    """The evaluation prompt in a file's one chunk, or None where its YAML is no mapping.

    Of broken YAML, what can be read of its keys.
    """
    yaml = chunk_yaml(chunk)
    root = next((root for root in yaml.roots if isinstance(root, Mapping)), None)
    is_broken = root is None and bool(yaml.problems)
    if is_broken:
        root = salvaged_mapping(chunk)
    if root is None:
        return None
    inside = root.value("infer_cfg")
    holder = inside if isinstance(inside, Mapping) else root
    reader = root.value("reader_cfg")
    return Evaluation(
        root=root,
        holder=holder,
        ice=template_of(holder.entry("ice_template")),
        prompt=template_of(holder.entry("prompt_template")),
        retriever=holder.entry("retriever"),
        inferencer=holder.entry("inferencer"),
        reader=reader if isinstance(reader, Mapping) else None,
        meta=root.entry("meta_template"),
        is_open=is_broken or _is_open(chunk, root),
    )


def _is_open(chunk: Chunk, root: Mapping) -> bool:
    """Whether Jinja, or a merge key, may bring keys that do not stand there."""
    for tag in chunk.tags:
        if tag.kind == "statement" and tag_tree(tag).statement.keyword in _PRINTING:
            return True
        if tag.kind == "output" and stands_alone(chunk, tag) and not _in_block_scalar(root, tag.span):
            return True
    return any(key_text(entry) in {None, "<<"} for mapping in _mappings(root) for entry in mapping.entries)


def _in_block_scalar(root: Mapping, span: Span) -> bool:
    return any(
        value.style in {"|", ">"} and value.span.start <= span.start <= span.end <= value.span.end + 1
        for value in _all_scalars(root)
    )


def _all_scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _all_scalars(item)
    else:
        for entry in node.entries:
            yield from _all_scalars(entry.value)


def _mappings(root: Mapping) -> Iterator[Mapping]:
    """The mappings whose keys decide what a template is."""
    yield root
    for key in ("infer_cfg", "reader_cfg", "meta_template", *INFER_KEYS):
        value = root.value(key)
        if isinstance(value, Mapping):
            yield from _mappings(value) if key == "infer_cfg" else (value,)
