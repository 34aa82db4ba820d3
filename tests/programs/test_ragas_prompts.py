"""Findings about examples of Ragas prompt classes, and about rows that experiments read."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

CLASS = """from pydantic import BaseModel, Field
from ragas.prompt import PydanticPrompt

class Ticket(BaseModel):
    text: str
    locale: str = "en"

class Sorted(BaseModel):
    label: str = Field(description="The label")
    reason: str | None = None

class Sorting(PydanticPrompt[Ticket, Sorted]):
    instruction = "Sort."
    input_model = Ticket
    output_model = Sorted
    examples = [(Ticket(text="a"), Sorted(label="b", reason="c"))]
"""
PROGRAM = """from ragas import Dataset, experiment

@experiment()
async def triage(row):
    return {**row, "answer": sort(row["text"])}

def load():
    dataset = Dataset(name="tickets", backend="local/csv", root_dir=".")
    for each in TICKETS:
        row = {"text": each["text"], "label": each["label"]}
        dataset.append(row)
    return dataset

async def main():
    await triage.arun(load())
"""


def found(text: str) -> list[str]:
    """Return the underlined text of each finding."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('text="a"', 'txt="a"', "txt"),
        ('(Ticket(text="a"),', '({"text": "a"},', '{"text": "a"}'),
        ('Ticket(text="a")', "Ticket()", "Ticket"),
        ('label="b"', 'lable="b"', "lable"),
        ('(Ticket(text="a"), Sorted(label="b", reason="c"))', '(Sorted(label="b"), Ticket(text="a"))',
         '(Sorted(label="b"), Ticket(text="a"))'),
        ('Ticket(text="a")', 'Sorted(label="a")', 'Sorted(label="a")'),
        ('(Ticket(text="a"), Sorted(label="b", reason="c"))', 'Ticket(text="a")', 'Ticket(text="a")'),
        ('text="a"', 'text=["a"]', '["a"]'),
        ("instruction =", "instructions =", "instructions"),
        ("output_model = Sorted", "output_model = Ticket", "Ticket"),
        ("output_model =", "output_models =", "output_models"),
        ("    output_model = Sorted\n", "", "PydanticPrompt[Ticket, Sorted]"),
    ],
)  # fmt: skip
def test_a_wrong_example_of_a_prompt_class_is_reported(old: str, new: str, place: str) -> None:
    assert found(CLASS) == []
    assert found(CLASS.replace(old, new)) == [place]


ASKED = (
    CLASS
    + """
async def main(llm):
    prompt = Sorting()
    result = await prompt.generate(llm=llm, data=Ticket(text="a"))
    print(result.label)
"""
)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("result.label", "result.lable", "lable"),
        ("await prompt", "prompt", "prompt.generate"),
        (", data=", ", input=", "input"),
        ('data=Ticket(text="a")', 'data=Sorted(label="a")', 'Sorted(label="a")'),
    ],
)
def test_a_prompt_in_a_variable_has_its_own_input_and_output(old: str, new: str, place: str) -> None:
    assert found(ASKED) == []
    assert found(ASKED.replace(old, new)) == [place]


def test_a_base_class_leaves_its_models_to_other_classes() -> None:
    text = CLASS.replace("    output_model = Sorted\n", "")
    assert found(f"{text}\nclass Other(Sorting):\n    output_model = Sorted\n") == []


def test_a_misspelled_field_has_a_fix() -> None:
    wrong = CLASS.replace('label="b"', 'lable="b"')
    (finding,) = findings_in_library_calls(wrong, "app.py", Project())
    assert finding.message == "`Sorted` has no field `lable`; did you mean `label`?"
    assert apply_edits(wrong, finding.fixes[0].edits) == CLASS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("locale: str", 'lable: str = Field(alias="text")\n    locale: str'),
        ("locale: str", "def __init__(self, txt): ...\n    locale: str"),
        ("class Ticket(BaseModel)", "class Ticket(Base)"),
        ('Ticket(text="a")', "Ticket(**values)"),
    ],
)
def test_an_example_that_may_be_right_is_left_alone(old: str, new: str) -> None:
    assert found(CLASS.replace("(text=", "(txt=").replace(old.replace("(text=", "(txt="), new)) == []


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("text=ticket", "txt=ticket", ["txt"]),
        ("text=ticket", "text=[ticket]", ["[ticket]"]),
        ("text=ticket", "**ticket", []),
        ("Ticket(text=ticket)", "ticket", []),
    ],
)
def test_a_wrong_input_of_a_call_is_reported(old: str, new: str, places: list[str]) -> None:
    program = CLASS + "sorted = await Sorting().generate(data=Ticket(text=ticket), llm=llm)\n"
    program = program.replace("sorted = ", "async def sort(ticket):\n    return ")
    assert found(program) == []
    assert found(program.replace(old, new)) == places


def test_a_field_that_may_be_none_has_a_default_before_pydantic_2() -> None:
    wrong = CLASS.replace("reason: str | None = None", "reason: Optional[str]").replace(', reason="c"', "")
    assert found(wrong) == ["Sorted"]
    assert found(wrong.replace("from pydantic", "from pydantic.v1")) == []


def test_a_column_that_no_row_has_is_reported() -> None:
    assert found(PROGRAM) == []
    assert found(PROGRAM.replace('row["text"])}', 'row["txt"])}')) == ['"txt"']
    assert found(PROGRAM.replace('row["text"])}', 'row["locale"])}')) == ['"locale"']
    assert found(PROGRAM.replace('row["text"])}', "row.text)}")) == [".text"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"text": each["text"], "label": each["label"]}', "{**each}"),
        ("dataset.append(row)", "dataset.append(each)"),
        ('root_dir=".")', 'root_dir=".", data=ROWS)'),
        ("return dataset", 'other = Dataset.load("b", backend="local/csv", root_dir=".")\n    return other'),
        ("    return {**row", '    row = {"locale": 1}\n    return {**row'),
        ("triage.arun(load())", "run(triage)"),
        ("return dataset", "dataset = dataset.from_pandas(ROWS)\n    return dataset"),
    ],
)
def test_a_column_that_a_row_may_have_is_left_alone(old: str, new: str) -> None:
    assert found(PROGRAM.replace('row["text"])}', 'row["locale"])}').replace(old, new)) == []


def test_a_column_that_the_loaded_file_lacks_is_reported(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "tickets.csv").write_text("text,label\na,b\n")
    load = 'Dataset.load(name="tickets", backend="local/csv", root_dir=".")'
    program = (
        "from ragas import Dataset, experiment\n\n@experiment()\nasync def triage(row):\n"
        f'    return {{"answer": sort(row["txt"], row["label"])}}\n\nrun = triage.arun({load})\n'
    )

    def places(text: str) -> list[str]:
        found = findings_in_library_calls(text, str(tmp_path / "app.py"), Project())
        return [text[each.span.start : each.span.end] for each in found]

    assert places(program) == ['"txt"']
    assert places(program.replace("tickets", "others")) == []
    assert places(program.replace('name="tickets"', "name=NAME")) == []
