"""The tags: the end that is due first, then what may stand in the block, then every other tag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.features.completion.item import FIRST, Item
from promptls.features.completion.request import Request
from promptls.syntax.jinja.keywords import MIDDLES
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tag_facts import TAGS

_INDENT: Final = "  "


def tag_items(request: Request, tag: Tag, start: int) -> Iterator[Item]:
    """What the tag that begins at offset `start` may be."""
    visible = request.visible
    innermost = visible.blocks[-1] if visible.blocks else ""
    close = _close(request, tag, start)
    if visible.due:
        yield Item(
            f"end{visible.due}",
            "keyword",
            FIRST,
            text=f"end{visible.due}{close}",
            detail="due",
            is_preselected=True,
        )
    for middle, owners in MIDDLES.items():
        if innermost in owners:
            yield _tag(request, tag, start, middle, FIRST + 1 if middle == "else" else FIRST + 2)
    # Where a block is closed already, its end is offered to the tag that closes it.
    is_end = tag_tree(tag).statement.keyword.startswith("end")
    for keyword in dict.fromkeys(reversed(visible.blocks)) if is_end else ():
        if keyword != visible.due:
            rank = FIRST if keyword == innermost else 30
            yield Item(f"end{keyword}", "keyword", rank, text=f"end{keyword}{close}")
    for rank, keyword in enumerate(TAGS):
        if keyword not in MIDDLES:
            yield _tag(request, tag, start, keyword, 10 + rank)


def _tag(request: Request, tag: Tag, start: int, keyword: str, rank: int) -> Item:
    """A tag with its end, laid out as the line around it: on lines of its own, or within the line."""
    fact = TAGS[keyword]
    close = _close(request, tag, start)
    plain = f"{keyword}{close}" if fact.form == keyword and not fact.opens_block else f"{keyword} "
    snippet = _quoted(fact.form)
    if fact.opens_block and keyword not in request.visible.due:
        end_close = close or ""
        opening = _delimiters(tag)
        is_alone = _is_alone(request, tag, start)
        body = "\n$0\n" if is_alone else "$0"
        snippet = f"{snippet} {opening[1]}{body}{opening[0]} end{keyword}{end_close}"
    elif snippet != keyword:
        snippet = f"{snippet}{close}$0" if close else f"{snippet}$0"
    else:
        snippet = ""
    return Item(keyword, "keyword", rank, text=plain, snippet=snippet)


def _quoted(form: str) -> str:
    """The form with quotes around a template's name, which completion fills in next."""
    for keyword in ("include", "import", "from", "extends"):
        if form.startswith(f"{keyword} ${{1:"):
            return form.replace("${1:name}", '"${1:name.yml.j2}"', 1)
    return form


def _delimiters(tag: Tag) -> tuple[str, str]:
    """How a tag like this one opens and closes: with the signs for white space that it has."""
    sign = tag.text[2:3] if tag.text[2:3] in {"-", "+"} and tag.inner_start > 2 else ""  # noqa: PLR2004  (the sign)
    closing = "-%}" if tag.trims_after and not tag.unclosed else "%}"
    return f"{{%{sign}", closing


def _close(request: Request, tag: Tag, start: int) -> str:
    """What closes the tag, where nothing does yet; with nothing but the word in it."""
    if not tag.unclosed:
        return ""
    rest = tag.text[request.offset - start :].strip()
    if rest in {"", request.typed}:
        return " %}"
    # The brace that an editor has put behind the one that was typed.
    return " %" if rest in {"}", f"{request.typed}}}"} else ""


def _is_alone(request: Request, tag: Tag, start: int) -> bool:
    """Whether nothing else stands on the tag's line."""
    source = request.template.source
    line = source.line_span(source.place(start).line)
    text = source.slice(line)
    before = text[: start - line.start]
    behind = text[max(start + len(tag.text) - line.start, 0) :]
    return not before.strip() and not behind.strip()
