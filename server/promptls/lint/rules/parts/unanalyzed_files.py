"""Files that promptls does not analyze.

# unchecked-file

File too large or too deeply nested to analyze.

Reports a prompt file with more than 2,000,000 characters, with more than 200 unclosed tags, with blocks
that are nested more than 100 levels deep, or with more than 200 tags that name other templates. No other
rule checks such a file, and editors show it without hovers, completions and the like.

## Why is this bad?

Analyzing such a file would take too long. Jinja refuses unclosed tags, and Python cannot compile a
template with so many nested blocks.

## Example

```yaml
- name: documents
^^^^^^^^^^^^^^^^^ unchecked-file: the file has 2,500,048 characters, and files are analyzed up to 2,000,000
  role: user
  content: |
    … 500,000 tokens of fixed text …
```

Use instead:

```yaml
- name: documents
  role: user
  content: |
    {{ documents }}
```

# unrecognized-prompt

File that looks like a prompt but is not recognized as one.

Reports a file with the name of a prompt that is not recognized as a prompt because of a single common
mistake: the dash before a part is missing (also in a file that others include), the keys are capitalized or misspelled, the list of
messages is below a key such as `messages`, or Git left the marks of a merge conflict.

## Why is this bad?

Prompt Poet refuses such a file, and promptls cannot check it: no other rule applies to it.

## Example

```yaml
name: system
^^^^ unrecognized-prompt
role: system
content: You answer questions about invoices.
```

Use instead:

```yaml
- name: system
  role: system
  content: You answer questions about invoices.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from promptls.dialects.opencompass.vocabulary import EVALUATION_KEYS, INFER_KEYS
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, apply_edits, rule
from promptls.semantic.kind import Kind, kind_of
from promptls.syntax.language import Host
from promptls.syntax.source import Source
from promptls.text.positions import Span
from promptls.text.suggest import is_close
from promptls.workspace.disk import has_prompt_name


@rule(severity="error", kinds=frozenset({Kind.OTHER}))
def unchecked_file(file: File) -> Iterator[Finding]:
    """Yield the reason that the file is not analyzed, if it is a file for promptls."""
    refusal = file.template.source.refusal
    project = file.snapshot.project(file.path)
    is_prompt = has_prompt_name(file.path) or project.includes(file.path)
    if refusal is not None and is_prompt and not project.excludes(file.path):
        yield Finding(refusal.span, refusal.message)


_WRAPPERS: Final = "messages|parts|prompts?|chat|conversation|template|turns"
"""Keys under which other programs put a list of messages."""
_LINE_END: Final = r"(?:\r\n|\n|\r(?!\n))"
_WRAPPER: Final = re.compile(
    rf"^(?P<key>{_WRAPPERS})[ \t]*:[ \t]*(?:#[^\r\n]*)?{_LINE_END}"
    rf"(?P<list>[ \t]*-[ ][^\r\n]*(?:{_LINE_END}|\Z)"
    rf"(?:(?:[ \t][^\r\n]*|\{{[%#][^\r\n]*|-[ ][^\r\n]*|)(?:{_LINE_END}|\Z))*?)(?=[A-Za-z_\"']|\Z)",
    re.MULTILINE,
)
"""Such a key with its list. Each line matches in only one way, or a search could take exponential time."""
_TOP_KEY: Final = re.compile(r"^(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_ITEM_KEY: Final = re.compile(r"^(?:-[ \t]+|[ ]{1,4})(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_LINE: Final = re.compile(r"^(?=[^\r\n])(?!\{[%#])", re.MULTILINE)
_FIRST_KEY: Final = re.compile(
    r"\A(?:[ \t]*(?:\{%[^\r\n]*|\{#[^\r\n]*)?(?:\r\n|\n))*(?P<mark>[ ]{2}|[\u2013\u2014\u2022*+] )(?:name|role|content):[ \r\n]"
)
_WHOLE_PART: Final = re.compile(r"\s*name:[^\r\n]*\s+(?:role:[^\r\n]*\s+)?content:[ \r\n]")
CONFLICT: Final = re.compile(r"^(?:<{7} |={7}\r?$|>{7} )[^\r\n]*(?:\r\n|\n|\Z)", re.MULTILINE)
"""A line with which Git marks a merge conflict."""
CONFLICT_MESSAGE: Final = (
    "this is the mark of a merge conflict: decide between its sides, and remove the marks"
)
_SPACED_TAG: Final = re.compile(r"\{ +%(?=[-+ ]*[a-z])|% +\}")
_OTHER_KEYS: Final[Mapping[str, str]] = {
    "body": "content", "message": "content", "msg": "content", "prompt": "content", "text": "content",
}  # fmt: skip
"""Keys that other programs use for those of a part."""
_ROLES: Final = re.compile(r"^(?:-[ ]|[ ]{2,4})role:[ ]+['\"]?(?:system|user|assistant)\b", re.MULTILINE)
_OBJECT_MARKS: Final = frozenset({"input_keys", "output_key", "output_type"})
_READERS: Final = frozenset({"reader_cfg", "eval_cfg"})
"""Keys that only datasets of OpenCompass have."""
_KEYS: Final[Mapping[Kind, Iterable[str]]] = {
    Kind.PARTS: PART_KEYS,
    Kind.OBJECT: PROMPT_KEYS,
    Kind.EVALUATION: {**EVALUATION_KEYS, **INFER_KEYS},
}


class NearPrompt(NamedTuple):
    """What a text needs to be a prompt, and where; with the edits that add it, if they are certain."""

    span: Span
    message: str
    fix: str
    edits: tuple[Edit, ...]


def near_prompt(text: str) -> NearPrompt | None:
    """Return what would make a text that is not a prompt one, or None if it does not look like a prompt.

    It looks like one if an edit that corrects a common mistake makes it a prompt.
    """
    return (
        _first_dashed(text)
        or _unmerged(text)
        or _unspaced(text)
        or _unwrapped(text)
        or _dashed(text)
        or _respelled(text)
    )


def _first_dashed(text: str) -> NearPrompt | None:
    """Return the edit for a missing or wrong mark in front of the first part."""
    first = _FIRST_KEY.search(text)
    if first is None:
        return None
    span = Span(*first.span("mark"))
    if not _makes(text, [Edit(span, "- ")], Kind.PARTS):
        return None
    message = "this looks like a part, but a prompt is a list of parts: a `-` is missing in front of it"
    return NearPrompt(span, message, "Begin it with a dash", (Edit(span, "- "),))


def _unmerged(text: str) -> NearPrompt | None:
    """Return the place of a conflict that Git left."""
    marks = [*CONFLICT.finditer(text)]
    if not marks or not _makes(text, _without(marks), Kind.PARTS):
        return None
    return NearPrompt(_line(text, marks[0].start()), CONFLICT_MESSAGE, "", ())


def _without(marks: Sequence[re.Match[str]]) -> list[Edit]:
    """Return the edits that remove some matches."""
    return [Edit(Span(*each.span()), "") for each in marks]


def _line(text: str, start: int) -> Span:
    return Span(start, text.find("\n", start) % (len(text) + 1))


def _unmerged_includes(file: File) -> NearPrompt | None:
    """Return the place of a conflict in a file that has nothing but tags, of which one includes parts."""
    text = file.template.source.text
    marks = [*CONFLICT.finditer(text)]
    if not marks or Source.of(apply_edits(text, _without(marks))).whole.has_content:
        return None
    targets = (file.snapshot.resolve(file.path, each) for each in file.template.references)
    kinds = {file.snapshot.kind(target) for target in targets if target is not None}
    if not kinds & PARTS_KINDS:
        return None
    return NearPrompt(_line(text, marks[0].start()), CONFLICT_MESSAGE, "", ())


def _unspaced(text: str) -> NearPrompt | None:
    """Return edits for tags with white space between `{` and `%`."""
    found = [*_SPACED_TAG.finditer(text)]
    edits = [Edit(Span(*each.span()), each.group().replace(" ", "")) for each in found]
    if not found or not _makes(text, edits, Kind.PARTS):
        return None
    message = "Jinja does not recognize this as a tag: `{` and `%` must be adjacent"
    return NearPrompt(Span(*found[0].span()), message, "Remove the white space", tuple(edits))


def _dashed(text: str) -> NearPrompt | None:
    """Return edits for the missing dashes of parts."""
    keys = [*_TOP_KEY.finditer(text)]
    names = {key["key"] for key in keys}
    is_indented = len(names) == 1 and names <= {"name", "role"}
    if not is_indented and not ("content" in names and names & {"name", "role"} and names <= set(PART_KEYS)):
        return None
    first = keys[0]["key"]
    starts = {key.start() for key in keys if key["key"] == first}
    edits = [
        Edit.insert(line.start(), "- " if line.start() in starts else "  ")
        for line in _LINE.finditer(text, min(starts))
        if line.start() in starts or not is_indented
    ]
    if not _makes(text, edits, Kind.PARTS):
        return None
    place = Span(*keys[0].span("key"))
    message = "this looks like a part, but a prompt is a list of parts: a `-` is missing in front of it"
    return NearPrompt(place, message, "Make it a list of parts", tuple(edits))


def _unwrapped(text: str) -> NearPrompt | None:
    """Return an edit that removes the key around a list of messages."""
    found = _WRAPPER.search(text)
    if found is None:
        return None
    listed = found["list"]
    indent = len(listed) - len(listed.lstrip(" \t"))
    edits = [
        Edit(Span(found.start(), found.start("list")), ""),
        *(
            Edit(Span(start, start + min(indent, len(line) - len(line.lstrip(" \t")))), "")
            for start, line in _lines(found, indent)
        ),
    ]
    alone = apply_edits(text, edits)[found.start() : found.start() + len(listed)]
    if kind_of(Source.of(alone), has_header=False) is not Kind.PARTS:
        return None
    key = found["key"]
    others = [each["key"] for each in _TOP_KEY.finditer(text) if each.start() != found.start()]
    message = f"this looks like a prompt, but a prompt is the list itself: remove `{key}:` above its parts"
    if others:
        message += f" and `{others[0]}:` beside it"
        edits = []
    return NearPrompt(Span(*found.span("key")), message, f"Remove `{key}:`", tuple(edits))


def _lines(found: re.Match[str], indent: int) -> Iterator[tuple[int, str]]:
    position = found.start("list")
    for line in found["list"].splitlines(keepends=True):
        if indent and line[:1] in {" ", "\t"}:
            yield position, line
        position += len(line)


def _respelled(text: str) -> NearPrompt | None:
    """Return edits for keys that are capitalized or misspelled."""
    top = [*_TOP_KEY.finditer(text)]
    names = {key["key"] for key in top}
    kind = (Kind.EVALUATION if names & _READERS else Kind.OBJECT) if top else Kind.PARTS
    known = _KEYS[kind]
    is_object = kind is Kind.OBJECT
    others = _OTHER_KEYS if kind is Kind.PARTS and _ROLES.search(text) else {}
    wrong = [
        (key, meant)
        for key in (top or _ITEM_KEY.finditer(text))
        if key["key"] not in known
        and (meant := _meant(key["key"], known) or others.get(key["key"])) is not None
    ]
    if not wrong:
        return None
    edits = [Edit(Span(*key.span("key")), meant) for key, meant in wrong]
    names |= {meant for _, meant in wrong}
    if is_object and not ("instruction" in names and names & _OBJECT_MARKS):
        return None
    if not _makes(text, edits, kind):
        return None
    key, meant = wrong[0]
    pairs = dict.fromkeys((key["key"], meant) for key, meant in wrong)
    said = ", ".join(f"`{meant}` instead of `{written}`" for written, meant in pairs)
    message = f"this looks like a prompt, but its keys are not those of one: write {said}"
    return NearPrompt(Span(*key.span("key")), message, "Correct the keys", tuple(edits))


def _meant(key: str, known: Iterable[str]) -> str | None:
    return next((each for each in known if key.lower() == each or is_close(key, each)), None)


def _makes(text: str, edits: Sequence[Edit], kind: Kind) -> bool:
    return kind_of(Source.of(apply_edits(text, edits)), has_header=False) is kind


@rule(severity="warning", kinds=frozenset({Kind.OTHER, Kind.SECTION}))
def unrecognized_prompt(file: File) -> Iterator[Finding]:
    """Yield the reason that the file is not recognized as a prompt."""
    if not has_prompt_name(file.path) or file.snapshot.project(file.path).excludes(file.path):
        return
    source = file.template.source
    if source.refusal is not None or source.language.host is Host.JSON:
        return
    if file.kind is Kind.SECTION:
        # The keys of a part may be in a file of their own, but not the name of the part and all that follows.
        is_part = file.template.kind is Kind.OTHER and _WHOLE_PART.match(source.text) is not None
        near = _first_dashed(source.text) if is_part else None
    else:
        near = near_prompt(source.text) or _unmerged_includes(file)
    if near is not None:
        fix = Fix(near.fix, near.edits)
        yield Finding(near.span, near.message, (fix,) if near.edits else ())
