"""The steps in which a template's uses of values are told, in the order of the text."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from promptls.meaning.condition import Conditions
from promptls.meaning.paths import Path
from promptls.meaning.shape import Shape
from promptls.meaning.type_tests import Narrowed
from promptls.text.span import Span


class Compared(NamedTuple):
    """A constant that a value is compared with, or that stands in a list in which it is looked for."""

    value: object
    span: Span


class Use(NamedTuple):
    """One use of a value: the shape that it must have there, and the place of what is used.

    `need` says what fails where the value is of another type: it is `iterated`, `called`, used as a
    `number`, as `text` or as a `mapping`, or asked for the attribute behind a dot, `.strip`. Empty
    where a value of any type will do. `compared` holds the constants that the value is compared with.
    `is_branched` where the use is in an operand of `and` or `or`, or one of two expressions, that need not
    be worked out. `where` is what holds wherever the expression of the use is.
    """

    path: Path
    shape: Shape
    span: Span
    need: str = ""
    compared: tuple[Compared, ...] = ()
    is_branched: bool = False
    where: Conditions = ()


class Pass(NamedTuple):
    """A value that a call hands to what may be a macro, as its argument of this number or name.

    `path` is empty where nobody can follow the value, `block` names the parameters of the call block
    around the call, and `asked` holds the values without which the call is not reached. `where` is what
    holds wherever it is.
    """

    path: Path
    callee: Path
    argument: int | str
    block: str = ""
    asked: tuple[Path, ...] = ()
    where: Conditions = ()


class Bind(NamedTuple):
    """A name that stands for another value from here on, or for something new where `path` is empty."""

    name: str
    path: Path


class Rebind(NamedTuple):
    """Names that stand for other values from here on, all at once: the paths mean what they meant before."""

    binds: tuple[Bind, ...]


class Open(NamedTuple):
    """A block begins: what it binds inside, and the values that its `if` asks for, or its `else`.

    `typed` and `typed_else` say of which kinds values are there, by `is string` and the like, `where` and
    `where_else` what constants they are compared with.
    """

    keyword: str
    bound: tuple[Bind, ...] = ()
    asked: tuple[Path, ...] = ()
    asked_else: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    typed_else: tuple[Narrowed, ...] = ()
    where: Conditions = ()
    where_else: Conditions = ()


class Middle(NamedTuple):
    """An `elif` or `else`, with the values that its condition asks for.

    An `elif` comes twice: ahead of its condition, and behind it with what it asks for.
    """

    keyword: str
    asked: tuple[Path, ...] = ()
    asked_else: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    typed_else: tuple[Narrowed, ...] = ()
    where: Conditions = ()
    where_else: Conditions = ()


class Close(NamedTuple):
    """A block ends."""

    keyword: str


Event: TypeAlias = Use | Pass | Bind | Open | Middle | Close


class TagUses(NamedTuple):
    """The events of one tag, which reaches from `start` to `end` in its chunk."""

    start: int
    end: int
    events: tuple[Event, ...]
