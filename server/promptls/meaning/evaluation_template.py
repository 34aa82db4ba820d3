"""A template of an evaluation prompt: its class, and what its `template` or its `messages` are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.systems.opencompass.template_keys import DIALOGUE_KEYS
from promptls.systems.opencompass.vocabulary import TEMPLATE_TYPES


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


def template_of(entry: Entry | None) -> EvaluationTemplate | None:
    """The template under one of those keys; None where the key is not there."""
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


def class_name(node: Node | None) -> str | None:
    """The class that a mapping's `type` names, without its module."""
    written = scalar_text(node.merged("type")) if isinstance(node, Mapping) else None
    return written.rsplit(".", 1)[-1] if written else None


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
