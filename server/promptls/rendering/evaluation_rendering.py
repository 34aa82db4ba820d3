"""Evaluation prompts in the worker: the outcome of a job, with its source map."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from promptls.dialects.opencompass.prompt_list import ConfigPath, Messages, OpenCompassError
from promptls.dialects.prompt_poet.document import read
from promptls.dialects.prompt_poet.template_rendering import RenderOptions
from promptls.rendering.evaluation_asking import (
    Asking,
    RowPrompts,
    asking_of,
    chat_messages,
    label_requests,
    meta_templates,
    requested_row,
    row_json,
)
from promptls.rendering.job import EvaluationJob, RenderJob
from promptls.rendering.outcome import (
    EVALUATION_FAILURE,
    PackedMap,
    RenderedPart,
    RenderFailure,
    Rendering,
    packed_map,
)
from promptls.rendering.samples import rows_of
from promptls.rendering.source_map.compiled_templates import CompiledGroups, render_mapped
from promptls.rendering.source_map.mapping import RenderedMap
from promptls.rendering.source_map.part_origins import mapped_value, segments_of
from promptls.semantic.evaluation_file import evaluation_of
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.syntax.yaml.nodes import Node
from promptls.syntax.yaml.nodes import Sequence as SequenceNode
from promptls.text.errors import UserError
from promptls.text.suggest import did_you_mean
from promptls.tokens import count


def with_places(text: str, loaded: Any, root: Any) -> Any:
    """Return the loaded data, with strings that record their position in the rendered `text`.

    Keys remain plain strings.
    """
    return _place(text, loaded, root, None, {})


def _place(text: str, loaded: Any, node: Any, key: Any, known: dict[int, Any]) -> Any:
    """Return the value of a node.

    A node with several aliases is converted once, and one that contains itself remains plain.
    """
    if isinstance(loaded, str):
        if not isinstance(node, yaml.ScalarNode) or node.value != loaded:
            return loaded
        mapped = mapped_value(text, key or node, node)
        return mapped if mapped == loaded else loaded
    if id(node) in known:
        return known[id(node)]
    if isinstance(loaded, dict) and isinstance(node, yaml.MappingNode):
        known[id(node)] = loaded
        found = {name.value: (name, value) for name, value in node.value if isinstance(name, yaml.ScalarNode)}
        known[id(node)] = {
            name: _place(text, value, found[str(name)][1], found[str(name)][0], known)
            if str(name) in found
            else value
            for name, value in loaded.items()
        }
    elif isinstance(loaded, list) and isinstance(node, yaml.SequenceNode) and len(loaded) == len(node.value):
        known[id(node)] = loaded
        known[id(node)] = [
            _place(text, value, item, item, known) for value, item in zip(loaded, node.value, strict=True)
        ]
    return known.get(id(node), loaded)


def evaluation_map(
    source_map: RenderedMap, contents: Iterable[str], max_segments: int | None
) -> PackedMap | None:
    """Return the map of the rendered text and of the contents of the parts; None if it is too large."""
    if max_segments is not None and source_map.has_more_leaves(max_segments / 2):
        return None
    return packed_map(
        () if max_segments is not None else source_map.segments,
        [segments_of(source_map, content) for content in contents],
    )


KIND: Final = EVALUATION_FAILURE


_compiled = CompiledGroups()


class _Shown(NamedTuple):
    """The prompts of the requested row, the requests that compare its labels, and what the page shows."""

    asking: Asking
    shown: RowPrompts
    labels: Sequence[dict[str, Any]]
    viewer: dict[str, Any]


def render_evaluation(job: RenderJob, data: Mapping[str, Any], started: float) -> Rendering | RenderFailure:
    """Return the prompts that OpenCompass would send for the mapping that the template renders from `data`.

    Failures of OpenCompass are outcomes.

    Raises PromptPoetError if Jinja fails, or its output is not YAML.
    """
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    made, source_map = render_mapped(job.path, data, unsaved=unsaved, options=options, compiled=_compiled)
    loaded, root = read(made.text)
    if not isinstance(loaded, Mapping):
        return RenderFailure(KIND, "An evaluation prompt is a mapping with `prompt_template`.", job.path)
    if job.with_source_map:
        loaded = with_places(made.text, loaded, root)
    try:
        found = _shown(job, loaded, data)
    except OpenCompassError as error:
        kind = KIND if error.is_opencompass else "unavailable"
        return RenderFailure(kind, error.message, job.path, _line_at(job.text, error.at))
    if isinstance(found, RenderFailure):
        return found
    asking, shown, labels, viewer = found
    pieces = _pieces(shown)
    contents = [content for _, _, content in pieces]
    tokens = sum(prompt.tokens for prompt in shown.prompts)
    return Rendering(
        parts=tuple(
            RenderedPart(place, name, role, str(content), asking.count(content), None, kept=True)
            for place, (name, role, content) in enumerate(pieces)
        ),
        string=_string(shown),
        messages=chat_messages(asking, shown),
        tokens=tokens,
        tokens_kept=tokens,
        text=made.text,
        seconds=time.perf_counter() - started,
        problems=tuple(_problems(job, shown)),
        files=tuple(sorted(made.files)),
        viewer=viewer,
        labels=tuple(labels),
        source_map=evaluation_map(source_map, contents, job.max_segments) if job.with_source_map else None,
    )


def _shown(job: RenderJob, loaded: Mapping[str, Any], data: Mapping[str, Any]) -> _Shown | RenderFailure:
    """Return the prompts of the requested row; raises OpenCompassError."""
    requested = job.evaluation or EvaluationJob()
    try:
        train, test = rows_of(requested.data)
    except UserError as failure:
        place = failure.place
        return RenderFailure("data", failure.message, str(place.path) if place else job.path)
    choices = meta_templates(loaded, requested.meta_templates)
    chosen = requested.meta_template or next(iter(choices))
    if chosen not in choices:
        return _unknown_meta_template(job, chosen, choices)
    asking = asking_of(
        loaded,
        choices[chosen],
        (train, test),
        partial(count, encoding=job.encoding),
        job.token_limit,
        None if train or test else data,
        models_from=Path(job.path).parent if job.trusted else None,
    )
    index, row = requested_row(requested.row, asking, test, job.data)
    shown = asking.prompts(index, row)
    labels = label_requests(asking, shown, row) if requested.with_labels else []
    rows = _shown_rows(requested, asking, index, shown)
    viewer = {"rows": len(test), **rows, "metaTemplate": chosen, "metaTemplates": list(choices)}
    return _Shown(asking, shown, labels, viewer)


def _unknown_meta_template(job: RenderJob, name: str, known: Iterable[str]) -> RenderFailure:
    names = list(known)
    message = (
        f"There is no meta template `{name}`{did_you_mean(name, names) or '.'} There are: {', '.join(names)}."
    )
    return RenderFailure(KIND, message, job.path)


def _shown_rows(requested: EvaluationJob, asking: Asking, index: int, shown: RowPrompts) -> dict[str, Any]:
    """Return the JSON of row `index`, whose prompts are `shown`, and of the requested rows after it."""
    others = range(0)
    if requested.rows != 1 and asking.test:
        last = len(asking.test) if requested.rows == 0 else index + requested.rows
        others = range(index + 1, min(last, len(asking.test)))
    first = shown.to_json(asking.count)
    return {
        **first,
        "row": requested.row or shown.number,
        "selected": len(asking.test),
        "all": [first, *(row_json(asking, each, asking.test[each]) for each in others)],
        "inferencer": asking.evaluation.inferencer_class,
        "retriever": asking.evaluation.retriever.kind,
        "approximation": asking.approximation,
    }


def _pieces(shown: RowPrompts) -> list[tuple[str, str, str]]:
    """Return the name, role and content of each part: one for a text prompt, or one per message."""
    found: list[tuple[str, str, str]] = []
    for prompt in shown.prompts:
        label = None if prompt.label is None else str(prompt.label)
        messages = prompt.messages
        if messages is None:
            found.append((label or "prompt", "user", prompt.text))
            continue
        for number, each in enumerate(messages, start=1):
            name = f"message {number}" if label is None else f"{label}, message {number}"
            content = each.get("content", "")
            found.append((name, str(each["role"]), content if isinstance(content, str) else str(content)))
    return found


def _problems(job: RenderJob, shown: RowPrompts) -> Iterator[RenderFailure]:
    """Yield the problems with content that does not reach the model."""
    for prompt in shown.prompts:
        label = "" if prompt.label is None else f" of the label `{prompt.label}`"
        if prompt.made.ignored:
            lost = prompt.made.ignored[0]
            message = f"A model behind an API does not get the texts outside of roles{label}: {lost!r}."
            yield RenderFailure(KIND, message, job.path)
        if isinstance(prompt.prompt, Messages) and prompt.messages is None:
            message = f"The examples{label} are not messages: write `ice_template` as messages too."
            yield RenderFailure(KIND, message, job.path, _line_at(job.text, ("ice_template",)))
        if prompt.cuts:
            examples = "example does" if len(prompt.cuts) == 1 else "examples do"
            message = f"{len(prompt.cuts)} {examples} not fit into the prompt{label}: left out."
            yield RenderFailure("truncation", message, job.path)


def _string(shown: RowPrompts) -> str:
    """Return the prompt as one text; several prompts are each preceded by their label."""
    if len(shown.prompts) == 1 and shown.prompts[0].label is None:
        return shown.prompts[0].text
    return "\n\n".join(f"[{prompt.label}]\n{prompt.text}" for prompt in shown.prompts)


def _line_at(text: str, at: ConfigPath) -> int | None:
    """Return the 0-based line of the value at a path of keys, or of the last existing key of the path.

    None if the path is empty, or its first key is printed by Jinja.
    """
    evaluation = evaluation_of(Source.of(text).whole)
    if evaluation is None or not at:
        return None
    node: Node = evaluation.root if at[0] in {"meta_template", "reader_cfg"} else evaluation.holder
    place: int | None = None
    for key in at:
        if isinstance(node, MappingNode) and (entry := node.entry(str(key))):
            place, node = entry.key.span.start, entry.value
        elif isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.items):
            node = node.items[key]
            place = node.span.start
        else:
            break
    return None if place is None else text.count("\n", 0, place)
