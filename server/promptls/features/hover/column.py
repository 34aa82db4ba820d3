"""A column of an evaluation prompt: what the reader takes it for, its value, where else it stands."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.hover.hover import Hover, code, shown_value
from promptls.features.symbols.columns import column_places
from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering


def hover_column(path: str, template: Template, offset: int, newest: FileRendering | None) -> Hover | None:
    """What is known of the column that the reader names, or a text prints, at `offset`."""
    places = list(column_places(template, path, None))
    here = next((each for each in places if each.span.contains(offset)), None)
    if here is None:
        return None
    name = template.source.slice(here.span)
    same = [each for each in places if template.source.slice(each.span) == name]
    return Hover(here.span, "\n\n".join(_texts(template, name, here, same, newest)))


def _texts(
    template: Template, name: str, here: Occurrence, same: list[Occurrence], newest: FileRendering | None
) -> Iterator[str]:
    reader = template.declarations.data.get("reader_cfg")
    answer = reader.get("output_column") if isinstance(reader, dict) else None
    if name == answer:
        yield f"{code(name)}: column with the answer, which OpenCompass takes out of the row that is asked"
    elif any(each.use == "declaration" for each in same):
        yield f"{code(name)}: column with an input"
    else:
        yield f"{code(name)}: column that the reader does not name"
    if newest is not None and newest.sample.name != "placeholders" and name in newest.sample.data:
        value = shown_value(newest.sample.data[name])
        yield f"in {code(newest.sample.name)} ({newest.sample.source}): {code(value)}"
    lines = dict.fromkeys(
        template.source.place(each.span.start).line + 1 for each in same if each.span != here.span
    )
    if lines:
        yield f"also in line {', '.join(map(str, lines))}"
