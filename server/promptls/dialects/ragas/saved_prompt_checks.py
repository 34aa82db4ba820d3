"""Problems of the files that Ragas saves since 0.2: what it refuses, and probable mistakes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from promptls.dialects.ragas.prompt_object import ObjectProblem, field_names
from promptls.dialects.ragas.saved_prompt import form_of, load_problems, prompt_in
from promptls.text.suggest import is_typo, nearest, odd_keys

METRIC_TYPES: Final = {
    "DiscreteMetric": "a list of values",
    "NumericMetric": "the lowest and the highest value, in a list",
    "RankingMetric": "the length of the ranking, a whole number",
}
"""The metrics that can be loaded, with descriptions of their `allowed_values`."""
_MAX_HASH: Final = 2**61 - 1


def saved_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the problems that make loading a saved file, or using its prompt, fail."""
    form = form_of(mapping)
    own, path = prompt_in(mapping)
    yield from load_problems(mapping)
    if form != "pydantic prompt" and isinstance(own.get("instruction"), str):
        yield from _brace_problems(own["instruction"], (*path, "instruction"))
        yield from _field_problems(own, path)
    if form == "metric":
        yield from _metric_problems(mapping)
    yield from _key_problems(own.get("examples"), (*path, "examples"), has_models=form == "pydantic prompt")
    if form == "pydantic prompt":
        yield from _unfilled(mapping)
        value = mapping.get("original_hash")
        if value is not None and (not isinstance(value, int) or not 0 <= value < _MAX_HASH):
            message = "Ragas never computes this hash, so that loading the file warns of another prompt."
            yield ObjectProblem(message, ("original_hash",), "information")


def _brace_problems(instruction: str, path: tuple[str, ...]) -> Iterator[ObjectProblem]:
    try:
        names = field_names(instruction)
    except ValueError as error:
        reason = str(error)
    else:
        # Names with quotes and line breaks come from JSON that is meant as text.
        wrong = [name for name in names if not name or name.isdigit() or set(name) & set("\"'\n{}:,%")]
        if not wrong:
            return
        reason = f"`{{{wrong[0]}}}` is not a field with a name"
    message = (
        f"These braces fail when the prompt is used: {reason}. Write braces in text as `{{{{` and `}}}}`."
    )
    yield ObjectProblem(message, path)


_JINJA_NAME: Final = re.compile(r"(\{\{[ ]*(\w+)[ ]*\}\})")
_BRACED_NAME: Final = re.compile(r"(\{\{?[ ]*(\w+)[ ]*\}?\})")


def _unfilled(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the first input in braces in an instruction, which Ragas does not fill in."""
    instruction, examples = mapping.get("instruction"), mapping.get("examples")
    if not isinstance(instruction, str) or not isinstance(examples, list):
        return
    inputs = [each.get("input") for each in examples if isinstance(each, dict)]
    shown = {key for each in inputs if isinstance(each, dict) for key in each}
    for written, name in _BRACED_NAME.findall(instruction):
        if name in shown:
            message = (
                f"Ragas does not fill in this instruction: `{written}` reaches the model as it is, "
                "and all inputs follow as JSON."
            )
            yield ObjectProblem(message, ("instruction",), "warning")
            return


def _field_problems(own: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[ObjectProblem]:
    """Yield the fields and the inputs of examples that are typos of each other, or the only ones that differ.

    Other examples of a simple prompt may have other inputs than the prompt.
    """
    examples = own.get("examples")
    inputs = {
        index: each["input"]
        for index, each in enumerate(examples if isinstance(examples, list) else ())
        if isinstance(each, dict) and isinstance(each.get("input"), dict)
    }
    try:
        fields = field_names(own["instruction"])
    except ValueError:
        return
    shown = {str(key) for each in inputs.values() for key in each}
    for written, name in _JINJA_NAME.findall(own["instruction"]):
        if name in shown - set(fields) or not (fields or shown):
            message = f"`{written}` is text, and no input: braces are written once around an input."
            yield ObjectProblem(message, (*path, "instruction"), "warning")
    for field in fields:
        meant = next((name for name in sorted(shown - set(fields)) if is_typo(field, name)), None)
        if meant is not None and field not in shown:
            message = f"No example has the field `{{{field}}}`; did you mean `{{{meant}}}`?"
            yield ObjectProblem(message, (*path, "instruction"), "warning")
    for index, each in inputs.items():
        for name in sorted(str(key) for key in each if key not in fields):
            missing = [field for field in fields if field not in each]
            meant = next((field for field in missing if field in shown and is_typo(name, field)), None)
            if len(missing) == 1 and len(each) == len(fields) > 1 and not is_typo(name, missing[0]):
                (meant,) = missing  # all other inputs are there
            if meant is not None:
                message = f"The instruction has no field `{{{name}}}`."
                place: tuple[str | int, ...] = (*path, "examples", index, "input", name)
                yield ObjectProblem(message, place, "warning", known=(meant,), at_key=True)


def _key_problems(examples: Any, path: tuple[str, ...], *, has_models: bool) -> Iterator[ObjectProblem]:
    """Yield the keys of one example that differ from those of all others.

    Of a prompt with models, all inputs are of one model, and so are all outputs; when Ragas saves them, each
    has every field.
    """
    for side in ("input", "output"):
        shown = {
            index: each[side]
            for index, each in enumerate(examples if isinstance(examples, list) else ())
            if isinstance(each, dict) and isinstance(each.get(side), dict)
        }
        if len(shown) < _MIN_AGREEING:
            continue
        inner = [(index, keys) for index, own in shown.items() for keys in keys_in(own) if keys.path]
        for index, keys, name, meant in odd_inner_keys(inner):
            place = (*path, index, side, *keys.path, name)
            message = f"No other {side} has `{name}` here."
            yield ObjectProblem(message, place, "warning", known=(meant,), at_key=True)
        if has_models:
            yield from _kind_problems(shown, side)
        yield from _missing_keys(shown, side, path, has_models=has_models)


def _missing_keys(
    shown: Mapping[int, Mapping[str, Any]], side: str, path: tuple[str | int, ...], *, has_models: bool
) -> Iterator[ObjectProblem]:
    """Yield the keys that one example lacks and all others have, or what it has in their place."""
    others = len(shown) - 1
    counts = Counter(key for each in shown.values() for key in each)
    usual = [key for key, count in counts.items() if count == others]
    for index, own in shown.items() if usual else ():
        missing = [key for key in usual if key not in own]
        strange = [key for key in own if counts[key] == 1]
        for field in missing:
            similar = [key for key in strange if is_typo(str(key), str(field))]
            is_replaced = len(missing) == len(strange) == 1
            typo = strange[0] if is_replaced else next(iter(similar), None)
            if typo is None and others > 1 and has_models:
                message = (
                    f"Example {index + 1} has no `{field}`, which the {side} of all others has: "
                    "Ragas fails to load the file if the model requires it."
                )
                yield ObjectProblem(message, ("examples", index, side, field), "information")
            elif typo is not None and (others > 1 or (has_models and index)):  # of two, the second
                instead = "" if similar else f", and this one has no `{field}`"
                message = f"No other example has `{typo}`{instead}."
                place = (*path, index, side, str(typo))
                yield ObjectProblem(message, place, "warning", known=(str(field),), at_key=True)


def _kind_problems(shown: Mapping[int, Mapping[str, Any]], side: str) -> Iterator[ObjectProblem]:
    """Yield the only value of a field that its model cannot read, if it can read those of all others."""
    for field in dict.fromkeys(key for own in shown.values() for key in own):
        if len({type(own.get(field)) for own in shown.values()}) == 1:
            continue
        numbers = [isinstance(own.get(field), int | float) for own in shown.values()]
        quoted = [
            index
            for index, own in shown.items()
            if isinstance(own.get(field), str) and _NUMBER.fullmatch(own[field].strip())
        ]
        if len(quoted) == 1 and len(numbers) > _MIN_AGREEING and sum(numbers) == len(numbers) - 1:
            message = f"`{field}` is a text here, and a number in all other examples."
            yield ObjectProblem(message, ("examples", quoted[0], side, field), "hint")
        kinds = {index: kind for index, own in shown.items() if (kind := _kind(own.get(field))) is not None}
        times = Counter(kinds.values())
        is_sure = len(kinds) > _MIN_AGREEING
        if len(times) != _MIN_AGREEING or min(times.values()) > 1 or not (is_sure or "a list" in times):
            continue
        usual = times.most_common(1)[0][0]  # of two, that of the first
        index = next(index for index, kind in kinds.items() if kind != usual)
        message = f"`{field}` is {kinds[index]} here, and {usual} in all other examples."
        place = ("examples", index, side, field)
        yield ObjectProblem(message, place, "warning" if is_sure else "hint")


_MIN_AGREEING: Final = 2
"""The minimum number of examples that show a value to be wrong."""
_BOOLEAN_TEXTS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"})
"""Texts that Pydantic reads as a boolean."""


def _kind(value: Any) -> str | None:
    """Return the kind of a value that no field of another kind accepts; None if it may be of several."""
    match value:
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case str():
            text = value.strip().lower()
            return None if text in _BOOLEAN_TEXTS or _NUMBER.fullmatch(text) else "a text"
    return None


_NUMBER: Final = re.compile(r"[-+.\d]+(?:e[-+]?\d+)?")


def _metric_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    kind, config = mapping["metric_type"], mapping.get("config")
    if isinstance(kind, str) and kind not in METRIC_TYPES and nearest(kind, METRIC_TYPES):
        # Other names can be user-defined classes, unless they look like a typo.
        message = f"Ragas cannot load a metric of the type `{kind}`."
        yield ObjectProblem(message, ("metric_type",), known=tuple(METRIC_TYPES))
    if "name" not in mapping:
        yield ObjectProblem("The metric has no `name`.", ("name",))
    if not isinstance(config, dict) or "allowed_values" not in config or kind not in tuple(METRIC_TYPES):
        return
    allowed = config["allowed_values"]
    if not _allows(kind, allowed):
        message = f"The allowed values of a {kind} are {METRIC_TYPES[kind]}."
        yield ObjectProblem(message, ("config", "allowed_values"))
    elif kind == "NumericMetric" and allowed[0] >= allowed[1]:
        message = f"No score is between {allowed[0]} and {allowed[1]}: the first is the minimum."
        yield ObjectProblem(message, ("config", "allowed_values"))
    elif kind == "DiscreteMetric" and all(isinstance(each, str) for each in allowed):
        yield from _choice_problems(mapping, allowed)


def _choice_problems(mapping: Mapping[str, Any], allowed: Sequence[str]) -> Iterator[ObjectProblem]:
    """Yield the values of a DiscreteMetric that occur twice, are typos, or are only in an example."""
    saved = _saved_choices(mapping)
    for index, value in enumerate(allowed):
        place = ("config", "allowed_values", index)
        if value in allowed[:index]:
            yield ObjectProblem(f"`{value}` is allowed twice.", place, "warning")
        meant = next((each for each in saved if each not in allowed and is_typo(value, each)), None)
        if meant is not None and value not in saved:
            message = f"The saved schema does not have the value `{value}`."
            yield ObjectProblem(message, place, "warning", known=(meant,))
        elif value not in saved and not {*saved} <= {*allowed}:
            message = f"The saved schema does not have the value `{value}`: one of the two was changed."
            yield ObjectProblem(message, place, "hint")
    own, path = prompt_in(mapping)
    examples = own.get("examples")
    for index, each in enumerate(examples if isinstance(examples, list) else ()):
        output = each.get("output") if isinstance(each, dict) else None
        shown = output.get("value") if isinstance(output, dict) else None
        if isinstance(shown, str) and shown not in allowed:
            message = f"The metric does not allow the value `{shown}`."
            yield ObjectProblem(
                message, (*path, "examples", index, "output", "value"), "warning", known=tuple(allowed)
            )


def _saved_choices(mapping: Mapping[str, Any]) -> Sequence[str]:
    """Return the values that the saved JSON Schema of the answer allows; empty if it has no `enum`."""
    found: Any = mapping
    for key in ("response_model_info", "schema", "properties", "value", "enum"):
        found = found.get(key) if isinstance(found, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else ()


def _allows(metric: str, allowed: Any) -> bool:
    if metric == "DiscreteMetric":
        return isinstance(allowed, list) and bool(allowed)
    if metric == "RankingMetric":
        return isinstance(allowed, int) and not isinstance(allowed, bool)
    match allowed:
        case [bool(), _] | [_, bool()]:
            return False
        case [int() | float(), int() | float()]:  # minimum and maximum
            return True
        case _:
            return False


_MAX_DEPTH: Final = 10
Owner = TypeVar("Owner")


class Keys(NamedTuple):
    """The keys of a mapping: its path in a value, and the same path with None for each index."""

    path: tuple[str | int, ...]
    place: tuple[str | None, ...]
    names: tuple[str, ...]


def keys_in(
    value: Any, path: tuple[str | int, ...] = (), place: tuple[str | None, ...] = ()
) -> Iterator[Keys]:
    """Yield the keys of all mappings in a value."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield Keys(path, place, tuple(map(str, value)))
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield from keys_in(inner, (*path, str(key)), (*place, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                yield from keys_in(inner, (*path, index), (*place, None))


def odd_inner_keys(found: Iterable[tuple[Owner, Keys]]) -> Iterator[tuple[Owner, Keys, str, str]]:
    """Yield the keys of mappings, each with its owner, that are typos of those in the same place."""
    by_place: dict[tuple[str | None, ...], list[tuple[Owner, Keys]]] = {}
    for owner, keys in found:
        by_place.setdefault(keys.place, []).append((owner, keys))
    for mappings in by_place.values():
        for index, name, meant in odd_keys(keys.names for _, keys in mappings):
            yield *mappings[index], name, meant
