"""An output type that is neither `json` nor `str`.

## What it does

Reports an `output_type` other than `json` and `str`, in a prompt object or a header. A null one is an
error of a prompt object, which no release takes. In a header, and
for the releases of Ragas before 0.1.6, which take any word, it is a warning, and a remark where only
the case is another one; for later ones it is an error. `ragas_version` in the file, or in the settings,
names the release.

## Why is this bad?

Until 0.1.5 every word but `json` means plain text, a misspelt `jsno` too. Later releases refuse all
others, with a bare KeyError where there are examples.

## Example

```yaml
ragas_version: 0.1.21
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: string
             ^^^^^^ invalid-output-type: Ragas knows the output types `json` and `str`; did you mean `str`?
```

Use instead:

```yaml
ragas_version: 0.1.21
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: str
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from promptls.meaning.kind import Kind
from promptls.rules.facts.aspects import declarations
from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.syntax.yaml.nodes import Scalar, scalar_text
from promptls.systems.ragas.release import release_of


def check(context: FileContext) -> Iterator[Finding]:
    """The output type, where it is not one of the two."""
    if context.kind is not Kind.OBJECT:
        yield from _in_header(context)
        return
    root = context.template.root
    value = root.value("output_type") if root else None
    if isinstance(value, Scalar) and value.tag == "null" and not value.dynamic:
        entry = root.entry("output_type") if root else None
        place = entry.key.span if entry and value.span.is_empty() else value.span
        yield Finding(place, "`output_type` is null, which Ragas refuses: write `json` or `str`")
        return
    word = scalar_text(value)
    is_text = isinstance(context.template.declarations.data.get("output_type"), str)
    if value is None or word is None or word in {"json", "str"} or not is_text:
        return
    found = misspelt(value.span, "Ragas knows the output types `json` and `str`", word, ("json", "str"))
    of = release_of(context.template.declarations.data, context.project.ragas_version)
    if of.has_format_instruction:
        yield found
        return
    is_json = word.lower() == "json"
    taken = "JSON" if is_json else "plain text"
    said = f"Ragas {of.name} takes `{word}` for {taken}, and releases from 0.1.6 on refuse it"
    yield Finding(
        found.span,
        said,
        found.fixes,
        severity="information" if word.lower() in {"json", "str"} else "warning",
    )


def _in_header(context: FileContext) -> Iterator[Finding]:
    """The output type of a file that Ragas does not load; `JSON` says `json` there too."""
    word = context.template.declarations.data.get("output_type")
    span = context.template.declarations.value_span("output_type")
    if span is not None and isinstance(word, str) and word.lower() not in {"json", "str"}:
        found = misspelt(span, "the output types are `json` and `str`", word, ("json", "str"))
        yield replace(found, severity="warning")


RULE = Rule(
    name="invalid-output-type",
    summary="an output type that is neither `json` nor `str`",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
    looks_at=(declarations,),
)
