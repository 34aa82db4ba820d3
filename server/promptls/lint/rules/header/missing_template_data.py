"""Python call that loads the template with missing or wrong data.

## What it does

Checks the calls in the workspace's Python files that load this template with Prompt Poet,
`Prompt(template_path=…, template_data={…})`, with promptls, `promptls.load(…).render(…)`, or with Jinja,
`environment.get_template(…).render(…)`. Reports a required input that such a call does not pass, and a
value whose type does not match its uses, that never equals a text it is compared with, or that its
declaration in `input_keys` excludes. A text that
makes the YAML invalid where the template prints it is an error; a key that the template never reads is a hint. What the template reads under a condition
such as `message.role == "tool"` is only required in rows that satisfy the condition. Only calls with a
literal path and data are checked; Python files are read but never run.

The same problems are reported in the Python file, if it is open in an editor or passed to
`promptls check`; there, also for templates that the program contains as text,
`Prompt(raw_template="…", template_data={…})`. A comment `# promptls: ignore[missing-template-data]`
suppresses them. In an included file, a name that is a typo of a name that every such call gives is reported.

## Why is this bad?

Jinja prints nothing for an undefined variable, so the prompt is shorter without any error. A value that
is passed but never read is often the same variable under a different name.

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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from promptls.lint.analysis.call_problems import CallProblem, call_problems
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, RelatedInformation, Rule, Severity
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import calls_to, include_chains, needs_of

_SEVERITIES: Final[Mapping[str, Severity]] = {"unread": "hint", "broken": "error"}
"""The severities of kinds of problems that differ from that of the rule."""


def check(file: File) -> Iterator[Finding]:
    """Yield the missing and the unused data in calls that load the template."""
    calls = calls_to(file.snapshot, file.path)
    same: dict[tuple[object, ...], list[CallProblem]] = {}
    for each in call_problems(file.snapshot, file.path, file.template, calls) if calls else ():
        same.setdefault((each.call.file, *each[1:]), []).append(each)
    for problems in same.values():
        each = problems[0]
        *lines, last = [str(problem.call.line + 1) for problem in problems]
        places = f"lines {', '.join(lines)} and {last}" if lines else f"line {last}"
        loaded = f"`{PurePath(each.call.file).name}` loads this template in {places}"
        related = tuple(
            RelatedInformation(problem.call.file, problem.call.span, "the template is loaded here")
            for problem in problems
        )
        escaped = Edit(each.span, f"escape_special_characters({each.name})")
        fixes = (Fix("Escape it", (escaped,)),) if each.ends_block else ()
        finding = Finding(each.span, f"{loaded} {_what(each)}", fixes, related)
        if each.kind == "missing" and file.template.source.slice(each.span) == each.name:
            read = needs_of(file.snapshot, file.path).by_name.keys()
            meant = "" if each.meant else _typo_of(each.name, each.call.keys & read)
            if meant:
                finding = replace(Finding.suggest(each.span, finding.message, meant), related=related)
        yield replace(finding, severity=_SEVERITIES.get(each.kind))
    yield from _in_included_file(file)


_MIN_LENGTH: Final = 5
"""The minimum length of a name that may be reported as a typo."""


def _typo_of(name: str, keys: Iterable[str]) -> str:
    is_long = len(name) >= _MIN_LENGTH
    return next((key for key in sorted(keys) if is_long and is_typo(name, key)), "")


def _in_included_file(file: File) -> Iterator[Finding]:
    """Yield the names in a file that is included that are typos of what every call of an entry passes."""
    names = file.template.names.input_names - INJECTED - GLOBALS
    found: dict[Span, Finding] = {}
    for chain in include_chains(file.snapshot, file.path):
        calls = [call for call in calls_to(file.snapshot, chain.entry) if not call.is_failing]
        if chain.reference is None or not calls:
            continue
        read = needs_of(file.snapshot, chain.entry).by_name.keys()
        given = frozenset.intersection(*(call.keys for call in calls)) & read
        for name in sorted(names - chain.provided - frozenset().union(*(call.keys for call in calls))):
            meant = _typo_of(name, given)
            for reference in file.template.names.references_of(name) if meant else ():
                if reference.binding is None:
                    entry, program = PurePath(chain.entry).name, PurePath(calls[0].file).name
                    message = f"`{program}` gives `{entry}`, which includes this file, no `{name}`"
                    related = RelatedInformation(calls[0].file, calls[0].span, "the template is loaded here")
                    suggested = Finding.suggest(reference.span, message, meant)
                    found.setdefault(reference.span, replace(suggested, related=(related,)))
    yield from found.values()


def _what(each: CallProblem) -> str:
    match each.kind:
        case "missing":
            when = f", which is read where {each.detail}" if each.detail else ""
            meant = f"; it gives `{each.meant}`, which nothing reads" if each.meant else ""
            return f"without `{each.name}`{when}{meant}"
        case "mismatch":
            return f"where {each.detail}"
        case "broken":
            return f"with a `{each.name}` that fails: {each.detail}"
        case "refused":
            return f"with `{each.name}`, which Prompt Poet refuses in the data"
        case "unread":
            return f"with `{each.name}`, which nothing in it reads"


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
