"""Findings about requests through the package of OpenAI."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """import asyncio
import json
from openai import AsyncOpenAI, OpenAI
from promptls import load

client = OpenAI()
waiting = AsyncOpenAI()
TOOL = {"type": "function", "function": {"name": "weather"}}

def ask(text):
    messages = load("a.yml.j2").render(text=text).messages
    messages.append({"role": "user", "content": text})
    answer = client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, temperature=0.2, tools=[TOOL],
        response_format={"type": "json_object"},
    )
    for call in answer.choices[0].message.tool_calls:
        print(json.loads(call.function.arguments)["city"])
    messages.append({"role": "assistant", "content": answer.choices[0].message.content})
    return json.loads(answer.choices[0].message.content)

def stream(messages):
    chunks = client.chat.completions.create(model="gpt-4o-mini", messages=messages, stream=True)
    for chunk in chunks:
        print(chunk.choices[0].delta.content)

async def wait(messages):
    answer = await waiting.chat.completions.create(
        model="gpt-4o-mini", messages=messages + [{"role": "user", "content": "Why?"}]
    )
    return answer.choices[0].message.content

def others(messages):
    first = client.responses.create(model="gpt-4o-mini", input=messages)
    return first.output_text

async def main(rows):
    return await asyncio.gather(*[wait(row) for row in rows])
"""


def fixed(text: str) -> tuple[list[str], str]:
    """Return the underlined text of each finding, and the program after the first fixes."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    edits = [edit for each in findings for fix in each.fixes[:1] for edit in fix.edits]
    return [text[each.span.start : each.span.end] for each in findings], apply_edits(text, edits)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("chat.completions.create(\n        model", "chat.completion.create(\n        model", "completion"),
        ("temperature=", "temprature=", "temprature"),
        ("tools=[TOOL]", "tools=TOOL", "TOOL"),
        ('"user", "content": text', '"user", "contnet": text', '"contnet"'),
        ('"user", "content": text', '"human", "content": text', '"human"'),
        ("answer.choices[0].message.tool_calls", "answer.choices.message.tool_calls", "message"),
        ("answer.choices[0].message.content})", "answer})", "answer"),
        ("loads(answer.choices[0].message.content)", "loads(answer.choices[0].message)", None),
        ("chunk.choices[0].delta", "chunk.choices[0].message", "message"),
        ("await waiting.chat", "waiting.chat", "waiting.chat.completions.create"),
        ('+ [{"role": "user", "content": "Why?"}]', '+ {"role": "user", "content": "Why?"}', None),
        ("input=messages", "messages=messages", "messages"),
        ("*[wait(row) for row in rows]", "[wait(row) for row in rows]", "[wait(row) for row in rows]"),
    ],
)
def test_a_wrong_request_and_its_fix(old: str, new: str, place: str | None) -> None:
    """A mistake is found at its place, and its fix writes what the package takes."""
    assert old in PROGRAM
    places, after = fixed(PROGRAM.replace(old, new, 1))
    assert len(places) == 1
    assert place is None or places == [place]
    assert after == PROGRAM


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("temperature=0.2", 'temperature="0.2"', '"0.2"'),
        ('{"type": "json_object"}', '"json_object"', '"json_object"'),
        ('messages.append({"role": "user"', 'messages = messages.append({"role": "user"', "append"),
        (
            'messages.append({"role": "user"',
            'messages += ({"role": "user"',
            '{"role": "user", "content": text}',
        ),
        ('{"role": "user", "content": text}', 'f"User: {text}"', 'f"User: {text}"'),
        ('{"role": "user", "content": text}', '{"role": text, "content": "user"}', None),
        ("json.loads(call.function.arguments)", "call.function.arguments", '"city"'),
        ("answer.choices[0].message.tool_calls", 'answer["choices"]', '"choices"'),
        ("in chunks:\n        print(chunk", "in [1]:\n        print(chunks", "choices"),
        ("= client.chat", "= await client.chat", None),
        ('create(model="gpt-4o-mini", messages=messages, stream', "create(messages=messages, stream", None),
    ],
)
def test_a_wrong_request(old: str, new: str, place: str | None) -> None:
    """A mistake is found at its place."""
    assert old in PROGRAM
    places, _ = fixed(PROGRAM.replace(old, new, 1).replace("def ask", "async def ask"))
    assert len(places) == 1
    assert place is None or places == [place]


def test_a_right_program_has_no_findings() -> None:
    """Requests, messages and answers that the package has are silent, and so are unknown clients."""
    assert fixed(PROGRAM)[0] == []
    assert fixed(PROGRAM.replace("client = OpenAI()", "client = make()"))[0] == []
    assert fixed(PROGRAM.replace("temperature=0.2", "**options"))[0] == []
