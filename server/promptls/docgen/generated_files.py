"""The files of a checkout that are generated from declarations, and their content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from promptls import __version__
from promptls.api import metric_objects
from promptls.api.metric_objects import METRIC_CLASSES
from promptls.docgen.json_schemas import WIRE_TYPES, as_json, header_schema, settings_schema, wire_types
from promptls.ide.agent_tools import TOOLS
from promptls.lint.registry import RULES
from promptls.lint.rule import Rule
from promptls.metrics import OF_METRIC
from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric
from promptls.metrics.grading import JUDGE
from promptls.metrics.metric import Metric
from promptls.metrics.metric_loading import asks_for
from promptls.metrics.ragas_metrics import DOCUMENTATION, RAGAS_PAGES
from promptls.models.providers import TABLE
from promptls.text.format import in_code


def key_variables() -> str:
    """Return the TypeScript file that lists each variable once, with the provider that reads it."""
    lines = [
        f"  {{ name: {json.dumps(name)}, provider: {json.dumps(provider)} }},"
        for provider, each in TABLE.items()
        for name in each.key_envs
    ]
    return "\n".join(
        [
            "/** Variables in which providers look for a key; `python -m promptls.docgen` writes this. */",
            "export const KEY_VARIABLES: readonly { name: string; provider: string }[] = [",
            *lines,
            "];",
            "",
        ]
    )


_INTRODUCTION = """\
# Built-in metrics

List them under `metrics` in an experiment.
To set options, define a named metric in the header or in the project's settings:

```yaml
metrics:
  polite:
    use: aspect_critic
    definition: Is the response polite to the customer?
    model: openai:gpt-4.1-mini
  right_priority:
    use: json_field_match
    field: priority
    columns: {expected: priority}
experiments:
  main:
    dataset: tickets.csv
    metrics: [polite, right_priority]
```

Each parameter reads the column of the same name, or the one set in `columns`.
`response` is the model's answer.
If only one of the columns `expected` and `reference` exists, it serves as both; if neither exists,
the column of the prompt's `output_key` does.

Metrics with a judge ask their `model`, or the project's `judge`. These calls respect rate limits,
are cached, and count toward cost and budget.

To ask a judge in your own function, give it a parameter `judge`
(`await judge.ask(messages, json_schema=…)`) or `embedder` (`await embedder.embed(texts)`).
"""


_OF_RAGAS: Final = f"""\
The following metrics are computed by the package ragas (`pip install "promptls[ragas]"`), from 0 to 1; see
[its documentation]({DOCUMENTATION}). Lists in columns may be JSON text.
The option `prompts` of metrics that ask a judge changes what they ask: a mapping from the names of Ragas's
prompts to texts."""


def metrics_page() -> str:
    """Return every built-in metric with its page, in Markdown."""
    listed = "\n".join(
        f"| [`{name}`](#{name}) | {_kind(metric)} | {'yes' if JUDGE in asks_for(metric) else ''} "
        f"| {_summary(name)} |"
        for name, metric in BUILTIN_METRICS.items()
    )
    own = "\n\n".join(_section(name) for name in BUILTIN_METRICS if name not in RAGAS_PAGES)
    ragas = "\n\n".join(_section(name) for name in RAGAS_PAGES)
    return (
        f"{_INTRODUCTION}\n| metric | kind | asks a judge | measures |\n| --- | --- | --- | --- |\n"
        f"{listed}\n\n{own}\n\n## Metrics of Ragas\n\n{_OF_RAGAS}\n\n{ragas}\n"
    )


def _kind(metric: Metric) -> str:
    return f"{metric.kind}, less is better" if metric.lower_is_better else metric.kind


def _summary(name: str) -> str:
    """Return the first sentence of the page."""
    first = re.sub(r"\s+", " ", page_of_metric(name).split("\n\n")[0])
    return first.replace("|", "\\|")


def _section(name: str) -> str:
    return f"## {name}\n\n{page_of_metric(name).strip()}"


_STUB: Final = (
    "# `python -m promptls.docgen` writes this for type checkers: the names are loaded on first use.\n"
)
METRIC_STUBS: Final = "server/promptls/metrics"


def metric_stubs() -> dict[str, str]:
    """Return the stubs of `promptls.metrics` and of its module `collections`, by file name."""
    home = metric_objects.__name__
    written = {name: each for name, each in METRIC_CLASSES.items() if name in vars(metric_objects)}
    lines = [f"from {home} import {name} as {name}" for name in written] + [
        f"from {home} import ReadyMetric\n"
    ]
    for name, each in METRIC_CLASSES.items():
        if each.__name__ != name:
            lines.append(f"{name} = {each.__name__}\n")
        elif name not in written:
            lines.append(f'class {name}(ReadyMetric):\n    """{_summary(each.ready)}"""\n')
    exports = [f"from promptls.metrics.collections import {name} as {name}" for name in METRIC_CLASSES]
    exports += [f"from promptls.metrics.metric import {name} as {name}" for name in sorted(OF_METRIC)]
    exports += ["from typing import Any\n", "OF_METRIC: frozenset[str]\n"]
    exports += ["def metric_class(name: str, module: str) -> Any: ..."]
    return {
        name: "\n".join([_STUB, *of]) + "\n"
        for name, of in (("collections.pyi", lines), ("__init__.pyi", exports))
    }


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
        "put the comment alone on the line before; in a header or a Python program, write "
        "`# promptls: ignore[rule-name]`. `ignore-file` suppresses them in the whole file.\n\n"
        "In the examples, carets mark findings, `-- name --` begins a file, and `last-run.csv` is the table "
        "of the last run.\n\n"
        f"| rule | severity | finds |\n| --- | --- | --- |\n{listed}\n\n{pages}\n"
    )


def rule_page(rule: Rule) -> str:
    """Return one rule with its page, in Markdown: the target of the link of a diagnostic's code."""
    return f"# {rule.name}\n\nSeverity: {rule.severity}. Since {rule.since}.\n\n{rule.page}\n"


def settings_page() -> str:
    """Return every setting of a project, and every key of a header, in Markdown."""
    return (
        "# Settings and header\n\n"
        "Put project settings in `promptls.toml`, or under `[tool.promptls]` in `pyproject.toml`. "
        "promptls uses the nearest one above a prompt file, within its repository.\n"
        "Editor settings override project settings, and the header of a file overrides both.\n\n"
        f"{_EXAMPLE}\n\n"
        f"{_tables('## Project settings', settings_schema())}\n\n"
        f"{_tables(_HEADER, header_schema(), known=settings_schema())}\n"
    )


_EXAMPLE: Final = """\
```toml
# promptls.toml
exclude = ["drafts/**"]
token_limit = 4000

[rules]
unknown-role = "error"
unused-input = "off"
```"""
"""A file of settings, in Markdown."""

_HEADER: Final = """\
## Header

The header of a parts template is a Jinja comment, `{#---` … `---#}`, at the start of the file.
Prompt objects and evaluation prompts have the same keys at the top level.
[`experiments`](#experimentsname) and [`metrics`](#metricsname) are written as in the settings."""


def _tables(heading: str, schema: dict[str, Any], known: Mapping[str, Any] | None = None) -> str:
    """Return a table of the schema's properties, followed by one per referenced schema, under its path.

    Schemas that `known` has are left out.
    """
    definitions = schema.get("$defs", {})
    shown = definitions.keys() - (known or {}).get("$defs", {}).keys()
    places = {name: tuple(_places(name, schema, definitions)) for name in shown}
    tables = [_table(heading, schema, definitions)]
    tables += [
        _table(
            f"## {in_code(at)}\n\n{definitions[name].get('description', name).rstrip('.')}.",
            definitions[name],
            definitions,
            f"{at[0]}.",
        )
        for name, at in sorted(places.items(), key=lambda place: place[1])
        if at
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


def _table(heading: str, schema: dict[str, Any], definitions: dict[str, Any], above: str = "") -> str:
    """Return a table of the schema's properties, whose paths begin with `above`."""
    rows = [
        f"| {_key(above, name, declared)} | {_type(declared)} | {_default(declared)} "
        f"| {_description(declared, definitions)} |"
        for name, declared in schema["properties"].items()
    ]
    return "\n".join(
        [f"{heading}\n\n| key | type | default | description |\n| --- | --- | --- | --- |", *rows]
    )


def _key(above: str, name: str, declared: dict[str, Any]) -> str:
    """Return the name of a property, linked to the table of the definition that it refers to."""
    place = next((place for place, _ in _references(name, declared)), None)
    if place is None:
        return f"`{name}`"
    anchor = re.sub(r"[^\w-]", "", f"{above}{place}")
    return f"[`{name}`](#{anchor})"


def _description(declared: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the description of a property.

    The default is the description of the definition that it refers to.
    """
    referred = definitions.get(declared.get("$ref", "").rpartition("/")[2], {})
    return f"{declared.get('description') or referred.get('description', '')}{_example(declared)}"


def _type(declared: dict[str, Any]) -> str:
    if "enum" in declared:
        return in_code(declared["enum"])
    if "anyOf" in declared:
        return " or ".join(_type(choice) for choice in declared["anyOf"] if choice != {"type": "null"})
    if declared.get("type") == "array":
        return f"array of {_type(declared.get('items', {}))}s".replace("anythings", "anything")
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


TITLE = "promptls"
"""The title of the generated block of settings; the others are the extension's own."""


def with_settings(package: str) -> str:
    """Return the text of `package.json` with the version, the settings of the project and the tools."""
    manifest = json.loads(package)
    manifest["version"] = __version__
    manifest["contributes"]["languageModelTools"] = language_model_tools()
    for block in manifest["contributes"]["configuration"]:
        if block["title"] == TITLE:
            block["properties"] = vscode_settings()
    return as_json(manifest)


def language_model_tools() -> list[dict[str, Any]]:
    """Return the tools for coding agents, in VS Code's format."""
    return [
        {
            "name": f"promptls_{tool.name}",
            "toolReferenceName": f"promptls_{tool.name}",
            "displayName": tool.title,
            "modelDescription": tool.description,
            "userDescription": tool.description.partition(". ")[0].rstrip("."),
            "canBeReferencedInPrompt": True,
            "tags": ["promptls", "prompts"],
            "inputSchema": tool.schema(in_editor=True),
        }
        for tool in TOOLS
        if tool.in_editor
    ]


def vscode_settings() -> dict[str, Any]:
    """Return the settings by name, in VS Code's format.

    The extension sends only those that the user has set; for others, the setting of the project applies.
    VS Code makes titles of names in camelCase, and form fields of types without null, except for numbers.
    """
    schema = settings_schema()
    found: dict[str, Any] = {}
    for name, declared in schema["properties"].items():
        group = _resolve(declared, schema).get("properties") if "$ref" in declared else None
        for key, its in (
            {f"{name}.{inner}": its for inner, its in group.items()}.items() if group else ((name, declared),)
        ):
            found[f"promptls.{_camel_case(key)}"] = _setting(_inline(its, schema))
    return {name: {**setting, "order": order} for order, (name, setting) in enumerate(found.items(), start=1)}


def _camel_case(name: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


_EMPTY: Final[dict[str, Any]] = {"array": [], "object": {}, "string": "", "boolean": False}


def _setting(declared: dict[str, Any]) -> dict[str, Any]:
    kind, default = declared["type"], declared.get("default")
    rest = {key: value for key, value in declared.items() if key not in {"type", "default", "description"}}
    description = f"{declared.get('description', '')}{_example(declared)}"
    return {
        "type": [kind, "null"] if default is None and kind not in _EMPTY else kind,
        "default": _EMPTY.get(kind) if default is None else default,
        "scope": "resource",
        **rest,
        "markdownDescription": f"{description} Overrides the setting of the project.",
    }


def _example(declared: dict[str, Any]) -> str:
    """Return a sentence with the first example of a setting, or an empty text."""
    return "".join(f" Example: `{json.dumps(each)}`." for each in declared.get("examples", ())[:1])


def _inline(value: Any, schema: dict[str, Any]) -> Any:
    """Return `value` with references inlined, since VS Code does not resolve them in settings."""
    if isinstance(value, list):
        return [_inline(item, schema) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _inline(its, schema) for key, its in _resolve(value, schema).items()}


def _resolve(declared: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in declared:
        return declared
    name = declared["$ref"].rpartition("/")[2]
    rest = {key: value for key, value in declared.items() if key != "$ref"}
    return {**schema["$defs"][name], **rest}


def with_version(manifest: str) -> str:
    """Return the text of `plugin.json` with the version."""
    return as_json({**json.loads(manifest), "version": __version__})


KEY_VARIABLES = "vscode-client/src/keyVariables.ts"
PACKAGE = "vscode-client/package.json"
PLUGIN = "integrations/claude-code/.claude-plugin/plugin.json"
RULE_PAGES = "server/promptls/lint/pages"
"""Part of the package, so that editors can open a rule's page offline."""


def generated_files(checkout: Path) -> dict[Path, str]:
    """Return the current text of each generated file of the checkout, by its path."""
    return {
        checkout / "docs" / "rules.md": rules_page(),
        checkout / "docs" / "metrics.md": metrics_page(),
        checkout / "docs" / "settings.md": settings_page(),
        checkout / "schemas" / "settings.schema.json": as_json(settings_schema()),
        checkout / "schemas" / "header.schema.json": as_json(header_schema()),
        checkout / KEY_VARIABLES: key_variables(),
        **{checkout / METRIC_STUBS / name: text for name, text in metric_stubs().items()},
        **{checkout / WIRE_TYPES / name: text for name, text in wire_types().items()},
        checkout / PACKAGE: with_settings((checkout / PACKAGE).read_text("utf-8")),
        checkout / PLUGIN: with_version((checkout / PLUGIN).read_text("utf-8")),
        **{checkout / RULE_PAGES / f"{rule.name}.md": rule_page(rule) for rule in RULES},
    }


def stale_files(checkout: Path) -> list[Path]:
    """Return the generated files that are out of date or missing."""
    return [
        path
        for path, text in generated_files(checkout).items()
        if not path.is_file() or path.read_text("utf-8") != text
    ]
