"""Every rule, by name; the one place where a rule is made known."""

from __future__ import annotations

from typing import Final

from promptls.rules import (
    invalid_example_output,
    invalid_header,
    jinja_syntax,
    missing_example_key,
    missing_input_keys,
    missing_instruction,
    missing_output_key,
    missing_part_key,
    undeclared_input,
    unknown_example_key,
    unknown_part_key,
    unknown_role,
    unresolved_include,
    unused_input,
    yaml_syntax,
)
from promptls.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    invalid_example_output.RULE,
    invalid_header.RULE,
    jinja_syntax.RULE,
    missing_example_key.RULE,
    missing_input_keys.RULE,
    missing_instruction.RULE,
    missing_output_key.RULE,
    missing_part_key.RULE,
    undeclared_input.RULE,
    unknown_example_key.RULE,
    unknown_part_key.RULE,
    unknown_role.RULE,
    unresolved_include.RULE,
    unused_input.RULE,
    yaml_syntax.RULE,
)
"""All rules, sorted by name."""

RULES_BY_NAME: Final = {rule.name: rule for rule in RULES}
