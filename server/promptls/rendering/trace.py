"""Which tag or text of which template made each stretch of a rendered text.

The templates are compiled once more with marks around everything that they print. What the
marks say counts only where the text without them is what the templates render to as they are:
a filter may have counted, cut or compared a marked text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, Template, nodes

from promptls.systems.prompt_poet.environment import FolderLoader, make_environment

_OPEN, _CLOSE = "\U0010fff0", "\U0010fff1"
_MARK = re.compile(f"{_OPEN}([a-z])([0-9]*){_CLOSE}")


class Origin(NamedTuple):
    """What printed a text: the file, its 0-based line, and which `{{ … }}` of the file it is, if any."""

    path: str
    line: int
    output: int | None


class Stretch(NamedTuple):
    """A stretch of the rendered text that one origin printed at one time.

    `turns` are the turns, from 1, of the loops around it, the outermost first. `includes` are the
    includes that led to its file. `time` tells apart the times that an origin printed.
    """

    start: int
    end: int
    origin: Origin
    turns: tuple[int, ...]
    includes: tuple[Origin, ...]
    time: int


@dataclass
class _Marks:
    """The origins by the number of their mark."""

    origins: list[Origin] = field(default_factory=list)

    def made(self, path: str, line: int, output: int | None) -> int:
        self.origins.append(Origin(path, line, output))
        return len(self.origins) - 1


class _MarkingLoader(FolderLoader):
    """Loads templates with marks around everything that they print."""

    def __init__(self, folder: Path, unsaved: Mapping[str, str], marks: _Marks) -> None:
        super().__init__(folder, unsaved)
        self._marks = marks

    def load(self, environment: Environment, name: str, globals: Any = None) -> Template:  # noqa: A002 - Jinja's name
        source, path, is_fresh = self.get_source(environment, name)
        tree = environment.parse(source, name, path)
        _Marker(self._marks, path).mark(tree)
        code = environment.compile(tree, name, path)
        return environment.template_class.from_code(environment, code, dict(globals or {}), is_fresh)


class _Marker:
    """Puts the marks into one template's tree."""

    def __init__(self, marks: _Marks, path: str) -> None:
        self._marks = marks
        self._path = path
        self._outputs = 0

    def mark(self, node: nodes.Node) -> None:
        """Mark what is printed below `node`, in the order of the source."""
        for name in node.fields:
            value = getattr(node, name)
            if isinstance(value, list) and value and isinstance(value[0], nodes.Stmt):
                setattr(node, name, [marked for each in value for marked in self._marked(each)])
            elif isinstance(value, nodes.Stmt):
                self.mark(value)

    def _marked(self, node: nodes.Node) -> Iterator[nodes.Node]:
        if isinstance(node, nodes.Output):
            yield self._output(node)
            return
        if isinstance(node, nodes.Include):
            number = self._marks.made(self._path, node.lineno - 1, None)
            yield _printed("i", number)
            yield node
            yield _printed("q")
            return
        self.mark(node)
        if isinstance(node, nodes.For) and not node.recursive:
            node.body = [_printed("t"), *node.body]
            yield _printed("l")
            yield node
            yield _printed("q")
            return
        yield node

    def _output(self, node: nodes.Output) -> nodes.Output:
        children: list[nodes.Expr] = []
        for child in node.nodes:
            output = None
            if not isinstance(child, nodes.TemplateData):
                output = self._outputs
                self._outputs += 1
            number = self._marks.made(self._path, child.lineno - 1, output)
            children += [nodes.TemplateData(_mark("p", number)), child, nodes.TemplateData(_mark("q"))]
        return nodes.Output(children, lineno=node.lineno)


def _mark(kind: str, number: int | None = None) -> str:
    return f"{_OPEN}{kind}{'' if number is None else number}{_CLOSE}"


def _printed(kind: str, number: int | None = None) -> nodes.Output:
    return nodes.Output([nodes.TemplateData(_mark(kind, number))], lineno=1)


def trace(
    path: str, values: Mapping[str, Any], unsaved: Mapping[str, str], rendered: str
) -> tuple[Stretch, ...] | None:
    """The stretches of `rendered`, which the template at `path` has made of `values`.

    `values` are the template's data, reserved names included. None where the marks changed what is
    rendered, or where rendering fails: then nothing is certain.
    """
    if _OPEN in rendered or _CLOSE in rendered:
        return None
    marks = _Marks()
    loader = _MarkingLoader(Path(path).parent, unsaved, marks)
    try:
        marked = make_environment(loader).get_template(Path(path).name).render(values)
    except Exception:  # noqa: BLE001 - a template may raise anything, and did not without the marks
        return None
    stretches = _Reader(marks).read(marked)
    if stretches is None or _MARK.sub("", marked) != rendered:
        return None
    return stretches


class _Reader:
    """Reads the marks of one rendered text."""

    def __init__(self, marks: _Marks) -> None:
        self._marks = marks
        self._stack: list[tuple[str, int]] = []
        self._found: list[Stretch] = []
        self._time = 0
        self._steps: dict[str, Callable[[int], None]] = {
            "p": self._begin_print,
            "i": lambda number: self._stack.append(("i", number)),
            "l": lambda _number: self._stack.append(("l", 0)),
            "t": self._turn,
        }
        self._times: list[int] = []

    def read(self, marked: str) -> tuple[Stretch, ...] | None:
        """The stretches; None where the marks do not fit together."""
        position = length = 0
        for match in _MARK.finditer(marked):
            length = self._add(length, match.start() - position)
            position = match.end()
            if match[1] == "q":
                if not self._stack:
                    return None
                if self._stack.pop()[0] == "p":
                    self._times.pop()
            else:
                self._steps[match[1]](int(match[2] or 0))
        self._add(length, len(marked) - position)
        return None if self._stack else tuple(self._found)

    def _begin_print(self, number: int) -> None:
        self._stack.append(("p", number))
        self._time += 1
        self._times.append(self._time)

    def _turn(self, _number: int) -> None:
        if self._stack and self._stack[-1][0] == "l":
            self._stack[-1] = ("l", self._stack[-1][1] + 1)

    def _add(self, start: int, count: int) -> int:
        printing = next((number for kind, number in reversed(self._stack) if kind == "p"), None)
        if count and printing is not None:
            self._found.append(
                Stretch(
                    start,
                    start + count,
                    self._marks.origins[printing],
                    tuple(turn for kind, turn in self._stack if kind == "l"),
                    tuple(self._marks.origins[number] for kind, number in self._stack if kind == "i"),
                    self._times[-1],
                )
            )
        return start + count
