"""The failures of templates, functions and data as outcomes, with the template, line and value involved."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Final

import yaml

from promptls.dialects.prompt_poet.document import OTHER_REMEDY, REMEDIES, VALUES_HINT
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.vocabulary import escape
from promptls.rendering.functions_file import line_in_functions
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, shallow_dict
from promptls.rendering.source_map.mapping import (
    RenderedMap,
    describe_item,
    describe_iterations,
    iterations_at,
    line_outside,
)
from promptls.rendering.source_map.pieces import Leaf
from promptls.text.format import shorten


def exit_failure(error: BaseException, job: RenderJob) -> RenderFailure:
    """Return the failure for a function that raised an exception like SystemExit."""
    place, line = "", line_in_functions(error, job.functions) if job.functions is not None else None
    if line is not None and job.functions is not None:
        place = f" at line {line + 1} of {Path(job.functions).name}"
    called = ""
    for frame, line_number in traceback.walk_tb(error.__traceback__):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            at = template.get_corresponding_lineno(line_number)
            called = f", called at line {at} of {Path(template.filename).name}"
    described = f": {error}" if str(error) else ""
    message = (
        f"A function of the functions file ended the process{place}{called} "
        f"({type(error).__name__}{described}). Let it return a value, or raise an Exception."
    )
    return RenderFailure("functions", message, job.functions, line)


def with_function_line(failure: RenderFailure, error: BaseException | None, functions: str) -> RenderFailure:
    """Return the failure, with the line in the functions file if `error` was raised in or below it."""
    line = line_in_functions(error, functions)
    if line is None:
        return failure
    place, described = f"(line {line + 1} of {Path(functions).name})", str(error)
    if isinstance(error, RecursionError):
        return replace(failure, message=f"A function calls itself without end {place}.")
    if described and described in failure.message:
        return replace(failure, message=failure.message.replace(described, f"{described} {place}", 1))
    return replace(failure, message=f"{failure.message} {place}")


_WORD = "x"
_MAX_TRIED = 40
"""The maximum number of values tried, starting with those nearest to the error."""
_MAX_READ = 2_000_000
"""The maximum number of characters parsed in all attempts together."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """The cause of the error: a 0-based line of a file, and the loop iterations that it occurred in.

    Its fields are those of the same names of a `RenderFailure`.
    `span` is the tag that printed the value responsible, and `value` that value; both are None if it is the
    template's own text. `include_line` is the line of the include in the rendered file that led there.
    `escapable` means that `escape_special_characters` would fix the value, `whatever` that the text fails at
    the same line whether its values are replaced by a word or by nothing, and `any_word` that it does so at
    least with a word.
    """

    path: str
    line: int
    iterations: tuple[str, ...]
    include_line: int | None
    span: tuple[int, int] | None = None
    value: str | None = None
    escapable: bool = False
    whatever: bool = False
    any_word: bool = False


def culprit_of(error: PromptPoetError, source_map: RenderedMap) -> Culprit | None:
    """Return the cause of an `error` in reading the rendered text; None if it is unknown."""
    if error.kind not in {"yaml", "parts"} or error.rendered_line is None:
        return None
    text = source_map.text
    # Parsing text that is nested too deeply again would fail in the same way.
    if error.kind == "parts" or error.cause == "RecursionError":
        return _origin_at_error(source_map, error, error.rendered_line)
    stops = _stop(text)
    if stops is None:
        return _origin_at_error(source_map, error, error.rendered_line)
    culprit = _responsible_value(source_map, stops) or _own_text(source_map, stops)
    opening = _origin_at_error(source_map, error, error.rendered_line)
    if culprit is None or culprit.span is not None or opening is None or opening.span is not None:
        return culprit
    # An unclosed quote is reported where it opens, although parsing stops at the end of the text.
    return replace(opening, whatever=culprit.whatever, any_word=culprit.any_word)


def _origin_at_error(source_map: RenderedMap, error: PromptPoetError, line: int) -> Culprit | None:
    """Return the origin of the text at the position of `error`; if it has a column, with the value there."""
    if error.rendered_column is None:
        return origin_at(source_map, offset_of_line(source_map.text, line))
    offset = start_of_line(source_map.text, line) + error.rendered_column
    culprit = origin_at(source_map, offset)
    if culprit is None or culprit.span is None:
        return culprit
    return replace(culprit, value=_printed(source_map, source_map.index(offset))[2])


def _responsible_value(source_map: RenderedMap, stops: int) -> Culprit | None:
    """Return the value whose replacement lets parsing continue beyond the offset `stops`."""
    text, budget = source_map.text, _MAX_READ
    indices = range(min(source_map.index(stops), len(source_map.leaves) - 1), -1, -1)
    tried = 0
    known = len(source_map.leaves)
    for index in indices:
        leaf = source_map.leaves[index]
        if index >= known or leaf.site is None:
            continue
        tried += 1
        budget -= len(text)
        if budget < 0 or tried > _MAX_TRIED:
            break
        known, start, value = _printed(source_map, index)
        end = start + len(value)
        if _parses_further(text, start, end, _WORD, stops):
            culprit = _culprit(source_map, leaf, leaf.start)
            escapable = _parses_further(text, start, end, escape(value), stops)
            return replace(culprit, span=_span(source_map, leaf), value=value, escapable=escapable)
    return None


def _printed(source_map: RenderedMap, index: int) -> tuple[int, int, str]:
    """Return the output of the tag that a leaf belongs to: its first leaf, its start, and its text."""
    first, stop = source_map.printed_with(index)
    text = "".join([leaf.text for leaf in source_map.leaves[first:stop]])
    return first, source_map.starts[first], text


def _own_text(source_map: RenderedMap, stops: int) -> Culprit | None:
    """Return the template text, or the tag, at which parsing stops whatever the values are."""
    culprit = origin_at(source_map, stops)
    if culprit is None:
        return None
    any_word = _fails_there(source_map, _WORD, culprit)
    whatever = any_word and culprit.span is None and _fails_there(source_map, "", culprit)
    return replace(culprit, whatever=whatever, any_word=any_word)


def _fails_there(source_map: RenderedMap, instead: str, culprit: Culprit) -> bool:
    """Return whether parsing also fails at the culprit's line if every value is replaced by `instead`."""
    leaves = [leaf if leaf.site is None else leaf._replace(text=instead) for leaf in source_map.leaves]
    changed = "".join(leaf.text for leaf in leaves)
    stop = _stop(changed)
    if stop is None:
        return False
    at = _visible(changed, stop)
    starts = [0, *accumulate(len(leaf.text) for leaf in leaves)]
    for leaf, start in zip(leaves, starts, strict=False):
        if start <= at < start + len(leaf.text):
            found = _culprit(source_map, leaf, leaf.start + at - start if leaf.site is None else leaf.start)
            return (found.path, found.line) == (culprit.path, culprit.line)
    return False


def offset_of_line(text: str, line: int) -> int:
    """Return the offset of the first character of a 0-based line that is not a space.

    Lines end as in YAML 1.1.
    """
    start = start_of_line(text, line)
    while start < len(text) and text[start] in " -":
        start += 1
    return start


def start_of_line(text: str, line: int) -> int:
    """Return the offset at which a 0-based line begins; lines end as in YAML 1.1."""
    start = 0
    for _ in range(line):
        found = [place for end in "\n\r\x85\u2028\u2029" if (place := text.find(end, start)) >= 0]
        if not found:
            break
        start = min(found) + (2 if text.startswith("\r\n", min(found)) else 1)
    return start


def origin_at(source_map: RenderedMap, offset: int) -> Culprit | None:
    """Return the origin of the character at `offset`, or of the last visible one before it."""
    at = _visible(source_map.text, offset)
    index = source_map.index(at)
    if not 0 <= index < len(source_map.leaves):
        return None
    leaf = source_map.leaves[index]
    if leaf.site is not None or _is_beside_value(source_map, index):
        return replace(_culprit(source_map, leaf, leaf.start), span=_span(source_map, leaf))
    return _culprit(source_map, leaf, leaf.cut(at - source_map.starts[index], len(leaf.text)).start)


def _is_beside_value(source_map: RenderedMap, index: int) -> bool:
    """Return whether a leaf was inserted by a tag between or around values."""
    return not source_map.leaves[index].is_text and any(
        leaf.site is not None for leaf in source_map.leaves[slice(*source_map.printed_with(index))]
    )


def _visible(text: str, offset: int) -> int:
    while offset > 0 and (offset >= len(text) or text[offset].isspace()):
        offset -= 1
    return offset


def _culprit(source_map: RenderedMap, leaf: Leaf, offset: int) -> Culprit:
    """Return the location of a leaf, or of a character of it, in its file."""
    path = leaf.file.path if leaf.file else ""
    includes = (outer for outer in leaf.outer if outer.file.sites[outer.site].kind == "include")
    include = next(iter((*includes, *leaf.outer)), None)  # or the call of a macro
    include_line = None
    if include is not None:
        include_line = source_map.line(include.file.path, include.file.spans[include.site][0])
    return Culprit(path, source_map.line(path, offset), source_map.iterations(leaf), include_line)


def _span(source_map: RenderedMap, leaf: Leaf) -> tuple[int, int]:
    path = leaf.file.path if leaf.file else ""
    return source_map.original(path, leaf.start), source_map.original(path, leaf.end)


def _parses_further(text: str, start: int, end: int, instead: str, stops: int) -> bool:
    """Return whether replacing a value lets parsing reach the end, or at least get beyond `stops`."""
    stop = _stop(f"{text[:start]}{instead}{text[end:]}")
    if stop is None:
        return True
    return stop >= start + len(instead) and stop - len(instead) + (end - start) > stops


def _stop(text: str) -> int | None:
    """Return the offset at which libyaml stops reading; None if it reads to the end."""
    try:
        # The document is composed, not only parsed, so that undefined aliases and second documents fail, too.
        yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return mark.index if mark else 0
    except yaml.reader.ReaderError as error:
        encoded = text.encode("utf-8", "surrogatepass")[: error.position]
        return len(encoded.decode("utf-8", "ignore"))
    except UnicodeEncodeError as error:
        return error.start
    except (RecursionError, ValueError):
        return 0
    return None


def failure_of(error: PromptPoetError, job: RenderJob) -> RenderFailure:
    """Return the error as a failure, with the line of the functions file if a user's function raised it."""
    failure = RenderFailure(
        kind=error.kind,
        message=error.message,
        path=error.path or job.path,
        line=error.line,
        rendered_line=error.rendered_line,
        excerpt=error.excerpt,
    )
    return failure if job.functions is None else with_function_line(failure, error.__cause__, job.functions)


def placed_failure(failure: RenderFailure, error: PromptPoetError, source_map: RenderedMap) -> RenderFailure:
    """Return the failure with the location in the template that caused invalid YAML or invalid parts."""
    culprit = culprit_of(error, source_map)
    if culprit is None:
        return failure
    if culprit.value is None and VALUES_HINT in failure.message:
        found = (remedy for text, remedy in REMEDIES.items() if text in failure.message)
        message = failure.message.replace(VALUES_HINT, next(found, OTHER_REMEDY))
        failure = replace(failure, message=message)
    where = [f"in {', '.join(culprit.iterations)}"] if culprit.iterations else []
    if culprit.value is not None:
        where.append(f"because of the value {shorten(culprit.value)}")
    return replace(_with_location(failure, where), **shallow_dict(culprit))


def stopped_failure(failure: RenderFailure, error: PromptPoetError, job: RenderJob) -> RenderFailure:
    """Return the failure with the loop iterations in which the template stopped."""
    failure = _with_json_remedy(failure, error, job)
    iterations = iterations_at(error.__cause__)
    outside = None if failure.path == job.path else line_outside(error.__cause__, job.path)
    if not iterations:
        return replace(failure, include_line=outside)
    described, item = describe_iterations(iterations), describe_item(iterations[-1])
    where = [f"in {', '.join(described)}", *([f"where {item}"] if item else [])]
    return replace(_with_location(failure, where), iterations=described, include_line=outside)


_DECLARED_AS: Final[dict[type | None, tuple[str, str]]] = {
    list: ("array", "a list"),
    dict: ("object", "a mapping"),
}


def _with_json_remedy(failure: RenderFailure, error: PromptPoetError, job: RenderJob) -> RenderFailure:
    """Return the failure; if a text lacks a key and an input is JSON in a text, with the remedy for that."""
    problem = str(error.__cause__)
    if not problem.startswith("'str object' has no"):
        return failure
    for name, value in job.data.items():
        declared, meant = _DECLARED_AS.get(_type_in_json(value), ("", ""))
        if declared:
            message = (
                f"{problem}. `{name}` is {meant} written as JSON in a text. To read cells of a dataset as "
                f"JSON, declare `{name}: {{type: {declared}}}` in `input_keys`."
            )
            return replace(failure, message=message)
    return failure


def _type_in_json(value: object) -> type | None:
    """Return the type of the value that a text contains as JSON."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return type(json.loads(value))
    return None


def _with_location(failure: RenderFailure, where: Sequence[str]) -> RenderFailure:
    """Return the failure with a message that includes the location."""
    if not where:
        return failure
    sentence = " ".join(where)
    end = "" if failure.message.endswith((".", "?", "!")) else "."
    message = f"{failure.message}{end} It happened {sentence}."
    return replace(failure, message=message, reason=failure.message)
