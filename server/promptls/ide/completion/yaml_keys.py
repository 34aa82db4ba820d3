"""Completion of keys, whole parts, headers and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from promptls.dialects import KeyFact
from promptls.dialects.opencompass.vocabulary import RETRIEVER_ARGUMENTS, RETRIEVER_KEYS, TEMPLATE_KEYS
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, SECTION_KEYS, SPACE_MARKER
from promptls.ide.completion.items import CompletionItem, ItemKind, Request
from promptls.ide.completion.members import column_names, declared_inputs, read_inputs
from promptls.ide.completion.yaml_values import example_schema, metric_options
from promptls.ide.hover.markdown import fact_text
from promptls.ide.key_facts import SCHEMA_KEYS, keys_at
from promptls.semantic.evaluation_file import class_name, evaluation_of
from promptls.semantic.kind import Kind
from promptls.syntax.yaml import nodes
from promptls.syntax.yaml.expected import ITEM, YamlPlace
from promptls.text.escape import markdown_fence, markdown_prose
from promptls.text.positions import Span

_PART: Final = "- name: ${1:name}\n  role: ${2|system,user,assistant|}\n  content: |\n    $0"
_SECTIONS: Final = (
    "- name: ${1:name}\n  role: ${2|system,user,assistant|}\n  sections:\n    - name: ${3:section}\n"
    "      content: |\n        $0"
)
_TRUNCATABLE: Final = (
    "- name: ${1:name}\n  role: ${2|user,assistant|}\n  truncation_priority: ${3:1}\n  content: |\n    $0"
)
_LOOP: Final = (
    "{% for ${1:message} in ${2:messages} %}\n- name: ${1:message} {{ loop.index }}\n"
    "  role: {{ ${1:message}.role }}\n  truncation_priority: 1\n  content: |\n"
    "    {{ escape_special_characters(${1:message}.content) }}\n{% endfor %}"
)
_HEADER: Final = (
    "{#---\nname: ${1:name}\ndescription: ${2:What the prompt does.}\ninput_keys:\n"
    "  ${3:text}: {type: ${4:string}}\n---#}\n"
)
_OBJECT: Final = (
    "name: ${1:name}\ninstruction: |\n  ${2:What is to be done.}\ninput_keys: [${3:text}]\n"
    "output_key: ${4:answer}\n"
    "output_type: ${5|json,str|}\n"
)
_EVALUATION: Final = (
    "infer_cfg:\n  prompt_template:\n    type: PromptTemplate\n    template:\n      round:\n"
    '        - {role: HUMAN, prompt: "${1:Question: {question\\}}"}\n  retriever: {type: ZeroRetriever}\n'
    "  inferencer: {type: GenInferencer}\nreader_cfg:\n  input_columns: [${2:question}]\n"
    "  output_column: ${3:answer}\n"
)

_WORD: Final = re.compile(r"\ufeff?\s*[A-Za-z][\w -]*\s*")
_PLACEHOLDER: Final = re.compile(r"\$\{\d+(?::((?:[^}\\]|\\.)*)|\|([^,|]*)[^|]*\|)\}|\$\d")


def is_one_word(text: str) -> bool:
    """Return whether the file contains a single word, which may be the prefix of a whole piece."""
    return _WORD.fullmatch(text) is not None


def piece_documentation(label: str) -> str:
    """Return a preview of a whole piece, in Markdown; empty for other labels."""
    snippet = next((item.snippet for item in file_items() if item.label == label), "")
    return shown_snippet(snippet)


def shown_snippet(snippet: str) -> str:
    """Return a snippet as Markdown, with its placeholders filled in; empty for an empty snippet."""
    text = _PLACEHOLDER.sub(lambda match: (match[1] or match[2] or "").replace("\\}", "}"), snippet)
    return markdown_fence(text.rstrip(), "yaml") if text else ""


def part_items(*, after_dash: bool) -> Iterator[CompletionItem]:
    """Yield whole parts; without their first dash if it is already there."""
    for rank, (label, snippet, detail) in enumerate(
        (
            ("part", _PART, "name, role, content"),
            ("part with sections", _SECTIONS, "name, role, sections"),
            ("part that may be truncated", _TRUNCATABLE, "with truncation_priority"),
            ("parts for a history", _LOOP, "a part for each message"),
        )
    ):
        if after_dash and not snippet.startswith("- "):
            continue
        text = snippet.removeprefix("- ") if after_dash else snippet
        plain = "name: " if after_dash else "- name: "
        yield CompletionItem(
            label,
            "snippet",
            5 + rank if not after_dash else 40 + rank,
            text=plain,
            snippet=text,
            detail=detail,
        )


def header_item() -> CompletionItem:
    """Return the header item for a file without a header."""
    return CompletionItem(
        "header",
        "snippet",
        3,
        text="{#---\nname: \n---#}\n",
        snippet=_HEADER,
        detail="what the prompt declares",
    )


def file_items() -> Iterator[CompletionItem]:
    """Yield the templates for an empty file."""
    yield header_item()
    yield from part_items(after_dash=False)
    # They are found by their first key, too.
    yield CompletionItem(
        "prompt object",
        "snippet",
        20,
        text="instruction: ",
        snippet=_OBJECT,
        detail="Ragas",
        filter_text="instruction prompt object",
    )
    yield CompletionItem(
        "evaluation prompt",
        "snippet",
        21,
        text="infer_cfg:\n",
        snippet=_EVALUATION,
        detail="OpenCompass",
        filter_text="infer_cfg evaluation prompt",
    )


_EXPERIMENT: Final = "dataset: ${2:rows.csv}\nmodels: [${3:local:smollm2}]\nmetrics: [${4:exact_match}]"
_RANK: Final = 5


def declared_items(request: Request, place: YamlPlace) -> Iterator[CompletionItem]:
    """Yield an example with a value for each key, or an experiment, where one may begin."""
    label = _label(place.path)
    if not label or (place.path[-1] == ITEM and place.siblings):
        return
    lines = _lines(request, label)
    if not lines:
        return
    # Editors indent every further line like the line of the cursor.
    below = "\n" + " " * (place.column - place.indent)
    if place.path[-1] != ITEM and label == "example":
        lines = [f"{'  ' if index else '- '}{line}" for index, line in enumerate(lines)]
    first = "- " if lines[0].startswith("- ") else lines[0].partition(": ")[0].rstrip(":") + ": "
    plain = "name:" if label == "experiment" else first
    detail = "dataset, models, metrics" if label == "experiment" else "a value for each key"
    yield CompletionItem(label, "snippet", _RANK, text=plain, snippet=below.join(lines), detail=detail)


def declared_documentation(request: Request, path: tuple[str, ...], label: str) -> str:
    """Return a preview of a whole example or experiment, in Markdown; empty for other labels."""
    return shown_snippet("\n".join(_lines(request, label))) if label and label == _label(path) else ""


def _label(path: tuple[str, ...]) -> str:
    if path in {("examples",), ("examples", ITEM)}:
        return "example"
    return "experiment" if path == ("experiments",) else ""


def _lines(request: Request, label: str) -> list[str]:
    if label == "experiment":
        return ["${1:name}:", *(f"  {line}" for line in _EXPERIMENT.split("\n"))]
    output = request.declarations.settings.output_key
    names = dict.fromkeys([*declared_inputs(request), *([output] if output else [])])
    if not all(name.isidentifier() for name in names):
        return []  # such a key may need quotes
    return [f"{name}: ${{{number}:{name}}}" for number, name in enumerate(names, 1)]


_INDENT: Final = "  "
_EXCLUSIVE: Final = {"content": "sections", "sections": "content"}
_BLOCKS: Final = frozenset({"content", "instruction"})
_LAST: Final = frozenset({"tokens", "expected_template_data_keys"})
_IGNORED_KEYS: Final = (PART_KEYS["tokens"], SECTION_KEYS["tokens"], SECTION_KEYS["truncation_priority"])
"""Keys that Prompt Poet rejects in a template, or ignores."""
_CHOICES: Final = {"role": "system,user,assistant", "output_type": "json,str"}


def key_items(request: Request, place: YamlPlace, *, in_header: bool) -> Iterator[CompletionItem]:
    """Yield the keys allowed at the place that the mapping does not have yet."""
    facts = _fitting(request, place, keys_at(request.kind, place.path, in_header=in_header))
    for index, fact in enumerate(facts.values()):
        if fact.name in place.siblings:
            continue
        yield _item(fact, place, _rank(fact, facts, index, place.siblings))
    if in_header or request.kind in {Kind.OBJECT, Kind.EVALUATION}:
        yield from _own_keys(request, place)


def _fitting(request: Request, place: YamlPlace, facts: Mapping[str, KeyFact]) -> Mapping[str, KeyFact]:
    """Return the keys that the class of a retriever or template takes; all keys if the class is unknown."""
    evaluation = evaluation_of(request.template.source.whole) if request.kind is Kind.EVALUATION else None
    if evaluation is None or not place.path:
        return facts
    if facts is RETRIEVER_KEYS and evaluation.retriever is not None:
        known = RETRIEVER_ARGUMENTS.get(class_name(evaluation.retriever.value) or "")
        if known is None:
            return facts
        names = ("type", *known[0], *known[1])
        return {
            name: replace(fact, required=name in {"type", *known[0]})
            for name, fact in facts.items()
            if name in names
        }
    if facts is TEMPLATE_KEYS:
        raw = any(each.is_raw for each in evaluation.templates if each.name == place.path[-1])
        left_out = {"template", "sep_token"} if raw else {"messages", "format_variables"}
        return {name: fact for name, fact in facts.items() if name not in left_out}
    return facts


def _rank(fact: KeyFact, facts: Mapping[str, KeyFact], index: int, siblings: frozenset[str]) -> int:
    """Return the sort key: required keys in table order, optional keys, then keys that no longer apply."""
    if facts is PART_KEYS and _EXCLUSIVE.get(fact.name) in siblings:
        return 90 + index
    if fact.name in _LAST:
        return 60 + index
    return (10 if fact.required else 20) + index


def _item(fact: KeyFact, place: YamlPlace, rank: int) -> CompletionItem:
    detail = f"{fact.describe_type}, required" if fact.required else fact.describe_type
    useless = fact in _IGNORED_KEYS
    if place.has_colon or place.quote:
        return CompletionItem(fact.name, "property", rank, detail=detail, is_deprecated=useless)
    return CompletionItem(
        fact.name,
        "property",
        rank,
        text=f"{fact.name}: ",
        snippet=_snippet(fact, place),
        detail=detail,
        is_deprecated=useless,
    )


def _snippet(fact: KeyFact, place: YamlPlace) -> str:
    """Return the key with the layout of its value, indented relative to the current line."""
    name, value_type = fact.name, fact.describe_type
    below = " " * (place.column - place.indent) + _INDENT
    if place.in_flow:
        return ""
    if name in _CHOICES:
        return f"{name}: ${{1|{_CHOICES[name]}|}}"
    if name in _BLOCKS:
        return f"{name}: |\n{below}$0"
    if name == "sections":
        return f"{name}:\n{below}- name: ${{1:name}}\n{below}  content: |\n{below}    $0"
    if name == "examples":
        return f"{name}:\n{below}- $0"
    if name == "experiments":
        return f"{name}:\n{below}${{1:name}}:\n{below}{_INDENT}dataset: $0"
    if name == "round":
        return f'{name}:\n{below}- {{role: HUMAN, prompt: "$0"}}'
    if value_type.startswith("list"):
        return f"{name}: [$0]"
    if value_type in {"mapping", "template mapping"}:
        return f"{name}:\n{below}$0"
    return ""


def _own_keys(request: Request, place: YamlPlace) -> Iterator[CompletionItem]:
    """Yield the keys that the file defines, in examples, inputs, metrics and thresholds."""
    if place.path == ("input_keys",):
        for name in read_inputs(request):
            if name not in place.siblings and name != request.typed:
                snippet = "" if place.has_colon or place.in_flow else f"{name}: {{type: ${{1:string}}$0}}"
                text = "" if place.has_colon else f"{name}: {{}}"
                yield CompletionItem(
                    name, "field", 10, text=text, snippet=snippet, detail="read, not declared"
                )
    elif place.path == ("examples", ITEM):
        output = request.declarations.settings.output_key
        details = dict.fromkeys(declared_inputs(request), "input") | ({output: "output"} if output else {})
        yield from named_keys(place, details, "field", 10)
    elif place.path[:2] == ("examples", ITEM):
        properties = example_schema(request, place.path[2:]).get("properties")
        names = map(str, properties) if isinstance(properties, dict) else ()
        yield from named_keys(place, dict.fromkeys(names, ""), "field", 10)
    else:
        match place.path:
            case ("metrics", metric) | ("metrics", metric, "columns"):
                yield from named_keys(place, metric_options(request, metric), "property", 30)
            case ("experiments", experiment, "thresholds"):
                scores = dict.fromkeys(_score_names(request, experiment), "")
                yield from named_keys(place, scores, "property", 10)


def named_keys(
    place: YamlPlace, details: Mapping[str, str], kind: ItemKind, rank: int
) -> Iterator[CompletionItem]:
    """Yield the names that the mapping does not have yet, each with its detail."""
    for index, (name, detail) in enumerate(details.items()):
        if name not in place.siblings:
            text = "" if place.has_colon or place.quote else f"{name}: "
            yield CompletionItem(name, kind, rank + index, text=text, detail=detail)


def _score_names(request: Request, experiment: str) -> Iterator[str]:
    """Yield the names of the scores of an experiment: those of its metrics, without their files."""
    metrics = nodes.node_at(request.declarations.tree, ("experiments", experiment, "metrics"))
    for item in metrics.items if isinstance(metrics, nodes.Sequence) else ():
        if metric := nodes.scalar_text(item):
            yield metric.rpartition(":")[2]


def key_documentation(request: Request, path: tuple[str, ...], name: str, *, in_header: bool) -> str:
    """Return the description of a key, in Markdown."""
    facts = keys_at(request.kind, path, in_header=in_header)
    fact = facts.get(name) or (SCHEMA_KEYS.get(name) if path[:1] == ("input_keys",) else None)
    if fact is not None:
        return fact_text(fact)
    declared = declared_inputs(request).get(name)
    description = declared.schema.get("description") if declared else None
    return markdown_prose(str(description)) if description else ""


_MARKER: Final = re.compile(r"<(?:\|(?:s(?:p(?:a(?:c(?:e\|?)?)?)?)?)?)?$")
_FIELD: Final = re.compile(r"(?<!\{)\{(\w*)$")


def marker_word(head: str) -> int | None:
    """Return the length of a partial space marker before the cursor; None if there is none."""
    found = _MARKER.search(head)
    return len(found.group()) if found else None


def marker_items() -> Iterator[CompletionItem]:
    """Yield the marker that Prompt Poet replaces with a space."""
    yield CompletionItem(SPACE_MARKER, "constant", 10, detail="a space that is not stripped")


def field_word(request: Request, head: str) -> int | None:
    """Return the length of a partial column name before the cursor; None outside braces."""
    found = _FIELD.search(head) if request.kind in {Kind.EVALUATION, Kind.OBJECT} else None
    return len(found[1]) if found else None


def field_items(request: Request) -> Iterator[CompletionItem]:
    """Yield the columns that an evaluation prompt's text may use, and the inputs of a prompt object."""
    reader = request.declarations.data.get("reader_cfg")
    columns = reader.get("input_columns") if isinstance(reader, dict) else None
    listed = columns if isinstance(columns, list) else [columns] if isinstance(columns, str) else []
    names = [str(name) for name in listed if isinstance(name, str)]
    names += column_names(request)
    names += [key.name for key in request.declarations.inputs]
    for name in dict.fromkeys(names):
        yield CompletionItem(name, "field", 10, detail="column")


def marker_span(offset: int, length: int, text_after: str) -> tuple[Span, Span]:
    """Return the spans that the marker replaces: up to the cursor, and including the rest after it."""
    insert = Span(offset - length, offset)
    rest = SPACE_MARKER[length:]
    shared = next((size for size in range(len(rest), 0, -1) if text_after.startswith(rest[:size])), 0)
    return insert, Span(insert.start, offset + shared)
