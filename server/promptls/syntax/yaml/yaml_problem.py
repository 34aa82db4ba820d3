"""An error of libyaml as a problem of the chunk that its text comes from."""

from __future__ import annotations

from promptls.syntax.chunk import Chunk
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.projection import Projection
from promptls.syntax.yaml.compose import YamlError
from promptls.text.lines import line_end
from promptls.text.span import Span


def yaml_problem(chunk: Chunk, projection: Projection, error: YamlError) -> tuple[SyntaxProblem, ...]:
    """The error of what a chunk gives, where it stands in the chunk; none if a printed value may mend it."""
    if _is_unsure(chunk, projection, error):
        return ()
    origin = projection.origin(error.offset)
    end = line_end(chunk.text, origin)
    end = origin + len(chunk.text[origin:end].rstrip())
    if end <= origin:
        origin, end = _text_before(chunk.text, origin)
    return (SyntaxProblem("yaml", Span(origin, end), error.message),)


def _text_before(text: str, offset: int) -> tuple[int, int]:
    """The last line with text at or before `offset`, for errors that libyaml places behind the end."""
    end = len(text[:offset].rstrip())
    begin = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return begin, max(end, begin + 1)


def _is_unsure(chunk: Chunk, projection: Projection, error: YamlError) -> bool:
    """Whether a printed value on the error's line could be what makes it right, such as a quote."""
    line_start = projection.text.rfind("\n", 0, error.offset) + 1
    origin = projection.origin(line_start)
    end = projection.origin(error.offset)
    for tag in chunk.tags:
        if tag.kind != "output" or not origin <= tag.span.start <= end:
            continue
        before = chunk.text[origin : tag.span.start].strip()
        if before in {"", "-"} or before.endswith((":", "- ")):
            return True
    return False
