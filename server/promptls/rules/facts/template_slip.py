"""The key that stands where a `PromptTemplate` should have its `template`."""

from __future__ import annotations

from typing import Final

from promptls.meaning.evaluation_template import EvaluationTemplate, Form, class_name
from promptls.syntax.yaml.nodes import Entry, key_text

TEMPLATE_KEYS: Final = {
    "PromptTemplate": ("type", "template", "ice_token", "sep_token"),
    "RawPromptTemplate": ("type", "messages", "format_variables", "ice_token"),
}
"""The keys that each class of templates takes."""


def unknown_alone(template: EvaluationTemplate) -> Entry | None:
    """The one unknown key of a `PromptTemplate` that has no `template`; None where there are none or more."""
    if template.mapping is None or template.form is not Form.MISSING:
        return None
    if class_name(template.mapping) not in {None, "PromptTemplate"} or template.mapping.entry("template"):
        return None
    keys = [(entry, key_text(entry)) for entry in template.mapping.entries]
    unknown = [entry for entry, key in keys if key not in {*TEMPLATE_KEYS["PromptTemplate"], "<<"}]
    return unknown[0] if len(unknown) == 1 and None not in {key for _, key in keys} else None
