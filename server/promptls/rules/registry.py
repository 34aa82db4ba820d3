"""Every rule, by name; the one place where a rule is made known."""

from __future__ import annotations

from typing import Final

from promptls.rules import (
    content_and_sections,
    duplicate_example,
    duplicate_part_name,
    empty_content,
    empty_instruction,
    include_cycle,
    inconsistent_example_outputs,
    invalid_example_output,
    invalid_header,
    invalid_output_type,
    jinja_syntax,
    missing_example_key,
    missing_input_keys,
    missing_instruction,
    missing_output_key,
    missing_part_key,
    output_key_in_inputs,
    reserved_input,
    undeclared_input,
    unknown_example_key,
    unknown_filter,
    unknown_part_key,
    unknown_role,
    unknown_test,
    unresolved_include,
    unused_import,
    unused_input,
    unused_macro,
    unused_variable,
    wrong_part_type,
    yaml_syntax,
)
from promptls.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    content_and_sections.RULE,
    duplicate_example.RULE,
    duplicate_part_name.RULE,
    empty_content.RULE,
    empty_instruction.RULE,
    include_cycle.RULE,
    inconsistent_example_outputs.RULE,
    invalid_example_output.RULE,
    invalid_header.RULE,
    invalid_output_type.RULE,
    jinja_syntax.RULE,
    missing_example_key.RULE,
    missing_input_keys.RULE,
    missing_instruction.RULE,
    missing_output_key.RULE,
    missing_part_key.RULE,
    output_key_in_inputs.RULE,
    reserved_input.RULE,
    undeclared_input.RULE,
    unknown_example_key.RULE,
    unknown_filter.RULE,
    unknown_part_key.RULE,
    unknown_role.RULE,
    unknown_test.RULE,
    unresolved_include.RULE,
    unused_import.RULE,
    unused_input.RULE,
    unused_macro.RULE,
    unused_variable.RULE,
    wrong_part_type.RULE,
    yaml_syntax.RULE,
)
"""All rules, sorted by name."""

RULES_BY_NAME: Final = {rule.name: rule for rule in RULES}
"""The rules by their names."""
