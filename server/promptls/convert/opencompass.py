"""Evaluation prompts of OpenCompass, read as a conversation, and configurations in Python, read unrun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptls.convert.conversation import RESERVED, Conversation, Converted, Message, MessagePiece
from promptls.convert.parts_template import flow
from promptls.convert.python_interpreter import Files, Interpreter, Names, parse_configuration
from promptls.convert.python_values import as_data
from promptls.dialects.opencompass.vocabulary import CHAT_ROLES, DIALOGUE_KEYS
from promptls.text.errors import UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean

_COLUMN: Final = re.compile(r"\{([^\W\d]\w*)\}")


def read_opencompass(mapping: Mapping[str, Any]) -> Conversation:
    """Return the prompt that OpenCompass sends for one row, without in-context examples.

    Raises UserError for other prompts.
    """
    infer = mapping.get("infer_cfg", mapping)
    reader = mapping.get("reader_cfg")
    if not isinstance(infer, Mapping):
        raise UserError("`infer_cfg` is not a mapping")
    template = infer.get("prompt_template") or infer.get("ice_template")
    if not isinstance(template, Mapping):
        raise UserError(
            "there is neither a `prompt_template` nor an `ice_template`", remedy="add the template"
        )
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
    """The columns that a template's fields reference; `read` are the columns used so far, in order."""

    def __init__(self, reader: Mapping[str, Any], token: str) -> None:
        inputs = reader.get("input_columns")
        inputs = [inputs] if isinstance(inputs, str) else inputs
        self.inputs: Final = set(map(str, inputs)) if isinstance(inputs, list | tuple) else None
        output = reader.get("output_column")
        self.output: Final = output if isinstance(output, str) else ""
        self.token: Final = token
        self.read: dict[str, None] = {}

    def pieces(self, text: str) -> Iterator[MessagePiece]:
        """Yield the pieces of a text: fields are inputs, except for the answer, which OpenCompass masks."""
        if self.token:
            text = text.replace(self.token, "")
        position = 0
        for match in _COLUMN.finditer(text):
            name = match[1]
            known = self.inputs is None or name in self.inputs or name == self.output
            if not known or name in RESERVED:
                continue
            yield MessagePiece("text", text[position : match.start()])
            position = match.end()
            if name != self.output:
                self.read[name] = None
                yield MessagePiece("input", f"{name} | string")
        yield MessagePiece("text", text[position:])


def _token(template: Mapping[str, Any]) -> str:
    token = template.get("ice_token")
    return token if isinstance(token, str) else ""


def _from_template(template: Any, columns: _Columns) -> tuple[Message, ...]:
    if isinstance(template, str):
        return (Message("user", tuple(columns.pieces(template))),)
    if not isinstance(template, Mapping):
        raise UserError("the `template` is neither a text nor a dialogue")
    if not template.keys() <= DIALOGUE_KEYS.keys():
        raise UserError(
            "the template has one prompt for each label, which a parts template cannot have",
            remedy="convert the template of one label",
        )
    turns = []
    for key in DIALOGUE_KEYS:
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
            yield Message(CHAT_ROLES.get(role, role.lower()), tuple(piece for piece in pieces if piece.text))


def _lost(infer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of `infer_cfg` that are lost: the retriever and the inferencer."""
    retriever = infer.get("retriever")
    kind = retriever.get("type") if isinstance(retriever, Mapping) else retriever
    if kind is not None and "ZeroRetriever" not in str(kind):
        yield f"the in-context examples that `{kind}` chooses"
    inferencer = infer.get("inferencer")
    kind = inferencer.get("type") if isinstance(inferencer, Mapping) else inferencer
    if kind is not None and "GenInferencer" not in str(kind):
        yield f"the inferencer `{kind}`: a parts template asks for an answer, and compares no labels"


_MAX_INLINE: Final = 90
"""The maximum length of a mapping or list on its key's line, in characters."""
_ORDER: Final = ("infer_cfg", "eval_cfg", "models", "path", "name", "reader_cfg", "abbr")
"""Top-level keys: the texts come first, and values without long texts at the end."""
_JINJA: Final = ("{{", "{%", "{#")


def evaluation_prompt(dataset: Mapping[str, Any], lost: tuple[str, ...]) -> Converted:
    """Return the dataset as an evaluation prompt; `lost` is what could not be converted."""
    keys = [key for key in _ORDER if key in dataset]
    lines = [line for key in keys for line in _entry(key, dataset[key], "")]
    return Converted("\n".join(lines) + "\n", lost)


def _entry(key: Any, value: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a key with its value, at an indentation."""
    name = flow(key)
    block = _block(value, indent)
    if block is not None:
        yield f"{indent}{name}: {block}"
        return
    short = f"{indent}{name}: {flow(value)}"
    if not _is_nested(value) or (len(short) <= _MAX_INLINE and _is_flat(value)):
        yield short
        return
    yield f"{indent}{name}:"
    yield from _nested(value, indent + "  ")


def _nested(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _entry(key, entry, indent)
        return
    for item in value:
        short = f"{indent}- {flow(item)}"
        block = _block(item, indent)
        if block is not None:
            yield f"{indent}- {block}"
        elif not _is_nested(item) or (len(short) <= _MAX_INLINE and _is_flat(item)):
            yield short
        else:
            first, *rest = _nested(item, indent + "  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _is_flat(value: Any) -> bool:
    """Return whether the value contains no text that would be more readable on lines of its own."""
    if isinstance(value, dict):
        return all(map(_is_flat, value.values()))
    if isinstance(value, list):
        return all(map(_is_flat, value))
    return not isinstance(value, str) or "\n" not in value


def _block(value: Any, indent: str) -> str | None:
    """Return a multi-line text as a block scalar; None for others, and if a block would change the text."""
    if not isinstance(value, str) or "\n" not in value.strip("\n") or any(mark in value for mark in _JINJA):
        return None
    lines = value.split("\n")
    if not all(line.isprintable() for line in lines) or lines[0][:1] in {"", " "}:
        return None
    body = value.rstrip("\n")
    ending = len(value) - len(body)
    style = {0: "|-", 1: "|"}.get(ending, "|+")
    inner = indent + "  "
    shown = "\n".join(f"{inner}{line}" if line else "" for line in body.split("\n"))
    return f"{style}\n{shown}" + "\n" * max(0, ending - 1)


_DATASET_KEYS: Final = ("abbr", "name", "path", "reader_cfg", "infer_cfg", "eval_cfg")
_MODEL_KEYS: Final = ("type", "max_seq_len", "meta_template")
_INFER: Final = "infer_cfg"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The datasets of a file, each a mapping with `infer_cfg`, and its models.

    `unread` are expressions that could not be evaluated, and `missing` the configuration modules that were
    not found.
    """

    datasets: tuple[Mapping[str, Any], ...]
    unread: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()

    def chosen(self, name: str | None) -> Mapping[str, Any]:
        """Return the dataset with a name, or the first; raises UserError that suggests the closest name."""
        names = self.names()
        if name is None:
            return self.datasets[0]
        if name not in names:
            message = f"the file configures no dataset `{name}`{did_you_mean(name, names)}"
            raise UserError(message, remedy=f"choose one of {in_code(names)}")
        return self.datasets[names.index(name)]

    def names(self) -> tuple[str, ...]:
        """Return the names of the datasets: `abbr`, else `name`, else their index."""
        return tuple(
            str(each.get("abbr") or each.get("name") or number)
            for number, each in enumerate(self.datasets, start=1)
        )


def read_configuration(text: str, files: Files | None = None) -> Configuration:
    """Return the datasets that the file configures; raises UserError if there are none.

    They are the items of `datasets`, as in OpenCompass, else of the lists whose names end in `_datasets`;
    without such a list, one dataset is composed of the variables that end in `infer_cfg`, `reader_cfg` and
    `eval_cfg`.
    """
    interpreter = Interpreter(files)
    names = interpreter.read(parse_configuration(text))
    own = names.get("datasets")
    lists = {"datasets": own} if isinstance(own, list | tuple) else names
    found = list(_from_lists(lists)) or list(_from_lists(names)) or list(_from_variables(names))
    missing = tuple(interpreter.missing)
    if not found:
        if missing:
            raise UserError(
                f"the file configures no dataset, as `{missing[0]}` is not found",
                remedy="install OpenCompass where promptls runs, or let the setting `opencompass` name the "
                "folder of its checkout",
            )
        raise UserError(
            "the file configures no dataset with an `infer_cfg`",
            remedy="it needs a variable whose name ends in `infer_cfg`, or in `_datasets`",
        )
    datasets = tuple(as_data({key: each[key] for key in _DATASET_KEYS if key in each}) for each in found)
    models = tuple(map(_as_model, _dicts_in(names.get("models"))))
    written = str(datasets) + str(models)
    unread = [source for source in interpreter.unread if source in written]
    whole = (each for each in unread if not any(each != other and each in other for other in unread))
    return Configuration(datasets, tuple(whole), models, missing)


def datasets_in(names: Names) -> list[dict[str, Any]]:
    """Return every dataset among the variables of a file.

    Without one, the configurations that end in `infer_cfg`, each with the reader whose name differs only in
    its last word. For configurations that are copied into datasets, the copies are used.
    """
    listed = list(_from_lists(names))
    if listed:
        return listed
    found = []
    for name, value in names.items():
        if name.endswith(_INFER) and isinstance(value, dict):
            reader = names.get(f"{name.removesuffix(_INFER)}reader_cfg")
            found.append({_INFER: value, **({"reader_cfg": reader} if isinstance(reader, dict) else {})})
    return found


def models_among(names: Names) -> list[dict[str, Any]]:
    """Return the models in lists whose names end in `models`."""
    lists = [value for name, value in names.items() if name.endswith("models")]
    return [model for items in lists for model in _dicts_in(items)]


def _dicts_in(items: Any) -> list[dict[str, Any]]:
    """Return the mappings in a list, without duplicates."""
    found = items if isinstance(items, list | tuple) else ()
    return list({id(each): each for each in found if isinstance(each, dict)}.values())


def _as_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model that affect its prompts, with its OpenCompass name."""
    name = model.get("abbr") or "_".join(str(model.get("path", "")).split("/")[-2:])
    settings: dict[str, Any] = as_data({key: model[key] for key in _MODEL_KEYS if key in model})
    return {"abbr": str(name), **settings}


def _from_lists(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the datasets in lists whose names end in `datasets`, without duplicates."""
    seen: set[int] = set()
    for name, value in names.items():
        if not name.endswith("datasets") or not isinstance(value, list | tuple):
            continue
        for each in value:
            if isinstance(each, dict) and isinstance(each.get(_INFER), dict) and id(each) not in seen:
                seen.add(id(each))
                yield each


def _from_variables(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the single dataset of a file that sets only the configurations."""
    found: dict[str, Any] = {}
    for name, value in names.items():
        for key in (_INFER, "reader_cfg", "eval_cfg"):
            if name.endswith(key) and isinstance(value, dict):
                found.setdefault(key, value)
    if _INFER in found:
        yield found
