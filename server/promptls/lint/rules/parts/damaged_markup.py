"""Damaged characters and markup, and notes of the author, in the text of prompts.

# damaged-text

Characters that were lost because a file is not UTF-8.

Reports prompt files that are not UTF-8, and the character U+FFFD, which programs put in place of bytes that
they cannot read, and characters such as `â€™` and `Ã©`, which are the bytes of one in UTF-8 that were read as
Windows-1252. In a comment, none is reported.

## Why is this bad?

Prompt Poet, Ragas and OpenCompass read UTF-8 and fail with a `UnicodeDecodeError` for any other file.
Where U+FFFD is in the file itself, the model gets it instead of the letter that the author wrote.

## Example

```yaml
- name: place
  role: user
  content: Which bus goes to the caf�?
                                    ^ damaged-text: U+FFFD replaces a character that was lost
```

Use instead:

```yaml
- name: place
  role: user
  content: Which bus goes to the café?
```

# broken-markup

Tag or code fence in a text that nothing closes.

Reports in the contents of a prompt

- a closing tag such as `</contxt>` that no tag opens, or one too many, if a similar one is not closed, and a tag
  that is opened twice, or written as `<context/>`, where the second one should close it; one that is not closed is a hint if the other tags of the
  text are, or if it is alone on its line in front of a value;
- a code fence that nothing closes, unless it is the last line, where the model continues it; if any of several
  fences may lack its end, it is a hint at the last one.

Tags in another part of the file count; so does a fence in a branch. A tag of a single part that a text only
mentions is not reported, nor are `<START_OF_USER>` and `<END_OF_USER>`, or a placeholder such as `"<name>"`.

## Why is this bad?

The model cannot tell where the passage ends.

## Example

```yaml
- name: task
  content: |
    <context>
    {{ escape_special_characters(context) }}
    </contxt>
    ^^^^^^^^^ broken-markup: `</contxt>` closes nothing, and `<context>` is not closed; did you mean `</context>`?
```

Use instead:

```yaml
- name: task
  content: |
    <context>
    {{ escape_special_characters(context) }}
    </context>
```

# misnumbered-list

Number of a list that occurs twice or is left out.

Reports the item of a numbered list in a content that repeats the number of the item before it, or leaves one
out: `1.`, `2.`, `2.`, or `1.`, `2.`, `4.`, and the heading of an example such as `Example 2:`. The list begins with 1, its items have the same indentation, and no
branch or loop is between them.

## Why is this bad?

A copied or removed line was not renumbered. The model cannot tell what another text means by "rule 3".

## Example

```yaml
- name: rules
  role: system
  content: |
    1. Be brief.
    2. Be polite.
    2. Use no lists.
    ^^ misnumbered-list: the item before this one has the number 2, too
```

Use instead:

```yaml
- name: rules
  role: system
  content: |
    1. Be brief.
    2. Be polite.
    3. Use no lists.
```

# leftover-note

Note of the author in a text for the model.

Reports a line of a content that begins like a comment with `TODO`, `FIXME` or `XXX`, as in `# TODO: …`,
`// FIXME …` and `<!-- TODO …`, comments of other languages for templates, `{* … *}` and `{/* … */}`,
a comment of HTML in which a value is printed, and placeholders such as `[INSERT NAME]`. Lines in a code fence may be an example, and are not reported.

## Why is this bad?

In a text, neither YAML nor Jinja takes such a line for a comment: the model gets it. A comment of Jinja,
`{# … #}`, is not rendered.

## Example

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
    # TODO: add examples
    ^^^^^^^^^^^^^^^^^^^^ leftover-note: this line is text: the model gets it
```

Use instead:

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
    {#- TODO: add examples #}
```
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import DECLARING_KINDS, PARTS_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.semantic.branches import chunk_branches
from promptls.semantic.parts import FENCE, Content, chunk_contents, texts_with_digits
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo

_LOST: Final = re.compile("\ufffd+|[ÂÃ][\u00a0-\u00bf]|â€[^\\w\\s]")
"""Lost characters, and those of UTF-8 that were read as Windows-1252."""


@rule(severity="warning", kinds=DECLARING_KINDS)
def damaged_text(file: File) -> Iterator[Finding]:
    """Yield the first lost character of a file that is not UTF-8, or all that are in the file itself."""
    for located, span in items_in(file.chunks, _lost):
        place = span.shifted(located.start)
        if not file.snapshot.is_utf8(file.path):
            message = "the file is not UTF-8 here, so that programs cannot read it: save it as UTF-8"
            yield Finding(place, message, severity="error")
            return
        if not any(tag.kind == "comment" for tag in located.chunk.tags_at(span)):
            meant = located.chunk.slice(span).encode("cp1252", "ignore").decode("utf-8", "ignore")
            message = (
                "these are bytes of one character" if meant else "U+FFFD replaces a character that was lost"
            )
            yield Finding.suggest(place, message, meant or None)


@chunk_fact
def _lost(chunk: Chunk) -> tuple[Span, ...]:
    return tuple(Span(*match.span()) for match in _LOST.finditer(chunk.text))


_TAG: Final = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w-]{2,40})>")
_CUT: Final = re.compile(
    r"</(?P<name>[A-Za-z][\w-]{2,40})[ ]*$|<(?P<alone>[A-Za-z][\w-]{2,40})[ ]?/>", re.MULTILINE
)
"""A closing tag without its last sign, or with its slash in the place of an empty tag."""
_CODE: Final = re.compile(r"(```|~~~)[\w-]*\s+<[^<>\n]*>\s+\1|`[^`\n]*`")
"""Inline code, and a code block with nothing but a placeholder."""
_OPENED: Final = re.compile(r"<([A-Za-z][\w-]{2,40})[\s>]")
_CLOSED: Final = re.compile(r"</([A-Za-z][\w-]{2,40})(?![\w-])")
_PAIR: Final = 2
_NEAR: Final = 80
"""How many characters after a tag are searched for a value."""
_SEPARATORS: Final = frozenset(
    {"break", "newline", "pagebreak", "sep", "separator", "image", "eos", "bos", "pad", "mask", "blank"}
)
"""Tags that other programs use without a closing one."""
_BOUNDARY: Final = re.compile(r"(?:start|begin|end|stop)[_-]", re.IGNORECASE)
"""The beginning of a name that says which end it marks, as in `<START_OF_USER>` and `<END_OF_USER>`."""
_ENCLOSING: Final = frozenset({'""', "''", "[]", "()", "{}"})


class _Mark(NamedTuple):
    """A tag in a text: whether it closes, whether it is alone on its line, and which content it is in."""

    name: str
    span: Span
    closes: bool
    is_alone: bool
    content: int
    is_last: bool


@chunk_fact
def _marks(chunk: Chunk) -> tuple[_Mark, ...]:
    """Return the tags in the contents of a chunk, without those in inline code."""
    if "<" not in chunk.text:
        return ()
    found = []
    for _, written, start in texts_with_digits(chunk):
        text = _CODE.sub(lambda match: " " * len(match[0]), written)
        for match in _TAG.finditer(text):
            if _BOUNDARY.match(match["name"]) or _is_enclosed(text, match):
                continue
            before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            after = text[match.end() :].partition("\n")[0]
            found.append(
                _Mark(
                    match["name"],
                    Span(*match.span()).shifted(start),
                    bool(match["slash"]),
                    not before.strip() and not after.strip(),
                    start,
                    not text[match.end() :].strip(),
                )
            )
    return tuple(found)


def _is_enclosed(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag is alone between quotes or brackets, as a placeholder is."""
    around = text[max(tag.start() - 1, 0) : tag.start()] + text[tag.end() : tag.end() + 1]
    return around in _ENCLOSING


@rule(severity="warning", kinds=PARTS_KINDS)
def broken_markup(file: File) -> Iterator[Finding]:
    """Yield the tags and fences that are not closed."""
    yield from _fences(file)
    yield from _cut_tags(file)
    marks = [
        mark._replace(span=mark.span.shifted(located.start), content=mark.content + located.start)
        for located, mark in items_in(file.chunks, _marks)
    ]
    if marks:
        yield from _unmatched(file, marks)


@each_chunk
def _cut_tags(chunk: Chunk) -> Iterator[Finding]:
    """Yield the closing tags at the end of a line that lack their `>`, and those with their slash after the name."""
    for _, text, start in texts_with_digits(chunk) if "</" in chunk.text or "/>" in chunk.text else ():
        for match in _CUT.finditer(text):
            name = match["name"] or match["alone"]
            if f"<{name}>" not in text[: match.start()] or name.lower() in _SEPARATORS:
                continue
            if match["name"]:
                span, message = Span(match.start(), match.end("name")), "this tag is not closed"
            elif f"</{name}>" not in text:
                span, message = (
                    Span(*match.span()),
                    f"nothing closes `<{name}>`, and this is a tag of its own",
                )
            else:
                continue
            yield Finding.suggest(span.shifted(start), message, f"</{name}>")


def _unmatched(file: File, marks: list[_Mark]) -> Iterator[Finding]:
    """Yield the tags that certainly close nothing, or that nothing closes."""
    text = file.template.source.text
    opened, closed = Counter(_OPENED.findall(text)), frozenset(_CLOSED.findall(text))
    unclosed = [mark for mark in marks if not mark.closes and mark.name not in closed]
    unopened = [mark for mark in marks if mark.closes and not opened[mark.name]]
    known: set[Span] = set()
    surplus = _surplus(opened, marks) if unclosed else []
    for finding, reported in (
        *_misspelled(text, unclosed, unopened, surplus),
        *_opened_twice(text, unclosed),
    ):
        known |= {mark.span for mark in reported}
        yield finding
    if not file.template.references and not file.snapshot.includers(file.path):
        yield from _alone(text, marks, [mark for mark in (*unclosed, *unopened) if mark.span not in known])


def _surplus(opened: Counter[str], marks: list[_Mark]) -> list[_Mark]:
    """Return the last closing tag of each name that is opened, but less often than it is closed."""
    last = {mark.name: mark for mark in marks if mark.closes}
    closed = Counter(mark.name for mark in marks if mark.closes)
    return [mark for name, mark in last.items() if 0 < opened[name] < closed[name]]


def _misspelled(
    text: str, unclosed: list[_Mark], unopened: list[_Mark], surplus: list[_Mark]
) -> Iterator[tuple[Finding, list[_Mark]]]:
    """Yield the closing tags with a name like that of one open tag, with all tags that this explains."""
    for mark in (*unopened, *surplus):
        similar = {
            each.name
            for each in unclosed
            if each.span < mark.span and (is_close(each.name, mark.name) or is_typo(each.name, mark.name))
        }
        if len(similar) != 1:
            continue
        (other,) = similar
        opening = [each for each in unclosed if each.name == other]
        message = f"`</{mark.name}>` closes nothing, and `<{other}>` is not closed"
        if mark in surplus:
            if len(opening) > 1:
                continue
            message = f"`{mark.name}` is closed more often than it is opened, and `<{other}>` is not closed"
            finding = Finding.suggest(mark.span, message, f"</{other}>")
        elif len(opening) == 1 and _words(text, mark.name) > _words(text, other):
            finding = Finding.suggest(opening[0].span, message, f"<{mark.name}>")
        else:
            finding = Finding.suggest(mark.span, message, f"</{other}>")
        yield finding, [mark, *opening]


def _opened_twice(text: str, unclosed: list[_Mark]) -> Iterator[tuple[Finding, list[_Mark]]]:
    """Yield the second of two opening tags around a text, for which a closing one is meant, with both tags."""
    by_name: dict[str, list[_Mark]] = {}
    for mark in unclosed:
        by_name.setdefault(mark.name, []).append(mark)
    for name, pair in by_name.items():
        if len(pair) != _PAIR or pair[0].content != pair[1].content or name.lower() in _SEPARATORS:
            continue
        between = text[pair[0].span.end : pair[1].span.start]
        is_inside = "\n" not in between and between == between.strip()
        is_around = pair[0].is_alone and pair[1].is_alone
        if (between.strip() or not between) and (is_inside or is_around):
            message = f"`<{name}>` is opened twice and never closed"
            yield Finding.suggest(pair[1].span, message, f"</{name}>"), pair


_CONTINUED: Final = frozenset(
    {"think", "thinking", "thought", "thoughts", "reasoning", "scratchpad", "answer"}
)
"""Tags that the model closes in its answer."""


def _alone(text: str, marks: list[_Mark], unmatched: list[_Mark]) -> Iterator[Finding]:
    """Yield a hint for each unmatched tag on its own line.

    A pair of such tags must be in the same content, or a tag of Jinja after the one that is not closed.
    """
    opened = Counter(mark.name for mark in marks if not mark.closes)
    closed = Counter(mark.name for mark in marks if mark.closes)
    contents = {mark.content for mark in marks if mark.is_alone and opened[mark.name] == closed[mark.name]}
    for mark in unmatched:
        is_only = opened[mark.name] + closed[mark.name] == 1
        encloses_value = (
            not mark.closes
            and mark.name.lower() not in _CONTINUED | _SEPARATORS
            and text[mark.span.end : mark.span.end + _NEAR].lstrip().startswith(("{{", "{%"))
        )
        is_clear = mark.content in contents or encloses_value
        if is_only and mark.is_alone and not mark.is_last and is_clear:
            message = f"nothing {'opens' if mark.closes else 'closes'} this tag"
            yield Finding(mark.span, message, severity="hint")


def _words(text: str, word: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text))


@each_chunk
def _fences(chunk: Chunk) -> Iterator[Finding]:
    """Yield the code fences of the contents of a chunk that nothing closes."""
    if "```" not in chunk.text and "~~~" not in chunk.text:
        return
    for content, text, start in texts_with_digits(chunk):
        if content.is_block:
            for finding in _open_fence(chunk, content, text, [*FENCE.finditer(text)]):
                yield finding.shifted(start)


def _open_fence(chunk: Chunk, content: Content, text: str, fences: list[re.Match[str]]) -> Iterator[Finding]:
    """Yield the fence of a content that nothing closes."""
    start = content.value.span.start
    branches = chunk_branches(chunk)
    around = branches.at(content.key.start)
    if len(fences) % 2 == 0 or any(branches.at(start + each.start()) != around for each in fences):
        return
    tags = [tag for tag in chunk.tags_at(content.value.span) if tag.kind == "statement"]
    if any(tag_tree(tag).statement.keyword == "include" for tag in tags):
        return
    opening: re.Match[str] | None = None
    for fence in fences:
        if opening is None:
            opening = fence
        elif fence["language"]:
            break  # a closing fence names no language
        else:
            opening = None
    if opening is None or not text[opening.end() :].strip():
        return
    if opening["language"] or len(fences) == 1:
        yield Finding(Span(*opening.span("mark")), "nothing closes this code fence")
    else:  # any of the fences may be the one that lacks its end
        message = f"one of the {len(fences)} code fences up to here is not closed"
        yield Finding(Span(*opening.span("mark")), message, severity="hint")


_ITEM: Final = re.compile(
    r"^(?P<indent>[ ]*(?P<label>(?:[#*]+[ ]*)?(?:Case|Example|Rule|Step)[ ]+)?)"
    r"(?P<number>\d{1,2})(?:[.)](?=[ ]+\S)|(?(label)(?::|(?=[ ]*$))|(?!)))",
    re.MULTILINE,
)
_MIN_ITEMS: Final = 2
"""The minimum number of items before one for its number to be wrong."""


@rule(severity="hint", kinds=PARTS_KINDS)
@each_chunk
def misnumbered_list(chunk: Chunk) -> Iterator[Finding]:
    """Yield the items of numbered lists that repeat a number or leave one out."""
    for content, text, start in texts_with_digits(chunk) if _ITEM.search(chunk.text) else ():
        if content.is_block:
            tags = [
                tag.span.start - start for tag in chunk.tags_at(content.value.span) if tag.kind == "statement"
            ]
            for finding in _misnumbered(text, tags):
                yield finding.shifted(start)


def _misnumbered(text: str, tags: list[int]) -> Iterator[Finding]:
    """Yield the wrong numbers of a text with statements at the places `tags`."""
    lists: dict[str, list[re.Match[str]]] = {}
    for item in _ITEM.finditer(text):
        number, indent = int(item["number"]), item["indent"]
        lists = {its: items for its, items in lists.items() if len(its) <= len(indent)}
        items = lists.setdefault(indent, [])
        is_divided = items and bisect_left(tags, items[-1].start()) < bisect_left(tags, item.start())
        if number == 1 or not items or is_divided:
            lists[indent] = [item] if number == 1 else []
            continue
        before = int(items[-1]["number"])
        span = Span(item.start("number"), item.end())
        if number == before and len(items) >= _MIN_ITEMS:
            yield Finding(span, f"the item before this one has the number {before}, too")
        elif number == before + 2 and len(items) >= _MIN_ITEMS:
            yield Finding(span, f"the number {before + 1} is left out")
        if number in {before, before + 1, before + 2}:
            items.append(item)
        else:
            lists[indent] = []


_NOTE: Final = re.compile(
    r"^[ ]*(?P<line>(?:#+|//+|<!--+)[ ]?(?P<note>(?:TODO|FIXME|XXX)\b(?:\([^)\n]*\))?(?::|[ ]+[a-z]).*?)(?:[ ]*--+>)?)[ ]*$",
    re.MULTILINE,
)
_PLACEHOLDER: Final = re.compile(r"\[(?:INSERT|FILL IN)\b[^\[\]{}\n]*\]|\blorem ipsum\b", re.IGNORECASE)
_FOREIGN: Final = re.compile(r"\{/?\*[^*{}\n]*\*/?\}")
"""A comment of Smarty or JSX."""
_WITH_TAG: Final = re.compile(r"<!--(?:(?!-->)[^\n])*\{\{(?:(?!-->)[^\n])*-->")
"""A comment of HTML in which a value is printed."""


@rule(severity="hint", kinds=PARTS_KINDS)
@each_chunk
def leftover_note(chunk: Chunk) -> Iterator[Finding]:
    """Yield the lines of contents that are notes of the author."""
    for _, text, start in texts_with_digits(chunk) if "{*" in chunk.text or "{/*" in chunk.text else ():
        for match in _FOREIGN.finditer(text):
            written = match[0].strip("{}/* ")
            message = "this is no comment in Jinja: the model gets it"
            span = Span(*match.span()).shifted(start)
            fix = Fix.change_to(span, f"{{# {written} #}}")
            yield Finding(span, message, (fix,) if written and not chunk.tags_at(span) else ())
    for content in chunk_contents(chunk) if "<!--" in chunk.text else ():
        for match in _WITH_TAG.finditer(chunk.text, *content.value.span):
            yield Finding(
                Span(*match.span()), "this is no comment in Jinja: the model gets it, with the value"
            )
    for _, text, start in texts_with_digits(chunk) if _PLACEHOLDER.search(chunk.text) else ():
        for match in _PLACEHOLDER.finditer(text):
            span = Span(*match.span()).shifted(start)
            yield Finding(span, "this is text: the model gets it as it is")
    for content, text, start in texts_with_digits(chunk) if _NOTE.search(chunk.text) else ():
        fences = [fence.start() for fence in FENCE.finditer(text)]
        for match in _NOTE.finditer(text) if content.is_block else ():
            if bisect_left(fences, match.start()) % 2:
                continue
            span = Span(*match.span("line")).shifted(start)
            note = chunk.text[start + match.start("note") : start + match.end("note")]
            # The sign in the comment strips the line break before it, which must not be that of the block's mark.
            is_plain = not chunk.tags_at(span) and bool(text[: match.start()].partition("\n")[2].strip())
            fix = Fix("Make it a comment of Jinja", (Edit(span, f"{{#- {note} #}}"),))
            fixes = (fix,) if is_plain else ()
            yield Finding(span, "this line is text: the model gets it", fixes)
