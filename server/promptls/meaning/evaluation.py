"""An evaluation prompt as OpenCompass will read it: its templates, its retriever, its reader.

Everything here is a function of the YAML under the Jinja. Where Jinja takes part, nothing is
said that another rendering could make untrue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from promptls.meaning.meta_template import MetaTemplate, meta_template_of
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.syntax.yaml.salvage import salvaged_mapping
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.opencompass.evaluation_keys import INFER_KEYS
from promptls.systems.opencompass.template_keys import DIALOGUE_KEYS
from promptls.systems.opencompass.vocabulary import LABEL_INFERENCERS, TEMPLATE_TYPES
from promptls.text.span import Span

_PRINTING: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "include", "import", "call"})


class Form(Enum):
    """What a template's `template` (or `messages`) is; the values are the words that users read."""

    TEXT = "text"
    DIALOGUE = "dialogue"
    LABELS = "mapping from labels"
    MESSAGES = "list of messages"
    OTHER = "something else"
    MISSING = "nothing"
    UNKNOWN = "printed by Jinja, or for a class of its own"


class Label(NamedTuple):
    """One entry of a mapping from labels to templates."""

    name: str
    entry: Entry

    @property
    def form(self) -> Form:
        """What the label's template is."""
        return _form(self.entry.value)


@dataclass(frozen=True, slots=True)
class EvaluationTemplate:
    """`ice_template` or `prompt_template`: its key, its mapping, and the value that holds the text."""

    entry: Entry
    form: Form
    body: Node | None
    """The value of `template`, or of `messages`."""

    @property
    def name(self) -> str:
        """`ice_template` or `prompt_template`."""
        return key_text(self.entry) or ""

    @property
    def mapping(self) -> Mapping | None:
        """The template's keys."""
        return self.entry.value if isinstance(self.entry.value, Mapping) else None

    @property
    def ice_token(self) -> Scalar | None:
        """The value of `ice_token`, where one is given and it is not null."""
        value = self.mapping.merged("ice_token") if self.mapping else None
        return value if isinstance(value, Scalar) and (value.dynamic or value.tag != "null") else None

    @property
    def is_raw(self) -> bool:
        """Whether it is a `RawPromptTemplate`."""
        return self.form is Form.MESSAGES or class_name(self.mapping) == "RawPromptTemplate"

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of a mapping from labels."""
        if self.form is not Form.LABELS or not isinstance(self.body, Mapping):
            return ()
        return tuple(Label(_shown(entry.key), entry) for entry in self.body.entries)

    @property
    def bodies(self) -> tuple[Node, ...]:
        """The texts and dialogues that prompts are made of: one, or one for each label."""
        if self.form is Form.LABELS:
            return tuple(label.entry.value for label in self.labels)
        return () if self.body is None else (self.body,)


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
        ice=_template(holder.entry("ice_template")),
        prompt=_template(holder.entry("prompt_template")),
        retriever=holder.entry("retriever"),
        inferencer=holder.entry("inferencer"),
        reader=reader if isinstance(reader, Mapping) else None,
        meta=root.entry("meta_template"),
        is_open=is_broken or _is_open(chunk, root),
    )


def class_name(node: Node | None) -> str | None:
    """The class that a mapping's `type` names, without its module."""
    written = scalar_text(node.merged("type")) if isinstance(node, Mapping) else None
    return written.rsplit(".", 1)[-1] if written else None


def scalars_in(node: Node | None) -> Iterator[Scalar]:
    """The texts in which OpenCompass fills fields in: of a text, of a dialogue's turns, of messages."""
    for each in texts_in(node):
        if isinstance(each, Scalar):
            yield each
        else:
            yield from turn_texts(each)


def texts_in(node: Node | None) -> Iterator[Scalar | Mapping]:
    """The same, with turns and messages as they are."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        yield from (item for item in node.items if not isinstance(item, Sequence))
    elif isinstance(node, Mapping):
        for key in DIALOGUE_KEYS:
            yield from texts_in(node.value(key))


def turn_texts(turn: Mapping) -> Iterator[Scalar]:
    """The texts of a turn or a message."""
    for key in ("prompt", "content"):
        value = turn.value(key)
        if isinstance(value, Scalar):
            yield value


def turns_in(node: Node | None, section: str) -> Iterator[Mapping]:
    """The turns of a dialogue's section that are mappings."""
    items = node.value(section) if isinstance(node, Mapping) else None
    for item in items.items if isinstance(items, Sequence) else (items,):
        if isinstance(item, Mapping):
            yield item


def _template(entry: Entry | None) -> EvaluationTemplate | None:
    if entry is None:
        return None
    mapping = entry.value
    if not isinstance(mapping, Mapping):
        is_printed = isinstance(mapping, Scalar) and mapping.dynamic
        return EvaluationTemplate(entry, Form.UNKNOWN if is_printed else Form.OTHER, None)
    kind = class_name(mapping)
    if kind is not None and kind not in TEMPLATE_TYPES:
        # A class of the data set's own takes what it likes.
        return EvaluationTemplate(entry, Form.UNKNOWN, None)
    if kind == "RawPromptTemplate":
        messages = mapping.merged("messages")
        form = Form.MESSAGES if isinstance(messages, Sequence) else _form(messages, Form.OTHER)
        return EvaluationTemplate(entry, form, messages)
    body = mapping.merged("template")
    return EvaluationTemplate(entry, _form(body), body)


def _form(node: Node | None, other_than: Form | None = None) -> Form:
    if node is None:
        return Form.MISSING
    if isinstance(node, Mapping):
        if any(key_text(entry) in {None, "<<"} for entry in node.entries):
            return Form.UNKNOWN
        is_dialogue = all(key_text(entry) in DIALOGUE_KEYS for entry in node.entries)
        return other_than or (Form.DIALOGUE if is_dialogue else Form.LABELS)
    if isinstance(node, Scalar):
        if node.dynamic and node.text.strip("x ") == "" and not node.style:
            return Form.UNKNOWN
        return other_than or (Form.TEXT if node.dynamic or node.tag == "str" else Form.OTHER)
    return Form.OTHER


def _shown(key: Node) -> str:
    return key.text if isinstance(key, Scalar) else "?"


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
