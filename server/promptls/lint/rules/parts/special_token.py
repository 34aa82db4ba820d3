"""Special token of a model in the text of a prompt.

Reports the special tokens of the tiktoken encoding (`<|endoftext|>`, `<|endofprompt|>`, with
`cl100k_base` also `<|fim_prefix|>` and similar ones) in a content, and misspellings of Prompt Poet's
`<|space|>`. Literals in a tag, a variable or a macro are checked too if they are printed, and so are
text files that other files include. The first marker of the chat format of a known model in a part, such
as `<|im_start|>`, is a hint: for tiktoken it is plain text.

## Why is this bad?

tiktoken refuses to encode its special tokens, so `tokenize()` and `truncate()` of Prompt Poet fail with
"Encountered text corresponding to disallowed special token". A marker that Prompt Poet does not know
reaches the model unchanged: it counts as several tokens, and a model whose own chat format has the
marker may read it as the end of a message.

## Example

```yaml
- name: examples
  content: |
    Q: What is the capital of France? A: Paris.<|endoftext|>
                                               ^^^^^^^^^^^^^ special-token: tiktoken refuses this special token of o200k_base: counting and truncating fail
```

Use instead:

```yaml
- name: examples
  content: |
    Q: What is the capital of France? A: Paris.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from promptls.lint.analysis.part_values import flowing
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk_given, rule
from promptls.semantic.header import Declarations
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_contents
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, summary, union
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.nodes import Constant, Name
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, only_typo

MARKER: Final = re.compile(r"<\|[ ]?[A-Za-z][\w]*[ ]?\|>")


class Marked(NamedTuple):
    """A marker at `span`.

    `owner` is the variable or macro whose text contains it; empty if it is printed directly or is in the
    text of the file.
    """

    marker: str
    span: Span
    owner: str = ""
    kind: Literal["printed", "set", "macro", "text"] = "printed"


@chunk_fact
def marked_elsewhere(chunk: Chunk) -> tuple[Marked, ...]:
    """Return the markers in the chunk's tags, and in the bodies of its macros and of its `set` blocks."""
    if "<|" not in chunk.text:
        return ()
    return tuple(sorted({each.span: each for each in _marked(chunk)}.values(), key=lambda each: each.span))


def _marked(chunk: Chunk) -> Iterator[Marked]:
    for tag in chunk.tags:
        if tag.kind == "output":
            yield from _in_tag(chunk, tag, "")
        elif tag.kind == "statement":
            statement = tag_tree(tag).statement
            names = statement.target_names
            if statement.keyword in {"set", "with", "for"} and len(names) == 1:
                yield from _in_tag(chunk, tag, names[0])
    owned = list(_bodies(chunk))
    contents = [content.value.span for content in chunk_contents(chunk)]
    for span in markers_outside_tags(chunk, 0, len(chunk.text)):
        marker = chunk.slice(span)
        body = next((each for each in owned if each.span.covers(span.start)), None)
        if any(content.covers(span.start) for content in contents):
            continue  # markers in contents are reported by `_written`
        yield Marked(marker, span, kind="text") if body is None else body._replace(marker=marker, span=span)


def _bodies(chunk: Chunk) -> Iterator[Marked]:
    """Yield the bodies of the chunk's macros and `set` blocks, inner ones last."""
    for pair in chunk_blocks(chunk).pairs:
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        statement = tag_tree(opening).statement
        targets = statement.target_names
        body = Span(opening.span.end, closing.span.start)
        if pair.keyword == "macro":
            yield Marked("", body, statement.name, "macro")
        elif pair.keyword == "set" and targets:
            yield Marked("", body, targets[0], "set")


def _in_tag(chunk: Chunk, tag: Tag, owner: str) -> Iterator[Marked]:
    for expression in tag_tree(tag).statement.expressions:
        for node in flowing(expression):
            if isinstance(node, Constant) and isinstance(node.value, str):
                place = node.span.shifted(tag.span.start)
                for match in MARKER.finditer(chunk.text, place.start, place.end):
                    yield Marked(match[0], Span(*match.span()), owner, "set" if owner else "printed")


def markers_outside_tags(chunk: Chunk, start: int, end: int) -> Iterator[Span]:
    """Yield the markers in a range of the text that are not in tags."""
    for match in MARKER.finditer(chunk.text, start, end):
        tag = chunk.tag_at(match.start())
        if tag is None or (tag.kind == "raw" and match.start() >= tag.body.start):
            yield Span(match.start(), match.end())


def _printing(chunk: Chunk) -> frozenset[tuple[str, str]]:
    """Return pairs of a variable and a name whose value it takes; the variable is empty for printed names."""
    found: set[tuple[str, str]] = set()
    for tag in chunk.tags:
        if tag.kind not in {"output", "statement"}:
            continue
        statement = tag_tree(tag).statement
        targets = statement.target_names
        taker = targets[0] if len(targets) == 1 else ""
        if tag.kind == "statement" and statement.keyword not in {"set", "with", "for", "call"}:
            continue
        if tag.kind == "statement" and statement.keyword != "call" and not taker:
            continue
        for expression in statement.expressions:
            found |= {(taker, node.name) for node in flowing(expression) if isinstance(node, Name)}
    return frozenset(found)


_names: Final = summary(_printing, union)


def reaching_markers(file: File) -> Iterator[Marked]:
    """Yield the markers that are printed; spans are in the file."""
    root = file.template.source.root
    markers = [*items_in(root, marked_elsewhere)]
    if not markers:
        return
    printed = _reached(_names(root))
    is_library = file.kind in {Kind.SECTION, Kind.TEXT} and not file.template.has_parts
    for located, each in markers:
        is_reached = each.kind == "printed" or each.owner in printed or (is_library and each.kind == "macro")
        if is_reached or (each.kind == "text" and is_library and _is_included(file)):
            yield each._replace(span=each.span.shifted(located.start))


def _is_included(file: File) -> bool:
    """Return whether another file includes the text of this one."""
    snapshot = file.snapshot
    return any(
        reference.keyword == "include" and snapshot.resolve(path, reference) == file.path
        for path in sorted(snapshot.includers(file.path))
        if (template := snapshot.template(path)) is not None
        for reference in template.references
    )


def _reached(steps: frozenset[tuple[str, str]]) -> frozenset[str]:
    """Return the names that are printed, directly or through other names."""
    reached = {taken for taker, taken in steps if not taker}
    while more := {taken for taker, taken in steps if taker in reached} - reached:
        reached |= more
    return frozenset(reached)


_WORD: Final = "space"
_SPACE: Final = f"<|{_WORD}|>"
_OF_EVERY_ENCODING: Final = frozenset({"<|endoftext|>", "<|endofprompt|>"})
_ADDITIONAL: Final = {"cl100k_base": frozenset({"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"})}
"""Additional special tokens of tiktoken's encodings."""


_USUAL: Final = (
    *("im_start", "im_end", "begin_of_text", "end_of_text", "start_header_id", "end_header_id"),
    *("eot_id", "eom_id", "end_of_turn", "start_of_turn", "endoftext"),
)
"""The words of markers that typos are compared with."""
_OF_MODELS: Final = re.compile(
    r"im_\w+|(begin|end|start)_?of_?(text|turn|role|sentence|prompt|message|sequence)(_token)?"
    r"|(start|end|begin)_header(_id)?|header_(start|end)|eo[tm](_id)?|eod|[be]os|pad|unk|sep|mask|think"
    r"|(system|user|assistant|human|gpt|bot|chatbot|observation|function|ipython|tool|prompter|developer)(_token)?"
    r"|tools?(_\w+)?|python_tag|reserved_special_token_\d+|fim_\w+|fin|end|start|message|channel|return|call"
    r"|constrain|(vision|box|quad|object_ref)_(start|end)|(image|video|audio|vision)(_\w+)?|repo_name|file_sep"
)
"""The words of the markers that the chat formats and tokenizers of models have."""


@each_chunk_given(lambda file: (file.template.declarations, file.project))
def _written(chunk: Chunk, given: tuple[Declarations, Project]) -> Iterator[Finding]:
    """Yield the markers of special tokens in the chunk's contents."""
    if "<|" not in chunk.text and "|>" not in chunk.text:
        return
    encoding, refused = _refused(*given)
    found = [
        finding
        for content in chunk_contents(chunk)
        for span in markers_outside_tags(chunk, content.value.span.start, content.value.span.end)
        for finding in _of_marker(chunk.slice(span), span, refused, encoding)
    ]
    found += [*_incomplete(chunk), *_misspelled_spaces(chunk)]
    hints = [finding for finding in found if finding.severity == "hint"]
    yield from (finding for finding in found if finding.severity != "hint" or finding is hints[0])


_BROKEN: Final = re.compile(
    r"<\|(?P<a>[A-Za-z]\w*)>|<(?P<b>[A-Za-z]\w*)\|>|<\|(?P<c>space)\|(?!>)|(?<!<)\|(?P<d>space)\|>"
)
"""A marker that lacks one of its bars, or `<|space|>` without one of its brackets."""


def _incomplete(chunk: Chunk) -> Iterator[Finding]:
    """Yield the markers in contents that lack one of their signs."""
    for content in chunk_contents(chunk):
        for match in _BROKEN.finditer(chunk.text, content.value.span.start, content.value.span.end):
            if chunk.tag_at(match.start()) is None:
                meant = f"<|{match[match.lastgroup or 0]}|>"
                lacking = "bar" if match.lastgroup in {"a", "b"} else "bracket"
                yield Finding.suggest(Span(*match.span()), f"a {lacking} is missing", meant)


def _misspelled_spaces(chunk: Chunk) -> Iterator[Finding]:
    for start, node in expressions_in(chunk):
        if isinstance(node, Constant) and isinstance(node.value, str):
            place = node.span.shifted(start)
            for match in MARKER.finditer(chunk.text, place.start, place.end):
                if is_typo(match[0][2:-2], _WORD):
                    yield _misspelled_space(Span(*match.span()))


def _misspelled_space(span: Span) -> Finding:
    return Finding.suggest(span, "Prompt Poet leaves this unchanged", _SPACE, preferred=True)


def _of_marker(marker: str, span: Span, refused: frozenset[str], encoding: str) -> Iterator[Finding]:
    if marker in refused:
        message = f"tiktoken refuses this special token of {encoding}: counting and truncating fail"
        yield Finding(span, message, (Fix("Remove it", (Edit(span, ""),)),))
    elif marker == _SPACE:
        return
    elif marker[2:-2].strip() == _WORD or is_typo(marker[2:-2], _WORD):
        yield _misspelled_space(span)
    elif (meant := only_typo(marker[2:-2], _USUAL)) is not None and marker[2:-2] not in _USUAL:
        yield Finding.suggest(span, "no model has this token", f"<|{meant}|>")
    elif _OF_MODELS.fullmatch(marker[2:-2].lower()):
        message = (
            "this is plain text to Prompt Poet and tiktoken; a model that has it as a token may act on it"
        )
        yield Finding(span, message, severity="hint")


@rule(severity="warning", kinds=JINJA_KINDS)
def special_token(file: File) -> Iterator[Finding]:
    """Yield the special tokens in contents, including those printed by variables, macros and tags."""
    yield from _written(file)
    encoding, refused = _refused(file.template.declarations, file.project)
    for each in reaching_markers(file):
        if each.marker in refused:
            by = "" if not each.owner else f", and `{each.owner}` is printed"
            message = f"tiktoken refuses this special token of {encoding}{by}: counting and truncating fail"
            yield Finding(each.span, message, (Fix("Remove it", (Edit(each.span, ""),)),))


def _refused(declarations: Declarations, project: Project) -> tuple[str, frozenset[str]]:
    """Return the encoding of a file, and its special tokens."""
    encoding = declarations.settings.encoding or project.encoding
    return encoding, _OF_EVERY_ENCODING | _ADDITIONAL.get(encoding, frozenset())
