"""Edits of YAML and JSON: keys of mappings, declared inputs, and fixes of syntax errors."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import Edit, File, Fix
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.problem import ProblemKind, SyntaxProblem
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, scalar_text
from promptls.text.positions import Span, leading_spaces, line_end, line_start

_BRACKET: Final = re.compile(r"(?:[&!]\S*[ \t]+)*[{\[]")
"""An opening bracket of a mapping or list, after an optional anchor and tag."""


_BLANK_LINES: Final = re.compile(r"(?:\r?\n[ \t]*)*(?=\r?\n)")


def is_flow(text: str, span: Span) -> bool:
    """Return whether the mapping or list at `span` is in flow style, with brackets."""
    return _BRACKET.match(text, span.start, span.end) is not None


def colon_end(text: str, entry: Entry) -> int:
    """Return the offset after a key's colon, or after the key if it has no colon, as in `{role}`."""
    end = entry.key.span.end
    return end + 1 if text[end : end + 1] == ":" else end


def added_entry(
    text: str, span: Span, entries: tuple[Entry, ...], written: str, before: Entry | None = None
) -> Edit | None:
    """Return an edit that inserts `written`, such as `a: 1`, before an entry of the mapping at `span`.

    It is inserted before the first entry if `before` is None. Return None if the mapping is empty.
    """
    if not entries:
        return None
    start = (before or entries[0]).key.span.start
    if is_flow(text, span):
        return Edit.insert(start, f"{written}, ")
    return Edit.insert(start, f"{written}\n{indentation(text, start)}")


def appended_entry(text: str, span: Span, entries: tuple[Entry, ...], written: str) -> Edit | None:
    """Return an edit that inserts `written`, such as `a: 1`, after the last entry of the mapping at `span`.

    Return None if the mapping is empty. Further lines of `written` are indented like the mapping.
    """
    if not entries:
        return None
    last = max(entries, key=_start)
    end = _end(text, last)
    if is_flow(text, span):
        return Edit.insert(end, f", {written}")
    # The span of a block scalar contains its last line break.
    end = line_end(text, line_start(text, end) - 1 if text[end - 1 : end] == "\n" else end)
    if isinstance(last.value, Scalar) and last.value.style in {"|", ">"}:
        # Empty lines may belong to it.
        blank = _BLANK_LINES.match(text, end)
        end = end if blank is None else blank.end()
    indent = indentation(text, _start(entries[0]))
    return Edit.insert(end, f"\n{written}".replace("\n", f"\n{indent}"))


def removed_item(text: str, items: Sequence, item: Node) -> Edit | None:
    """Return an edit that removes an item from a list; None if it is the only line of one without brackets."""
    before, after = items.items[: (index := items.items.index(item))], items.items[index + 1 :]
    if is_flow(text, items.span):
        start = before[-1].span.end if before and not after else item.span.start
        return Edit(Span(start, after[0].span.start if after else item.span.end), "")
    begin = line_start(text, item.span.start)
    end = line_end(text, item.span.end)
    is_alone = not text[begin : item.span.start].replace("-", "").strip() and len(items.items) > 1
    return Edit(Span(begin, end + len(text[end : end + 1])), "") if is_alone else None


def text_start(text: str, scalar: Scalar) -> int:
    """Return the offset of the first character of a scalar's text, after its quote or block header."""
    start = scalar.span.start
    if scalar.style in {"'", '"'}:
        return start + 1
    if scalar.style in {"|", ">"}:
        start = line_end(text, start)
        while start < scalar.span.end and text[start] in "\r\n \t":
            start += 1
    return start


def indentation(text: str, offset: int) -> str:
    """Return spaces up to the column of `offset`."""
    return " " * (offset - line_start(text, offset))


def without_entry(chunk: Chunk, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Edit | None:
    """Return an edit that removes an entry of the mapping at `span`, with its line.

    Return None if it is the only entry, or if the edit would also remove a tag outside of the value.
    """
    removed = _removed(chunk.text, span, entries, entry)
    value = entry.value.span
    if removed is None or any(
        removed.covers(tag.span.start) and not value.covers(tag.span.start) for tag in chunk.tags_at(removed)
    ):
        return None
    return Edit(removed, "")


def _removed(text: str, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Span | None:
    start = entry.key.span.start
    following = bisect_right(entries, start, key=_start)
    if following < len(entries):
        return Span(start, _start(entries[following]))
    before = entries[: bisect_left(entries, start, key=_start)][-1:]
    if not before:
        return None
    if text[span.start : span.start + 1] == "{":
        return Span(_end(text, before[0]), _end(text, entry))
    begin = line_start(text, start)
    end = line_end(text, _end(text, entry))
    end += 2 if text.startswith("\r\n", end) else len(text[end : end + 1])
    return Span(begin, end) if not text[begin:start].strip(" ") else None


def _start(entry: Entry) -> int:
    return entry.key.span.start


def _end(text: str, entry: Entry) -> int:
    return max(entry.value.span.end, colon_end(text, entry))


BLANK = "…"
"""A placeholder for text that the user has to write."""


def key_after(chunk: Chunk, span: Span, entries: tuple[Entry, ...], written: str) -> tuple[Fix, ...]:
    """Return the fix that adds a key, such as `content: …`, after the last key of the mapping at `span`.

    Return nothing if the mapping is empty, or if something else follows its last key on the line.
    """
    if not entries:
        return ()
    title = f"Add `{written.split(':', maxsplit=1)[0]}`, to be filled in"
    last = max(entries, key=lambda entry: entry.key.span.start)
    end = max(last.value.span.end, colon_end(chunk.text, last))
    if is_flow(chunk.text, span):
        return (Fix(title, (Edit.insert(end, f", {written}"),)),)
    line = line_end(chunk.text, end)
    after = chunk.text[end:line].strip()
    if (after and not after.startswith("#")) or any(
        tag.span.start < line and tag.span.end > end for tag in chunk.tags
    ):
        return ()
    indent = indentation(chunk.text, entries[0].key.span.start)
    return (Fix(title, (Edit.insert(line, f"\n{indent}{written}"),)),)


def as_list(chunk: Chunk, mapping: Mapping) -> tuple[Fix, ...]:
    """Return the fix that turns a mapping into a list with one item."""
    span = mapping.span
    if is_flow(chunk.text, span):
        edits = [Edit.insert(span.start, "["), Edit.insert(span.end, "]")]
        return (Fix("Make it a list", tuple(edits), preferred=True),)
    edits = [Edit.insert(span.start, "- ")]
    for start in chunk.line_starts:
        if span.start < start < span.end and chunk.text[start : line_end(chunk.text, start)].strip():
            edits.append(Edit.insert(start, "  "))
    return (Fix("Make it a list", tuple(edits), preferred=True),)


def added_input(file: File, name: str) -> tuple[Fix, ...]:
    """Return a fix that adds `name` after the last input key; none if the position cannot be determined."""
    declarations = file.template.declarations
    keys = declarations.tree.value("input_keys") if declarations.tree else None
    edit = _added_input(file.template.source.text, keys, name)
    return (Fix(f"Add `{name}` to `input_keys`", (edit,)),) if edit else ()


def _added_input(text: str, keys: Node | None, name: str) -> Edit | None:
    if not isinstance(keys, Mapping | Sequence):
        return None
    written = f"{name}: {{}}" if isinstance(keys, Mapping) else name
    inside = keys.span.start + 1
    if isinstance(keys, Mapping) and keys.entries:
        after = text[_end(text, keys.entries[-1]) :]
        is_bare = is_flow(text, keys.span) and text[keys.entries[-1].key.span.end] != ":"
        return (
            None
            if is_bare and after.startswith(":")
            else appended_entry(text, keys.span, keys.entries, written)
        )
    if isinstance(keys, Sequence) and keys.items:
        last = keys.items[-1].span.end
        if is_flow(text, keys.span):
            return Edit.insert(last, f", {written}")
        return Edit.insert(line_end(text, last - 1), f"\n{indentation(text, keys.span.start)}- {written}")
    return Edit.insert(inside, written) if is_flow(text, keys.span) else None


def removed_input(file: File, name: str, *, preferred: bool = False) -> tuple[Fix, ...]:
    """Return a fix that removes `name` from `input_keys`; none if its position cannot be determined."""
    source, tree = file.template.source, file.template.declarations.tree
    keys = tree.merged("input_keys") if tree else None
    edit = None
    if isinstance(keys, Sequence):
        item = next((item for item in keys.items if scalar_text(item) == name), None)
        edit = removed_item(source.text, keys, item) if item is not None else None
    elif isinstance(keys, Mapping) and (entry := keys.entry(name)) is not None:
        edit = without_entry(source.whole, keys.span, keys.entries, entry)
    return () if edit is None else (Fix(f"Remove `{name}` from `input_keys`", (edit,), preferred),)


_WORD: Final = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_]\w*")


_COMMA: Final = frozenset({"", ","})


def json_fixes(fixes: tuple[Fix, ...], source: Source) -> tuple[Fix, ...]:
    """Return the fixes that are valid in JSON, with quotes around the words that they insert.

    Fixes that replace a quoted text with a word get quotes; fixes of commas are unchanged; others are left
    out because they would break JSON.
    """
    return tuple(
        fix
        if all(edit.text in _COMMA and source.slice(edit.span) in _COMMA for edit in fix.edits)
        else Fix(fix.title, tuple(Edit(edit.span, f'"{edit.text}"') for edit in fix.edits), fix.preferred)
        for fix in fixes
        if all(
            _replaces_text_with_word(edit, source)
            or (edit.text in _COMMA and source.slice(edit.span) in _COMMA)
            for edit in fix.edits
        )
    )


def _replaces_text_with_word(edit: Edit, source: Source) -> bool:
    written = source.slice(edit.span)
    quote = '"'
    is_text = len(written) > 1 and written.startswith(quote) and written.endswith(quote)
    return is_text and _WORD.fullmatch(edit.text) is not None


_KEY_WITHOUT_COLON: Final = re.compile(r"[ ]*(?:- )?([a-z_]+)(?::(?=\S)|(?=\uff1a)|[ ]+(?!:))")
_EQUALS_SIGN: Final = re.compile(r"[ ]*[=\uff1a][ ]*")
"""A sign in the place of a colon: `=`, or the wide colon of East Asian keyboards."""
_VALUE: Final = re.compile(r"[ ]*(?:- )?[\w-]+:[ ]+(\S.*?)[ ]*$")
_QUOTE: Final = re.compile(r"[ ]*(?:- )?[\w-]+:[ ]+(['\"])")
_PART_KEY: Final = re.compile(r"(?P<indent>[ ]*)(?P<dash>-[ ]+)?(?P<key>[a-z_]+):(?=\s|$)")
_SECOND_KEY: Final = re.compile(rf"(?P<gap>[ ,]+)(?:{'|'.join(sorted(PART_KEYS))}):[ ]")
_UNQUOTABLE: Final = ("{{", "{%", "{#")


def yaml_fixes(template: Template, problem: SyntaxProblem) -> tuple[Fix, ...]:
    """Return the fixes for a YAML error of the file."""
    source = template.source
    line = source.line_span(source.line_column(problem.span.start).line)
    text = source.slice(line)
    if problem.kind == "text-after-mark":
        return tuple(_after_mark(source, text, line))
    unmarked = _unmarked_block(source, text, line.start) if problem.kind == "unquoted-value" else None
    if unmarked is not None:
        return (unmarked,)
    of_line = next(filter(None, (fix(text, line.start, problem.kind) for fix in _FIXES)), None)
    fixes = (*_indented(source, text, line.start), *filter(None, [of_line]))
    if fixes and problem.kind == "tab":
        indent = len(text) - len(text.lstrip())
        numbers = range(source.line_column(line.start).line - 1, -1, -1)
        above = (source.slice(source.line_span(number)) for number in numbers)
        least = _block_indent(next((each for each in above if each.strip()), ""), text)
        (edit,) = fixes[0].edits
        if len(edit.text) < least and edit.span == Span(line.start, line.start + indent):
            return (replace(fixes[0], edits=(Edit(edit.span, " " * least),)),)
    return fixes


def _block_indent(above: str, text: str) -> int:
    """Return the least indentation of a line that is text of the block of the line above; 0 if it may be none."""
    mark = _MARK_ALONE.match(above)
    if mark is not None:  # The first line of a block must be deeper than its key.
        return len(mark["indent"]) + len(mark["dash"] or "") + 2
    is_text = not _PART_KEY.match(text.lstrip()) and not _PART_KEY.match(above)
    return leading_spaces(above) if is_text else 0


_MARK_ALONE: Final = re.compile(r"(?P<indent>[ ]*)(?P<dash>-[ ]+)?[\w-]+[ ]*:[ ]+[|>][-+]?[ ]*$")


_KEY_ALONE: Final = re.compile(r"[ ]*(?:- )?(?:content|instruction):[ ]*$")


def _unmarked_block(source: Source, line: str, start: int) -> Fix | None:
    """Return the fix that adds the `|` of a text below its key, in which a line looks like a key."""
    indent = leading_spaces(line)
    for line_index in range(source.line_column(start).line - 1, -1, -1):
        above = source.line_span(line_index)
        text = source.slice(above)
        if _KEY_ALONE.match(text):
            column = len(text) - len(text.lstrip("- "))
            end = above.start + len(text.rstrip())
            return Fix("Add `|`", (Edit.insert(end, " |"),), preferred=True) if column < indent else None
        if text.strip() and leading_spaces(text) < indent:
            return None
    return None


_MARK: Final = re.compile(
    r"(?P<indent>[ ]*(?:-[ ]+)?)[\w-]+[ ]*:[ ]+[|>][-+]?(?P<after>[ ]*(?P<text>\S.*?))[ ]*$"
)


def _after_mark(source: Source, line: str, span: Span) -> Iterator[Fix]:
    """Yield the fix for text after the mark of a block: remove signs, and move words to the line below."""
    found = _MARK.match(line)
    if found is None:
        return
    after = Span(*found.span("after")).shifted(span.start)
    if not re.search(r"\w|[{<]", found["text"]):
        yield Fix(f"Remove `{found['text']}`", (Edit(after, ""),), preferred=True)
    elif found["after"].startswith(" "):
        below = re.match(r"[\r\n]*([ ]*)", source.slice(Span(span.end, span.end + len(line) + 2)))
        indent = max(len(below[1]) if below else 0, len(found["indent"]) + 2)
        edit = Edit(Span(after.start, span.start + found.start("text")), "\n" + " " * indent)
        yield Fix("Move the text to the next line", (edit,))


def _indented(source: Source, line: str, start: int) -> Iterator[Fix]:
    """Yield the fix for a part's key that is indented differently from the key above it."""
    own = _PART_KEY.match(line)
    if own is None or own["dash"] or own["key"] not in PART_KEYS:
        return
    below = _PART_KEY.match(source.slice(source.line_span(source.line_column(start).line + 1)))
    is_item = below is not None and not below["dash"] and len(below["indent"]) == len(own["indent"]) + 2
    if own["key"] == "name" and is_item:
        place = Span(start + len(own["indent"]), start + len(own["indent"]))
        yield Fix("Insert a dash", (Edit(place, "- "),), preferred=True)
        return
    lines_above = map(source.line_span, range(source.line_column(start).line - 1, -1, -1))
    keys_above = (
        (place, key)
        for place in lines_above
        if (key := _PART_KEY.match(source.slice(place))) and key["key"] in PART_KEYS
    )
    nearest = next(keys_above, None)
    if nearest is None:
        return
    place, above = nearest
    column = len(above["indent"]) + len(above["dash"] or "")
    if above["dash"] and above["indent"] and own["indent"] == "  " and next(keys_above, None) is None:
        edit = Edit(Span(place.start, place.start + len(above["indent"])), "")
        yield Fix("Begin the item in the first column", (edit,), preferred=True)
    elif column != len(own["indent"]):
        edit = Edit(Span(start, start + len(own["indent"])), " " * column)
        yield Fix("Indent it like the key above", (edit,), preferred=True)


def _insert(title: str, place: int, text: str, *, preferred: bool = True) -> Fix:
    return Fix(title, (Edit.insert(place, text),), preferred)


def _spaces(line: str, start: int, _kind: ProblemKind) -> Fix | None:
    indent = re.match(r"[\s\u200b\u2060\ufeff]*", line)
    if indent is None or not indent[0].strip(" "):
        return None
    width = len(re.sub(r"[\u200b\u2060\ufeff]", "", indent[0].replace("\t", "  ")))
    edit = Edit(Span(start, start + indent.end()), " " * width)
    return Fix("Indent with spaces", (edit,), preferred=True)


def _dash(line: str, start: int, kind: ProblemKind) -> Fix | None:
    if re.match(r"[*+\u2022\u2013\u2014][ ](?:name|role|content):", line):
        return Fix("Change it to a dash", (Edit(Span(start, start + 1), "-"),), preferred=True)
    if line.startswith("-") and kind == "missing-space":
        return _insert("Insert a space", start + 1, " ")
    return None


def _colon(line: str, start: int, _kind: ProblemKind) -> Fix | None:
    key = _KEY_WITHOUT_COLON.match(line)
    if key is None or key[1] not in PART_KEYS or not line[key.end() :].strip():
        return None
    place, title = start + key.end(1), f"Write `{key[1]}: `"
    sign = _EQUALS_SIGN.match(line, key.end(1))
    if sign is not None:
        return Fix(title, (Edit(Span(place, start + sign.end()), ": "),), preferred=True)
    return _insert(title, place + 1, " ") if line[key.end(1)] == ":" else _insert(title, place, ":")


def _end_of_line(line: str, start: int, kind: ProblemKind) -> Fix | None:
    end = start + len(line.rstrip())
    if kind == "missing-mark":
        return _insert("Add `|`", end, " |")
    quote = _QUOTE.match(line) if kind == "unclosed-quote" else None
    if quote is None:
        return None
    return _insert("Close the quote at the end of the line", end, quote[1], preferred=False)


def _short_value(line: str, start: int, _kind: ProblemKind) -> Fix | None:
    """Return the fix of a role or priority with a colon after it, or with a second key on its line."""
    value = _VALUE.match(line)
    if value is None or not re.match(r"[ ]*(?:- )?(?:role|truncation_priority):", line):
        return None
    if value[1].endswith(":"):
        place = start + value.end(1) - 1
        return Fix("Remove the colon", (Edit(Span(place, place + 1), ""),), preferred=True)
    second = _SECOND_KEY.search(line, value.start(1))
    if second is None:
        return None
    column = re.match(r"[ ]*(?:-[ ]+)?", line)
    edit = Edit(Span(*second.span("gap")).shifted(start), "\n" + " " * (column.end() if column else 0))
    return Fix("Break the line here", (edit,), preferred=True)


def _quoted_value(line: str, start: int, kind: ProblemKind) -> Fix | None:
    value = _VALUE.match(line)
    if value is None or kind not in {"unquoted-value", "text-after-value"} or not re.search(r"\w", value[1]):
        return None
    text = value[1]
    if kind == "unquoted-value" and text[0] in "'\"|>[{" and not text.startswith("{{"):
        return None
    if kind == "text-after-value" and text[0] == text[-1] != "[":
        text = text[1:-1]
    span = Span(*value.span(1)).shifted(start)
    return Fix("Quote the value", (Edit(span, _quote(text)),))


_FIXES: Final = (_spaces, _dash, _colon, _end_of_line, _short_value, _quoted_value)
"""Functions that return the fix of a line with a YAML error, or None; the first one that does is used."""


def _quote(text: str) -> str:
    """Return the text in quotes, chosen to avoid escapes if possible; Jinja in it is unchanged."""
    if "'" not in text or any(each in text for each in _UNQUOTABLE):
        return f"'{text}'" if "'" not in text else f'"{text}"'
    return "'" + text.replace("'", "''") + "'"
