"""Part that breaks the pattern of the examples.

In a file whose parts are examples, questions with the role `user` and answers with the role `assistant` in turn,
reports a question without an answer, an answer with the role of the question, and a part in their midst that lacks
the `truncation_priority` of all others. There must be at least three other examples. Without them, it reports an
answer that is one by its name, such as `example answer` after `example question` or `example text`.

## Why is this bad?

The model learns from the examples that a question may stay without an answer. A part that truncation leaves behind
answers a question that is no longer there.

## Example

```yaml
- {name: example 1, role: user, content: "2 + 2"}
- {name: answer 1, role: assistant, content: "4"}
- {name: example 2, role: user, content: "3 + 3"}
- {name: answer 2, role: user, content: "6"}
                         ^^^^ uneven-examples: this answer has the role of the questions; did you mean `assistant`?
- {name: example 3, role: user, content: "4 + 4"}
- {name: answer 3, role: assistant, content: "8"}
- {name: example 4, role: user, content: "5 + 5"}
- {name: answer 4, role: assistant, content: "10"}
- {name: example 5, role: user, content: "6 + 6"}
- {name: answer 5, role: assistant, content: "12"}
- {name: question, role: user, content: "7 + 7"}
```

Use instead:

```yaml
- {name: example 1, role: user, content: "2 + 2"}
- {name: answer 1, role: assistant, content: "4"}
- {name: example 2, role: user, content: "3 + 3"}
- {name: answer 2, role: assistant, content: "6"}
- {name: example 3, role: user, content: "4 + 4"}
- {name: answer 3, role: assistant, content: "8"}
- {name: example 4, role: user, content: "5 + 5"}
- {name: answer 4, role: assistant, content: "10"}
- {name: example 5, role: user, content: "6 + 6"}
- {name: answer 5, role: assistant, content: "12"}
- {name: question, role: user, content: "7 + 7"}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, File, Finding, rule
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, summary
from promptls.syntax.yaml.nodes import Scalar, scalar_text
from promptls.text.positions import Span

_MIN_EXAMPLES: Final = 3
"""The minimum number of other examples that a pattern needs."""


class _Turn(NamedTuple):
    """A part: its written name, its role and priority, None if Jinja prints it, and the places of role and name."""

    name: str | None
    role: str | None
    priority: str | None
    role_place: Span
    place: Span


@chunk_fact
def _turns(chunk: Chunk) -> tuple[_Turn, ...]:
    found = []
    for part in chunk_items(chunk).parts:
        role, priority, name = (part.value(key) for key in ("role", "truncation_priority", "name"))
        place = name.span if name is not None else part.first_key
        found.append(
            _Turn(
                chunk.slice(name.span).strip("\"'") if isinstance(name, Scalar) else None,
                scalar_text(role) if isinstance(role, Scalar) else None if role else "user",
                scalar_text(priority) if isinstance(priority, Scalar) else None if priority else "0",
                role.span if role is not None else place,
                place,
            )
        )
    return tuple(found)


def _count_answers(chunk: Chunk) -> int:
    return sum(turn.role == "assistant" for turn in _turns(chunk))


def _sum(counts: list[int]) -> int:
    return sum(counts)


_answers: Final = summary(_count_answers, _sum)


_QUESTIONS: Final = ("question", "input", "query", "request", "user")
_ANSWERS: Final = ("answer", "output", "reply", "response", "assistant")
"""The words for a question and an answer in the names of parts."""


def _named_answers(file: File) -> Iterator[Finding]:
    """Yield the answer, by its name, to the question before it, with the role of that question."""
    turns = items_in(file.chunks, _turns)
    for (_, question), (located, answer) in pairwise(turns):
        if question.role != "user" or answer.role != "user" or not question.name or not answer.name:
            continue
        forms = {
            question.name.replace(word, other)
            for word, other in product(_QUESTIONS, _ANSWERS)
            if word in question.name and question.name != word
        }
        before, _, last = question.name.rpartition(" ")
        if "example" in before and last not in _ANSWERS:
            forms |= {f"{before} {other}" for other in _ANSWERS}
        if answer.name in forms:
            message = "by its name, this part answers the one before it, and has its role"
            yield Finding.suggest(answer.role_place.shifted(located.start), message, "assistant")


@rule(severity="hint", kinds=PARTS_KINDS)
def uneven_examples(file: File) -> Iterator[Finding]:
    """Yield the parts that break the pattern of the examples around them."""
    yield from _named_answers(file)
    if file.kind is not Kind.PARTS or _answers(file.chunks) < _MIN_EXAMPLES or file.template.references:
        return
    turns = [
        turn._replace(
            role_place=turn.role_place.shifted(located.start), place=turn.place.shifted(located.start)
        )
        for located in file.template.source.root.placed()
        for turn in _turns(located.chunk)
    ]
    if any(turn.role is None or file.template.branches.at(turn.place.start) for turn in turns):
        return
    while turns and turns[0].role != "user":
        del turns[0]
    yield from _unanswered(turns)
    yield from _left_over(turns)


def _unanswered(turns: Sequence[_Turn]) -> Iterator[Finding]:
    """Yield the question without an answer, or the answer with the wrong role, if there is only one."""
    rounds: list[list[_Turn]] = [[]]
    for turn in turns:
        if turn.role == "user":
            rounds[-1].append(turn)
        elif turn.role == "assistant" and rounds[-1]:
            rounds.append([])
        else:
            return
    uneven = [each for each in rounds[1:-1] if len(each) > 1]  # instructions may precede the first question
    if len(uneven) != 1 or len(rounds[1:-1]) < _MIN_EXAMPLES:
        return
    first, second, *more = uneven[0]
    if not more:
        message = "this question has no answer, as all others have: the next one follows it"
        yield Finding(first.place, message)
    elif len(more) == 1:
        message = "this answer has the role of the questions"
        yield Finding.suggest(second.role_place, message, "assistant")


def _left_over(turns: Sequence[_Turn]) -> Iterator[Finding]:
    """Yield the only part among the examples without the priority of all others."""
    last = max((index for index, turn in enumerate(turns) if turn.role == "assistant"), default=0)
    examples = turns[: last + 1]
    odd = [turn for turn in examples if turn.priority == "0"]
    others = {turn.priority for turn in examples if turn.priority != "0"}
    if len(odd) == len(others) == 1 and None not in others and len(examples) > 2 * _MIN_EXAMPLES:
        priority = others.pop()
        message = f"this is never cut, and all other examples have the `truncation_priority` {priority}"
        yield Finding(odd[0].place, message)
