"""The calls in a Python text that load a template, with the keys of their data."""

from __future__ import annotations

import pytest

from promptls.workspace.python_calls import calls_in, key_spans

LOADED = {
    "what a method keeps in its instance": """\
import promptls
class Support:
    def __init__(self):
        self.prompt = promptls.load("a.yml.j2")
    def answer(self, ticket):
        return self.prompt.render(text=ticket)
""",
    "with an annotation, and a dict for the data": """\
import promptls
class Support:
    def __init__(self):
        self.prompt: promptls.PromptTemplate = promptls.load("a.yml.j2")
    def answer(self, ticket):
        return self.prompt.render({"text": ticket})
""",
    "an attribute of the class": """\
import promptls
class Support:
    prompt = promptls.load("a.yml.j2")
    @classmethod
    def answer(cls, ticket):
        return cls.prompt.render(text=ticket)
""",
    "a class by its name": """\
import promptls
class Support:
    prompt = promptls.load("a.yml.j2")
answer = Support.prompt.render(text="x")
""",
    "a class that it is derived from": """\
import promptls
class Base:
    def __init__(self):
        self.prompt = promptls.load("a.yml.j2")
class Support(Base):
    def answer(self, ticket):
        return self.prompt.render(text=ticket)
""",
    "in a function inside of a method": """\
import promptls
class Support:
    def __init__(self):
        self.prompt = promptls.load("a.yml.j2")
    def answers(self, tickets):
        def answer(ticket):
            return self.prompt.render(text=ticket)
        return map(answer, tickets)
""",
    "a constant of the module": """\
from promptls import load
NAME = "a.yml.j2"
PROMPT = load(NAME)
def answer(ticket):
    return PROMPT.render(text=ticket)
""",
    "a path that a class keeps": """\
from prompt_poet import Prompt
class Support:
    TEMPLATE = "a.yml.j2"
    def answer(self, ticket):
        return Prompt(template_path=self.TEMPLATE, template_data={"text": ticket})
""",
}

BUILDING = """\
from prompt_poet import Prompt
def build(ticket):
    data = {"text": ticket}
    return data
Prompt(template_path="a.yml.j2", template_data=build(1))
"""


def test_the_data_may_be_what_a_function_returns() -> None:
    (call,) = calls_in(BUILDING, "app.py")
    assert (call.keys, len(key_spans(BUILDING, call, ("text",)))) == ({"text"}, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return", "    data[ticket] = 1\n    return"),
        ("    return", "    change(data)\n    return"),
        ("    return", "    del data['text']\n    return"),
        ("    return", "    data |= ticket\n    return"),
        ("build(1))", "{**build(1), **more})"),
        ("def build", "@cached\ndef build"),
        ("    return data", "    return data or other"),
        ("    return data", "    yield data"),
        ("    return", "    if not ticket:\n        return {}\n    return"),
    ],
)
def test_the_data_is_unknown_if_a_function_changes_it(old: str, new: str) -> None:
    assert calls_in(BUILDING.replace(old, new), "app.py") == ()


def keys_of(text: str) -> frozenset[str]:
    (call,) = calls_in(text, "app.py")
    return call.keys


@pytest.mark.parametrize(
    "data",
    [
        "{**build(1), 'more': 1}",
        "build(1) | dict(more=1)",
        "dict(build(1), more=1)",
        "{'text': 1, 'more': 2}.copy()",
    ],
)
def test_the_data_may_be_put_together(data: str) -> None:
    assert keys_of(BUILDING.replace("build(1))", f"{data})")) == {"text", "more"}


STEPS = """\
from prompt_poet import Prompt
def reply(text):
    data = {}
    data["text"] = text
    if text:
        data.update(more=1)
    print(data["text"])
    return Prompt(template_path="a.yml.j2", template_data=data)
"""


def test_the_data_may_be_set_key_by_key() -> None:
    (call,) = calls_in(STEPS, "app.py")
    assert call.keys == {"text", "more"}
    assert [STEPS[span.start : span.end] for span in key_spans(STEPS, call, ("text",))] == ["text"]
    assert keys_of(BUILDING.replace("    return", '    data["more"] = 1\n    return')) == {"text", "more"}
    waiting = BUILDING.replace("def build", "async def build").replace("build(1)", "await build(1)")
    assert keys_of(waiting) == {"text"}


RECORD = """\
from dataclasses import asdict, dataclass
from prompt_poet import Prompt
from pydantic import BaseModel
@dataclass
class Base:
    text: str
@dataclass
class Data(Base):
    more: int = 1
    @property
    def twice(self): ...
class Model(BaseModel):
    text: str
    more: int
data = Data(text="a")
def reply(model: Model):
    return Prompt(template_path="a.yml.j2", template_data=asdict(data))
"""


def test_the_data_may_be_the_fields_of_an_object() -> None:
    assert keys_of(RECORD) == {"text", "more", "twice"}
    assert keys_of(RECORD.replace("asdict(data)", "model.model_dump()")) == {"text", "more"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("asdict(data)", "model.model_dump(exclude={'more'})"),
        ("class Base:", "class Base(Other):"),
        ("def reply", "class Third(Data): ...\ndef reply"),
        ('Data(text="a")', "make()"),
    ],
)
def test_the_fields_of_an_object_may_be_unknown(old: str, new: str) -> None:
    assert calls_in(RECORD.replace(old, new), "app.py") == ()


@pytest.mark.parametrize("text", LOADED.values(), ids=LOADED.keys())
def test_a_call_of_what_was_loaded_before_is_found(text: str) -> None:
    (call,) = calls_in(text, "/project/app.py")

    assert (call.template, call.keys) == ("a.yml.j2", {"text"})
    assert text.splitlines()[call.line].count("text") > 0


LOADING = '        self.prompt = promptls.load("a.yml.j2")\n'
SUPPORT = f"import promptls\nclass Support:\n    def __init__(self, other):\n{LOADING}"
ANSWER = "    def answer(self):\n        return self.prompt.render(text=1)\n"
UNKNOWN = {
    "another method gives it another value": (
        f"{SUPPORT}{ANSWER}    def put(self, prompt):\n        self.prompt = prompt\n"
    ),
    "a derived class does": (
        f"{SUPPORT}{ANSWER}class Other(Support):\n    def __init__(self):\n        self.prompt = None\n"
    ),
    "somebody may do so from outside": f"{SUPPORT}{ANSWER}def put(support):\n    support.prompt = None\n",
    "the name is not an instance": SUPPORT + ANSWER.replace("(self)", "(this, self)"),
    "a static method has none": SUPPORT + ANSWER.replace("    def", "    @staticmethod\n    def"),
    "the path is a parameter's": (SUPPORT + ANSWER).replace('"a.yml.j2"', "other"),
    "it is counted up": f"{SUPPORT}{ANSWER}    def more(self):\n        self.prompt += 1\n",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_call_is_left_out_where(text: str) -> None:
    assert calls_in(SUPPORT + ANSWER, "/project/app.py") != ()
    assert calls_in(text, "/project/app.py") == ()


def test_a_byte_order_mark_moves_no_place() -> None:
    text = '\ufeffPrompt(template_path="a.yml.j2", template_data={"text": 1})\n'
    (call,) = calls_in(text, "app.py")

    assert text[call.span.start : call.span.end] == "Prompt"
    assert [text[span.start : span.end] for span in key_spans(text, call, ("text",))] == ["text"]
