"""Record what a computation reads, and check whether its result is still valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

Subject = TypeVar("Subject")
Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


class Question(NamedTuple):
    """A query that can be repeated: `ask(subject, *arguments)`."""

    ask: Callable[..., object]
    arguments: tuple[object, ...]


QUESTIONS: Final[dict[str, Callable[..., object]]] = {}
"""The functions of the questions of loaded modules, by name, for asking them again in another process."""


def name_of(ask: Callable[..., object]) -> str:
    """Return the name of a question's function in `QUESTIONS`, with its module."""
    return f"{ask.__module__}:{ask.__qualname__}"


def repeatable(ask: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Add a function that is passed to `note` to `QUESTIONS`."""
    QUESTIONS[name_of(ask)] = ask
    return ask


class Reads:
    """What a computation has read.

    `serial` identifies the file version that the computation is about, if it is about one file. `whole` is
    the question for the text of that file with its answer, if the file has a path: computations about other
    files depend on all of its text.
    """

    __slots__ = ("answers", "chunks", "columns", "facts", "is_whole", "serial", "whole")

    def __init__(self, serial: int | None = None, whole: tuple[Question, object] | None = None) -> None:
        self.serial: Final = serial
        self.whole: Final = whole
        self.answers: dict[Question, object] = {}
        self.columns: dict[Callable[..., object], None] = {}
        """Facts of chunks; the result is valid as long as these have the same values for all chunks."""
        self.facts: dict[Callable[..., object], object] = {}
        """Facts of the file, with their values."""
        self.chunks: set[object] = set()
        """Chunks whose text was read."""
        self.is_whole = False
        """Whether the text of the whole file was read."""

    def note(self, question: Question, answer: object) -> None:
        """Record the answer to a question; reads of the computation's own file are recorded in detail.

        If a file changes during the computation, its first state is recorded: the result is outdated then.
        """
        if self.whole is None or self.whole[0] != question:
            self.answers.setdefault(question, answer)

    def hold(self, subject: object) -> bool:
        """Return whether all questions have the same answers for `subject`."""
        return next(self.changed(subject), None) is None

    def changed(self, subject: object) -> Iterator[Question]:
        """Yield the questions that have different answers for `subject`."""
        for question, before in self.answers.items():
            now = unrecorded(question.ask, subject, *question.arguments)
            if now is not before and now != before:
                yield question

    def mention(self, argument: object) -> bool:
        """Return whether any question was about `argument`, such as the path of a file."""
        return any(argument in question.arguments for question in self.answers)

    def renewed(self, serial: int | None, whole: tuple[Question, object] | None) -> Reads:
        """Return the same reads for a later version of the file, for which they are known to be valid."""
        reads = Reads(serial, whole)
        reads.answers, reads.columns, reads.facts = self.answers, self.columns, self.facts
        reads.chunks, reads.is_whole = self.chunks, self.is_whole
        return reads

    def add(self, other: Reads, *, is_same_version: bool) -> None:
        """Add the reads of another computation; `is_same_version` if it is about the same text."""
        note_first = self.answers.setdefault
        for question, answer in other.answers.items():
            note_first(question, answer)
        if is_same_version:
            self.columns.update(other.columns)
            self.facts.update(other.facts)
            self.chunks.update(other.chunks)
            self.is_whole |= other.is_whole
        elif other.whole is not None:
            note_first(*other.whole)
        if self.whole is not None:
            self.answers.pop(self.whole[0], None)

    def pass_on(self) -> None:
        """Add all of these reads to the current recording, because a cached result is reused."""
        reads = current.get()
        if reads is not None and reads is not self:
            reads.add(self, is_same_version=self.serial is not None and self.serial == reads.serial)


current: Final[ContextVar[Reads | None]] = ContextVar("reads", default=None)


@contextmanager
def recording(reads: Reads | None = None) -> Iterator[Reads]:
    """Record what is read in the `with` block; the enclosing recording, if any, gets it too."""
    inner = Reads() if reads is None else reads
    token = current.set(inner)
    try:
        yield inner
    finally:
        current.reset(token)
        inner.pass_on()


def recorded(
    serial: int | None,
    find: Callable[Arguments, Answer],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> tuple[Answer, Reads]:
    """Return the result of a computation about one version of a file, and what it read."""
    reads = Reads(serial)
    token = current.set(reads)
    try:
        return find(*arguments, **named), reads
    finally:
        current.reset(token)


def unrecorded(
    find: Callable[Arguments, Answer], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Answer:
    """Return the result of a computation whose reads are not recorded."""
    if current.get() is None:
        return find(*arguments, **named)
    token = current.set(None)
    try:
        return find(*arguments, **named)
    finally:
        current.reset(token)


def question(
    ask: Callable[Concatenate[Subject, Arguments], Answer],
) -> Callable[Concatenate[Subject, Arguments], Answer]:
    """Make a function a question about its first argument; the others are hashable and positional."""
    repeatable(ask)

    @wraps(ask)
    def recorded(subject: Subject, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        answer = unrecorded(ask, subject, *arguments, **named)
        note(ask, arguments, answer)
        return answer

    return recorded


def note(ask: Callable[..., Any], arguments: tuple[object, ...], answer: object) -> None:
    """Record the answer of `ask(subject, *arguments)` in the current recording, if any."""
    reads = current.get()
    if reads is not None:
        reads.note(Question(ask, arguments), answer)
