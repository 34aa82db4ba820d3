"""An evaluation prompt of OpenCompass: the messages of its `prompt_template`, with columns as inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.conversions.conversation import Conversation, Message, Piece
from promptls.conversions.f_string import RESERVED
from promptls.text.failure import Failure

_ROLES: Final = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_COLUMN: Final = re.compile(r"\{([^\W\d]\w*)\}")
_DIALOGUE: Final = frozenset({"begin", "round", "end"})


def read_opencompass(mapping: Mapping[str, Any]) -> Conversation:
    """What OpenCompass asks for one row, without in-context examples; raises Failure for other prompts."""
    infer = mapping.get("infer_cfg", mapping)
    reader = mapping.get("reader_cfg")
    if not isinstance(infer, Mapping):
        raise Failure("`infer_cfg` is no mapping")
    template = infer.get("prompt_template") or infer.get("ice_template")
    if not isinstance(template, Mapping):
        raise Failure("there is neither a `prompt_template` nor an `ice_template`", remedy="add the template")
    lost = list(_lost(infer))
    columns = _Columns(reader if isinstance(reader, Mapping) else {}, _token(template))
    messages = template.get("messages")
    if isinstance(messages, list):
        made = tuple(_turns(messages, columns, "content"))
    else:
        made = _from_template(template.get("template"), columns)
    if made and made[-1].role == "assistant" and not isinstance(messages, list):
        if made[-1].pieces:
            lost.append("what the last assistant turn says: OpenCompass leaves that turn to the model")
        made = made[:-1]
    header: dict[str, Any] = {"input_keys": {name: {} for name in columns.read}} if columns.read else {}
    if columns.output and columns.output not in columns.read:
        header["output_key"] = columns.output
    return Conversation(made, header, tuple(lost))


class _Columns:
    """The columns that a template's fields name; `read` are those that were met, in order."""

    def __init__(self, reader: Mapping[str, Any], token: str) -> None:
        inputs = reader.get("input_columns")
        inputs = [inputs] if isinstance(inputs, str) else inputs
        self.inputs: Final = set(map(str, inputs)) if isinstance(inputs, list | tuple) else None
        output = reader.get("output_column")
        self.output: Final = output if isinstance(output, str) else ""
        self.token: Final = token
        self.read: dict[str, None] = {}

    def pieces(self, text: str) -> Iterator[Piece]:
        """The pieces of a text: its fields are inputs, and the answer's is empty, as OpenCompass masks it."""
        if self.token:
            text = text.replace(self.token, "")
        position = 0
        for match in _COLUMN.finditer(text):
            name = match[1]
            known = self.inputs is None or name in self.inputs or name == self.output
            if not known or name in RESERVED:
                continue
            yield Piece("text", text[position : match.start()])
            position = match.end()
            if name != self.output:
                self.read[name] = None
                yield Piece("input", f"{name} | string")
        yield Piece("text", text[position:])


def _token(template: Mapping[str, Any]) -> str:
    token = template.get("ice_token")
    return token if isinstance(token, str) else ""


def _from_template(template: Any, columns: _Columns) -> tuple[Message, ...]:
    if isinstance(template, str):
        return (Message("user", tuple(columns.pieces(template))),)
    if not isinstance(template, Mapping):
        raise Failure("the `template` is neither a text nor a dialogue")
    if not set(template) <= _DIALOGUE:
        raise Failure(
            "the template has one prompt for each label, which a parts template cannot have",
            remedy="convert the template of one label",
        )
    turns = []
    for key in ("begin", "round", "end"):
        section = template.get(key) or []
        turns += section if isinstance(section, list) else [section]
    return tuple(_turns(turns, columns, "prompt"))


def _turns(turns: list[Any], columns: _Columns, key: str) -> Iterator[Message]:
    for turn in turns:
        if isinstance(turn, str):
            if columns.token and turn.strip() == columns.token:
                continue
            yield Message("user", tuple(columns.pieces(turn)))
        elif isinstance(turn, Mapping):
            role = str(turn.get("role", "HUMAN"))
            text = turn.get(key, "")
            pieces = tuple(columns.pieces(text)) if isinstance(text, str) else ()
            yield Message(_ROLES.get(role, role.lower()), tuple(piece for piece in pieces if piece.text))


def _lost(infer: Mapping[str, Any]) -> Iterator[str]:
    """What of `infer_cfg` says how to ask, and not what."""
    retriever = infer.get("retriever")
    kind = retriever.get("type") if isinstance(retriever, Mapping) else retriever
    if kind is not None and "ZeroRetriever" not in str(kind):
        yield f"the in-context examples that `{kind}` chooses"
    inferencer = infer.get("inferencer")
    kind = inferencer.get("type") if isinstance(inferencer, Mapping) else inferencer
    if kind is not None and "GenInferencer" not in str(kind):
        yield f"the inferencer `{kind}`: a parts template asks for an answer, and compares no labels"
