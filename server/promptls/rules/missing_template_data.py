"""A Python call that loads the template without data that it reads, or with data that does not fit.

## What it does

Looks at the calls in the workspace's Python files that load this template with Prompt Poet,
`Prompt(template_path=…, template_data={…})`, with promptls, `promptls.load(…).render(…)`, or with Jinja,
`environment.get_template(…).render(…)`. Reports an input that such a call does not give, where the
template does not reckon with its absence, a value that is of another type than its uses need, and, as a
hint, a key that nothing in the template reads. Only calls whose path and data are written out
are looked at; Python files are read, and never run.

## Why is this bad?

Jinja prints nothing for a variable that is not there, so that the prompt is shorter without a word.
What is given and never read is often the same variable under another name.

## Example

```yaml
-- support.py --
from prompt_poet import Prompt

prompt = Prompt(template_path="main.yml.j2", template_data={"text": "Where is my order?"})
-- main.yml.j2 --
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
                                                                       ^^^^^^ missing-template-data: `support.py` loads this template in line 3 without `locale`
```

Use instead:

```yaml
-- support.py --
from prompt_poet import Prompt

prompt = Prompt(template_path="main.yml.j2", template_data={"text": "Where is my order?", "locale": "en"})
-- main.yml.j2 --
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from promptls.meaning.misfit import misfit
from promptls.meaning.scopes import INJECTED
from promptls.meaning.shape import UNKNOWN
from promptls.rules.expected_keys import expected_keys
from promptls.rules.rule import JINJA_KINDS, FileContext, Finding, RelatedPlace, Rule
from promptls.text.nearest import nearest
from promptls.text.span import Span
from promptls.workspace.callers import calls_to
from promptls.workspace.needs import Need, needed_shapes, needs_of
from promptls.workspace.python_calls import TemplateCall


def check(context: FileContext) -> Iterator[Finding]:
    """What the calls that load the template do not give, and what they give for nothing."""
    calls = calls_to(context.snapshot, context.path)
    if not calls or context.template.syntax_problems:
        return
    needs = needs_of(context.snapshot, context.path)
    shapes = needed_shapes(context.snapshot, context.path)
    needed = {name for name in needs.by_name if not shapes.get(name, UNKNOWN).optional}
    known = needs.by_name.keys() | expected_keys(context.template) | INJECTED
    for call in calls:
        unread = call.keys - known if needs.is_whole else frozenset()
        for name in sorted(needed - call.keys):
            place = _place(context, name, needs.by_name)
            if place is not None:
                meant = nearest(name, unread)
                given = f"; it gives `{meant}`, which nothing reads" if meant else ""
                unread -= {meant or ""}
                yield _finding(place, f"{_call(call)} without `{name}`{given}", call)
        for name, value in sorted(call.given, key=lambda each: each[0]):
            said = misfit(name, shapes.get(name, UNKNOWN), value) if name in needs.by_name else None
            place = _place(context, name, needs.by_name) if said is not None else None
            if place is not None:
                yield _finding(place, f"{_call(call)} where {said}", call)
        for key in sorted(call.keys & INJECTED if not call.is_jinja else ()):
            start = Span(0, min(1, len(context.template.source)))
            yield _finding(start, f"{_call(call)} with `{key}`, which Prompt Poet refuses in the data", call)
        for key in sorted(unread):
            start = Span(0, min(1, len(context.template.source)))
            message = f"{_call(call)} with `{key}`, which nothing in it reads"
            yield _finding(start, message, call, is_hint=True)


def _call(call: TemplateCall) -> str:
    return f"`{PurePath(call.file).name}` loads this template in line {call.line + 1}"


def _finding(place: Span, message: str, call: TemplateCall, *, is_hint: bool = False) -> Finding:
    related = RelatedPlace(call.file, call.span, "the template is loaded here")
    return Finding(place, message, related=(related,), severity="hint" if is_hint else None)


def _place(context: FileContext, name: str, needs: Mapping[str, tuple[Need, ...]]) -> Span | None:
    """Where the file reads a name for certain, or includes what does; None where no reading is certain."""
    for need in needs[name]:
        template = context.snapshot.template(need.path)
        if not need.is_free or template is None:
            continue
        for reading in template.names.readings_of(name):
            if reading.binding is None:
                return reading.span if need.reference is None else need.reference.span
    return None


RULE = Rule(
    name="missing-template-data",
    summary="a Python call that loads the template without data that it reads, or with data that does not fit",
    severity="warning",
    module=__name__,
    kinds=JINJA_KINDS,
    check=check,
)
