"""Invalid labels of a template.

Reports a dialogue that an unexpected key turns into a mapping from labels to templates: OpenCompass only treats a mapping as a dialogue if every key
is `begin`, `round` or `end`. Also reports a `PPLInferencer` whose template gives it nothing to compare
(a dialogue has the single label `round`, and a text is the same for every label), and a `GenInferencer`
with a mapping from labels, of which only the first is used. A label of `prompt_template` that
`ice_template` lacks is reported at `ice_template`. Reports a turn of one label whose role differs from that
of the same turn in the other labels, the only turn of `HUMAN` that lacks a field which it has in the other labels, the
only label without a field, a
label that is a typo of its answer where the others are what `BOT` answers, a label of one letter whose text has another letter where the texts of the
others have their own, also in the examples, and a small letter among capital ones. If the file of the dataset is known, an answer in it that
is not a label is reported too, and so is a label such as `No` that is an answer but, without quotes, a boolean.

## Why is this bad?

OpenCompass raises a `TypeError`, or compares identical prompts: every row then gets the same label.

## Example

```yaml
prompt_template:
  template:
    round:
    - {role: HUMAN, prompt: "{question}"}
    begn:
    ^^^^ invalid-ppl-template: this key makes the dialogue a mapping from labels; did you mean `begin`?
    - {role: SYSTEM, prompt: Be brief.}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  template:
    begin:
    - {role: SYSTEM, prompt: Be brief.}
    round:
    - {role: HUMAN, prompt: "{question}"}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Final

from promptls.dialects.opencompass.vocabulary import DIALOGUE_KEYS, DIALOGUE_ROLES, LABEL_INFERENCERS
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Edit, File, Finding, Fix, each_chunk_given, rule
from promptls.semantic.evaluation_file import (
    Evaluation,
    EvaluationTemplate,
    Form,
    Label,
    evaluation_of,
    fields_in,
    scalars_in,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Scalar, Sequence, key_text
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo

_MIN_OPTIONS: Final = 2
_MAX_ANSWERS: Final = 5
"""How many answers of a dataset a message names."""
_TEMPLATE_KEYS: Final = frozenset({"ice_token", "sep_token", "type"})
"""The keys that belong next to the `template` key, not in it."""


def _answers(file: File) -> tuple[tuple[str, int], ...]:
    """Return the answers in the test rows, each with its first row; nothing if the dataset is unknown."""
    from promptls.datasets.dataset_files import known_columns, rows_by_values
    from promptls.rendering.samples import evaluation_data

    reader = file.template.declarations.data.get("reader_cfg")
    column = reader.get("output_column") if isinstance(reader, dict) else None
    test = evaluation_data(file.template, file.path).test if file.path and column else None
    if test is None or column not in known_columns(Path(test)).columns:
        return ()
    return tuple((answer, row.number) for (answer,), row in rows_by_values(Path(test), (column,)).items())


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk_given(_answers)
def invalid_ppl_template(chunk: Chunk, answers: tuple[tuple[str, int], ...]) -> Iterator[Finding]:
    """Yield the invalid labels of templates."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for template in evaluation.templates:
        used = evaluation.used_bodies(template)
        strays = _strays(template)
        if strays:
            is_fatal = any(isinstance(body, Sequence) for body in used)
            yield from strays if is_fatal else (replace(each, severity="warning") for each in strays)
            continue
        yield from _boolean_labels(template, frozenset(answer for answer, _ in answers))
    question = evaluation.question_template
    if question is not None:
        yield from _compared(chunk, evaluation, question)
        if evaluation.inferencer_class in LABEL_INFERENCERS:
            yield from _other_name(chunk, question, is_compared=True)
            yield from _without_option(chunk, question)
        if evaluation.inferencer_class == "PPLInferencer":
            yield from _same_labels(chunk, question)
            yield from _other_role(question)
            yield from _other_question(question)
            yield from _without_columns(chunk, question)
            yield from _misspelled_label(question)
            yield from _without_label(evaluation, question, answers)
    if evaluation.ice is not None and evaluation.ice is not question:
        yield from _other_name(chunk, evaluation.ice, is_compared=False)
    yield from _without_example(evaluation, frozenset(answer for answer, _ in answers))


def _boolean_labels(template: EvaluationTemplate, answers: frozenset[str]) -> Iterator[Finding]:
    """Yield the labels such as `No` that YAML reads as booleans, and that are answers of the dataset."""
    for label in template.labels:
        key = label.entry.key
        if not isinstance(key, Scalar) or key.tag != "bool" or label.name.lower() in {"true", "false"}:
            continue
        if label.name not in answers:
            continue  # The answers may be booleans too.
        value = label.name.lower() in {"yes", "on", "y"}
        message = f"YAML reads `{label.name}` as a boolean, so that this label is `{value}`; quote it"
        fix = Fix.change_to(key.span, f'"{label.name}"', preferred=True)
        yield Finding(key.span, message, (fix,), severity="warning")


def _strays(template: EvaluationTemplate) -> list[Finding]:
    """Return the keys that turn an intended dialogue into a mapping from labels."""
    if not template.is_nearly_dialogue:
        return []
    free = [key for key in DIALOGUE_KEYS if key not in {each.name for each in template.labels}]
    return [
        misspelled(label.entry.key.span, f"this key {_effect(label)}", label.name, free)
        for label in template.labels
        if label.name not in DIALOGUE_KEYS
    ]


def _effect(label: Label) -> str:
    made = "makes the dialogue a mapping from labels"
    return f"{made}: it belongs next to `template`" if label.name in _TEMPLATE_KEYS else made


def _compared(chunk: Chunk, evaluation: Evaluation, question: EvaluationTemplate) -> Iterator[Finding]:
    inferencer = evaluation.inferencer_class
    body = question.body
    if inferencer in LABEL_INFERENCERS and question.form not in {Form.LABELS, Form.DIALOGUE}:
        for template in evaluation.templates:
            if template.form is Form.MESSAGES:
                message = f"`{inferencer}` weighs labels, and a list of messages has none: OpenCompass fails"
                yield Finding(template.entry.key.span, message)
    if (
        inferencer == "PPLInferencer"
        and question.form is Form.DIALOGUE
        and isinstance(body, Mapping)
        and body.entries
    ):
        names = in_code(key_text(entry) for entry in body.entries)
        message = f"`PPLInferencer` takes the keys for labels, here {names}: write a mapping from each label to a dialogue"
        yield Finding(_class_span(evaluation), message)
    elif evaluation.compares_same_prompt:
        message = (
            "`PPLInferencer` gets the same prompt for every label: write a mapping from each label to a text"
        )
        fixes: tuple[Fix, ...] = ()
        fields = {field.name for scalar in scalars_in(body) for field in fields_in(chunk, scalar)}
        if evaluation.output_column in fields:  # the form of a prompt whose answer the model writes
            message += ", or let a `GenInferencer` generate the answer"
            end = _class_span(evaluation).end
            place = Span(end - len("PPLInferencer"), end)
            if chunk.slice(place) == "PPLInferencer":
                fixes = (Fix("Change to `GenInferencer`", (Edit(place, "GenInferencer"),)),)
        yield Finding(_key_of(question), message, fixes, severity="warning")
    elif inferencer == "PPLInferencer" and question.form is Form.LABELS and _is_alone(evaluation, question):
        message = (
            f"`PPLInferencer` has one label to choose from, `{question.labels[0].name}`: every row gets it"
        )
        yield Finding(_key_of(question), message, severity="warning")
    elif (
        inferencer == "GenInferencer"
        and question.form is Form.LABELS
        and len(question.labels) > 1
        and not question.is_nearly_dialogue
    ):
        message = f"`GenInferencer` uses the first label only, `{question.labels[0].name}`"
        yield Finding(_class_span(evaluation), message, severity="warning")


def _class_span(evaluation: Evaluation) -> Span:
    entry = evaluation.inferencer
    assert entry is not None
    kind = entry.value.merged("type") if isinstance(entry.value, Mapping) else None
    return kind.span if kind else entry.key.span


_OPTION: Final = re.compile(r"(?:^|\n|\\n)[ ]*([A-Z])[.):\uff0e\u3001][ ]*\{\w")
"""The letter of an option at the beginning of a line, in front of its field."""


def _without_option(chunk: Chunk, question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the template whose texts show an option after those that are labels."""
    labels = "".join(label.name for label in question.labels)
    following = ascii_uppercase[len(labels) : len(labels) + 1]
    if len(question.labels) < _MIN_OPTIONS or not following or labels != ascii_uppercase[: len(labels)]:
        return
    for scalar in (each for body in question.bodies for each in scalars_in(body)):
        if {*labels, following} <= {*_OPTION.findall(chunk.slice(scalar.span))}:
            message = f"no label is `{following}`, which the text shows as an option: it is never the answer"
            yield Finding(_key_of(question), message, severity="warning")
            return


def _same_labels(chunk: Chunk, question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield a label with the same template as another label, so that the model cannot tell them apart."""
    if question.form is not Form.LABELS:
        return
    seen: dict[str, str] = {}
    for label in question.labels:
        span = label.entry.value.span
        text = chunk.slice(span).strip()
        if not text or any(tag.kind != "raw" for tag in chunk.tags_at(span)):
            continue
        if text in seen:
            message = f"the template of `{label.name}` is that of `{seen[text]}`: both get the same score"
            place = span if isinstance(label.entry.value, Scalar) else label.entry.key.span
            yield Finding(place, message, severity="warning")
        seen.setdefault(text, label.name)


_WORD: Final = re.compile(r"\w+")
_MIN_LABELS: Final = 3
"""The minimum number of labels for one of them to differ from the others."""


def _other_name(chunk: Chunk, template: EvaluationTemplate, *, is_compared: bool) -> Iterator[Finding]:
    """Yield the only label that is a small letter, or whose text has another label's name in place of its own."""
    labels = template.labels
    names = [label.name for label in labels]
    if len({*names}) < max(len(names), _MIN_LABELS) or any(len(name) != 1 for name in names):
        return
    small = [label for label in labels if label.name.islower()]
    if len(small) == 1 and sum(map(str.isupper, names)) > 1:
        message = f"the other labels are capital letters; did you mean `{small[0].name.upper()}`?"
        yield Finding(small[0].entry.key.span, message, severity="warning")
        return
    spans = [label.entry.value.span for label in labels]
    if any(tag.kind != "raw" for span in spans for tag in chunk.tags_at(span)):
        return
    texts = [chunk.slice(span).strip() for span in spans]
    if is_compared and len({*texts}) < len(texts):
        return  # `_same_labels` reports it
    words = [_WORD.findall(text) for text in texts]
    for place in zip(*words, strict=True) if len({len(each) for each in words}) == 1 else ():
        shared = sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*place, strict=False)))
        own = [word[shared:] == name for word, name in zip(place, names, strict=True)]
        other = own.index(False) if own.count(False) == 1 else None
        if other is not None and len(place[other]) == shared + 1:
            label, word = labels[other], place[other]
            message = (
                f"the text of `{label.name}` has `{word}` where those of the other labels have their own name"
            )
            yield Finding(label.entry.key.span, message, severity="warning")
            return


def _other_role(question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the only turn of a label whose role is not that of this turn in the other labels."""
    if len(question.labels) <= 1:
        return
    turns = [tuple(turns_in(label.entry.value, "round")) for label in question.labels]
    roles = [tuple(turn.text("role") for turn in each) for each in turns]
    if not {role for each in roles for role in each} <= DIALOGUE_ROLES.keys():
        return  # `unknown-dialogue-role` reports others
    if len({len(each) for each in roles}) != 1:
        return
    usual, times = Counter(roles).most_common(1)[0]
    if times == 1:  # of two labels, the one in which a role speaks twice
        usual = next((each for each in roles if all(one != next_ for one, next_ in pairwise(each))), usual)
    others = [index for index, each in enumerate(roles) if each != usual]
    different = [index for index, role in enumerate(usual) if others and role != roles[others[0]][index]]
    if len(others) != 1 or len(different) != 1:
        return
    value = turns[others[0]][different[0]].value("role")
    role = usual[different[0]]
    if value is not None:
        label = question.labels[roles.index(usual)].name
        message = f"this turn has the role `{role}` in the template of `{label}`"
        yield Finding(value.span, message, severity="warning")


_FIELD: Final = re.compile(r"\{(\w+)\}")


def _other_question(question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the only turn of a person that lacks a field of the same turn in all other labels."""
    if len(question.labels) < _MIN_LABELS:
        return
    turns = [tuple(turns_in(label.entry.value, "round")) for label in question.labels]
    for place in zip(*turns, strict=True) if len({len(each) for each in turns}) == 1 else ():
        texts = [turn.text("prompt") for turn in place]
        usual, times = Counter(texts).most_common(1)[0]
        roles = {turn.text("role") for turn in place}
        if roles != {"HUMAN"} or usual is None or times != len(texts) - 1:
            continue
        other = next(index for index, text in enumerate(texts) if text != usual)
        value, text = place[other].value("prompt"), texts[other]
        missing = [name for name in _FIELD.findall(usual) if f"{{{name}}}" not in (text or "")]
        if value is not None and text is not None and missing:
            message = f"this turn lacks `{{{missing[0]}}}`, which that of all other labels has"
            yield Finding(value.span, message, severity="warning")


def _without_columns(chunk: Chunk, question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the only label whose template shows no column of the row."""
    values = [label.entry.value for label in question.labels]
    if len(values) < _MIN_OPTIONS or any(each.dynamic for value in values for each in scalars_in(value)):
        return
    bare = [value for value in values if not any([*fields_in(chunk, each)] for each in scalars_in(value))]
    if len(bare) == 1:
        message = "this template shows no column of the row, and those of all other labels do"
        yield Finding(bare[0].span, message, severity="warning")


def _misspelled_label(question: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the only label that is not what the model answers in its template, but a typo of it."""
    if len(question.labels) < _MIN_OPTIONS:
        return
    different: list[tuple[Label, str]] = []
    for label in question.labels:
        turns = [*turns_in(label.entry.value, "round")]
        answer = (turns[-1].text("prompt") or "").strip(" .") if turns else ""
        if answer.casefold() != label.name.casefold():
            different.append((label, answer))
    for label, answer in different if len(different) == 1 else ():
        if is_typo(label.name.casefold(), answer.casefold()) and is_close(label.name, answer):
            message = f"`BOT` answers `{answer}`, and the answers of the other labels are their names"
            yield Finding(label.entry.key.span, message, severity="warning")


def _without_label(
    evaluation: Evaluation, question: EvaluationTemplate, answers: tuple[tuple[str, int], ...]
) -> Iterator[Finding]:
    """Yield an answer of the dataset that is no label, if others are."""
    labels = [label.name for label in question.labels]
    if evaluation.is_open or question.is_nearly_dialogue:
        return
    others = [(answer, row) for answer, row in answers if answer not in labels]
    if answers and len(others) < len(answers) and others:
        answer, row = others[0]
        unused = [label for label in question.labels if label.name not in dict(answers)]
        place = next((each.entry.key.span for each in unused if is_close(each.name, answer)), None)
        if len(answer) == 1 and place is None and len(unused) == 1:
            place = unused[0].entry.key.span
        message = f"the answer of row {row} is `{answer}`, which is no label: it can never be right"
        yield Finding(place or _key_of(question), message, severity="warning")


def _is_alone(evaluation: Evaluation, question: EvaluationTemplate) -> bool:
    """Return whether a mapping certainly has exactly one label."""
    return len(question.labels) == 1 and not evaluation.is_open and not question.is_nearly_dialogue


def _without_example(evaluation: Evaluation, answers: frozenset[str]) -> Iterator[Finding]:
    """Yield the labels of the prompt, or all answers of the dataset, for which the examples have no template."""
    ice, prompt = evaluation.ice, evaluation.prompt
    if ice is None or prompt is None or evaluation.retrieves is False or evaluation.is_open:
        return
    known = {label.name for label in ice.labels}
    missing = [label.name for label in prompt.labels if label.name not in known]
    if not prompt.labels and known.isdisjoint(answers):
        missing = sorted(answers)[:_MAX_ANSWERS]
    if known and missing and not ice.is_nearly_dialogue and not prompt.is_nearly_dialogue:
        names = in_code(missing)
        message = f"an example whose answer is {names} has no template here: OpenCompass raises a KeyError"
        yield Finding(_key_of(ice), message, severity="warning")


def _key_of(template: EvaluationTemplate) -> Span:
    entry = template.mapping.entry("template") if template.mapping else None
    return (entry or template.entry).key.span
