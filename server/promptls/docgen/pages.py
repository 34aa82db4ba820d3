"""The pages of the documentation generated from declarations: rules, settings and header keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from promptls.docgen.json_schemas import header_schema, settings_schema
from promptls.lint.registry import RULES
from promptls.lint.rule import Rule


def rules_page() -> str:
    """Return every rule with its page, in Markdown; `promptls explain` prints the same."""
    listed = "\n".join(
        f"| [`{rule.name}`](#{rule.name}) | {rule.severity} | {rule.summary} |" for rule in RULES
    )
    pages = "\n\n".join(
        f"## {rule.name}\n\nSeverity: {rule.severity}. Since {rule.since}.\n\n{_deeper(rule.page)}"
        for rule in RULES
    )
    return (
        "# Rules\n\n"
        "All diagnostics of `promptls check` and editors.\n"
        "To change the severity of a rule, or turn it `off`, use the setting `rules`.\n"
        "To suppress rules on a line, add the comment `{# promptls: ignore[rule-name] reason #}` to it, or "
        "put the comment alone on the line before. `ignore-file` suppresses them in the whole file.\n\n"
        f"| rule | severity | finds |\n| --- | --- | --- |\n{listed}\n\n{pages}\n"
    )


def rule_page(rule: Rule) -> str:
    """Return one rule with its page, in Markdown: the target of the link of a diagnostic's code."""
    return f"# {rule.name}\n\nSeverity: {rule.severity}. Since {rule.since}.\n\n{rule.page}\n"


def settings_page() -> str:
    """Return every setting of a project, and every key of a header, in Markdown."""
    return (
        "# Settings\n\n"
        "Put project settings in `promptls.toml`, or under `[tool.promptls]` in `pyproject.toml`. "
        "promptls uses the nearest one above a prompt file, within its repository.\n"
        "Editor settings override project settings, and the header of a file overrides both.\n\n"
        f"{_tables(settings_schema(), 'The project')}\n\n"
        "# The header\n\n"
        "The header of a parts template is a Jinja comment, `{#---` … `---#}`, at the start of the file.\n"
        "Prompt objects and evaluation prompts have the same keys at the top level.\n\n"
        f"{_tables(header_schema(), 'Keys')}\n"
    )


def _tables(schema: dict[str, Any], title: str) -> str:
    """Return a table of the schema's properties, followed by one per referenced schema, under its path."""
    definitions = schema.get("$defs", {})
    tables = [_table(f"## {title}", schema, definitions)]
    tables += [
        _table(
            f"## {_words(places)}\n\n{definition.get('description', name).rstrip('.')}.",
            definition,
            definitions,
        )
        for name, definition in definitions.items()
        if (places := tuple(_places(name, schema, definitions)))
    ]
    return "\n\n".join(tables)


def _places(name: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    """Yield the keys that lead to a definition; `<name>` is a placeholder for user-defined names."""
    for key, declared in schema.get("properties", {}).items():
        for place, reference in _references(key, declared):
            if reference == name:
                yield place
            else:
                for inner in _places(name, definitions[reference], definitions):
                    yield f"{place}.{inner}"


def _references(place: str, declared: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the definitions that a property refers to, each with its path."""
    if "$ref" in declared:
        yield place, declared["$ref"].rpartition("/")[2]
    for choice in declared.get("anyOf", ()):
        yield from _references(place, choice)
    if isinstance(declared.get("additionalProperties"), dict):
        yield from _references(f"{place}.<name>", declared["additionalProperties"])


def _words(places: tuple[str, ...]) -> str:
    return ", ".join(f"`{place}`" for place in places)


def _table(heading: str, schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| `{name}` | {_type(declared)} | {_default(declared)} | {_description(declared, definitions)} |"
        for name, declared in schema["properties"].items()
    )
    return f"{heading}\n\n| key | type | default | description |\n| --- | --- | --- | --- |\n{rows}"


def _description(declared: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the description of a property.

    The default is the description of the definition that it refers to.
    """
    referred = definitions.get(declared.get("$ref", "").rpartition("/")[2], {})
    return str(declared.get("description") or referred.get("description", ""))


def _type(declared: dict[str, Any]) -> str:
    if "enum" in declared:
        return ", ".join(f"`{value}`" for value in declared["enum"])
    if "anyOf" in declared:
        return " or ".join(_type(choice) for choice in declared["anyOf"] if choice != {"type": "null"})
    if declared.get("type") == "array":
        return f"array of {_type(declared.get('items', {}))}"
    return str(declared.get("type", "object" if "$ref" in declared else "anything"))


def _default(declared: dict[str, Any]) -> str:
    default = declared.get("default")
    return "" if default is None else f"`{json.dumps(default)}`"


def _deeper(page: str) -> str:
    """Return the page with its headings one level deeper, except in its examples."""
    pieces = re.split(r"(^```.*?^```$)", page, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        piece if piece.startswith("```") else re.sub(r"^#", "##", piece, flags=re.MULTILINE)
        for piece in pieces
    )
