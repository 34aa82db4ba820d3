"""Evaluation prompts of OpenCompass: their templates, fields and retriever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.dialects.opencompass import vocabulary
from promptls.dialects.opencompass.meta_template import gets_messages
from promptls.dialects.opencompass.prompt_list import ConfigPath
from promptls.semantic.object_data import plain_data
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.problems import keyword_of
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.projection import stands_alone
from promptls.syntax.yaml.error_recovery import recovered_mapping
from promptls.syntax.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    key_text,
    node_at,
    scalar_text,
    scalars_below,
)
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span
from promptls.text.suggest import is_close

_FIELD: Final = re.compile(r"\{([^\W\d]\w*)\}")
_LATEX: Final = re.compile(r"\\[A-Za-z]+\*?$")
_QUOTED_LATEX: Final = re.compile(r"(?<!\\)(?:(?:\\\\)+|\\[bfrt]|\\U000000(?:08|09|0c|0d))[A-Za-z]+\*?$")
"""LaTeX between double quotes, where a single backslash begins an escape of YAML.

In Python, `"\\frac"` and `"\\text"` begin with a form feed and a tab.
"""
_MAX_BRACES: Final = 3
_NEAR: Final = 120
"""How many characters before a field are examined to find out whether it is LaTeX."""


class Field(NamedTuple):
    """A `{name}` in a template's text; `span` includes the braces, `doubled` means two pairs of them."""

    name: str
    span: Span
    doubled: bool


class ScalarSource(NamedTuple):
    """A scalar as it is written in the file, with the tags in it; their spans count from its start."""

    text: str
    style: str
    tags: tuple[Tag, ...]


def written_text(chunk: Chunk, scalar: Scalar) -> ScalarSource:
    """Return a scalar as it is written in its chunk."""
    start, end = scalar.span
    tags = chunk.tags_at(scalar.span)
    return ScalarSource(chunk.text[start:end], scalar.style, tuple([tag.shifted(-start) for tag in tags]))


def fields_in(chunk: Chunk, scalar: Scalar) -> Iterator[Field]:
    """Yield the fields in a text, ignoring braces of Jinja, LaTeX and other markup."""
    for field in fields_of(written_text(chunk, scalar)):
        yield field._replace(span=field.span.shifted(scalar.span.start))


@lru_cache(maxsize=4096)
def fields_of(written: ScalarSource) -> tuple[Field, ...]:
    """Return the same fields, with spans that count from the start of the text."""
    return tuple(_find_fields(written)) if "}" in written.text else ()


def _find_fields(written: ScalarSource) -> Iterator[Field]:
    text = written.text
    latex = _QUOTED_LATEX if written.style == '"' else _LATEX
    for match in _FIELD.finditer(text):
        start, end = match.span()
        around = [tag for tag in written.tags if tag.span.start < end and tag.span.end > start]
        if any(tag.kind != "raw" or not _inside(match.span(), tag.body) for tag in around):
            continue
        before, after = text[max(start - _NEAR, 0) : start], text[end : end + 1]
        doubled = before.endswith("{") and after == "}"
        if not doubled and (
            before.endswith(("{", "^", "_", "$")) or latex.search(_without_arguments(before))
        ):
            continue
        yield Field(match.group(1), Span(start, end), doubled)


def _without_arguments(text: str) -> str:
    """Return a text without the arguments in brackets or braces at its end."""
    start: int | None = len(text)
    while start is not None:
        end = start
        start = _argument(text, end - text.startswith("\n", end - 1)) if end else None
    return text[:end]


def _argument(text: str, end: int) -> int | None:
    """Return where the argument starts that ends at `end`, in at most three pairs of braces; None if none."""
    last = text[end - 1 : end]
    if last == "]":
        start = max(text.rfind("[", 0, end - 1), text.rfind("]", 0, end - 1))
        return start if start >= 0 and text[start] == "[" else None
    depth = deepest = 0
    for at in range(end - 1, -1, -1) if last == "}" else ():
        depth += (text[at] == "}") - (text[at] == "{")
        deepest = max(deepest, depth)
        if depth == 0:
            return at if deepest <= _MAX_BRACES else None
    return None


def _inside(inner: tuple[int, int], outer: Span) -> bool:
    return outer.start <= inner[0] and inner[1] <= outer.end


def scalars_in(node: Node | None) -> Iterator[Scalar]:
    """Yield the texts whose fields OpenCompass fills in: a single text, or the texts of turns or messages."""
    for each in _texts_in(node):
        if isinstance(each, Scalar):
            yield each
        else:
            yield from turn_texts(each)


def _texts_in(node: Node | None) -> Iterator[Scalar | Mapping]:
    """Yield the same as `scalars_in`, but whole turns for dialogues and messages."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        yield from (item for item in node.items if not isinstance(item, Sequence))
    elif isinstance(node, Mapping):
        for key in vocabulary.DIALOGUE_KEYS:
            yield from _texts_in(node.value(key))


def turn_texts(turn: Mapping) -> Iterator[Scalar]:
    """Yield the texts of a turn or a message."""
    for key in ("prompt", "content"):
        value = turn.value(key)
        if isinstance(value, Scalar):
            yield value


def turns_in(node: Node | None, section: str) -> Iterator[Mapping]:
    """Yield the turns in a section of a dialogue that are mappings."""
    items = node.value(section) if isinstance(node, Mapping) else None
    for item in items.items if isinstance(items, Sequence) else (items,):
        if isinstance(item, Mapping):
            yield item


class Form(Enum):
    """The form of a template's `template` (or `messages`); the values are shown to users."""

    TEXT = "text"
    DIALOGUE = "dialogue"
    LABELS = "mapping from labels"
    MESSAGES = "list of messages"
    OTHER = "something else"
    MISSING = "nothing"
    UNKNOWN = "printed by Jinja, or for a class of its own"


class Label(NamedTuple):
    """An entry of a mapping from labels to templates."""

    name: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class EvaluationTemplate:
    """`ice_template` or `prompt_template`: its key, its mapping, and the value with the text."""

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
        """The value of `ice_token`, if it is present and not null."""
        value = self.mapping.merged("ice_token") if self.mapping else None
        return value if isinstance(value, Scalar) and (value.dynamic or value.tag != "null") else None

    @property
    def is_raw(self) -> bool:
        """Whether it is a `RawPromptTemplate`."""
        return self.form is Form.MESSAGES or class_name(self.mapping) == "RawPromptTemplate"

    @property
    def labels(self) -> tuple[Label, ...]:
        """The entries of a mapping from labels."""
        if self.form is not Form.LABELS or not isinstance(self.body, Mapping):
            return ()
        return tuple(Label(_shown(entry.key), entry) for entry in self.body.entries)

    @property
    def is_nearly_dialogue(self) -> bool:
        """Whether other keys turn an intended dialogue into a mapping from labels."""
        return any(
            each.name == "round" or (isinstance(each.entry.value, Sequence) and is_close(each.name, "round"))
            for each in self.labels
        )

    @property
    def bodies(self) -> tuple[Node, ...]:
        """The texts and dialogues that prompts are made of: one, or one per label."""
        return tuple(body for _, _, body in self.located_bodies)

    @property
    def located_bodies(self) -> tuple[tuple[ConfigPath, Entry | None, Node], ...]:
        """The same with their paths, and with the entries of their labels."""
        at = (self.name, "template")
        if self.form is Form.LABELS:
            entries = [label.entry for label in self.labels]
            return tuple(((*at, plain_data(entry.key)), entry, entry.value) for entry in entries)
        return () if self.body is None else ((at, None, self.body),)


def template_of(entry: Entry | None) -> EvaluationTemplate | None:
    """Return the template under one of those keys, or None if the key is missing."""
    if entry is None:
        return None
    mapping = entry.value
    if not isinstance(mapping, Mapping):
        is_printed = isinstance(mapping, Scalar) and mapping.dynamic
        return EvaluationTemplate(entry, Form.UNKNOWN if is_printed else Form.OTHER, None)
    kind = class_name(mapping)
    if kind is not None and kind not in vocabulary.TEMPLATE_TYPES:
        # A custom class of the dataset may take anything.
        return EvaluationTemplate(entry, Form.UNKNOWN, None)
    if kind == "RawPromptTemplate":
        messages = mapping.merged("messages")
        form = Form.MESSAGES if isinstance(messages, Sequence) else _form(messages, Form.OTHER)
        return EvaluationTemplate(entry, form, messages)
    body = mapping.merged("template")
    return EvaluationTemplate(entry, _form(body), body)


def class_name(node: Node | None) -> str | None:
    """Return the class that a mapping's `type` refers to, without its module."""
    written = scalar_text(node.merged("type")) if isinstance(node, Mapping) else None
    return written.rsplit(".", 1)[-1] if written else None


def class_span(node: Node, kind: str) -> Span:
    """Return the span of the class name in the value of `type`, without its module and quotes."""
    quoted = isinstance(node, Scalar) and node.style in {"'", '"'}
    end = node.span.end - int(quoted)
    return Span(end - len(kind), end)


def _form(node: Node | None, other_than: Form | None = None) -> Form:
    if node is None:
        return Form.MISSING
    if isinstance(node, Mapping):
        if any(key_text(entry) in {None, "<<"} for entry in node.entries):
            return Form.UNKNOWN
        is_dialogue = all(key_text(entry) in vocabulary.DIALOGUE_KEYS for entry in node.entries)
        return other_than or (Form.DIALOGUE if is_dialogue else Form.LABELS)
    if isinstance(node, Scalar):
        if node.dynamic and node.text.strip("x ") == "" and not node.style:
            return Form.UNKNOWN
        return other_than or (Form.TEXT if node.dynamic or node.tag == "str" else Form.OTHER)
    return Form.OTHER


def _shown(key: Node) -> str:
    return key.text if isinstance(key, Scalar) else "?"


@dataclass(frozen=True, slots=True)
class DeclaredMetaTemplate:
    """The `rounds` and `reserved` roles of a meta template, as far as they are mappings.

    `is_unsure` is True if the roles contain Jinja, or cannot be read.
    """

    mapping: Mapping
    rounds: tuple[Mapping, ...]
    reserved: tuple[Mapping, ...]
    is_unsure: bool
    model: str | None = None
    """The class of its model, without its module."""

    @property
    def round_roles(self) -> frozenset[str]:
        """The roles of `round`."""
        return frozenset(role for each in self.rounds if (role := each.text("role")))

    @property
    def roles(self) -> frozenset[str]:
        """The roles of `round` and `reserved_roles`."""
        return self.round_roles | {role for each in self.reserved if (role := each.text("role"))}

    @property
    def is_api(self) -> bool:
        """Whether its model is behind an API, by its class, or else if roles have an `api_role`."""
        return gets_messages(self.model, has_api_roles=self.has_api_roles)

    @property
    def has_api_roles(self) -> bool:
        """Whether a role has an `api_role`."""
        return any(each.entry("api_role") for each in (*self.rounds, *self.reserved))

    @property
    def generates(self) -> bool:
        """Whether a role of `round` is generated by the model."""
        return any(map(is_generated, self.rounds))


def is_generated(turn: Mapping) -> bool:
    """Return whether the model writes the turns of a role of a meta template."""
    return (turn.text("generate") or "").lower() in {"true", "yes", "on"}


def meta_template_of(node: Node, model: str | None = None) -> DeclaredMetaTemplate | None:
    """Return the meta template in a value, or None if it is not a mapping with a list of rounds."""
    if not isinstance(node, Mapping) or not isinstance(node.value("round"), Sequence):
        return None
    rounds, reserved = tuple(_items(node, "round")), tuple(_items(node, "reserved_roles"))
    is_unsure = any(
        key_text(entry) in {None, "<<"} for mapping in (node, *rounds, *reserved) for entry in mapping.entries
    ) or any(each.text("role") is None for each in (*rounds, *reserved))
    return DeclaredMetaTemplate(node, rounds, reserved, is_unsure, model)


def _items(node: Mapping, key: str) -> Iterator[Mapping]:
    value = node.value(key)
    for item in value.items if isinstance(value, Sequence) else ():
        if isinstance(item, Mapping):
            yield item


_PRINTING: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "include", "import", "call"})


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The contents of an evaluation prompt; spans count from the start of the file.

    `is_open` is True if Jinja may print additional keys, so that no key can be reported as missing.
    """

    root: Mapping
    holder: Mapping
    """The mapping that contains the templates: `infer_cfg`, or the top level."""
    ice: EvaluationTemplate | None
    prompt: EvaluationTemplate | None
    retriever: Entry | None
    inferencer: Entry | None
    reader: Mapping | None
    meta: Entry | None
    is_open: bool

    @property
    def templates(self) -> tuple[EvaluationTemplate, ...]:
        """The templates of the file."""
        return tuple(template for template in (self.ice, self.prompt) if template)

    @property
    def question_template(self) -> EvaluationTemplate | None:
        """The template of the question: `prompt_template`, or else `ice_template`."""
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
    def compares_same_prompt(self) -> bool:
        """Whether a `PPLInferencer` compares a text with itself, for lack of one for each label."""
        node = self.inferencer.value if self.inferencer else None
        question = self.question_template
        return (
            self.inferencer_class == "PPLInferencer"
            and question is not None
            and question.form is Form.TEXT
            and isinstance(node, Mapping)
            and node.merged("labels") is None
        )

    @property
    def retrieves(self) -> bool | None:
        """Whether examples are retrieved, or None if unknown."""
        name = self.retriever_class
        if name is None:
            return None
        rows = node_at(self.retriever.value, ("fix_id_list",)) if self.retriever else None
        is_empty = isinstance(rows, Sequence) and not rows.items
        return name != "ZeroRetriever" and not (name == "FixKRetriever" and is_empty)

    def used_bodies(self, template: EvaluationTemplate) -> tuple[Node, ...]:
        """Return the texts and dialogues of a prompt; of unscored labels, only those of the first."""
        if template is not self.question_template:
            return () if self.retrieves is False else template.bodies
        weighs = self.inferencer_class is None or self.inferencer_class in vocabulary.LABEL_INFERENCERS
        return template.bodies if weighs else template.bodies[:1]

    @property
    def output_column(self) -> str | None:
        """The reader's column of the answer."""
        return self.reader.text("output_column") if self.reader else None

    @property
    def meta_template(self) -> DeclaredMetaTemplate | None:
        """How the model formats a dialogue, if the file declares it."""
        return meta_template_of(self.meta.value) if self.meta else None

    @property
    def models(self) -> tuple[Mapping, ...]:
        """The file's `models` that are mappings."""
        return tuple(_items(self.root, "models"))

    @property
    def all_metas(self) -> tuple[tuple[Entry, str | None], ...]:
        """The entry `meta_template` of the file and of each of its `models`, with the model's class."""
        found = [(model.entry("meta_template"), class_name(model)) for model in self.models]
        return tuple((entry, kind) for entry, kind in ((self.meta, None), *found) if entry is not None)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that the reader names, or None if it does not name its inputs."""
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


@chunk_fact
def evaluation_of(chunk: Chunk) -> Evaluation | None:
    """Return the evaluation prompt in a whole file, or None if its YAML is not a mapping.

    If the YAML is broken, only the keys that can be read are used.
    """
    yaml = chunk_yaml(chunk)
    root = next((root for root in yaml.roots if isinstance(root, Mapping)), None)
    is_broken = root is None and bool(yaml.problems)
    if is_broken:
        root = recovered_mapping(chunk)
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
    """Return whether Jinja, or a merge key, may add keys."""
    for tag in chunk.tags:
        if keyword_of(tag) in _PRINTING:
            return True
        if tag.kind == "output" and stands_alone(chunk, tag) and not _in_block_scalar(root, tag.span):
            return True
    return any(key_text(entry) in {None, "<<"} for mapping in _mappings(root) for entry in mapping.entries)


def _in_block_scalar(root: Mapping, span: Span) -> bool:
    return any(
        value.style in {"|", ">"} and value.span.start <= span.start <= span.end <= value.span.end + 1
        for value in scalars_below(root)
    )


def _mappings(root: Mapping) -> Iterator[Mapping]:
    """Yield the mappings whose keys determine what a template is."""
    yield root
    for key in ("infer_cfg", "reader_cfg", "meta_template", *vocabulary.INFER_KEYS):
        value = root.value(key)
        if isinstance(value, Mapping):
            yield from _mappings(value) if key == "infer_cfg" else (value,)
