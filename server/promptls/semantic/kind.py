"""Determine the kind of a file by its text alone."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.dialects.opencompass.vocabulary import EVALUATION_KEYS, INFER_KEYS
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES
from promptls.dialects.ragas.prompt_object import NEWER_FILE_KEYS, PROMPT_KEYS
from promptls.dialects.ragas.saved_prompt import is_metric_file, is_saved_file
from promptls.dialects.ragas.saved_prompt_keys import saved_keys
from promptls.semantic.header import begins_header
from promptls.semantic.parts import Part, chunk_items
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Filter, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.language import Host
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.nodes import Mapping, Scalar, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.suggest import is_close

_CERTAIN: Final = frozenset({"input_keys", "output_key", "output_type", "<<", *NEWER_FILE_KEYS})
"""Keys that files of other programs never have next to an `instruction`; a merge may add any of them."""
_KNOWN: Final = frozenset({*PROMPT_KEYS, *HEADER_KEYS})
_SAVED_KEYS: Final = frozenset(saved_keys("simple prompt", ()))
"""Keys that are allowed next to `examples` in a file in Ragas's saved format."""


@lru_cache(maxsize=256)
def _are_of_object(keys: frozenset[str]) -> bool:
    """Return whether a mapping with these keys, including `instruction`, is a prompt object.

    Agents, tasks and skills of other programs have an `instruction` too. They can be recognized by keys
    that prompt objects do not have; if there is such a key, there must also be one that only prompt objects
    have, or a typo of one.
    """
    unknown = keys - _KNOWN - (_SAVED_KEYS if "examples" in keys else frozenset())
    if keys & _CERTAIN or not unknown:
        return True
    if any(is_close(key, each) for key in unknown for each in _CERTAIN):
        return True
    return all(any(is_close(key, each) for each in _KNOWN) for key in unknown)


_KEYS: Final = "|".join(PART_KEYS)
_DASH: Final = re.compile(rf"^-[ \t]*({_KEYS})[ ]*:[ ]*(?=\S|$)", re.MULTILINE)
_KEY: Final = re.compile(rf"^(?:[ ]{{1,3}}|[ ]*\t[ \t]*)({_KEYS})[ ]*:", re.MULTILINE)
_TABS: Final = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)


def _in_usual_frame(text: str) -> str | None:
    """Return the text with the keys of its parts at their usual indentation.

    None if that is the text itself.
    """
    found = _DASH.sub(r"- \1: ", text)
    found = _KEY.sub(r"  \1:", found)
    found = _TABS.sub("    ", found)
    return found if found != text else None


_PERSON_KEYS: Final = frozenset({"name", "role"})
"""Keys that items in a list of people have as well."""
_BARE: Final = frozenset({"name", "content", None})
_PROMPT_POET: Final = re.compile(r"escape_special_characters|<\|space\|>|\btoken_limit\b")
_PROSE: Final = re.compile(
    r"(?<![^\W\d_])[^\W\d_]{2,}(?:[ ,]+[^\W\d_][\w']*){3,}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{8}"
)
"""Four consecutive words, or a sentence in a script without spaces.

A match begins at the start of a word: trying each letter of a very long word would take quadratic time.
"""
_SENTENCE: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:[ ,]+[^\W\d_][\w']*){7,}")
"""A sentence, which marks a prompt regardless of the item's name."""
_FILE: Final = re.compile(
    r"^[/.~]|/|^[\w.-]+\.[a-z][a-z0-9]{0,5}$|^id_(?:rsa|ed25519|ecdsa)|^[A-Z][A-Z0-9]*_[A-Z0-9_]+$"
    r"|^(?:motd|issue|hosts|fstab|crontab|sudoers|haproxy|nginx)$"
)
"""Names of files and of environment variables."""
_SECRET: Final = re.compile(
    r"(?:^|[^a-z])(?:pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|creds?|credentials?|keys?|apikey|certs?"
    r"|certificates?|ca|tls|ssl|ssh|vault|lookup|hostvars|ansible|groups|inventory)(?:$|[^a-z])",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"(?:^|[^a-z])(?:pass(?:word|wd|phrase)?|pwd|secrets?|credentials?|(?:api|private|access|secret)_?key"
    r"|vault|hostvars|ansible|inventory_hostname)(?:$|[^a-z])",
    re.IGNORECASE,
)
"""Names of secrets in an expression; names about models may contain tokens and keys too."""
_FOREIGN_FILTERS: Final = frozenset({"b64encode", "b64decode", "password_hash", "unvault", "vault", "quote"})
_MODEL_KEYS: Final = frozenset(
    {"temperature", "max_tokens", "top_p", "token_limit", "truncation_step", "cache_control", "tool_call_id"}
)
"""Keys about a model that no part has."""
_TEXT_NAMES: Final = frozenset(
    {
        "priority",
        "description",
        "weight",
        "model",
        "prompt",
        "instructions",
        "examples",
        "truncate",
        "truncation",
    }
)
"""Common names for texts for a model, and for other things."""
_GO_TAG: Final = re.compile(
    r"\{\{-?\s*(?:\.[A-Za-z]|(?:if|range|with|end|define|template|include)\b(?!\s*[|(}=]))"
)
"""Tags of Go templates, as in Helm."""
_CERTIFICATE: Final = "-----BEGIN "


def _is_prompt_like(chunk: Chunk, part: Part) -> bool:
    """Return whether an item is a part of a prompt by its keys, name or text."""
    keys = {key_text(entry) for entry in part.entries}
    if keys == _PERSON_KEYS:
        return False
    if not part.is_whole or keys & _MODEL_KEYS or keys & set(PART_KEYS) - _BARE:
        return True
    if _PROMPT_POET.search(chunk.text, part.span.start, max(part.span.end, part.span.start)):
        return True
    text = _literal(chunk, part)
    return bool(_SENTENCE.search(text)) or (not _is_file_like(chunk, part) and bool(_PROSE.search(text)))


def _has_keys_of_prompts(chunk: Chunk, part: Part) -> bool:
    """Return whether an item with unknown keys is a part anyway, by those keys or its text."""
    keys = {key for entry in part.entries if (key := key_text(entry)) is not None}
    if not {"name", "content"} <= keys or not part.is_whole or _is_file_like(chunk, part):
        return False
    others = keys - set(PART_KEYS)
    if others <= _MODEL_KEYS or _PROMPT_POET.search(chunk.text, part.span.start, part.span.end):
        return True
    return others <= _MODEL_KEYS | _TEXT_NAMES and bool(_SENTENCE.search(_literal(chunk, part)))


def _is_file_like(chunk: Chunk, part: Part) -> bool:
    """Return whether an item looks like a secret or a file of a different program."""
    if _GO_TAG.search(chunk.text, part.span.start, max(part.span.end, part.span.start)):
        return True
    name = part.value("name")
    text = name.text if isinstance(name, Scalar) and not name.dynamic else ""
    if " " in text.strip():
        return False
    if _FILE.search(text) or _SECRET.search(text):
        return True
    value = part.value("content")
    if not isinstance(value, Scalar):
        return False
    if _CERTIFICATE in value.text:
        return True
    tags = [tag for tag in chunk.tags if tag.kind == "output" and value.span.covers(tag.span.start)]
    if len(tags) != 1 or _literal(chunk, part).strip("\"' \r\n|>-"):
        return False
    return any(
        _is_of_deployment(node)
        for tag in tags
        for expression in tag_tree(tag).statement.expressions
        for node in walk(expression)
    )


def _is_of_deployment(node: Expression) -> bool:
    """Return whether an expression is typical of deployments: a secret's name, or a filter of Ansible."""
    match node:
        case Name(name=name) | Attribute(name=name):
            return bool(_SECRET_VALUE.search(name))
        case Filter(name=name):
            return name in _FOREIGN_FILTERS
        case Call(function=Name(name=name)):
            return name in {"lookup", "query"}
        case _:
            return False


def _literal(chunk: Chunk, part: Part) -> str:
    """Return the text of an item's content without its tags."""
    value = part.value("content")
    if not isinstance(value, Scalar):
        return ""
    pieces = []
    position = value.span.start
    for tag in chunk.tags:
        if value.span.covers(tag.span.start):
            pieces.append(chunk.text[position : tag.span.start])
            position = tag.span.end
    return "\n".join([*pieces, chunk.text[position : value.span.end]])


KEY_LINE: Final = re.compile(r"^(?:- |  )([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)
"""A key of a part, at the beginning of its line."""
_TOP_KEY_LINE: Final = re.compile(r"^([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)
_COLONLESS_KEY: Final = re.compile(r"^(?:- |  )(name|role|content|sections)[ \t]+[|>\"'\[{]", re.MULTILINE)
"""A key of a part that lacks its colon: the text after it can only be its value."""
_DASHED_PART: Final = re.compile(
    r"^-\t*(?:name|role|content|sections|truncation_priority)[ ]*:.*(?:\r\n|\n|\r)"
    r"(?:[ \t]+.*(?:\r\n|\n|\r))*?[ \t]+(?:content|sections)[ ]*:",
    re.MULTILINE,
)
"""A part whose dash lacks the following space."""
_INDENTED_ITEM: Final = re.compile(r"^([ ]+)- [A-Za-z_]\w*[ \t]*:", re.MULTILINE)
"""The key after the dash of a list that does not begin in the first column."""
_INDENTED_PART: Final = re.compile(
    r"\A(?:[ ]*(?:\{[%#].*[%#]\}[ ]*)?(?:\r\n|\n|\r))*[ ]+- name[ ]*:.*(?:\r\n|\n|\r)"
    r"(?:  (?:role|truncation_priority)[ ]*:.*(?:\r\n|\n|\r))*  (?:content|sections)[ ]*:"
)
"""A first part whose dash is indented too far, unlike its other keys."""
_TEXT_KEYS: Final = frozenset({"content", "sections", "truncation_priority"})
"""Keys that other lists of names and roles do not have."""
_MODEL_ROLE: Final = re.compile(rf"^[ ]+role[ ]*:[ ]*['\"]?(?:{'|'.join(ROLES)}|\{{)", re.MULTILINE)
_OBJECT_KEYS: Final = frozenset({"input_keys", "output_key", "output_type", "examples"})
_EVALUATION_MARKS: Final = frozenset({"infer_cfg", "ice_template", "prompt_template"})
_OWN_EVALUATION_KEYS: Final = frozenset(
    {"infer_cfg", "ice_template", "retriever", "inferencer", "reader_cfg", "eval_cfg"}
)
"""Keys next to a `prompt_template` that other programs do not use."""
_TEMPLATE_MARKS: Final = frozenset({"template", "type", "ice_token", "begin", "round", "end"})
_JSON_EVALUATION_KEYS: Final = frozenset({*EVALUATION_KEYS, *INFER_KEYS, ""})
"""Includes the empty key, for a key that is still being typed."""
_MAX_OTHERS: Final = 0.5


class Kind(Enum):
    """The kinds of prompt files; the values are shown to users."""

    PARTS = "parts template"
    SECTION = "section"
    TEXT = "text section"
    OBJECT = "prompt object"
    EVALUATION = "evaluation prompt"
    PROGRAM = "program"
    """Python that loads prompts; never the kind of a template."""
    DATA = "data file"
    """A file that a prompt names as its `samples` or a `dataset`; never the kind of a template."""
    OTHER = "no prompt file"


def kind_of(source: Source, *, has_header: bool) -> Kind:
    """Return the kind of a file by its own text.

    Whether it is a section of either kind can only be determined from its includers.
    """
    if source.language.host is Host.JSON:
        return _json_kind(top_keys(source))
    if source.layout is Layout.LIST or _is_list(source):
        return _list_kind(source, has_header=has_header)
    if not has_header and _is_header_open(source):
        # The text below is an incomplete header, not a prompt object.
        return Kind.PARTS
    keys = top_keys(source)
    if "instruction" in keys and _are_of_object(keys):
        return Kind.OBJECT
    if _is_evaluation(source, keys):
        return Kind.EVALUATION
    if len(keys & _OBJECT_KEYS) > 1 or is_metric_file(keys):
        return Kind.OBJECT
    if has_header or _DASHED_PART.search(source.whole.text) or _has_indented_parts(source.whole):
        return Kind.PARTS
    return Kind.OTHER


def _is_list(source: Source) -> bool:
    return source.layout is Layout.WHOLE and any(isinstance(root, Sequence) for root in source.yaml.roots)


def chosen_kind(source: Source) -> Kind:
    """Return the kind of a file that is declared to be a prompt, although it does not look like one."""
    return Kind.OBJECT if "instruction" in top_keys(source) else Kind.PARTS


def _is_evaluation(source: Source, keys: frozenset[str]) -> bool:
    """Return whether a mapping is an evaluation prompt.

    Other files have a `prompt_template` too, which is a text or a list of messages, so that a lone one must
    have the format of OpenCompass.
    """
    if "prompt_template" not in keys or keys & _OWN_EVALUATION_KEYS:
        return bool(keys & _EVALUATION_MARKS)
    values = [
        value
        for root in source.yaml.roots
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
    """Return whether the file has an unclosed header."""
    first = next(iter(source.first_chunk.tags), None)
    text = source.first_chunk.text.lstrip("\ufeff \t\r\n")
    return begins_header(text) and (first is None or bool(first.unclosed))


def _has_indented_parts(chunk: Chunk) -> bool:
    """Return whether broken YAML is a list of parts that does not begin in the first column."""
    item = _INDENTED_ITEM.search(chunk.text)
    if item is None or not chunk_yaml(chunk).problems or _TOP_KEY_LINE.search(chunk.text):
        return False
    if _INDENTED_PART.match(chunk.text):
        return True
    keys = set(re.findall(rf"^{item[1]}(?:- |  )([A-Za-z_]\w*)[ \t]*:", chunk.text, re.MULTILINE))
    return "content" in keys and "name" in keys and keys <= set(PART_KEYS)


_JSON_KEY: Final = re.compile(
    r'"(instruction|input_keys|output_key|output_type|examples|infer_cfg|format_version|original_hash'
    r'|metric_type|allowed_values|response_model_info)"[ \t]*:'
)
_MIN_KEYS: Final = 3
"""The number of prompt object keys that identify a broken file as a prompt object."""


def has_keys_of_objects(text: str) -> bool:
    """Return whether JSON, which may be broken, has so many keys of prompt objects that it is one."""
    keys = {match[1] for match in _JSON_KEY.finditer(text)}
    return "instruction" in keys and len(keys) >= _MIN_KEYS


def _json_kind(keys: frozenset[str]) -> Kind:
    """Return the kind of a JSON file; other programs use JSON too, so one characteristic is not enough."""
    own = keys & (_OBJECT_KEYS | NEWER_FILE_KEYS)
    if "instruction" in keys and own and _are_of_object(keys):
        return Kind.OBJECT
    if len(own - {"instruction"}) > 1 and any(is_close(key, "instruction") for key in keys - own):
        return Kind.OBJECT
    if is_saved_file(keys):
        return Kind.OBJECT
    is_evaluation = "infer_cfg" in keys or (keys & _EVALUATION_MARKS and keys & {"retriever", "inferencer"})
    return Kind.EVALUATION if is_evaluation and keys <= _JSON_EVALUATION_KEYS else Kind.OTHER


def top_keys(source: Source) -> frozenset[str]:
    """Return the keys of the mapping under the Jinja; found line by line if its YAML is broken."""
    return _top_keys(source.root)


def _keys_of(chunk: Chunk) -> frozenset[str]:
    yaml = chunk_yaml(chunk)
    if not yaml.roots:
        return frozenset(_TOP_KEY_LINE.findall(chunk.text))
    mappings = [root for root in yaml.roots if isinstance(root, Mapping)]
    keys = [key_text(entry) for root in mappings for entry in root.entries]
    return frozenset([key for key in keys if key is not None])


_top_keys: Final = summary(_keys_of, union)


def _list_kind(source: Source, *, has_header: bool) -> Kind:
    if has_header:
        return Kind.PARTS
    found = _item_counts(source.root)
    if not found.likely or found.unlikely > _MAX_OTHERS * (found.likely + found.unlikely):
        return Kind.OTHER
    return Kind.PARTS if found.prompts or not (found.files or found.unlikely > found.texts) else Kind.OTHER


class _Items(NamedTuple):
    """How many list items look like parts, and how many do not.

    Of those that do, how many look like parts of a prompt, and how many like files or secrets; of those that
    do not, how many are not mappings.
    """

    likely: int = 0
    unlikely: int = 0
    prompts: int = 0
    files: int = 0
    texts: int = 0


def _is_incomplete(part: Part) -> bool:
    """Return whether an item is ambiguous: it is incomplete, or contains keys of a different item."""
    return len(part.entries) <= 1 or part.entry("<<") is not None


def _counts(chunk: Chunk) -> _Items:
    """Return what the list items of a chunk look like; found line by line if its YAML is broken."""
    items = chunk_items(chunk)
    is_broken = bool(chunk_yaml(chunk).problems)
    colonless = _COLONLESS_KEY.findall(chunk.text) if is_broken else []
    if not colonless and (items.others or any(part.is_whole or part.is_likely for part in items.parts)):
        likely = [part for part in items.parts if part.is_likely or _has_keys_of_prompts(chunk, part)]
        incomplete = sum(_is_incomplete(part) and not part.is_likely for part in items.parts)
        unlikely = len(items.parts) - len(likely) - incomplete + len(items.others)
        prompts = sum(_is_prompt_like(chunk, part) for part in likely)
        files = sum(_is_file_like(chunk, part) for part in likely)
        return _Items(len(likely), unlikely, prompts, files, len(items.others))
    if not is_broken:
        return _Items()
    keys = {*KEY_LINE.findall(chunk.text), *colonless}
    if keys & _TEXT_KEYS and keys <= set(PART_KEYS) and len(keys) > 1:
        return _Items(1, 0, 1, 0)
    if {"name", "role"} <= keys <= set(PART_KEYS) and _MODEL_ROLE.search(chunk.text):
        return _Items(1, 0, 1, 0)
    usual = _in_usual_frame(chunk.text)
    return _item_counts(Source.of(usual).root) if usual is not None else _Items()


_item_counts: Final = summary(
    _counts, lambda counts: _Items(*(sum(numbers) for numbers in zip(*counts, strict=True)))
)
