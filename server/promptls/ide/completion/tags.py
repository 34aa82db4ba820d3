"""Completion inside tags: keywords, filters, tests, blocks, imported names and suppressed rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.ide.callables import exported_macro, exports_of
from promptls.ide.completion.items import FIRST, CompletionItem, ItemKind, Request, call_item
from promptls.ide.symbols.jinja import block_names, family
from promptls.lint.registry import RULES
from promptls.semantic.names.file_names import chunk_bindings
from promptls.semantic.names.mentions import TemplateReference
from promptls.syntax.jinja import builtins
from promptls.syntax.jinja.problems import statement_of, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import NOWHERE, Span

_COMMON_FILTERS: Final = frozenset(
    [
        "default",
        "join",
        "length",
        "trim",
        "indent",
        "tojson",
        "upper",
        "lower",
        "title",
        "replace",
        "truncate",
        "first",
        "last",
        "list",
        "map",
        "selectattr",
        "sort",
        "int",
    ]
)
"""The filters used most in prompts, which are listed first."""
_HTML_FILTERS: Final = frozenset(
    {"e", "escape", "forceescape", "safe", "striptags", "urlize", "xmlattr", "urlencode"}
)
_SHORT: Final = frozenset({"d", "e", "count"})
_COMMON_TESTS: Final = frozenset(
    {"defined", "none", "string", "mapping", "number", "iterable", "in", "undefined"}
)


def filter_items() -> Iterator[CompletionItem]:
    """Yield every filter; with parentheses if it requires arguments."""
    for name in sorted(builtins.FILTERS):
        rank = 10 if name in _COMMON_FILTERS else 40 if name in _HTML_FILTERS or name in _SHORT else 20
        yield _item(builtins.filter_signature(name), "filter", rank)


def test_items(words: tuple[str, ...]) -> Iterator[CompletionItem]:
    """Yield every named test, and the `words` that are also allowed in its place."""
    for name in sorted(builtins.TESTS):
        if name.isidentifier():
            yield _item(builtins.test_signature(name), "test", 10 if name in _COMMON_TESTS else 20)
    yield from word_items(words, 30)


def word_items(words: tuple[str, ...], rank: int = 10) -> Iterator[CompletionItem]:
    """Yield Jinja keywords in order."""
    for index, word in enumerate(words):
        yield CompletionItem(word, "keyword", rank + index, text=f"{word} ")


def _item(signature: builtins.Signature, detail: str, rank: int) -> CompletionItem:
    name = signature.name
    needs = signature.needs_arguments
    return CompletionItem(
        name,
        "function",
        rank,
        snippet=f"{name}($1)$0" if needs else "",
        detail=detail,
        parameters=signature.parameter_list if signature.parameters else "",
        commits="" if needs else "|",
        takes_arguments=needs,
    )


def tag_items(request: Request, tag: Tag, start: int) -> Iterator[CompletionItem]:
    """Yield the keywords allowed in the tag that begins at offset `start`."""
    visible = request.visible
    innermost = visible.blocks[-1] if visible.blocks else ""
    close = _close(request, tag, start)
    if visible.due:
        yield CompletionItem(
            f"end{visible.due}",
            "keyword",
            FIRST,
            text=f"end{visible.due}{close}",
            detail="due",
            is_preselected=True,
        )
    for middle, owners in builtins.MIDDLES.items():
        if innermost in owners:
            yield _tag(request, tag, start, middle, FIRST + 1 if middle == "else" else FIRST + 2)
    # If a block is closed already, its end keyword is offered in the tag that closes it.
    is_end = tag_tree(tag).statement.keyword.startswith("end")
    for keyword in dict.fromkeys(reversed(visible.blocks)) if is_end else ():
        if keyword != visible.due:
            rank = FIRST if keyword == innermost else 30
            yield CompletionItem(f"end{keyword}", "keyword", rank, text=f"end{keyword}{close}")
    for rank, keyword in enumerate(builtins.TAGS):
        if keyword not in builtins.MIDDLES:
            yield _tag(request, tag, start, keyword, 10 + rank)


def _tag(request: Request, tag: Tag, start: int, keyword: str, rank: int) -> CompletionItem:
    """Return a tag with its end tag, on lines of its own or inline like the tag being edited."""
    fact = builtins.TAGS[keyword]
    close = _close(request, tag, start)
    opens_block = keyword in builtins.BLOCKS - {"set"}
    plain = f"{keyword}{close}" if fact.form == keyword and not opens_block else f"{keyword} "
    snippet = _quote(fact.form)
    if opens_block and keyword not in request.visible.due:
        end_close = close or ""
        opening = _delimiters(tag)
        is_alone = _is_alone(request, tag, start)
        body = "\n$0\n" if is_alone else "$0"
        snippet = f"{snippet} {opening[1]}{body}{opening[0]} end{keyword}{end_close}"
    elif snippet != keyword:
        snippet = f"{snippet}{close}$0" if close else f"{snippet}$0"
    else:
        snippet = ""
    return CompletionItem(keyword, "keyword", rank, text=plain, snippet=snippet)


def _quote(form: str) -> str:
    """Return the form with quotes around a template's name, which is completed next."""
    for keyword in ("include", "import", "from", "extends"):
        if form.startswith(f"{keyword} ${{1:"):
            return form.replace("${1:name}", '"${1:name.yml.j2}"', 1)
    return form


def _delimiters(tag: Tag) -> tuple[str, str]:
    """Return the opening and closing delimiters of the tag, with its white space control signs."""
    sign = tag.text[2 : tag.inner_start]
    closing = "-%}" if tag.trims_after and not tag.unclosed else "%}"
    return f"{{%{sign}", closing


def _close(request: Request, tag: Tag, start: int) -> str:
    """Return the missing closing delimiter; only if the tag contains just the word."""
    if not tag.unclosed:
        return ""
    rest = tag.text[request.offset - start :].strip()
    if rest in {"", request.typed}:
        return " %}"
    # The closing brace that an editor inserted automatically.
    return " %" if rest in {"}", f"{request.typed}}}"} else ""


def _is_alone(request: Request, tag: Tag, start: int) -> bool:
    source = request.template.source
    line = source.line_span(source.line_column(start).line)
    text = source.slice(line)
    before = text[: start - line.start]
    after = text[max(start + len(tag.text) - line.start, 0) :]
    return not before.strip() and not after.strip()


_LIST: Final = re.compile(r"promptls:\s*ignore(?:-file)?\[([^\]\n]*)$")
_DIRECTIVE_PREFIX: Final = re.compile(r"^\s*([a-z:]*)$")


def suppression_word(text: str, place: int) -> Span | None:
    """Return the span of the rule's name at `place` of a comment's text; None outside the brackets."""
    if not _LIST.search(text[:place]):
        return None
    start = place
    while start and re.match(r"[\w-]", text[start - 1]):
        start -= 1
    after = re.compile(r"[\w-]*").match(text, place)
    return Span(start, after.end() if after else place)


def rule_items(text: str, place: int) -> Iterator[CompletionItem]:
    """Yield the names of the rules that the comment does not list yet."""
    listed = _LIST.search(text[:place])
    taken = {name.strip() for name in listed[1].split(",")[:-1]} if listed else set()
    for rule in RULES:
        if rule.name not in taken:
            yield CompletionItem(rule.name, "enum", 10, detail=rule.summary)


def comment_word(text: str, place: int) -> Span | None:
    """Return the span of the first word of a comment, if it is a prefix of a promptls directive."""
    begun = _DIRECTIVE_PREFIX.match(text[:place])
    if not begun or not begun[1] or not "promptls: ignore".startswith(begun[1]):
        return None
    return Span(place - len(begun[1]), place)


def comment_items() -> Iterator[CompletionItem]:
    """Yield the beginning of a comment that suppresses rules."""
    yield CompletionItem(
        "promptls: ignore",
        "snippet",
        10,
        text="promptls: ignore[",
        snippet="promptls: ignore[${1:rule}] ${2:reason}",
        detail="suppress rules on this line",
    )


_OWN: Final = 10
_NEEDED: Final = 20


def block_items(request: Request, keyword: str) -> Iterator[CompletionItem]:
    """Yield names for a block: those of blocks in extended templates.

    After `endblock`, the name of the open block.
    """
    if keyword == "endblock":
        name = _open_block(request)
        if name:
            yield CompletionItem(name, "module", FIRST, detail="the open block")
        return
    snapshot = request.snapshot
    own = set(block_names(request.template))
    for path in family(snapshot, request.path)[1:]:
        template = snapshot.template(path)
        for name in block_names(template) if template is not None else ():
            if name not in own or name == request.typed:
                yield CompletionItem(name, "module", _OWN, detail=f"block of {Path(path).name}")


def own_block_items(request: Request) -> Iterator[CompletionItem]:
    """Yield the blocks available on `self`."""
    for path in family(request.snapshot, request.path):
        template = request.snapshot.template(path)
        for name in block_names(template) if template is not None else ():
            yield call_item(name, "method", _OWN, f"block of {Path(path).name}", takes_arguments=False)


def _open_block(request: Request) -> str:
    """Return the name of the innermost block that is open at the place."""
    opened: list[str] = []
    located = request.template.source.located(request.offset)
    for chunk, start in zip(request.template.source.chunks, request.template.source.starts, strict=False):
        if start > located.start:
            break
        for tag in chunk.tags:
            if start + tag.span.end >= request.offset:
                break
            statement = statement_of(tag)
            if statement is not None and statement.keyword == "block":
                opened.append(statement.name)
            elif statement is not None and statement.keyword == "endblock" and opened:
                opened.pop()
    return opened[-1] if opened else ""


def target_items(request: Request, tag: Tag, start: int) -> Iterator[CompletionItem]:
    """Yield variables to assign: those that the file sets elsewhere, and those that its includes read."""
    snapshot = request.snapshot
    inside = range(start, start + len(tag.text) + 1)
    found: dict[str, None] = {}
    for located_start, chunk in zip(
        request.template.source.starts, request.template.source.chunks, strict=False
    ):
        for binding in chunk_bindings(chunk):
            if binding.kind == "set" and located_start + binding.span.start not in inside:
                found[binding.name] = None
    for name in found:
        yield CompletionItem(name, "variable", _OWN, detail="set elsewhere in the file")
    for path in snapshot.included(request.path)[1:]:
        template = snapshot.template(path)
        for name in sorted(template.names.input_names) if template is not None else ():
            if name not in found and name.isidentifier():
                yield CompletionItem(name, "variable", _NEEDED, detail=f"read by {Path(path).name}")


def imported_items(request: Request, name: str, taken: frozenset[str]) -> Iterator[CompletionItem]:
    """Yield the names that `{% from name import … %}` can import, except for those already imported."""
    target = request.snapshot.resolve(request.path, TemplateReference("from", name, NOWHERE))
    template = request.snapshot.template(target) if target else None
    if target is None or template is None:
        return
    for exported, binding in exports_of(template).items():
        if exported in taken:
            continue
        described = exported_macro(request.snapshot, target, exported)
        kind: ItemKind = "function" if described else "variable"
        parameters = described.signature.parameter_list if described else ""
        yield CompletionItem(
            exported, kind, 10 if described else 20, detail=binding.kind, parameters=parameters
        )
