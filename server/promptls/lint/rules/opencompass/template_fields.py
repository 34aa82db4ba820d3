"""The fields of templates, and the columns that they print.

# output-column-leak

Prompt that contains the expected answer.

Reports the `output_column` of `reader_cfg` in a template of the question, if OpenCompass does not mask
it: in the messages of a `RawPromptTemplate`, and in every prompt whose labels the `PPLInferencer`
compares. Also reports it in a turn of `HUMAN` before the model generates, where it is replaced by
nothing, and there a column that the examples have in turns of `BOT` only.

## Why is this bad?

OpenCompass masks the answer's column only in texts and dialogues of a `PromptTemplate` for generation.
Everywhere else the model reads the correct answer, and the score is meaningless.

## Example

```yaml
prompt_template:
  type: RawPromptTemplate
  messages:
    - {role: user, content: "{question} {answer}"}
                                        ^^^^^^^^ output-column-leak: the model sees the expected answer: a `RawPromptTemplate` masks no column
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  type: RawPromptTemplate
  messages:
    - {role: user, content: "{question}"}
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

# unknown-field

Field in a template that is not a column of the reader.

Reports a `{field}` in a template of an evaluation prompt that is neither one of the `input_columns` of
`reader_cfg`, nor its `output_column`, nor an input that the file declares; and a column that Jinja
prints, as `{{ column }}`, before OpenCompass sees it; and a prompt without any field, or whose columns are
all in the last turn of `BOT`, which chat models write themselves. If no reader names its columns, nothing is
reported. Of the `input_columns` themselves, it reports typos, and commas in a text. An escaped line break in a
text without double quotes is a hint. In a configuration in
Python, it also reports the prompt of a judge that shows the right answer, and not that of the model.

## Why is this bad?

OpenCompass leaves a field that is not a column unchanged: the model reads `{qestion}`. Double braces are
processed by Jinja, and print nothing if the variable is undefined. A brace too many stays in the prompt.

## Example

```yaml
prompt_template:
  template: "Q: {qestion}"
                ^^^^^^^^^ unknown-field: the reader has no column `qestion`; did you mean `question`?
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  template: "Q: {question}"
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from promptls.dialects.opencompass.vocabulary import LABEL_INFERENCERS
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Edit, File, Finding, Fix, each_chunk, each_chunk_given, rule
from promptls.semantic.evaluation_file import (
    Evaluation,
    EvaluationTemplate,
    Field,
    Form,
    ScalarSource,
    evaluation_of,
    fields_in,
    fields_of,
    scalars_in,
    turn_texts,
    turns_in,
    written_text,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo


@rule(severity="warning", kinds=EVALUATION_KINDS)
@each_chunk
def output_column_leak(chunk: Chunk) -> Iterator[Finding]:
    """Yield the places of the answer's column where it is not masked."""
    evaluation = evaluation_of(chunk)
    template = evaluation.question_template if evaluation else None
    if evaluation is None or template is None or f"{{{evaluation.output_column}}}" not in chunk.text:
        return
    why = _why(evaluation, template)
    for body in template.bodies if why else ():
        for scalar in scalars_in(body):
            for field in fields_in(chunk, scalar):
                if field.name == evaluation.output_column:
                    fix = Fix(f"Remove `{{{field.name}}}`", (Edit(field.span, ""),))
                    yield Finding(field.span, f"the model sees the expected answer: {why}", (fix,))
    if not why and evaluation.inferencer_class == "GenInferencer" and template is evaluation.prompt:
        yield from _masked(chunk, evaluation, template)
        yield from _shown_steps(chunk, evaluation, template)


def _masked(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the places of the answer's column in turns of the person, where nothing replaces it."""
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    if isinstance(inferencer, Mapping) and inferencer.merged("gen_field_replace_token"):
        return
    for field in _asked(chunk, template):
        if field.name == evaluation.output_column:
            fix = Fix(f"Remove `{{{field.name}}}`", (Edit(field.span, ""),))
            message = "the column of the answer is masked: the model gets nothing here"
            yield Finding(field.span, message, (fix,))


def _asked(chunk: Chunk, template: EvaluationTemplate) -> Iterator[Field]:
    """Yield the fields in the turns of the person."""
    for body in template.bodies:
        for turn in turns_in(body, "round"):
            for text in turn_texts(turn) if turn.text("role") == "HUMAN" else ():
                yield from fields_in(chunk, text)


def _shown_steps(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the columns in a question that the examples have in their answers only, such as the steps to them."""
    sides: dict[str | None, set[str]] = {}
    for body in evaluation.ice.bodies if evaluation.ice else ():
        for turn in turns_in(body, "round"):
            fields = (field.name for text in turn_texts(turn) for field in fields_in(chunk, text))
            sides.setdefault(turn.text("role"), set()).update(fields)
    answers = sides.pop("BOT", set())
    is_answer = evaluation.output_column in answers
    answers = answers.difference({evaluation.output_column or ""}, *sides.values())
    for field in _asked(chunk, template) if is_answer else ():
        if field.name in answers:
            message = "the examples have this column in their answers: the model sees it here"
            yield Finding(field.span, message)


def _why(evaluation: Evaluation, template: EvaluationTemplate) -> str:
    """Return the reason that the template's columns are not masked; empty if the answer's column is."""
    if template.form is Form.MESSAGES:
        formatted = template.mapping.text("format_variables") if template.mapping else None
        if (formatted or "").lower() in {"false", "no", "off"}:
            return ""
        return "a `RawPromptTemplate` masks no column"
    if evaluation.inferencer_class == "PPLInferencer" and not evaluation.compares_same_prompt:
        return "prompts whose labels are compared mask no column"
    return ""


def _dataset_columns(file: File) -> tuple[str, ...]:
    """Return the columns of the rows that are asked; empty if they are not known."""
    from promptls.datasets.dataset_files import known_columns
    from promptls.rendering.samples import evaluation_data

    # The path in a configuration in Python is relative to where OpenCompass runs.
    test = evaluation_data(file.template, file.path).test if file.path else None
    return known_columns(Path(test)).columns if test else ()


@rule(severity="warning", kinds=EVALUATION_KINDS)
@each_chunk_given(_dataset_columns)
def unknown_field(chunk: Chunk, of_dataset: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the fields without a column, and the columns that Jinja replaces."""
    evaluation = evaluation_of(chunk)
    columns = evaluation.columns if evaluation else None
    if evaluation is None or columns is None or evaluation.inferencer_class == "AttackInferencer":
        return
    declared = frozenset(_declared(evaluation))
    known = declared.union(columns, of_dataset)
    texts = [
        (scalar.span.start, written_text(chunk, scalar))
        for template in evaluation.templates
        for body in template.bodies
        for scalar in scalars_in(body)
    ]
    different = {written.text: written for _, written in texts}
    used = Counter(field.name for written in different.values() for field in fields_of(written))
    if (found := _with_commas(evaluation)) is not None:
        yield found
        return
    if not used and (fieldless := _without_fields(chunk, evaluation)) is not None:
        yield fieldless
    yield from _only_in_answer(chunk, evaluation)
    names = _Names(known, declared.union(columns) - declared, frozenset(used), frozenset(of_dataset))
    for finding, field in _misspelled_columns(evaluation, names, used):
        yield finding
        names = names._replace(known=names.known | {field})
    for start, written in texts:
        for each in _in_text(written, names):
            yield each.shifted(start)


def _without_fields(chunk: Chunk, evaluation: Evaluation) -> Finding | None:
    """Return the finding for a prompt in which nothing differs between the rows."""
    template = evaluation.question_template
    inputs = evaluation.reader.value("input_columns") if evaluation.reader else None
    scalars = [scalar for body in template.bodies for scalar in scalars_in(body)] if template else []
    if template is None or not isinstance(inputs, Sequence) or not inputs.items:
        return None
    if evaluation.inferencer_class not in {"GenInferencer", *LABEL_INFERENCERS}:
        return None
    if any(isinstance(body, Mapping) and not [*turns_in(body, "round")] for body in template.bodies):
        return None  # An empty `round` has a finding of its own.
    written = [written_text(chunk, scalar) for scalar in scalars]
    text = "\n".join(each.text for each in written)
    names = [scalar_text(item) or "" for item in inputs.items]
    is_sentence = len(text.split()) > 1 and not any(sign in text for sign in "{<")
    if not is_sentence or any(each.tags for each in written):
        return None
    if any(re.search(rf"[^\w\s]{re.escape(name)}\b", text) for name in names):  # in another notation
        return None
    message = "no column is in the prompt, so that every row gets the same one; a field is `{column}`"
    return Finding(max(scalars, key=lambda scalar: scalar.span.end - scalar.span.start).span, message)


def _only_in_answer(chunk: Chunk, evaluation: Evaluation) -> Iterator[Finding]:
    """Yield the columns of a dialogue that has them only in its last turn, which chat models write."""
    template = evaluation.question_template
    inputs = evaluation.reader.value("input_columns") if evaluation.reader else None
    names = {scalar_text(item) for item in inputs.items} if isinstance(inputs, Sequence) else set()
    if template is None or template is not evaluation.prompt or template.form is not Form.DIALOGUE:
        return
    if evaluation.inferencer_class != "GenInferencer":
        return
    for body in template.bodies:
        *_, last = [None, *turns_in(body, "round")]
        if last is None or last.text("role") != "BOT":
            continue
        written = [*turn_texts(last)]
        fields = [field for scalar in written for field in fields_in(chunk, scalar) if field.name in names]
        others = [scalar for scalar in scalars_in(body) if scalar not in written] if fields else []
        shown = {field.name for scalar in others for field in fields_in(chunk, scalar)}
        is_unsure = any(written_text(chunk, scalar).tags for scalar in others)
        if fields and not shown & names and not is_unsure:
            message = "chat models write this turn themselves, so that they see no column of the row"
            yield Finding(fields[0].span, message)


class _Names(NamedTuple):
    """The allowed names of fields, and those of them that are columns."""

    known: frozenset[str]
    columns: frozenset[str]
    used: frozenset[str]
    """The names of the fields of the file."""
    of_dataset: frozenset[str]
    """The columns of the dataset; empty if they are not known."""


@lru_cache(maxsize=4096)
def _in_text(written: ScalarSource, names: _Names) -> tuple[Finding, ...]:
    """Return the findings in a text, with spans that count from its start."""
    return (
        *_unknown(written, names),
        *_spaced(written, names.known),
        *_unbalanced(written, names.known),
        *_half_doubled(written, names.known),
        *_foreign(written, names),
        *_taken(written, names.columns),
        *_option_twice(written),
        *_unescaped(written),
    )


_OPTION: Final = re.compile(r"(?:^|[^A-Za-z0-9]|\\n)([A-Z1-9])[.):\uff0e\u3001]\s*$")
"""The letter of an option in front of its field."""
_LETTER: Final = re.compile(r"[A-Z]")


_ESCAPE: Final = re.compile(r"(?<!\\)\\n(?![a-z])")


def _unescaped(written: ScalarSource) -> Iterator[Finding]:
    """Yield the first escaped line break of a text that is not in double quotes, where it is no line break."""
    match = None if written.style == '"' else _ESCAPE.search(written.text)
    if match is not None:
        message = "the model gets these two characters: only in double quotes, they are a line break"
        yield Finding(Span(*match.span()), message, severity="hint")


def _option_twice(written: ScalarSource) -> Iterator[Finding]:
    """Yield the fields of two options, or of the wrong option: `B. {textB} C. {textB}`, `A. {B} B. {A}`."""
    options: dict[str, str] = {}
    names = {field.name for field in fields_of(written)}
    for field in fields_of(written):
        before = written.text[max(0, field.span.start - 6) : field.span.start]
        letter = _OPTION.search(before)
        if letter is None:
            continue
        if letter[1] != field.name and letter[1] in names and _LETTER.fullmatch(field.name):
            message = f"the option {letter[1]} shows the text of the option {field.name}"
            yield Finding(field.span, message, severity="warning")
            continue
        first = options.setdefault(field.name, letter[1])
        if first != letter[1]:
            message = f"`{{{field.name}}}` is the text of the options {first} and {letter[1]}"
            yield Finding(field.span, message, severity="warning")


def _unknown(written: ScalarSource, names: _Names) -> Iterator[Finding]:
    known, who = names.known, "dataset" if names.of_dataset else "reader"
    for field in fields_of(written):
        if field.name in known:
            if field.doubled and not written.text.endswith("{", 0, field.span.start - 1):
                yield _doubled(field)
            continue
        close = sorted(
            name
            for name in known
            if name.isidentifier()
            and (is_close(field.name, name) or (name not in names.used and is_typo(field.name, name)))
        )
        if not close:
            if field.doubled:
                continue
            message = f"the dataset has no column `{field.name}`: `{{{field.name}}}` stays in the prompt"
            if not names.of_dataset:
                message = (
                    f"the reader names no column `{field.name}`: it is filled in only if the dataset has it"
                )
            yield Finding(field.span, message, severity="information")
            continue
        found = misspelled(field.span, f"the {who} has no column `{field.name}`", field.name, close)
        fixes = tuple(
            Fix(
                fix.title,
                tuple(Edit(edit.span, f"{{{edit.text}}}") for edit in fix.edits),
                # If no field has the column's name, the column may be the typo.
                fix.preferred and any(name in names.used for name in close),
            )
            for fix in found.fixes
        )
        yield Finding(found.span, found.message, fixes)


def _with_commas(evaluation: Evaluation) -> Finding | None:
    """Return the finding for columns in one text with commas, which OpenCompass splits at white space only."""
    columns = evaluation.reader.value("input_columns") if evaluation.reader else None
    text = scalar_text(columns)
    if columns is None or text is None or "," not in text:
        return None
    names = text.replace(",", " ").split()
    fixes: tuple[Fix, ...] = ()
    if names and all(name.isidentifier() for name in names):
        fixes = (Fix.change_to(columns.span, " ".join(names), preferred=True),)
    message = "OpenCompass splits this text at white space, so that commas become part of the names"
    return Finding(columns.span, message, fixes)


def _misspelled_columns(
    evaluation: Evaluation, names: _Names, used: Counter[str]
) -> Iterator[tuple[Finding, str]]:
    """Yield the columns of the reader that are typos, each with the field that is meant.

    The column is the typo if no field has its name, and several fields have a similar one. `used` is how
    often each field is in the different texts of the file.
    """
    columns = evaluation.reader.value("input_columns") if evaluation.reader else None
    items = columns.items if isinstance(columns, Sequence) else ()
    named = {scalar_text(item) for item in items}
    for item in items:
        name = scalar_text(item)
        if name and name not in names.used:
            similar = (field for field in names.used - names.known if is_typo(name, field))
            meant = next((field for field in sorted(similar) if used[field] > 1), None)
            if meant is not None:
                yield misspelled(item.span, f"no template has a field `{{{name}}}`", name, (meant,)), meant
            elif names.of_dataset and name not in names.of_dataset:
                close = sorted(each for each in names.of_dataset - named if is_typo(name, each))
                if close:
                    yield misspelled(item.span, f"the dataset has no column `{name}`", name, close), name


def _doubled(field: Field) -> Finding:
    span = Span(field.span.start - 1, field.span.end + 1)
    fix = Fix.change_to(span, f"{{{field.name}}}")
    message = "OpenCompass fills in the inner braces and leaves the outer ones in the prompt"
    return Finding(span, message, (fix,), severity="hint")


_FOREIGN: Final = re.compile(r"%\((\w+)\)[sdr]|\$\{(\w+)\}(?!\$)|\uff5b(\w+)\uff5d|\[\[(\w+)\]\]|<<(\w+)>>")
"""Fields in other notations: of Python's `%`, of shells, in full-width braces, and in double brackets."""


def _foreign(written: ScalarSource, names: _Names) -> Iterator[Finding]:
    """Yield the columns that a text only has in another notation."""
    for match in _FOREIGN.finditer(written.text):
        name = match[match.lastindex or 0]
        if name in names.columns and name not in names.used:
            fix = Fix.change_to(Span(*match.span()), f"{{{name}}}", preferred=True)
            yield Finding(Span(*match.span()), f"a field of OpenCompass is `{{{name}}}`", (fix,))


_OPEN: Final = re.compile(r"\{(\w{3,})(?![\w}!:.\[])[^{}\n]*?(?:\{|\n|\\n|$)")
_CLOSE: Final = re.compile(r"(?:^|[}\n])[^{}\n]*?(?<!\w)(?:(?<=\\)n)?(\w{3,})\}")


def _unbalanced(written: ScalarSource, known: frozenset[str]) -> Iterator[Finding]:
    """Yield the columns that a text writes with only one of the two braces."""
    for pattern, missing in ((_OPEN, "}"), (_CLOSE, "{")):
        for match in pattern.finditer(written.text):
            if match[1] in known and all(tag.kind == "raw" for tag in written.tags):
                span = Span(*match.span(1))
                place = Span(span.end, span.end) if missing == "}" else Span(span.start, span.start)
                fix = Fix(f"Add `{missing}`", (Edit(place, missing),))
                yield Finding(span, f"`{missing}` is missing: the column is not filled in", (fix,))


_HALF_DOUBLED: Final = re.compile(r"(?<!\{)\{\{(\w+)\}(?!\})|(?<!\{)\{(\w+)\}\}(?!\})", re.ASCII)
"""A field with two braces on one side."""


def _half_doubled(written: ScalarSource, known: frozenset[str]) -> Iterator[Finding]:
    """Yield the columns with a brace too many, which stays in a prompt that has no other unbalanced brace."""
    text = written.text
    for match in _HALF_DOUBLED.finditer(text):
        name = match[1] or match[2]
        if name in known and abs(text.count("{") - text.count("}")) == 1:
            fix = Fix.change_to(Span(*match.span()), f"{{{name}}}", preferred=True)
            message = "OpenCompass fills in the inner braces, and the other one stays in the prompt"
            yield Finding(Span(*match.span()), message, (fix,))


_SPACED: Final = re.compile(r"\{+[ ]+(\w+)[ ]*\}+|\{+(\w+)[ ]+\}+")


def _spaced(written: ScalarSource, known: frozenset[str]) -> Iterator[Finding]:
    """Yield the columns that a text has only with white space in their braces, which are not filled in."""
    for match in _SPACED.finditer(written.text):
        name = match[1] or match[2]
        if (
            name in known
            and not any(tag.kind == "output" for tag in written.tags)
            and not any(field.name == name for field in fields_of(written))
        ):
            fix = Fix.change_to(Span(*match.span()), f"{{{name}}}", preferred=True)
            message = f"OpenCompass leaves this unchanged; a field is `{{{name}}}`, without white space"
            yield Finding(Span(*match.span()), message, (fix,))


def _taken(written: ScalarSource, columns: frozenset[str]) -> Iterator[Finding]:
    """Yield the columns in Jinja's braces."""
    for tag in written.tags:
        if tag.kind != "output" or not 0 <= tag.span.start < tag.span.end <= len(written.text):
            continue
        expressions = tag_tree(tag).statement.expressions
        name = expressions[0].name if len(expressions) == 1 and isinstance(expressions[0], Name) else None
        if name in columns:
            message = f"Jinja prints `{name}` before OpenCompass fills the column in; a field is `{{{name}}}`"
            fix = Fix.change_to(tag.span, f"{{{name}}}", preferred=True)
            yield Finding(tag.span, message, (fix,))


def _declared(evaluation: Evaluation) -> Iterator[str]:
    """Yield the inputs and the output that the file declares, like a prompt object."""
    keys = evaluation.root.value("input_keys")
    if isinstance(keys, Mapping):
        yield from (text for entry in keys.entries if (text := key_text(entry)))
    elif isinstance(keys, Sequence):
        yield from (text for item in keys.items if (text := scalar_text(item)))
    if output := evaluation.root.text("output_key"):
        yield output
