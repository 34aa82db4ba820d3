"""What the rules find in an OpenCompass configuration in Python; nothing of it is run.

Each data set that the configuration makes is checked as the evaluation prompt in YAML that it amounts to
(`written_dataset.py`), and what is found there is led back to the Python that wrote it. Where a value
could be changed by code that is not read, nothing is said of its data set.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from promptls.conversions.literal_places import PythonPlaces
from promptls.conversions.opencompass_python import configured, parsed, read_names
from promptls.conversions.placed_text import placed, placed_part, placed_together
from promptls.conversions.python_expression import Names
from promptls.conversions.text_reader import Reader
from promptls.features.configurations.leading_back import LeadingBack
from promptls.features.configurations.written_dataset import written_dataset
from promptls.rules.checking.check import severity_of
from promptls.rules.registry import RULES
from promptls.rules.rule import EVALUATION_KINDS, Finding
from promptls.settings.project import Project
from promptls.syntax.source import Source
from promptls.text.failure import Failure

_MARKS: Final = ("infer_cfg", "meta_template")
_KEYS: Final = ("reader_cfg", "infer_cfg")
_MOST_PROMPTS: Final = 400
_MOST_VALUES: Final = 100_000
_RULES: Final = tuple(rule for rule in RULES if rule.kinds == EVALUATION_KINDS and rule.check_chunk)


def is_configuration(text: str) -> bool:
    """Whether a text of Python may be a configuration with prompts; without, nothing more is looked at."""
    return any(mark in text for mark in _MARKS)


def findings_in_configuration(
    text: str, open_beside: Callable[[str], str | None], project: Project
) -> tuple[Finding, ...] | None:
    """The findings in the configuration's own text, with rule and severity, in the order of their places.

    None where the text is no configuration. Findings in files that it imports are those files' own.
    """
    if not is_configuration(text):
        return None
    without_mark = text.removeprefix("\ufeff")
    places = PythonPlaces(text, begin=len(text) - len(without_mark))
    doubted = _Doubted()
    with warnings.catch_warnings():
        # What Python says about a text's escapes is for whoever runs it.
        warnings.simplefilter("ignore")
        try:
            own = parsed(without_mark)
            names = read_names(
                own, open_beside, Reader(placed, placed_together, placed_part, doubted.add, is_exact=True)
            )
        except Failure:
            return None
        prompts = list(islice(_prompts(names), _MOST_PROMPTS))
        leading = LeadingBack(places, own)
        found = {
            finding: None
            for prompt in prompts
            if not doubted.is_in(prompt)
            for finding in _found(prompt, project, leading)
        }
    return tuple(sorted(found, key=lambda finding: (finding.span, finding.rule))) if prompts else None


def _prompts(names: Names) -> Iterator[Mapping[str, Any]]:
    """What the rules look at: the prompts of data sets, and the meta templates of models."""
    for dataset in configured(names):
        yield {key: dataset[key] for key in _KEYS if key in dataset}
    seen: set[int] = set()
    for name, value in names.items():
        for model in value if name.endswith("models") and isinstance(value, list | tuple) else ():
            meta = model.get("meta_template") if isinstance(model, dict) else None
            if isinstance(meta, dict) and id(meta) not in seen:
                seen.add(id(meta))
                yield {"meta_template": meta}


def _found(prompt: Mapping[str, Any], project: Project, leading: LeadingBack) -> Iterator[Finding]:
    try:
        written = written_dataset(prompt)
    except RecursionError:
        return
    chunk = Source.of(written.text).first_chunk
    for rule in _RULES:
        severity = severity_of(rule, project)
        if severity is None or rule.check_chunk is None:
            continue
        for finding in rule.check_chunk(chunk, project):
            led = leading.finding(finding, written)
            if led is not None:
                yield led.of(rule.name, finding.severity or severity)


class _Doubted:
    """The mappings and lists that code which is not read may have changed."""

    def __init__(self) -> None:
        # The values are kept, so that no other one gets their number.
        self._known: dict[int, Any] = {}

    def add(self, value: Any) -> None:
        """Doubt the value, and what it holds."""
        self._known.update((id(each), each) for each in _held(value))

    def is_in(self, value: Any) -> bool:
        """Whether anything in the value is doubted."""
        return bool(self._known) and any(id(each) in self._known for each in _held(value))


def _held(value: Any) -> Iterator[Any]:
    """The mappings and lists in a value, itself too."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < _MOST_VALUES:
        each = waiting.pop()
        if not isinstance(each, dict | list | tuple) or id(each) in seen:
            continue
        seen.add(id(each))
        waiting += each.values() if isinstance(each, dict) else each
        if not isinstance(each, tuple):
            yield each
