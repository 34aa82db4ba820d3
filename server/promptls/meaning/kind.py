"""What kind of file a text is, as far as the text alone can tell."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from promptls.meaning.bare_parts import has_keys_of_prompts, is_file_like, is_prompt_like
from promptls.meaning.header_text import begins_header
from promptls.meaning.object_marks import are_of_object
from promptls.meaning.parts import Part, chunk_items
from promptls.meaning.usual_frame import in_usual_frame
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import united
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.opencompass.evaluation_keys import EVALUATION_KEYS, INFER_KEYS
from promptls.systems.prompt_poet.vocabulary import PART_KEYS, ROLES
from promptls.systems.ragas.vocabulary import METRIC_FILE_KEYS, NEWER_FILE_KEYS

_KEY_LINE: Final = re.compile(r"^(?:- |  )([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)
_TOP_KEY_LINE: Final = re.compile(r"^([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)
_COLONLESS_KEY: Final = re.compile(r"^(?:- |  )(name|role|content|sections)[ \t]+[|>\"'\[{]", re.MULTILINE)
"""A key of a part that lacks its colon: what stands behind it can only be its value."""
_DASHED_PART: Final = re.compile(
    r"^-\t*(?:name|role|content|sections|truncation_priority)[ ]*:.*(?:\r\n|\n|\r)"
    r"(?:[ \t]+.*(?:\r\n|\n|\r))*?[ \t]+(?:content|sections)[ ]*:",
    re.MULTILINE,
)
"""A part whose dash lacks the space behind it."""
_INDENTED_ITEM: Final = re.compile(r"^([ ]+)- [A-Za-z_]\w*[ \t]*:", re.MULTILINE)
"""The key behind the dash of a list that does not begin in the first column."""
_TEXT_KEYS: Final = frozenset({"content", "sections", "truncation_priority"})
"""Keys of which no other list of names and roles has one."""
_MODEL_ROLE: Final = re.compile(rf"^[ ]+role[ ]*:[ ]*['\"]?(?:{'|'.join(ROLES)}|\{{)", re.MULTILINE)
_OBJECT_KEYS: Final = frozenset({"input_keys", "output_key", "output_type", "examples"})
_EVALUATION_MARKS: Final = frozenset({"infer_cfg", "ice_template", "prompt_template"})
_OWN_EVALUATION_KEYS: Final = frozenset(
    {"infer_cfg", "ice_template", "retriever", "inferencer", "reader_cfg", "eval_cfg"}
)
"""Keys beside a `prompt_template` that no other program has."""
_TEMPLATE_MARKS: Final = frozenset({"template", "type", "ice_token", "begin", "round", "end"})
_JSON_EVALUATION_KEYS: Final = frozenset({*EVALUATION_KEYS, *INFER_KEYS, ""})
"""With the empty key of which nothing has been written yet."""
_MOST_OTHERS: Final = 0.5


class Kind(Enum):
    """The kinds of prompt files; the values are the words that users read."""

    PARTS = "parts template"
    SECTION = "section"
    TEXT = "text section"
    OBJECT = "prompt object"
    EVALUATION = "evaluation prompt"
    PROGRAM = "program"
    """Python that loads prompts: no text is of this kind by itself."""
    OTHER = "no prompt file"


def kind_of(source: Source, *, has_header: bool) -> Kind:
    """The kind of a file by its own text; only its includers can tell that it is a section of either kind."""
    if not source.has_jinja:
        return _json_kind(top_keys(source))
    if source.at_items or any(isinstance(root, Sequence) for root in chunk_yaml(source.first_chunk).roots):
        return _list_kind(source, has_header=has_header)
    if not has_header and _is_header_open(source):
        # What stands below is the header that is being written, and no prompt object.
        return Kind.PARTS
    keys = top_keys(source)
    if "instruction" in keys and are_of_object(keys):
        return Kind.OBJECT
    if _is_evaluation(source, keys):
        return Kind.EVALUATION
    if len(keys & _OBJECT_KEYS) > 1 or keys >= METRIC_FILE_KEYS:
        return Kind.OBJECT
    if has_header or _DASHED_PART.search(source.first_chunk.text) or _has_indented_parts(source.first_chunk):
        return Kind.PARTS
    return Kind.OTHER


def chosen_kind(source: Source) -> Kind:
    """The kind of a file that somebody says is a prompt, although it does not look like one."""
    return Kind.OBJECT if "instruction" in top_keys(source) else Kind.PARTS


def _is_evaluation(source: Source, keys: frozenset[str]) -> bool:
    """Whether a mapping is an evaluation prompt.

    Others have a `prompt_template` too, a text or a list of messages, so that one alone must look as
    OpenCompass wants it.
    """
    if "prompt_template" not in keys or keys & _OWN_EVALUATION_KEYS:
        return bool(keys & _EVALUATION_MARKS)
    values = [
        value
        for chunk in source.chunks
        for root in chunk_yaml(chunk).roots
        if isinstance(root, Mapping) and (value := root.merged("prompt_template")) is not None
    ]
    if any(isinstance(value, Mapping) for value in values):
        found = {
            key for value in values if isinstance(value, Mapping) for key in map(key_text, value.entries)
        }
        return bool(found & _TEMPLATE_MARKS) or keys <= _JSON_EVALUATION_KEYS
    return (
        keys <= _JSON_EVALUATION_KEYS
        and not any(scalar_text(value) for value in values)
        and not any(isinstance(value, Sequence) for value in values)
    )


def _is_header_open(source: Source) -> bool:
    """Whether a header is being written that nothing closes yet."""
    first = next(iter(source.first_chunk.tags), None)
    text = source.first_chunk.text.lstrip("\ufeff \t\r\n")
    return begins_header(text) and (first is None or bool(first.unclosed))


def _has_indented_parts(chunk: Chunk) -> bool:
    """Whether a text whose YAML is broken is a list of parts that does not begin in the first column."""
    item = _INDENTED_ITEM.search(chunk.text)
    if item is None or not chunk_yaml(chunk).problems or _TOP_KEY_LINE.search(chunk.text):
        return False
    keys = set(re.findall(rf"^{item[1]}(?:- |  )([A-Za-z_]\w*)[ \t]*:", chunk.text, re.MULTILINE))
    return "content" in keys and "name" in keys and keys <= set(PART_KEYS)


def _json_kind(keys: frozenset[str]) -> Kind:
    """The kind of a JSON file: other programs have JSON files too, so that one mark is not enough."""
    if "instruction" in keys and keys & (_OBJECT_KEYS | NEWER_FILE_KEYS) and are_of_object(keys):
        return Kind.OBJECT
    if keys >= METRIC_FILE_KEYS:
        return Kind.OBJECT
    is_evaluation = "infer_cfg" in keys or (keys & _EVALUATION_MARKS and keys & {"retriever", "inferencer"})
    return Kind.EVALUATION if is_evaluation and keys <= _JSON_EVALUATION_KEYS else Kind.OTHER


def top_keys(source: Source) -> frozenset[str]:
    """The keys of the mapping under the Jinja; by their lines where its YAML is broken."""
    found: set[str] = set()
    for chunk in source.chunks:
        yaml = chunk_yaml(chunk)
        for root in yaml.roots:
            if isinstance(root, Mapping):
                found |= {key for entry in root.entries if (key := key_text(entry)) is not None}
        if not yaml.roots:
            found |= set(_TOP_KEY_LINE.findall(chunk.text))
    return frozenset(found)


def _list_kind(source: Source, *, has_header: bool) -> Kind:
    if has_header:
        return Kind.PARTS
    found = _item_counts(source.root)
    if not found.likely or found.unlikely > _MOST_OTHERS * (found.likely + found.unlikely):
        return Kind.OTHER
    return Kind.PARTS if found.prompts or not (found.files or found.unlikely > found.texts) else Kind.OTHER


class _Items(NamedTuple):
    """How many list items look like parts and how many do not.

    Of those that do, how many say that they are of a prompt, and how many look like files or secrets; of
    those that do not, how many are no mappings.
    """

    likely: int = 0
    unlikely: int = 0
    prompts: int = 0
    files: int = 0
    texts: int = 0


def _is_incomplete(part: Part) -> bool:
    """Whether nobody can tell yet what an item is: it is being written, or takes keys from another one."""
    return len(part.entries) <= 1 or part.entry("<<") is not None


def _counts(chunk: Chunk) -> _Items:
    """What the list items of a chunk look like; by their lines where YAML is broken."""
    items = chunk_items(chunk)
    is_broken = bool(chunk_yaml(chunk).problems)
    colonless = _COLONLESS_KEY.findall(chunk.text) if is_broken else []
    if not colonless and (items.others or any(part.is_whole or part.is_likely for part in items.parts)):
        likely = [part for part in items.parts if part.is_likely or has_keys_of_prompts(chunk, part)]
        incomplete = sum(_is_incomplete(part) and not part.is_likely for part in items.parts)
        unlikely = len(items.parts) - len(likely) - incomplete + len(items.others)
        prompts = sum(is_prompt_like(chunk, part) for part in likely)
        files = sum(is_file_like(chunk, part) for part in likely)
        return _Items(len(likely), unlikely, prompts, files, len(items.others))
    if not is_broken:
        return _Items()
    keys = {*_KEY_LINE.findall(chunk.text), *colonless}
    if keys & _TEXT_KEYS and keys <= set(PART_KEYS) and len(keys) > 1:
        return _Items(1, 0, 1, 0)
    if {"name", "role"} <= keys <= set(PART_KEYS) and _MODEL_ROLE.search(chunk.text):
        return _Items(1, 0, 1, 0)
    usual = in_usual_frame(chunk.text)
    return _item_counts(Source.of(usual).root) if usual is not None else _Items()


_item_counts: Final = united(
    _counts, lambda counts: _Items(*(sum(numbers) for numbers in zip(*counts, strict=True)))
)
