"""An OpenCompass configuration in Python, read as data; nothing of it is run."""

from __future__ import annotations

import ast
import io
import posixpath
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from promptls.convert.python_values import (
    GLOBALS,
    PLAIN,
    Evaluator,
    Function,
    Names,
    OpenBeside,
    Reader,
    Symbol,
    as_data,
    is_known,
)
from promptls.text.errors import UserError
from promptls.text.positions import Span, line_starts
from promptls.text.suggest import did_you_mean


class TextPiece(NamedTuple):
    """A stretch of a text and the expression that wrote it, None if that is not known.

    The expression wrote `whole`, of which the stretch begins at `start`. Of a value that only running would
    tell, `text` is its source, and `is_symbol`.
    """

    text: str
    node: ast.expr | ast.keyword | None = None
    whole: str = ""
    start: int = 0
    is_symbol: bool = False


class PlacedText(str):
    """A text with its pieces, which together are the text."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> PlacedText:
        """Return the text that pieces without symbols make."""
        made = cls("".join(piece.text for piece in pieces))
        made.pieces = tuple(pieces)
        return made

    def __deepcopy__(self, _memo: object) -> PlacedText:
        """Return the text itself: its expressions are not copied with the values of a configuration."""
        return self


class MixedText(Symbol):
    """A text of which some pieces are known, and others are symbols."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> MixedText:
        """Return the text that pieces make."""
        made = cls("".join(piece.text for piece in pieces))
        object.__setattr__(made, "pieces", tuple(pieces))
        return made

    def __deepcopy__(self, _memo: object) -> MixedText:
        """Return the text itself, as above."""
        return self


def placed(text: str, node: ast.expr | ast.keyword) -> PlacedText:
    """Return the text of a literal, or of the name of an argument."""
    return PlacedText.of([TextPiece(text, node, text)])


def placed_together(values: Sequence[Any]) -> PlacedText | MixedText:
    """Return the text that values make one behind the other."""
    pieces = [piece for value in values for piece in pieces_of(value)]
    known = not any(piece.is_symbol for piece in pieces)
    return PlacedText.of(pieces) if known else MixedText.of(pieces)


def placed_part(text: str, made: str) -> str:
    """Return what a method that cuts off the ends of a text has made of it."""
    if not isinstance(text, PlacedText) or not made:
        return made
    start = text.index(made)
    cut, begin = [], 0
    for piece in text.pieces:
        first, last = max(start - begin, 0), min(start + len(made) - begin, len(piece.text))
        if first < last:
            cut.append(piece._replace(text=piece.text[first:last], start=piece.start + first))
        begin += len(piece.text)
    return PlacedText.of(cut)


def pieces_of(value: Any) -> tuple[TextPiece, ...]:
    """Return the pieces that a value is as a text."""
    if isinstance(value, PlacedText | MixedText):
        return value.pieces
    return (TextPiece(str(value), is_symbol=isinstance(value, Symbol)),)


_OPENING: Final = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')")
_PIECE: Final = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|.)|\r\n|.", re.DOTALL
)
"""A character of the inside of a literal, or an escape."""
_ESCAPE: Final = re.compile(r"\\[\\'\"abfnrtv0-7xuUN].*", re.DOTALL)


class PythonPlaces:
    """The places of expressions in one text of Python, in characters from its start.

    The text begins at `begin`, behind a mark of its encoding that the syntax tree knows nothing of.
    """

    def __init__(self, text: str, begin: int = 0) -> None:
        self.text: Final = text
        self._begin = begin
        self._starts = line_starts(text)

    def span(self, node: ast.expr | ast.keyword) -> Span:
        """Return where the expression stands; of the name of an argument, the name."""
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.keyword):
            return Span(start, start + len(node.arg or ""))
        return Span(
            start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        )

    def characters(self, node: ast.expr | ast.keyword, value: str) -> tuple[Span, ...] | None:
        """Return where each character of the text that the expression writes stands; None if nobody knows."""
        span = self.span(node)
        if isinstance(node, ast.keyword):
            return tuple(Span(at, at + 1) for at in range(span.start, span.end))
        return _characters(self.text[span.start : span.end], span.start, value)

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a position of the syntax tree: line from 1, column in UTF-8 bytes."""
        start = self._starts[min(line, len(self._starts)) - 1] + (self._begin if line == 1 else 0)
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        encoded = self.text[start:end].encode("utf-8", "surrogatepass")
        return start + len(encoded[:column].decode("utf-8", "ignore"))


@lru_cache(maxsize=256)
def _characters(source: str, start: int, value: str) -> tuple[Span, ...] | None:
    found: list[tuple[str, Span]] = []
    try:
        for token, its_start in _literals(source):
            opening = _OPENING.match(token)
            if opening is None or {"f", "b"} & set(opening[1].lower()):
                return None
            body = token[opening.end() : -len(opening[2])]
            by = start + its_start + opening.end()
            decoded = _decoded(body, is_raw="r" in opening[1].lower())
            found += [(text, span.shifted(by)) for text, span in decoded]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return tuple(span for _, span in found) if "".join(text for text, _ in found) == value else None


def _literals(source: str) -> Iterator[tuple[str, int]]:
    """Yield the literals that stand one behind the other in an expression, each with its offset."""
    # In brackets, literals may stand on several lines.
    text = f"({source})"
    starts = line_starts(text)
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.STRING:
            (line, column), (end_line, end_column) = token.start, token.end
            first = starts[line - 1] + column
            yield text[first : starts[end_line - 1] + end_column], first - 1


def _decoded(body: str, *, is_raw: bool) -> Iterator[tuple[str, Span]]:
    """Yield the characters that the inside of a literal stands for, each with its place."""
    for match in _PIECE.finditer(body):
        written, start = match.group(), match.start()
        if written in {"\r\n", "\r"}:
            yield "\n", Span(*match.span())
        elif not is_raw and written[1:] in {"\n", "\r", "\r\n"}:
            continue
        elif is_raw or not _ESCAPE.fullmatch(written):
            lines = (
                ("\n" if each in "\r\n" else each, at)
                for at, each in enumerate(written.replace("\r\n", "\n"))
            )
            yield from ((each, Span(start + at, start + at + 1)) for each, at in lines)
        else:
            yield str(ast.literal_eval(f'"{written}"')), Span(*match.span())


_DATASET_KEYS: Final = ("abbr", "name", "path", "reader_cfg", "infer_cfg", "eval_cfg")
_INFER: Final = "infer_cfg"
_MAX_FILES: Final = 200
_THIS_FOLDER: Final = "."
_DEEPEST_CALL: Final = 20


@dataclass(frozen=True, slots=True)
class Configuration:
    """The datasets of a file, each a mapping with `infer_cfg`; `unread` are sources that gave no value."""

    datasets: tuple[Mapping[str, Any], ...]
    unread: tuple[str, ...]

    def chosen(self, name: str | None) -> Mapping[str, Any]:
        """Return the dataset of a name, or the first; raises UserError that names the nearest."""
        names = self.names()
        if name is None:
            return self.datasets[0]
        if name not in names:
            listed = ", ".join(f"`{each}`" for each in names)
            message = f"the file configures no dataset `{name}`{did_you_mean(name, names)}"
            raise UserError(message, remedy=f"choose one of {listed}")
        return self.datasets[names.index(name)]

    def names(self) -> tuple[str, ...]:
        """Return what the datasets are called: `abbr`, else `name`, else their number."""
        return tuple(
            str(each.get("abbr") or each.get("name") or number)
            for number, each in enumerate(self.datasets, start=1)
        )


def read_configuration(text: str, open_beside: OpenBeside = lambda _path: None) -> Configuration:
    """Return the datasets that the file configures; raises UserError where there is none.

    They are the items of its lists whose names end in `datasets`; without such a list, one that is
    made of the variables that end in `infer_cfg`, `reader_cfg` and `eval_cfg`.
    """
    reading = _Reading(open_beside)
    names = reading.whole(parsed(text))
    found = list(_from_lists(names)) or list(_from_variables(names))
    if not found:
        raise UserError(
            "the file configures no dataset",
            remedy="it needs a variable whose name ends in `infer_cfg`, or in `_datasets`",
        )
    datasets = tuple(as_data({key: each[key] for key in _DATASET_KEYS if key in each}) for each in found)
    written = str(datasets)
    unread = [source for source in reading.evaluator.unread if source in written]
    whole = (each for each in unread if not any(each != other and each in other for other in unread))
    return Configuration(datasets, tuple(whole))


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a configuration; raises UserError for what is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"the file is no Python: {error}") from error


def read_names(tree: ast.Module, open_beside: OpenBeside, reader: Reader) -> Names:
    """Return the variables that the configuration sets, with the texts that `reader` makes.

    Raises UserError for one that computes more than data needs.
    """
    return _Reading(open_beside, reader).whole(tree)


def configured(names: Names) -> list[dict[str, Any]]:
    """Return every dataset among the variables of a file, the configurations without one among them."""
    listed = list(_from_lists(names))
    used = {id(each["infer_cfg"]) for each in listed}
    alone = [
        {"infer_cfg": value, **_reader_of(name, names)}
        for name, value in names.items()
        if name.endswith(_INFER) and isinstance(value, dict) and id(value) not in used
    ]
    return [*listed, *alone]


def _reader_of(name: str, names: Names) -> dict[str, Any]:
    """Return the reader whose name differs from that of an `infer_cfg` in its last word alone."""
    reader = names.get(f"{name.removesuffix(_INFER)}reader_cfg")
    return {"reader_cfg": reader} if isinstance(reader, dict) else {}


class _Flow(NamedTuple):
    """What ends a block of statements early."""

    kind: str
    value: Any = None


class _Reading:
    """The files that are read for one configuration, and what reads their expressions."""

    def __init__(self, open_beside: OpenBeside, reader: Reader = PLAIN) -> None:
        self.evaluator = Evaluator(open_beside, reader)
        self.evaluator.call = self._call
        self._depth = 0
        self._open = open_beside
        self._files: dict[str, Names] = {}

    def whole(self, tree: ast.Module) -> Names:
        """Return the variables that the configuration itself sets; raises UserError where it is too deep."""
        try:
            return self._file(tree, _THIS_FOLDER)
        except RecursionError as error:
            raise UserError("the configuration's expressions are nested too deep") from error

    def _file(self, tree: ast.Module, folder: str) -> Names:
        """Return the variables that a file in `folder` sets."""
        names: Names = {"__file__": posixpath.join(folder, "config.py")}
        self._run(tree.body, names, folder)
        return names

    def _run(self, body: list[ast.stmt], names: Names, folder: str) -> _Flow | None:
        for statement in body:
            flow = self._statement(statement, names, folder)
            if flow is not None:
                return flow
        return None

    def _statement(self, statement: ast.stmt, names: Names, folder: str) -> _Flow | None:
        value = self.evaluator.value
        match statement:
            case ast.For(target=target, iter=node, body=body):
                return self._loop(target, value(node, names), body, names, folder)
            case ast.If(test=test, body=body, orelse=other):
                chosen = value(test, names)
                if is_known(chosen):
                    return self._run(body if chosen else other, names, folder)
                self._leave_out(statement, names)
                return None
            case ast.With(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        self.evaluator.bind(item.optional_vars, value(item.context_expr, names), names)
                return self._run(body, names, folder)
            case ast.Try(body=body):
                return self._run(body, names, folder)
            case ast.Continue():
                return _Flow("continue")
            case ast.Break():
                return _Flow("break")
            case ast.Return(value=returned):
                return _Flow("return", None if returned is None else value(returned, names))
        self._simple(statement, names, folder)
        return None

    def _simple(self, statement: ast.stmt, names: Names, folder: str) -> None:
        value = self.evaluator.value
        match statement:
            case ast.Assign(targets=targets, value=node):
                made = value(node, names)
                for target in targets:
                    self.evaluator.bind(target, made, names)
            case ast.AnnAssign(target=target, value=ast.expr() as node):
                self.evaluator.bind(target, value(node, names), names)
            case ast.AugAssign(target=target, op=op, value=node):
                loaded = ast.parse(ast.unparse(target), mode="eval").body
                made = value(ast.copy_location(ast.BinOp(loaded, op, node), node), names)
                self.evaluator.bind(target, made, names)
            case ast.FunctionDef(name=name):
                names[name] = Function(statement, names)
            case ast.ImportFrom():
                self._import(statement, names, folder)
            case ast.Expr(value=node):
                value(node, names)
            case _:
                self._leave_out(statement, names)

    def _loop(
        self, target: ast.expr, items: Any, body: list[ast.stmt], names: Names, folder: str
    ) -> _Flow | None:
        is_known_loop = isinstance(items, list | tuple | dict | str | set)
        for item in list(items) if is_known_loop else self._unknown_items(target):
            self.evaluator.bind(target, item, names)
            flow = self._run(body, names, folder)
            if flow is not None and flow.kind != "continue":
                return flow if flow.kind == "return" else None
        return None

    def _unknown_items(self, target: ast.expr) -> Iterator[Any]:
        """Yield what an exact reader goes through a loop with whose items nobody knows: one turn."""
        if self.evaluator.reader.is_exact:
            for each in ast.walk(target):
                if isinstance(each, ast.Name):
                    yield Symbol(each.id)
                    return

    def _leave_out(self, statement: ast.stmt, names: Names) -> None:
        """Of a statement that is not read: what it sets is a symbol, and what it may change is doubted."""
        if not self.evaluator.reader.is_exact:
            return
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    names[name] = Symbol(name)
                case ast.Subscript(value=changed, ctx=ast.Store() | ast.Del()):
                    self.evaluator.reader.doubted(self.evaluator.value(changed, names))
                case ast.Call(func=called, args=arguments):
                    changed_by = [called.value] if isinstance(called, ast.Attribute) else arguments
                    for each in changed_by:
                        self.evaluator.reader.doubted(self.evaluator.value(each, names))

    def _call(self, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Return what a function of the configuration returns.

        Of one with other than plain parameters, a symbol.
        """
        taken = function.node.args
        parameters = [each.arg for each in (*taken.posonlyargs, *taken.args)]
        if taken.vararg or taken.kwarg or taken.kwonlyargs or self._depth >= _DEEPEST_CALL:
            self.evaluator.reader.doubted((arguments, keywords))
            return Symbol(f"{function}()")
        own = {**function.names, GLOBALS: function.names.get(GLOBALS, function.names)}
        for name, default in zip(reversed(parameters), reversed(taken.defaults), strict=False):
            own[name] = self.evaluator.value(default, function.names)
        own.update(zip(parameters, arguments, strict=False))
        own.update(keywords)
        self._depth += 1
        try:
            flow = self._run(function.node.body, own, _THIS_FOLDER)
        finally:
            self._depth -= 1
        return flow.value if flow is not None and flow.kind == "return" else None

    def _import(self, statement: ast.ImportFrom, names: Names, folder: str) -> None:
        module = (statement.module or "").replace(".", "/")
        if not statement.level:
            names.update({alias.asname: Symbol(alias.name) for alias in statement.names if alias.asname})
            return
        base = posixpath.normpath(posixpath.join(folder, *[".."] * (statement.level - 1)))
        path = posixpath.normpath(posixpath.join(base, f"{module}.py"))
        imported = self._imported(path)
        for alias in statement.names:
            if alias.name == "*":
                names.update({name: its for name, its in imported.items() if not name.startswith("_")})
            elif alias.name in imported:
                names[alias.asname or alias.name] = imported[alias.name]

    def _imported(self, path: str) -> Names:
        if path not in self._files:
            # A file that imports itself, or one too many, gives nothing.
            self._files[path] = {}
            text = self._open(path) if len(self._files) <= _MAX_FILES else None
            if text is not None:
                self._files[path] = self._file(parsed(text), posixpath.dirname(path) or _THIS_FOLDER)
        return self._files[path]


def _from_lists(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the datasets in lists whose names end in `datasets`, each once."""
    seen: set[int] = set()
    for name, value in names.items():
        if not name.endswith("datasets") or not isinstance(value, list | tuple):
            continue
        for each in value:
            if isinstance(each, dict) and isinstance(each.get("infer_cfg"), dict) and id(each) not in seen:
                seen.add(id(each))
                yield each


def _from_variables(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the one dataset of a file that sets the configurations alone."""
    found: dict[str, Any] = {}
    for name, value in names.items():
        for key in ("infer_cfg", "reader_cfg", "eval_cfg"):
            if name.endswith(key) and isinstance(value, dict):
                found.setdefault(key, value)
    if "infer_cfg" in found:
        yield found
