"""The keys of parts, headers, prompt objects and evaluation prompts, each with its colon and layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from promptls.features.completion.item import Item
from promptls.features.completion.models_and_metrics import metric_options
from promptls.features.completion.request import Request
from promptls.features.completion.values import example_schema
from promptls.features.completion.variables import declared_inputs, read_inputs
from promptls.features.key_facts import SCHEMA_KEYS, keys_at
from promptls.meaning.evaluation import evaluation_of
from promptls.meaning.evaluation_template import class_name
from promptls.meaning.kind import Kind
from promptls.syntax.yaml import nodes
from promptls.syntax.yaml.place import ITEM, YamlPlace
from promptls.systems.key_fact import KeyFact
from promptls.systems.opencompass.retriever_keys import RETRIEVER_ARGUMENTS, RETRIEVER_KEYS
from promptls.systems.opencompass.template_keys import TEMPLATE_KEYS
from promptls.systems.prompt_poet.vocabulary import PART_KEYS, SECTION_KEYS

_INDENT: Final = "  "
_EXCLUSIVE: Final = {"content": "sections", "sections": "content"}
_BLOCKS: Final = frozenset({"content", "instruction"})
_LAST: Final = frozenset({"tokens", "expected_template_data_keys"})
_USELESS: Final = (PART_KEYS["tokens"], SECTION_KEYS["tokens"], SECTION_KEYS["truncation_priority"])
"""What Prompt Poet refuses in a template, or does nothing with."""
_CHOICES: Final = {"role": "system,user,assistant", "output_type": "json,str"}


def key_items(request: Request, place: YamlPlace, *, in_header: bool) -> Iterator[Item]:
    """The keys that may stand at the place and do not stand in the mapping already."""
    facts = _fitting(request, place, keys_at(request.kind, place.path, in_header=in_header))
    for index, fact in enumerate(facts.values()):
        if fact.name in place.siblings:
            continue
        yield _item(fact, place, _rank(fact, facts, index, place.siblings))
    yield from _own_keys(request, place, in_header=in_header)
    if in_header or request.kind in {Kind.OBJECT, Kind.EVALUATION}:
        yield from _threshold_keys(request, place)


def _fitting(request: Request, place: YamlPlace, facts: Mapping[str, KeyFact]) -> Mapping[str, KeyFact]:
    """The keys that the class of a retriever or template takes; all of them where it is not known."""
    evaluation = (
        evaluation_of(request.template.source.first_chunk) if request.kind is Kind.EVALUATION else None
    )
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
    """Required keys first, in the order of their table; then the others; last what does not fit any more."""
    if facts is PART_KEYS and _EXCLUSIVE.get(fact.name) in siblings:
        return 90 + index
    if fact.name in _LAST:
        return 60 + index
    return (10 if fact.required else 20) + index


def _item(fact: KeyFact, place: YamlPlace, rank: int) -> Item:
    detail = f"{fact.type_words}, required" if fact.required else fact.type_words
    useless = fact in _USELESS
    if place.has_colon or place.quote:
        return Item(fact.name, "property", rank, detail=detail, is_deprecated=useless)
    return Item(
        fact.name,
        "property",
        rank,
        text=f"{fact.name}: ",
        snippet=_snippet(fact, place),
        detail=detail,
        is_deprecated=useless,
    )


def _snippet(fact: KeyFact, place: YamlPlace) -> str:
    """The key with the layout of its value, indented from the beginning of the place's line."""
    name, words = fact.name, fact.type_words
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
    if words.startswith("list"):
        return f"{name}: [$0]"
    if words in {"mapping", "template mapping"}:
        return f"{name}:\n{below}$0"
    return ""


def _metric_keys(request: Request, place: YamlPlace) -> Iterator[Item]:
    """The options of a metric under its name, and its parameters under `columns`."""
    is_option = len(place.path) == 2  # noqa: PLR2004  (`metrics` and the name)
    if not is_option and place.path[2:] != ("columns",):
        return
    for index, (name, detail) in enumerate(metric_options(request, place.path[1]).items()):
        if name not in place.siblings:
            text = None if place.has_colon or place.quote else f"{name}: "
            yield Item(name, "property", 30 + index, text=text or "", detail=detail)


def _threshold_keys(request: Request, place: YamlPlace) -> Iterator[Item]:
    """The metrics of an experiment under its `thresholds`, by the names that their scores have."""
    if place.path[:1] != ("experiments",) or place.path[2:] != ("thresholds",):
        return
    node: nodes.Node | None = request.declarations.tree
    for key in ("experiments", place.path[1], "metrics"):
        node = node.value(key) if isinstance(node, nodes.Mapping) else None
    metrics = [nodes.scalar_text(item) for item in node.items] if isinstance(node, nodes.Sequence) else []
    for index, name in enumerate(metric.rpartition(":")[2] for metric in metrics if metric):
        if name not in place.siblings:
            text = "" if place.has_colon or place.quote else f"{name}: "
            yield Item(name, "property", 10 + index, text=text)


def _own_keys(request: Request, place: YamlPlace, *, in_header: bool) -> Iterator[Item]:
    """Keys that the file itself has named: inputs and output in examples, inputs that are read."""
    own = in_header or request.kind in {Kind.OBJECT, Kind.EVALUATION}
    if own and place.path[:1] == ("metrics",):
        yield from _metric_keys(request, place)
    if not own or place.path[:1] not in {("examples",), ("input_keys",)}:
        return
    if place.path == ("examples", ITEM):
        output = request.declarations.settings.output_key
        names = [*declared_inputs(request), *([output] if output else [])]
        for index, name in enumerate(dict.fromkeys(names)):
            if name not in place.siblings:
                detail = "output" if name == output else "input"
                yield Item(
                    name, "field", 10 + index, text="" if place.has_colon else f"{name}: ", detail=detail
                )
    elif place.path[:2] == ("examples", ITEM):
        properties = example_schema(request, place.path[2:]).get("properties")
        for index, name in enumerate(properties if isinstance(properties, dict) else ()):
            if name not in place.siblings:
                yield Item(str(name), "field", 10 + index, text="" if place.has_colon else f"{name}: ")
    elif place.path == ("input_keys",):
        for name in read_inputs(request):
            if name not in place.siblings and name != request.typed:
                snippet = "" if place.has_colon or place.in_flow else f"{name}: {{type: ${{1:string}}$0}}"
                text = "" if place.has_colon else f"{name}: {{}}"
                yield Item(name, "field", 10, text=text, snippet=snippet, detail="read, not declared")


def key_documentation(request: Request, path: tuple[str, ...], name: str, *, in_header: bool) -> str:
    """What a key means, in Markdown."""
    from promptls.features.hover.hover import fact_text

    facts = keys_at(request.kind, path, in_header=in_header)
    fact = facts.get(name) or (SCHEMA_KEYS.get(name) if path[:1] == ("input_keys",) else None)
    if fact is not None:
        return fact_text(fact)
    declared = declared_inputs(request).get(name)
    description = declared.schema.get("description") if declared else None
    return str(description) if description else ""
