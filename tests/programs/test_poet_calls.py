"""Findings about uses of Prompt Poet's `Prompt` in a Python file, and their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """import tiktoken
from prompt_poet import Prompt

def build(data):
    prompt = Prompt(template_path="main.yml.j2", template_data=data, encode_func=encode)
    prompt.tokenize()
    prompt.truncate(token_limit=1000, truncation_step=100)
    return prompt.messages
"""
CUT = "prompt.tokenize()\n    prompt.truncate(token_limit=1000, truncation_step=100)"


def found(folder: Path, text: str) -> list[str]:
    """Return the underlined text of each finding."""
    (folder / "main.yml.j2").write_text("- name: a\n  content: b\n")
    findings = findings_in_library_calls(text, str(folder / "program.py"), Project())
    assert all(finding.rule == "wrong-arguments" for finding in findings)
    return [text[finding.span.start : finding.span.end] for finding in findings]


def test_a_function_that_returns_a_variable_builds_its_prompt(tmp_path: Path) -> None:
    text = PROGRAM.replace("prompt.messages", "prompt")
    text += "\ndef ask(data):\n    made = build(data)\n    return made.to_string()\n"
    assert found(tmp_path, text) == ["to_string"]


def test_a_generator_is_not_the_prompt_that_it_yields(tmp_path: Path) -> None:
    text = PROGRAM.replace("return prompt.messages", "yield prompt")
    text += "\ndef ask(data):\n    made = build(data)\n    return made.throw(StopIteration)\n"
    assert found(tmp_path, text) == []


def test_a_function_of_the_program_may_take_a_prompt_as_messages(tmp_path: Path) -> None:
    text = PROGRAM.replace("prompt.messages", "ask(messages=prompt, model=1)")
    assert found(tmp_path, text) == ["prompt"]
    assert found(tmp_path, f"{text}\ndef ask(messages, model): ...\n") == []


def test_a_method_builds_a_prompt(tmp_path: Path) -> None:
    text = PROGRAM.replace("prompt.messages", "prompt").replace("build(data)", "build(self, data)")
    text = (
        text.replace("def", "    def")
        .replace("\n    prompt", "\n        prompt")
        .replace("\n    return", "\n        return")
    )
    text = text.replace("    def", "class Bot:\n    def")
    text += "    def ask(self, data):\n        made = self.build(data)\n        return made.to_string()\n"
    assert found(tmp_path, text) == ["to_string"]
    other = "\nclass Other:\n    def build(self): ...\n"
    assert found(tmp_path, text + other) == []


def test_an_encoding_in_a_variable_is_no_function(tmp_path: Path) -> None:
    text = PROGRAM.replace("def build", 'encode = tiktoken.get_encoding("o200k_base")\n\ndef build')
    assert found(tmp_path, text) == ["encode"]
    assert found(tmp_path, text.replace('k_base")', 'k_base").encode')) == []


def test_data_in_keywords_become_the_dict_that_they_are(tmp_path: Path) -> None:
    text = PROGRAM.replace("template_data=data", "**values")
    text = text.replace("    prompt = ", '    values = {"name": data}\n    prompt = ', 1)
    assert found(tmp_path, text) == ["values"]
    assert found(tmp_path, text.replace("name", "token_limit")) == []
    assert found(tmp_path, text.replace("**values", "template_data=values")) == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("template_data=", "template_dat=", "template_dat"),
        ("main.yml", "mian.yml", '"mian.yml.j2"'),
        ("template_data=data", 'raw_template="- name: a"', "template_path"),
        ("encode)", 'tiktoken.get_encoding("o200k_base"))', 'tiktoken.get_encoding("o200k_base")'),
        ("    prompt.tokenize()\n", "", "prompt.truncate"),
        ("truncation_step=", "truncate_step=", "truncate_step"),
        (", truncation_step=100", "", "prompt.truncate"),
        ("=1000", "=0", "0"),
        ("=100)", "=-5)", "-5"),
        ("prompt.messages", "prompt.message", "message"),
        ("prompt.messages", "prompt.total_cost", "total_cost"),
        ("prompt.messages", "prompt.messages()", "()"),
        ("prompt.messages", "create(messages=prompt.string)", "string"),
        ("prompt.messages", "create(messages=prompt.parts)", "parts"),
        ("prompt.messages", "create(messages=[system, prompt.messages])", "prompt.messages"),
        ("prompt.messages", "prompt.messages[0].content", ".content"),
        ("prompt.messages", "[each.role for each in prompt.messages]", ".role"),
        ("prompt.messages", 'prompt.parts[-1]["content"]', '["content"]'),
        ("prompt.messages", 'prompt.messages[0]["contents"]', '"contents"'),
        ("prompt.messages", "[each.text for each in prompt.parts]", "text"),
        ("prompt.messages", "prompt.tokens.total", "total"),
        ("prompt.messages", "len(prompt)", "prompt"),
        ("prompt.messages", 'prompt["messages"]', '["messages"]'),
        ("prompt.messages", "create(messages=prompt)", "prompt"),
        ("prompt.messages", 'prompt.lreplace_at("a", "b", part="c")', "part"),
        ("prompt.tokenize()", "prompt.tokenize", "tokenize"),
        (
            CUT,
            CUT.replace("tokenize()", "_()").replace("100)", "100)\n    prompt.tokenize()"),
            "prompt.truncate",
        ),
        ("=1000", '="1000"', '"1000"'),
        ("template_data=data", "template_data=[data]", "[data]"),
        ("template_data=data", 'template_data={"a": (each for each in data)}', "(each for each in data)"),
        ("template_data=data", 'template_data={"json": tiktoken}', "tiktoken"),
        ("template_data=data", 'template_data={"text": open("a.txt")}', 'open("a.txt")'),
        ("template_data=data", 'template_data={1: "one"}', "1"),
        ("    prompt.truncate(", "    prompt = prompt.truncate(", "prompt"),
        ("    prompt.tokenize()", "    tokens = prompt.tokenize()", "tokens"),
        ("from prompt_poet import Prompt", "from prompt_poet import Prompts as Prompt", "Prompts"),
        ("template_path=", "raw_template=", '"main.yml.j2"'),
        ("=100)", "=2000)", "2000"),
        ("encode)", "encode, token_limit=10, truncation_step=20)", "20"),
        (
            "    prompt.tokenize()\n    prompt.truncate(token_limit=1000, truncation_step=100)",
            "    prompt.truncate(1000)",
            "prompt.truncate",
        ),
        ('"main.yml.j2"', 'Path(__file__).parent / "mian.yml.j2"', 'Path(__file__).parent / "mian.yml.j2"'),
        ('template_path="main.yml.j2"', '"- name: a"', '"- name: a"'),
        ('template_path="main.yml.j2", ', "", "Prompt"),
    ],
)
def test_a_wrong_use_is_reported_at_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert found(tmp_path, PROGRAM) == []
    assert found(tmp_path, PROGRAM.replace(old, new)) == [place]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prompt.tokenize()", "count(prompt)"),
        ("prompt.tokenize()\n   ", "prompt.tokenize();"),
        ('template_path="main.yml.j2", ', "**options, "),
        ("prompt.tokenize()", "prepare = lambda: prompt.tokenize()"),
        ("prompt.tokenize()", "prompt = other()"),
        ("token_limit=1000, truncation_step=100", "**limits"),
        ("token_limit=1000, truncation_step=100", "-1"),
        ("token_limit=1000, truncation_step=100", "1000, 100"),
        ("encode)", "encode, truncation_step=5)"),
        ("prompt.messages", "prompt._total_tokens"),
        ("return prompt.messages", "prompt.note = 1\n    return prompt.note"),
        ("prompt.messages", "create(prompt=prompt.string)"),
        ("prompt.messages", "create(messages=[system, *prompt.messages])"),
        ("prompt.messages", '[each["role"] for each in prompt.messages]'),
        ("prompt.messages", "[each.content for each in prompt.parts]"),
        ("prompt.messages", "prompt.messages[1:].count(data), prompt.tokens[0]"),
        ("template_data=data", "template_data=None or data"),
        ("template_data=data", 'template_data={"a": [each for each in data]}'),
        ("def build(data):", "def build(data, tiktoken):"),
        ("from prompt_poet", "from other_package"),
    ],
)
def test_a_right_use_is_not_reported(tmp_path: Path, old: str, new: str) -> None:
    assert found(tmp_path, PROGRAM.replace(old, new)) == []


RECORD = """import asyncio
from dataclasses import asdict, dataclass
from prompt_poet import Prompt
from pydantic import BaseModel
@dataclass
class Data:
    text: str
class Model(BaseModel):
    text: str
def make(): return {"text": 1}
async def load(): return {"text": 1}
async def reply(model: Model):
    data = Data(text="a")
    return Prompt(template_path="main.yml.j2", template_data=VALUE)
"""


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("data", "data"),
        ("model", "model"),
        ("Model(text='a')", "Model(text='a')"),
        ("model.model_dump_json()", "model.model_dump_json()"),
        ("make", "make"),
        ("load()", "load"),
        ("asdict(data)", None),
        ("model.model_dump()", None),
        ("make()", None),
        ("await load()", None),
        ("text", None),
    ],
)
def test_what_makes_a_dict_is_not_taken_for_it(tmp_path: Path, value: str, place: str | None) -> None:
    assert found(tmp_path, RECORD.replace("VALUE", value)) == ([place] if place else [])


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("def show(prompt: Prompt):\n    print(prompt.messages())\n", "()"),
        ("def show(prompt: Prompt, data):\n    prompt = data\n    print(prompt.messages())\n", ""),
        ("def show(prompt: Prompt):\n    print(prompt.cost)\n", ""),
        ("def make() -> Prompt:\n    return cached\n\nprompt = make()\nprompt.truncate\n", "truncate"),
        ("async def make() -> Prompt:\n    return a\n\nb = await make()\nb.parts()\n", "()"),
    ],
)
def test_annotated_prompts_are_known(tmp_path: Path, code: str, place: str) -> None:
    assert found(tmp_path, f"from prompt_poet import Prompt\n\n{code}") == ([place] if place else [])


def test_a_number_may_be_a_constant_of_the_module(tmp_path: Path) -> None:
    limited = PROGRAM.replace("data, ", "data, token_limit=LIMIT, ").replace("def", 'LIMIT = "4k"\n\ndef')
    assert found(tmp_path, limited) == ["LIMIT"]
    assert found(tmp_path, limited.replace('"4k"', "4000")) == []
