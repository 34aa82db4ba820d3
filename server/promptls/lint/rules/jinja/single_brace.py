"""Missing or extra brace of a tag.

Reports `{name}`, `${name}`, `%(name)s`, `[[ name ]]` and `name }}` in the text of a content if the file prints or binds a variable of
that name, `input_keys` declares it, or a caller passes one; if the file reads a key of that name, or if the name has a `_` and is the only one in
single braces, or is the only one after a `$`, it is a hint. Reports `{name }}`, `{name(…)}` if the file calls that function, an expression or tag with white space or a sign between
its braces, as in `{ { name } }` and `{-% if name %}`, a statement in single braces on a line of its own, and a
third `}` directly after a tag, or one directly after `%}`, if the content has no `{` that matches it. A `{{ name }}`
inside of `raw` is a hint if the file prints that name elsewhere, and so are `%name%` and `<name>` if `name` is an
input that no tag prints; in a text that a tag sets, it is a warning. In a Python program, reports `{{ name }}` in an
f-string that is a `raw_template`, which Python reduces to single braces, if the call passes data of that name.

## Why is this bad?

Jinja ignores single braces: the model gets `{name}` instead of the value, or a stray brace.

## Example

```yaml
- name: instructions
  role: system
  content: You help {{ customer }}.
- name: question
  role: user
  content: A question of {customer}.
                         ^^^^^^^^^^ single-brace: Jinja leaves this unchanged; did you mean `{{ customer }}`?
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You help {{ customer }}.
- name: question
  role: user
  content: A question of {{ customer }}.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from promptls.lint.analysis.loop_names import looped_names
from promptls.lint.analysis.unmatched_names import declared_names, given_names
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.parts import chunk_contents
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.facts import items_in, summary, union
from promptls.syntax.jinja.builtins import FILTERS
from promptls.syntax.jinja.nodes import Attribute, Constant
from promptls.syntax.jinja.problems import expressions_in, has_tag_problem, tag_tree
from promptls.syntax.problem import STRAYS, SyntaxProblem
from promptls.text.positions import Span

_FIELD: Final = re.compile(r"(?<![{\\])(?<!\$\$)\$?\{[ ]?([A-Za-z_][\w.]*)[ ]?\}(?!\})")
_BRACKETS: Final = re.compile(r"(?<!\[)\[\[[ ]?([A-Za-z_][\w.]*)[ ]?\]\](?![\](])")
_PERCENT: Final = re.compile(r"(?<!%)%\(([A-Za-z_]\w*)\)s\b")
"""A name as in the formatting of Python with `%`."""
_FILTERED: Final = re.compile(
    r"(?<![{\\$])\{[ ]?([A-Za-z_][\w.]*)([ ]?\|[ ]?[a-z_]+(?:\([^(){}]*\))?)+[ ]?\}(?!\})"
)
"""A name with filters in single braces."""
_FORMATTED: Final = re.compile(r"""\b[fF](["'])(?:(?!\1)[^\n])*\Z""")
"""An f-string of Python that is not closed."""
_FIRST_WORD: Final = re.compile(r"[a-z_]+")
_CALL: Final = re.compile(r"(?<![{\\\w$])\{[ ]?([A-Za-z_]\w*)(\((?:[^(){}]|\([^(){}]*\))*\))[ ]?\}\}?(?!\})")
"""A call in single braces, or after one."""
_HALF_OPENED: Final = re.compile(r"(?<![{\\\w])\{[ ]?([A-Za-z_][\w.]*)[ ]?\}\}(?!\})")
_UNOPENED: Final = re.compile(r"(?<![{\\\w.])([A-Za-z_][\w.]*)[ ]?\}\}(?!\})")
_CLOSED: Final = (_HALF_OPENED, _UNOPENED)
_SPACED_TAG: Final = re.compile(
    r"(?:\{(?: +%[-+]?|[-+] *%)|<%[-+]?)"
    r"(?= *(elif|else|include|import|from|raw|(?:end)?(?:if|for|set|macro|with|block|call|filter))\b)"
)
_STATEMENT: Final = re.compile(
    r"^[ ]*(\{[ ]*("
    r"set \w+ =(?!=)[^{}\n]+"
    r"|if (?:not )?[\w.]+(?: (?:==|!=|<|>|is|in|and|or|not) [^{}\n]+)?"
    r"|for \w+(?:, ?\w+)? in [^{}\n]+"
    r"|endif|endfor)[ ]*\})[ ]*$",
    re.MULTILINE,
)
"""A statement in single braces on a line of its own."""
_SPACED: Final = re.compile(
    r"\{[ ]\{[ ]?([A-Za-z_][\w.]*(?:\([\w.| ]*\))?)[ ]?\}[ ]\}|<%=[ ]*([A-Za-z_][\w.]*)[ ]*%>"
    r"|\uff5b\uff5b[ ]*([A-Za-z_][\w.]*)[ ]*\uff5d\uff5d"
)
"""Braces with white space between them, the marks of ERB, and braces of East Asian keyboards."""


@chunk_fact
def _has_braces(chunk: Chunk) -> bool:
    pieces = _outside_tags(chunk, Span(0, chunk.length))
    return any("{" in piece or "}" in piece for piece in pieces)


@chunk_fact
def _fields(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names in single braces in the texts of contents, with their attributes."""
    if not _has_braces(chunk) and "%(" not in chunk.text and "[[" not in chunk.text:
        return ()
    found: list[tuple[str, Span]] = []
    for content in chunk_contents(chunk):
        begin, end = content.value.span
        matches = [
            *_FIELD.finditer(chunk.text, begin, end),
            *_FILTERED.finditer(chunk.text, begin, end),
            *_PERCENT.finditer(chunk.text, begin, end),
            *_BRACKETS.finditer(chunk.text, begin, end),
            *(match for pattern in _CLOSED for match in pattern.finditer(chunk.text, begin, end)),
        ]
        found += [
            (match[1], Span(*match.span()))
            for match in matches
            if chunk.tag_at(match.start()) is None
            and (match.re not in _CLOSED or _opened_braces(chunk, Span(begin, match.start())) <= 0)
            and not _FORMATTED.search(chunk.text, chunk.text.rfind("\n", 0, match.start()) + 1, match.start())
        ]
    return tuple(sorted(found, key=lambda field: field[1]))


def _opened_braces(chunk: Chunk, span: Span) -> int:
    """Return how many more braces a text opens than it closes, outside of tags."""
    text = "".join(_outside_tags(chunk, span))
    return text.count("{") - text.count("}")


def _outside_tags(chunk: Chunk, span: Span) -> Iterator[str]:
    """Yield the pieces of a text between its tags."""
    at = span.start
    for tag in chunk.tags_at(span):
        yield chunk.text[at : max(tag.span.start, at)]
        if tag.kind == "raw":
            yield chunk.text[slice(*tag.body)]
        at = tag.span.end
    yield chunk.text[at : span.end]


def _root(name: str) -> str:
    return name.partition(".")[0]


_TAG_IN_TEXT: Final = re.compile(r"\{\{-?[ ]*([A-Za-z_][\w.]*)[ ]*-?\}\}")


@chunk_fact
def _set_texts(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names in double braces inside of texts that tags set."""
    found = []
    for tag in chunk.tags:
        if tag.kind != "statement" or "{{" not in tag.text or tag_tree(tag).statement.keyword != "set":
            continue
        for node in tag_tree(tag).statement.expressions:
            if isinstance(node, Constant) and isinstance(node.value, str):
                matches = _TAG_IN_TEXT.finditer(chunk.text, *node.span.shifted(tag.span.start))
                found += [(match[1], Span(*match.span())) for match in matches]
    return tuple(found)


def _in_set_texts(file: File) -> Iterator[Finding]:
    """Yield the variables in double braces inside of texts that the file sets."""
    names = file.template.names
    for located, (name, span) in items_in(file.chunks, _set_texts):
        if _root(name) in names.read_names or _root(name) in names.all_bound_names:
            message = f"in a tag, this is text, and not the value of `{name}`; `~` joins texts and values"
            quote = located.chunk.text[span.end : span.end + 1]
            edit = Edit(Span(span.start, span.end + 1), f"{quote} ~ {name}")
            fixes = (Fix(f"Append `{name}`", (edit,)),) if quote in {'"', "'"} else ()
            yield Finding(span, message, fixes).shifted(located.start)


_RAW_FIELD: Final = re.compile(r"\{\{[ ]*(\w+)[^{}\n]*\}\}")


@chunk_fact
def _raw_fields(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names in double braces inside of `raw`."""
    return tuple(
        (match[1], Span(*match.span()))
        for tag in chunk.tags
        if tag.kind == "raw"
        for match in _RAW_FIELD.finditer(chunk.text, *tag.body)
    )


def _in_raw(file: File) -> Iterator[Finding]:
    """Yield the variables inside of `raw` that the file prints elsewhere."""
    for located, (name, span) in items_in(file.chunks, _raw_fields):
        if name in file.template.names.read_names:
            message = (
                f"inside of `raw`, this is text: the model gets the braces, and not the value of `{name}`"
            )
            yield Finding(span.shifted(located.start), message, severity="hint")


_MARKED: Final = re.compile(r"(?<![\w%])%([A-Za-z_]\w*)%(?![\w%])|<([A-Za-z_]\w*)>")


@chunk_fact
def _marked(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names between percent signs or angle brackets in the texts of contents."""
    if "%" not in chunk.text and "<" not in chunk.text:
        return ()
    return tuple(
        (match[1] or match[2], Span(*match.span()))
        for content in chunk_contents(chunk)
        for match in _MARKED.finditer(chunk.text, *content.value.span)
        if chunk.tag_at(match.start()) is None
    )


_closed: Final = summary(
    lambda chunk: frozenset(
        name for name, _ in _marked(chunk) if f"</{name}" in chunk.text or f"`<{name}>`" in chunk.text
    ),
    union,
)
"""The names of elements, as in `<name>…</name>`, and of places that the model is to fill in."""


def _in_other_marks(file: File) -> Iterator[Finding]:
    """Yield the inputs between percent signs or angle brackets that no tag prints."""
    marked = [*items_in(file.chunks, _marked)]
    known = file.template.names.input_names | given_names(file) if marked else frozenset[str]()
    others = (_closed(file.chunks) | looped_names(file.chunks)) if marked else frozenset[str]()
    for located, (name, span) in marked:
        if name in known - others and not _is_printed(file, name):
            message = "Jinja leaves this unchanged"
            place = span.shifted(located.start)
            yield Finding.suggest(place, message, f"{{{{ {name} }}}}", severity="hint")


def _is_printed(file: File, name: str) -> bool:
    """Return whether a tag prints a variable, or an expression with it."""
    for reference in file.template.names.references_of(name):
        located = file.template.source.located(reference.span.start)
        tag = located.chunk.tag_at(reference.span.start - located.start)
        if tag is not None and tag.kind == "output":
            return True
    return False


names_in_braces: Final = summary(
    lambda chunk: frozenset(
        _root(name)
        for name, span in _fields(chunk)
        if not chunk.text.startswith("}}", span.end - 2) and chunk.text[span.start] != "["
    ),
    union,
)
"""The names with one brace on either side."""
_dollar_names: Final = summary(
    lambda chunk: frozenset(
        name for name, span in _fields(chunk) if chunk.text[span.start] == "$" and not chunk.tags_at(span)
    ),
    union,
)
"""The names after a dollar sign."""
_names: Final = summary(lambda chunk: frozenset(_root(name) for name, _ in _fields(chunk)), union)


_keys: Final = summary(
    lambda chunk: frozenset(node.name for _, node in expressions_in(chunk) if isinstance(node, Attribute)),
    union,
)
"""The attributes that the tags read."""


@rule(severity="warning", kinds=PARTS_KINDS)
def single_brace(file: File) -> Iterator[Finding]:
    """Yield the names of variables in single braces, and single braces after tags."""
    yield from _stray_braces(file)
    ends = spaced_tags(file)
    causes = {
        end.span for each in file.template.syntax_problems if (end := missed_end(each, ends)) is not None
    }
    for finding in _spaced_braces(file):
        yield replace(finding, severity="error") if finding.span in causes else finding
    yield from _calls(file)
    yield from _in_raw(file)
    yield from _in_set_texts(file)
    yield from _in_other_marks(file)
    if not _names(file.chunks):
        return
    names = file.template.names
    known = names.read_names | names.all_bound_names | {"loop"} | given_names(file)
    known |= declared_names(file) or frozenset()
    unknown = names_in_braces(file.chunks) - known
    # Several unknown names are a format that the model is to use, and so are names in capitals.
    only = next(iter(unknown)) if names.read_names and len(unknown) == 1 else None
    is_guess = only is not None and "_" in only and not only.isupper() and not _is_explained(file, only)
    in_dollars = _dollar_names(file.chunks)
    context = _Names(
        known,
        keys=_keys(file.chunks),
        guessed=only if is_guess else None,
        in_dollars=only if only in in_dollars and in_dollars <= unknown else None,
    )
    for located in file.chunks.where(_names):
        for name, span in _fields(located.chunk):
            yield from _in_field(located, name, span, context)


class _Names(NamedTuple):
    """The names of a file: known ones, read keys, and the only unknown one if it is probably a variable."""

    known: frozenset[str]
    keys: frozenset[str]
    guessed: str | None
    in_dollars: str | None
    """The only unknown name, if it is written after a dollar sign."""


def _in_field(located: Located, name: str, span: Span, names: _Names) -> Iterator[Finding]:
    """Yield the finding for a name in single braces that is probably meant as a tag."""
    text = located.chunk.text
    is_percent = text[span.start] == "%"
    is_bracket = text[span.start] == "["
    inside = name if is_percent else text[span.start : span.end].strip("${}[] ")
    _, bar, filtered = inside.partition("|")
    is_known = _root(name) in names.known
    is_key = not is_known and not is_bracket and inside in names.keys
    is_half = text[span.start] == "{" and text[span.end - 2] == "}"
    is_filtered = bool(bar) and _FIRST_WORD.findall(filtered)[0] in FILTERS
    is_dollar = text[span.start] == "$"
    if is_dollar:  # a shell may set the name
        is_guess = is_key or (inside == names.in_dollars and inside.islower())
        is_guess = is_guess and f"{inside}=" not in text
    else:
        is_guess = is_key or (inside == names.guessed and not is_bracket)
    if not (is_guess or is_half or is_known or is_filtered):
        return
    meant = f"{{{{ {inside} }}}}"
    message = f"Jinja leaves this unchanged; did you mean `{meant}`?"
    # `${name}` may be a shell's or a price, `[[name]]` a link, and another name one for the model to fill in.
    is_ambiguous = is_dollar or is_percent or is_bracket or (is_guess and not is_half)
    fixes = () if is_key else (Fix.change_to(span, meant),)
    yield Finding(span, message, fixes, severity="hint" if is_ambiguous else None).shifted(located.start)


def _is_explained(file: File, name: str) -> bool:
    """Return whether a text has the name between backquotes, as a place that the model is to fill in."""
    return any(f"`{name}`" in located.chunk.text for located in file.chunks.where(_has_backquotes))


_has_backquotes: Final = summary(lambda chunk: "`" in chunk.text, any)


@chunk_fact
def _called(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names that are called in single braces in the texts of contents."""
    matches = [
        match
        for content in (chunk_contents(chunk) if _has_braces(chunk) else ())
        for match in _CALL.finditer(chunk.text, *content.value.span)
        if not match.group().endswith("}}")
        or _opened_braces(chunk, Span(content.value.span.start, match.start())) <= 0
    ]
    return tuple((match[1], Span(*match.span())) for match in matches if chunk.tag_at(match.start()) is None)


_called_names: Final = summary(lambda chunk: frozenset(name for name, _ in _called(chunk)), union)
_half_called: Final = summary(
    lambda chunk: any(chunk.text.startswith("}}", span.end - 2) for _, span in _called(chunk)), any
)


def _calls(file: File) -> Iterator[Finding]:
    """Yield the calls in single braces of functions that the file has or calls elsewhere, and those with `}}`."""
    names = file.template.names
    known = names.called_names | names.bound_names("macro") | names.bound_names("import") | INJECTED
    has_any = _called_names(file.chunks) & known or _half_called(file.chunks)
    for located in file.chunks.where(_called_names) if has_any else ():
        for name, span in _called(located.chunk):
            if name in known or located.chunk.text.startswith("}}", span.end - 2):
                meant = f"{{{{ {located.chunk.slice(span).strip('{ }')} }}}}"
                yield Finding.suggest(span, "Jinja leaves this unchanged", meant).shifted(located.start)


class SpacedTag(NamedTuple):
    """A tag with white space or a sign between its braces, which Jinja takes for text."""

    keyword: str
    span: Span


@chunk_fact
def _spaced_tags(chunk: Chunk) -> tuple[SpacedTag, ...]:
    found = (SpacedTag(match[1], Span(*match.span())) for match in _SPACED_TAG.finditer(chunk.text))
    return tuple(each for each in found if chunk.tag_at(each.span.start) is None)


def spaced_tags(file: File) -> tuple[SpacedTag, ...]:
    """Return the tags of a file with white space or a sign between their braces."""
    return tuple(
        SpacedTag(each.keyword, each.span.shifted(located.start))
        for located, each in items_in(file.chunks, _spaced_tags)
    )


def missed_end(problem: SyntaxProblem, spaced: tuple[SpacedTag, ...]) -> SpacedTag | None:
    """Return the tag that a block lacks at its other end, if it is there with white space between its braces."""
    for each in spaced:
        is_before = each.span < problem.span
        if each.keyword in problem.expected and is_before == (problem.kind in STRAYS):
            return each
    return None


@each_chunk
def _spaced_braces(chunk: Chunk) -> Iterator[Finding]:
    """Yield the expressions and tags with white space between their braces."""
    for _, span in _spaced_tags(chunk):
        written = chunk.slice(span)
        sign = next((each for each in "-+" if each in written), "")
        meant = "{%" + sign
        title = "Remove the white space" if written.startswith("{ ") else f"Change to `{meant}`"
        edits = [Edit(span, meant)]
        message = "Jinja does not recognize this as a tag: `{` and `%` must be adjacent"
        if written.startswith("<"):
            message = "Jinja does not recognize this as a tag: it begins with `{%`, and ends with `%}`"
            end = chunk.text.find(
                "%>", span.end, (chunk.text.find("\n", span.end) + 1 or chunk.length + 1) - 1
            )
            if end >= 0:
                edits.append(Edit(Span(end, end + 2), "%}"))
        yield Finding(span, message, (Fix(title, tuple(edits), preferred=True),))
    for match in _STATEMENT.finditer(chunk.text):
        span = Span(*match.span(1))
        if chunk.tag_at(span.start) is None:
            meant = f"{{% {match[2].strip()} %}}"
            yield Finding.suggest(span, "Jinja leaves this unchanged", meant)
    if not any(mark in chunk.text for mark in ("{ {", "<%=", "\uff5b\uff5b")):
        return
    for content in chunk_contents(chunk):
        for match in _SPACED.finditer(chunk.text, content.value.span.start, content.value.span.end):
            span = Span(*match.span())
            if chunk.tag_at(span.start) is None:
                meant = f"{{{{ {match[1] or match[2] or match[3]} }}}}"
                yield Finding.suggest(span, "Jinja leaves this unchanged", meant, preferred=True)


@each_chunk
def _stray_braces(chunk: Chunk) -> Iterator[Finding]:
    if "}}}" not in chunk.text and "%}}" not in chunk.text:
        return
    for content in chunk_contents(chunk):
        tags = [
            tag
            for tag in chunk.tags_at(content.value.span)
            if tag.kind in {"output", "statement"} and not tag.unclosed
        ]
        stray = [
            tag
            for tag in tags
            if chunk.text[tag.span.end : tag.span.end + 1] == "}" and chunk.text[tag.span.start - 1] != "{"
        ]
        if not stray:
            continue
        if any("{" in tag.text[2:-2] for tag in tags):
            continue  # a tag prints a brace that this one may close
        if has_tag_problem(chunk, content.value.span):
            continue  # braces of another format, such as `{{"key": {{"a": 1}}}}` of Python
        unopened = max(-_opened_braces(chunk, content.value.span), 0)
        for end in (tag.span.end for tag in stray):
            after = chunk.text[end : min(end + unopened, content.value.span.end)]
            width = len(after) - len(after.lstrip("}"))
            if width:
                unopened -= width
                span = Span(end, end + width)
                fix = Fix("Remove this brace" if width == 1 else "Remove these braces", (Edit(span, ""),))
                message = "this brace closes nothing: the model gets it as text"
                if width > 1:
                    message = "these braces close nothing: the model gets them as text"
                yield Finding(span, message, (fix,))
