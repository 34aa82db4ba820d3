"""A prompt object without `instruction`.

## What it does

Reports a prompt object at whose top level `instruction` is missing, or a list or a mapping.

## Why is this bad?

Ragas refuses it: there is nothing to ask the model.

## Example

```yaml
input_keys: [question]
^^^^^^^^^^ missing-instruction: this prompt object has no `instruction`
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.kind import top_keys
from promptls.rules.fixes.mapping_edits import added_entry
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Fix, Rule
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text
from promptls.systems.ragas.saved_prompt import form_of
from promptls.systems.ragas.vocabulary import NEWER_FILE_KEYS, PROMPT_KEYS
from promptls.text.nearest import is_close


def check(context: FileContext) -> Iterator[Finding]:
    """A finding at the first key of an object without the key, or at a value of it that is no text."""
    yield from missing_top_key(
        context, "instruction", "instruction: Say in plain language what the model is to do."
    )
    root = context.template.root
    value = root.merged("instruction") if root else None
    if isinstance(value, (Mapping, Sequence)) and not _is_saved(context, top_keys(context.template.source)):
        what = "mapping" if isinstance(value, Mapping) else "list"
        yield Finding(value.span, f"the instruction is a {what}: Ragas takes a text")


def missing_top_key(context: FileContext, key: str, written: str | None) -> Iterator[Finding]:
    """A finding at the object's first key where `key` is not among its keys, by its lines if need be.

    Its fix adds the line `written`, ahead of the examples where there are any.
    """
    root = context.template.root
    keys = top_keys(context.template.source)
    if root is None or not root.entries or key in keys or root.merged(key) or _is_saved(context, keys):
        return
    unknown = keys - {*PROMPT_KEYS, *HEADER_KEYS}
    if any(key_text(entry) is None for entry in root.entries) or any(is_close(each, key) for each in unknown):
        return  # a misspelt key is told by `misspelt-object-key`
    before = root.entry("examples") if key != "instruction" else None
    edit = (
        added_entry(context.template.source.text, root.span, root.entries, written, before)
        if written
        else None
    )
    fixes = () if edit is None else (Fix(f"Add `{written}`", (edit,)),)
    yield Finding(root.entries[0].key.span, f"this prompt object has no `{key}`", fixes)


def _is_saved(context: FileContext, keys: frozenset[str]) -> bool:
    """Whether the file is of a later release, which `invalid-saved-prompt` judges."""
    return bool(keys & NEWER_FILE_KEYS) or form_of(context.template.declarations.data) is not None


RULE = Rule(
    name="missing-instruction",
    summary="a prompt object without `instruction`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
