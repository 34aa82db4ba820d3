"""Findings about Ragas samples in a program: fields, types, and columns that metrics need."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

PROGRAM = """from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample, evaluate
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from ragas.metrics import ContextRecall, Faithfulness

rows = [
    {
        "user_input": "Which fee?",
        "retrieved_contexts": ["3 euros a month"],
        "response": answer("Which fee?"),
        "reference": "3 euros",
    },
]
rows.append({"user_input": "Why?", "retrieved_contexts": found, "response": "So.", "reference": f"{it}"})
dataset = EvaluationDataset.from_list(rows)
recall = ContextRecall(llm=llm)
result = evaluate(dataset, metrics=[Faithfulness(), recall])
talk = [
    HumanMessage(content="Block my card."),
    AIMessage(content="I do.", tool_calls=[ToolCall(name="block", args={"id": 4})]),
    ToolMessage(content="done"),
]
many = MultiTurnSample(user_input=talk, reference_topics=["cards"])
one = SingleTurnSample(user_input="Which fee?", response="3", retrieved_contexts=["3 euros"])
Faithfulness(llm=llm).single_turn_score(one)
"""


def found(text: str) -> list[str]:
    """Return the underlined text of each finding."""
    findings = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('retrieved_contexts=["3 euros"]', 'retrieved_contexts="3 euros"', '"3 euros"'),
        ('retrieved_contexts=["3 euros"]', 'retrieved_contexts=["a", 3]', "3"),
        ('retrieved_contexts=["3 euros"]', 'retrieved_contexts="\\n".join(found)', '"\\n".join(found)'),
        ('response="3"', "response=3", "3"),
        ('response="3"', 'answer="3"', "answer"),
        ('SingleTurnSample(user_input="Which fee?"', 'SingleTurnSample("Which fee?"', '"Which fee?"'),
        ('"retrieved_contexts": ["3 euros a month"]', '"retrieved_contexts": "3"', '"3"'),
        ('"user_input": "Why?"', '"question": "Why?"', '"question"'),
        ('"response": "So."', '"respnse": "So."', '"respnse"'),
        ("MultiTurnSample(user_input=talk, ", "MultiTurnSample(", "MultiTurnSample"),
        ('ToolCall(name="block", args={"id": 4})', 'ToolCall(name="block")', "ToolCall"),
        ('HumanMessage(content="Block my card.")', '"Block my card."', "talk"),
        (', tool_calls=[ToolCall(name="block", args={"id": 4})]', "", "ToolMessage"),
        ("single_turn_score(one)", "single_turn_score([one])", "[one]"),
        ("evaluate(dataset,", "evaluate(pandas.read_csv(path),", "pandas.read_csv(path)"),
        ("recall = ", "recall.ascore_single_turn(one)\nrecall = ", "ascore_single_turn"),
    ],
)
def test_a_wrong_field_is_found(old: str, new: str, place: str) -> None:
    assert found(PROGRAM) == []
    assert old in PROGRAM
    assert found(PROGRAM.replace(old, new, 1)) == [place]


def test_metrics_are_a_list() -> None:
    text = PROGRAM.replace("import ContextRecall,", "import faithfulness, ContextRecall,")
    assert found(text.replace("[Faithfulness(), recall]", "[faithfulness]")) == []
    assert found(text.replace("[Faithfulness(), recall]", "faithfulness")) == ["faithfulness"]


def test_a_column_that_the_program_nowhere_names_is_missing() -> None:
    text = PROGRAM.replace('"reference": "3 euros",', "").replace(', "reference": f"{it}"', "")
    assert found(text) == ["recall"]
    assert found(f'{text}\nfor row in rows: row["reference"] = 1\n') == []
    assert found(text.replace("rows.append(", "rows.extend(")) == []
    without = PROGRAM.replace("retrieved_contexts", "reference_contexts")
    assert found(without) == ["Faithfulness()", "recall", "Faithfulness(llm=llm)"]


def test_a_fix_names_the_field() -> None:
    text = PROGRAM.replace('response="3"', 'answer="3"')
    finding = findings_in_library_calls(text, str(Path("app.py").absolute()), Project())[0]
    assert apply_edits(text, finding.fixes[0].edits) == PROGRAM


def test_a_sample_comes_from_a_function_or_a_fixture() -> None:
    program = """
import pytest
from ragas import SingleTurnSample
from ragas.metrics import LLMContextRecall

def made():
    given = {"user_input": "a", "retrieved_contexts": ["b"], "reference": "c"}
    return SingleTurnSample(**given)

@pytest.fixture
def sample(): return made()

async def test_recall(sample):
    recall = LLMContextRecall(llm=llm)
    await recall.single_turn_ascore(sample)
    await recall.single_turn_ascore(made())
"""
    assert found(program) == []
    assert found(program.replace(', "reference": "c"', "")) == ["recall", "recall"]
    assert found(program.replace(', "reference": "c"', "").replace("(**given)", "(**other)")) == []
    set_later = program.replace("recall = LLM", 'sample.reference = "c"\n    recall = LLM')
    assert found(set_later.replace(', "reference": "c"', "")) == []
    own = program.replace("def made():", "def made():\n    if sample: return made()")
    assert found(own.replace(', "reference": "c"', "")) == []


def test_an_attribute_that_is_set_of_a_sample_is_a_field() -> None:
    program = """
from ragas import SingleTurnSample

def made(question):
    sample = SingleTurnSample(user_input=question)
    sample.response = ask(question)
    return sample

def other(sample):
    sample.anything = 1
"""
    assert found(program) == []
    assert found(program.replace(".response", ".respnse")) == ["respnse"]
    assert found(program.replace(".response", ".cost")) == ["cost"]
    assert (
        found(program.replace("    return", "    sample = wrap(sample)\n    return").replace("response", "a"))
        == []
    )


def test_the_contexts_of_a_table_are_lists() -> None:
    program = """
from datasets import Dataset
from ragas import evaluate

contexts = []
for each in questions:
    contexts.append(CONTEXT)
data = {"question": questions, "contexts": contexts}
evaluate(Dataset.from_dict(data))
"""
    assert found(program) == []
    assert found(program.replace("CONTEXT", '["a", "b"]')) == []
    assert found(program.replace("CONTEXT", '" ".join(each)')) == ['" ".join(each)']
    assert found(program.replace('"contexts": contexts', '"contexts": ["a", "b"]')) == ['"a"']


def test_a_mapping_is_no_sample() -> None:
    program = """
from ragas import SingleTurnSample
from ragas.metrics import Faithfulness

metric = Faithfulness(llm=llm)

def sample_of(given): return SingleTurnSample(**given)
async def score(sample): return await metric.single_turn_ascore(sample)
async def run(row):
    await metric.single_turn_ascore(ROW)
    await score(sample_of(ROW))
    await score(row)
"""
    row = '{"user_input": "a", "response": "b", "retrieved_contexts": ["c"]}'
    assert found(program) == []
    assert found(program.replace("ROW", row)) == [row]
    assert found(program.replace("ascore(ROW)", f"ascore(sample_of({row}))")) == []
    lacking = row.replace('"response": "b", ', "")
    assert found(program.replace("ascore(ROW)", f"ascore(sample_of({lacking}))")) == ["metric"]
    assert found(program.replace("score(row)", f"score({row})")) == [row]
    changed = program.replace("return await", "sample = made(sample); return await")
    assert found(changed.replace("score(row)", f"score({row})")) == []


def test_a_parameter_is_not_the_function_of_its_name() -> None:
    program = """
from ragas.metrics import Faithfulness
metric = Faithfulness(llm=llm)
def made(): return {"user_input": "a", "response": "b", "retrieved_contexts": ["c"]}
async def run(): await metric.single_turn_ascore(made())
"""
    assert found(program) == ["made()"]
    assert found(program.replace("run()", "run(made)")) == []


def test_a_dataset_has_samples_of_one_kind() -> None:
    text = f"{PROGRAM}EvaluationDataset(samples=[one, many])\n"
    assert found(text) == ["many"]
    assert found(text.replace("[one, many]", "[one, one]")) == []


def test_a_metric_is_given_the_columns_that_it_needs() -> None:
    text = f'{PROGRAM}recall.score(user_input="a", reference="b", retrieved_contexts=[])\n'
    assert found(text) == []
    assert found(text.replace('user_input="a", ref', "ref")) == ["recall.score"]
    assert found(text.replace('user_input="a", ref', 'question="a", ref')) == ["question"]
    assert found(text.replace("retrieved_contexts=[]", "retrieved_contexts=[...]")) == []
    assert found(text.replace("retrieved_contexts=[]", 'retrieved_contexts="".join(them)')) == [
        '"".join(them)'
    ]


def test_a_metric_in_a_list_is_given_what_it_needs() -> None:
    text = (
        f"{PROGRAM}them = [ContextRecall(), Faithfulness()]\nthem[0].score(user_input='a', reference='b')\n"
    )
    assert found(text) == ["them[0].score"]
    assert found(f"{text}them.insert(0, other)\n") == found(text.replace("[0].", "[2].")) == []


def test_a_metric_is_made_with_its_judge_and_its_embeddings() -> None:
    text = "from ragas.metrics.collections import AnswerRelevancy\nAnswerRelevancy(llm=a, embeddings=b)\n"
    assert found(text) == found(text.replace("llm=a, embeddings=b", "**parts")) == []
    assert found(text.replace(".collections", "").replace(", embeddings=b", "")) == []
    assert found(text.replace(", embeddings=b", "")) == ["AnswerRelevancy"]


def test_a_critic_needs_a_definition() -> None:
    text = f'{PROGRAM}from ragas.metrics import AspectCritic\nAspectCritic(name="a", definition="b")\n'
    assert found(text) == []
    assert found(text.replace(', definition="b"', "")) == ["AspectCritic"]


def test_the_metrics_of_an_evaluation_are_a_list_of_objects() -> None:
    assert found(PROGRAM.replace("[Faithfulness(), recall]", "Faithfulness()")) == ["Faithfulness()"]
    assert found(PROGRAM.replace("[Faithfulness(), recall]", "[Faithfulness, recall]")) == ["Faithfulness"]
    assert found(PROGRAM.replace("[Faithfulness(), recall]", '["faithfulness"]')) == ['"faithfulness"']
    called = PROGRAM.replace("ContextRecall, Faith", "ContextRecall, faithfulness, Faith")
    assert found(called.replace("[Faithfulness(), recall]", "[faithfulness()]")) == ["faithfulness()"]
    assert found(called.replace("[Faithfulness(), recall]", "[faithfulness]")) == []
    assert found(PROGRAM.replace("[Faithfulness(), recall]", "[...]")) == []


def test_a_column_of_a_conversation_is_none_of_other_samples() -> None:
    text = """from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample, evaluate
from ragas.metrics import LLMContextRecall
dataset = EvaluationDataset([SingleTurnSample(user_input="a", retrieved_contexts=["b"])])
evaluate(dataset, metrics=[LLMContextRecall(llm=llm)])
"""
    conversation = "MultiTurnSample(user_input=[], reference='a')\n"
    assert found(text) == found(text + conversation) == ["LLMContextRecall(llm=llm)"]
    assert found(f"{text}one = {{}}\none['reference'] = 'a'\n") == []


def test_an_evaluation_takes_a_dataset_and_no_list() -> None:
    text = "from ragas import evaluate\nevaluate(dataset=[one], metrics=[])\n"
    assert found(text) == ["[one]"]
    assert found(text.replace("from ragas", "from promptls")) == []


def test_a_misspelled_argument_of_a_dataset_is_found() -> None:
    assert found(f"{PROGRAM}EvaluationDataset(sample=[one])\n") == ["sample"]


def test_a_sample_without_a_column_of_the_others_is_found() -> None:
    text = PROGRAM.replace(', "response": "So."', "")
    assert found(text) == ['{"user_input": "Why?", "retrieved_contexts": found, "reference": f"{it}"}']
    assert found(f'{text}rows[1]["response"] = "So."\n') == []


TABLE = """
from datasets import Dataset
from ragas import evaluate
from ragas.metrics import context_recall, faithfulness

def table(rows):
    data = {"question": rows, "contexts": rows, "answer": rows, "ground_truth": rows}
    made = Dataset.from_dict(data)
    return made

scores = evaluate(table(rows), metrics=[faithfulness, context_recall])
"""


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ('"contexts"', '"context"', ["faithfulness", "context_recall"]),
        (', "ground_truth": rows', "", ["context_recall"]),
        ('"ground_truth": rows', "**more", []),
        (", rows}\n", ', rows}\n    data["contexts"] = rows\n', []),
        ("return made", "return made.add_column('contexts', rows)", []),
        ("table(rows)", "other(rows)", []),
    ],
)
def test_a_column_that_a_table_lacks_is_reported(old: str, new: str, places: list[str]) -> None:
    assert found(TABLE) == []
    assert found(TABLE.replace(old, new)) == places


def test_a_variable_has_the_value_that_its_function_gives_it() -> None:
    first = 'def first():\n    sample = {"user_input": "Which fee?"}\n    metric.single_turn_score(sample)\n'
    second = 'def second():\n    sample = SingleTurnSample(user_input="Why?")\n    return sample\n'
    imports = "from ragas import SingleTurnSample\n"

    assert found(imports + first + second) == ["sample"]
    assert found(imports + first.replace("    sample", "    global sample\n    sample", 1) + second) == []
