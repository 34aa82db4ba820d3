"""What speaks for and against a prompt in items that have nothing but a `name` and a `content`.

Secrets, files and records of other programs are written like that too.
"""

from __future__ import annotations

import re
from typing import Final

from promptls.meaning.parts import Part
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Filter, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.systems.prompt_poet.vocabulary import PART_KEYS

_MEMBER: Final = frozenset({"name", "role"})
"""All that is written of somebody in a list of people, too."""
_BARE: Final = frozenset({"name", "content", None})
_PROMPT_POET: Final = re.compile(r"escape_special_characters|<\|space\|>|\btoken_limit\b")
_PROSE: Final = re.compile(
    r"(?<![^\W\d_])[^\W\d_]{2,}(?:[ ,]+[^\W\d_][\w']*){3,}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{8}"
)
"""Four words in a row, or a sentence in a script that parts none.

A match begins where a word does: to begin anew at each letter of a very long one would never end.
"""
_SENTENCE: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:[ ,]+[^\W\d_][\w']*){7,}")
"""Words that tell somebody something, whatever the item is called."""
_FILE: Final = re.compile(
    r"^[/.~]|/|^[\w.-]+\.[a-z][a-z0-9]{0,5}$|^id_(?:rsa|ed25519|ecdsa)|^[A-Z][A-Z0-9]*_[A-Z0-9_]+$"
    r"|^(?:motd|issue|hosts|fstab|crontab|sudoers|haproxy|nginx)$"
)
"""Names of files, and of variables of an environment."""
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
"""The words by which a secret is known in an expression; a model has tokens and keys too."""
_FOREIGN_FILTERS: Final = frozenset({"b64encode", "b64decode", "password_hash", "unvault", "vault", "quote"})
_OF_MODELS: Final = frozenset(
    {"temperature", "max_tokens", "top_p", "token_limit", "truncation_step", "cache_control", "tool_call_id"}
)
"""Keys that say something of a model and that no part has."""
_OF_TEXTS: Final = frozenset(
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
"""Keys that people give to texts for a model, and to other things."""
_GO: Final = re.compile(
    r"\{\{-?\s*(?:\.[A-Za-z]|(?:if|range|with|end|define|template|include)\b(?!\s*[|(}=]))"
)
"""The tags of Go's templates, as Helm has them."""
_CERTIFICATE: Final = "-----BEGIN "


def is_prompt_like(chunk: Chunk, part: Part) -> bool:
    """Whether an item says that it is a part of a prompt: by its keys, its name or its text."""
    keys = {key_text(entry) for entry in part.entries}
    if keys == _MEMBER:
        return False
    if not part.is_whole or keys & _OF_MODELS or keys & set(PART_KEYS) - _BARE:
        return True
    if _PROMPT_POET.search(chunk.text, part.span.start, max(part.span.end, part.span.start)):
        return True
    text = _literal(chunk, part)
    return bool(_SENTENCE.search(text)) or (not is_file_like(chunk, part) and bool(_PROSE.search(text)))


def has_keys_of_prompts(chunk: Chunk, part: Part) -> bool:
    """Whether an item with keys that no part has is a part all the same: by those keys, or by its text."""
    keys = {key for entry in part.entries if (key := key_text(entry)) is not None}
    if not {"name", "content"} <= keys or not part.is_whole or is_file_like(chunk, part):
        return False
    others = keys - set(PART_KEYS)
    if others <= _OF_MODELS or _PROMPT_POET.search(chunk.text, part.span.start, part.span.end):
        return True
    return others <= _OF_MODELS | _OF_TEXTS and bool(_SENTENCE.search(_literal(chunk, part)))


def is_file_like(chunk: Chunk, part: Part) -> bool:
    """Whether an item looks like a secret or a file of another program."""
    if _GO.search(chunk.text, part.span.start, max(part.span.end, part.span.start)):
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
    tags = [tag for tag in chunk.tags if tag.kind == "output" and value.span.contains(tag.span.start)]
    if len(tags) != 1 or _literal(chunk, part).strip("\"' \r\n|>-"):
        return False
    return any(
        _is_foreign(node)
        for tag in tags
        for expression in tag_tree(tag).statement.expressions
        for node in walk(expression)
    )


def _is_foreign(node: Expression) -> bool:
    """Whether an expression is one of a deployment: a secret's name, or a filter of Ansible."""
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
    """The text of an item's content without its tags."""
    value = part.value("content")
    if not isinstance(value, Scalar):
        return ""
    pieces = []
    position = value.span.start
    for tag in chunk.tags:
        if value.span.start <= tag.span.start < value.span.end:
            pieces.append(chunk.text[position : tag.span.start])
            position = tag.span.end
    return "\n".join([*pieces, chunk.text[position : value.span.end]])
