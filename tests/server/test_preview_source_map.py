"""The preview's source map, in the units and ranges of the protocol."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lsp_editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [history]
output_key: answer
examples:
  - {history: [{text: one}, {text: two 🎉 more}], answer: yes it is}
---#}
{% for message in history %}
- name: message
  content: "🎉 Said: {{ message.text }} {% include 'b.yml.j2' %}"
{% endfor %}
"""


def covered(editor: Editor, lines: list[str], place: Any) -> str:
    """Return the text in a range on one line."""
    assert place.start.line == place.end.line
    line = lines[place.start.line]
    first, last = place.start.character, place.end.character
    return "".join(character for at, character in enumerate(line) if first <= editor.units(line[:at]) < last)


def segments_of(source_map: Any) -> list[Any]:
    """Return the segments of a map, as objects."""
    found = []
    for at in range(0, len(source_map.segments), 10):
        start, end, file, line, first, last_line, last, verbatim, iterations, path = source_map.segments[
            at : at + 10
        ]
        place = SimpleNamespace(
            start=SimpleNamespace(line=line, character=first),
            end=SimpleNamespace(line=last_line, character=last),
        )
        found.append(
            SimpleNamespace(
                start=start,
                end=end,
                file=file,
                range=place,
                verbatim=bool(verbatim),
                iterations=source_map.iterations[iterations] if iterations >= 0 else [],
                dataPath=source_map.dataPaths[path] if path >= 0 else None,
            )
        )
    return found


async def test_each_part_leads_to_the_template_the_iterations_and_the_data(editor: Editor) -> None:
    editor.write("b.yml.j2", "(of {{ history | length }})")
    uri = editor.open("a.yml.j2", PROMPT)

    made = await editor.command("preview", uri=uri)

    assert [file.rpartition("/")[2] for file in made.files] == ["a.yml.j2", "b.yml.j2"]
    part = made.rendering.parts[1]
    content = part.content.encode("utf-16-le")
    texts = [PROMPT.splitlines(), ["(of {{ history | length }})"]]
    found = [
        (
            content[2 * segment.start : 2 * segment.end].decode("utf-16-le"),
            covered(editor, texts[segment.file], segment.range),
            segment.verbatim,
            segment.dataPath,
        )
        for segment in segments_of(part.sourceMap)
    ]
    assert found == [
        ("🎉 Said: ", "🎉 Said: ", True, None),
        ("two 🎉 more", "{{ message.text }}", False, "history[1].text"),
        (" ", " ", True, None),
        ("(of ", "(of ", True, None),
        ("2", "{{ history | length }}", False, "history"),
        (")", ")", True, None),
    ]
    assert {turn for segment in segments_of(part.sourceMap) for turn in segment.iterations} == {
        "iteration 2 of `for message in history`"
    }
    assert made.rendering.sourceMap is None


async def test_the_rendered_text_has_a_map_where_somebody_asks_for_it(editor: Editor) -> None:
    editor.write("b.yml.j2", "(of {{ history | length }})")
    uri = editor.open("a.yml.j2", PROMPT)

    made = await editor.command("preview", uri=uri, sourceMap=True)

    last = segments_of(made.rendering.sourceMap)[-1]
    assert last.end == len(made.rendering.text.encode("utf-16-le")) // 2
