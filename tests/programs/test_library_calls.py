"""Findings about uses of promptls and Ragas in a Python file, and their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.library_calls import findings_in_library_calls
from promptls.settings.project import Project

METRIC = """
@discrete_metric(allowed_values=["good", "bad"])
def quality(response, expected, strict=False):
    return MetricResult("good" if response == expected else "bad", "it was compared")
"""
EXPERIMENT = """
@experiment()
async def triage(row, prompt_file="main.yml.j2"):
    return {"id": row["id"]}
"""
ROWS = "rows = Dataset('d')\n" + "".join(f"rows.append({{'text': 1, 'label': {n}}})\n" for n in range(5))
WRONG = {
    "an unknown argument": ("load('main.yml.j2', encodin='gpt-4o')", "encodin"),
    "an unknown encoding": ("load('main.yml.j2', encoding='gtp-4o')", "'gtp-4o'"),
    "a misspelled path": ("load('mian.yml.j2')", "'mian.yml.j2'"),
    "a misspelled path in a default": ("def f(prompt_file='mian.yml.j2'): ...", "'mian.yml.j2'"),
    "two templates": ("Prompt(raw_template='', template_path='main.yml.j2')", "template_path"),
    "an ignored field": ("Prompt(name='a', instruction='b', outputkey='c')", "outputkey"),
    "a misspelled method of the class": ("Dataset.loadd('d', 'inmemory')", "loadd"),
    "a misspelled backend": ("Dataset.load('d', backend='local/cvs', root_dir='.')", "'local/cvs'"),
    "a backend without `local/`": ("Dataset.load('d', backend='csv', root_dir='.')", "'csv'"),
    "a name with the ending of its file": (
        "Dataset.load('d.csv', backend='local/csv', root_dir='.')",
        "'d.csv'",
    ),
    "a backend without its folder": ("Dataset('d', 'local/csv')", "'local/csv'"),
    "a score below the lowest one": (
        "@numeric_metric(allowed_values=(0.0, 1.0))\ndef f(response):\n    return -1 if response else 0.5",
        "-1",
    ),
    "a decorator without a call": ("@numeric_metric\ndef f(response): return 1", "numeric_metric"),
    "a value that is not allowed": (METRIC.replace('else "bad"', 'else "bda"'), '"bda"'),
    "a number outside the range": (
        "@numeric_metric(allowed_values=(0.0, 1.0))\ndef f(response):\n    return 100 if response else 0.5",
        "100",
    ),
    "a comparison as a value": (
        METRIC.replace('"good" if response == expected else "bad"', "a == b"),
        "a == b",
    ),
    "a comparison in a variable": (
        METRIC.replace(
            '    return MetricResult("good" if response == expected else "bad"',
            "    is_good = a == b\n    return MetricResult(is_good",
        ),
        "a == b",
    ),
    "an unknown argument of a result": (
        METRIC.replace('"good" if', 'values="good" if').replace('"it', 'reason="it'),
        "values",
    ),
    "a misspelled name of promptls": (METRIC + "from promptls import MetricResults", "MetricResults"),
    "a misspelled name of a module of promptls": (
        METRIC + "from promptls.prompt import PydanticPromt",
        "PydanticPromt",
    ),
    "an attribute of a rendered prompt": ("p = load('main.yml.j2').render()\nprint(p.message)", "message"),
    "an attribute of an attribute": ("load('main.yml.j2').render().tokens.totals", "totals"),
    "an attribute of an element": ("load('main.yml.j2').render().parts[0].title", "title"),
    "a method of what is not rendered": ("load('main.yml.j2').truncate()", "truncate"),
    "a list that is called": (
        "load('main.yml.j2').render().messages()",
        "load('main.yml.j2').render().messages",
    ),
    "a template that is called": ("t = load('main.yml.j2')\nt(text='a')", "t"),
    "an attribute of results": (
        EXPERIMENT + "async def f(rows):\n    results = await triage.arun(rows)\n    print(results.error)",
        "error",
    ),
    "an argument of a method": ("load('main.yml.j2').render().truncate(limit=3)", "limit"),
    "a step over the limit": ("load('main.yml.j2', token_limit=10, truncation_step=20)", "20"),
    "an unknown model of a judge": (
        "from promptls.metrics import DiscreteMetric as M\nM(name='a').score(llm='local:smolm2')",
        "'local:smolm2'",
    ),
    "a function in place of its coroutine": (
        "import asyncio\nasync def f(): ...\nasyncio.run(f)",
        "f",
    ),
    "a result without a value": ("MetricResult(reason='b')", "MetricResult"),
    "a range from the maximum": (
        "@numeric_metric(allowed_values=(5, 1))\ndef f(response): return 1",
        "(5, 1)",
    ),
    "an experiment that returns a text": (
        EXPERIMENT.replace('{"id": row["id"]}', "score.value"),
        "score.value",
    ),
    "a misspelled key of a row": (ROWS.replace("'label': 3", "'lable': 3"), "'lable'"),
    "an unknown argument of a score": (METRIC + "quality.score(response='a', expectd='b')", "expectd"),
    "a missing argument of a score": (METRIC + "quality.score(response='a')", "quality.score"),
    "an argument of a score by position": (METRIC + "quality.score('a', 'b')", "'a'"),
    "an unknown attribute of a result": (
        METRIC + "def f():\n    r = quality.score(response='a', expected='b')\n    return r.reasons",
        "reasons",
    ),
    "a key of a result": (
        METRIC + "def f():\n    r = quality.score(response='a', expected='b')\n    return r['value']",
        "'value'",
    ),
    "an experiment without a result": (EXPERIMENT.replace("return", "result ="), "triage"),
    "a run that nothing awaits": (EXPERIMENT + "triage.arun([])", "triage.arun"),
    "a run without a parameter": (
        EXPERIMENT.replace('="main.yml.j2"', "") + "x = triage.arun([], 'main.yml.j2')",
        "triage.arun",
    ),
    "an unknown method of an experiment": (EXPERIMENT + "triage.run([])", "run"),
    "an experiment that is called with a dataset": (
        EXPERIMENT + "def rows():\n    d = Dataset('d')\n    return d\nd = rows()\nx = triage(d)",
        "triage",
    ),
    "a function in place of its dataset": (
        EXPERIMENT + "def rows():\n    return Dataset('d')\nx = triage.arun(rows)",
        "rows",
    ),
    "an unknown method of a dataset": ("d = Dataset('d')\nd.add({'id': 1})", "add"),
    "a misspelled backend of a table": (
        "Dataset.from_pandas(table, 'd', 'local/cvs', root_dir='.')",
        "'local/cvs'",
    ),
    "a key that the rows of a table lack": (
        EXPERIMENT + "r = [{'text': 'a', 'idd': 1}]\nt = pd.DataFrame(r)\n"
        "x = triage.arun(Dataset.from_pandas(t, 'd', 'inmemory'))",
        '"id"',
    ),
    "a key that the rows of a loop lack": (
        EXPERIMENT + "d = Dataset('d')\nfor r in [{'idd': 1}, {'text': 2}]:\n    d.append(r)\n"
        "x = triage.arun(d)",
        '"id"',
    ),
    "a misspelled argument of a metric": ("DiscreteMetric(name='a', allowed_value=['b'])", "allowed_value"),
    "a value of a metric in a function": (
        "def make():\n"
        + "\n".join(f"    {line}" for line in METRIC.replace('"bad",', '"bda",', 1).split("\n")),
        '"bda"',
    ),
    "a dataset without a name": ("Dataset(backend='inmemory')", "Dataset"),
    "a row in two arguments": ("d = Dataset('d')\nd.append('a', 1)", "1"),
    "a row that is a list": ("d = Dataset('d')\nr = [1]\nd.append(r)", "r"),
    "a run without its dataset": (EXPERIMENT + "asyncio.run(triage.arun(name=1))\n", "triage.arun"),
    "a list of rows": ("d = Dataset('d')\nd.append([row])", "[row]"),
    "a row in keywords": ("d = Dataset('d')\nd.append(id=1)", "id"),
    "a method that no dataset has": ("d = Dataset('d')\nd.extend([])", "extend"),
    "the text of a template": ("load(open('main.yml.j2').read())", "open('main.yml.j2').read()"),
    "two values of a metric": (
        "@numeric_metric(allowed_values=(0, 1))\ndef f(a):\n    return len(a), 'why'",
        "len(a), 'why'",
    ),
    "an awaited method of a dataset": (
        "async def f():\n    d = Dataset('d')\n    await d.save()",
        "d.save()",
    ),
    "an awaited method of results": (
        EXPERIMENT + "async def f():\n    r = await triage.arun([])\n    await r.save()",
        "r.save()",
    ),
    "an experiment without a row": (EXPERIMENT.replace('row, prompt_file="main.yml.j2"', ""), "triage"),
    "a misspelled argument of an evaluation": ("evaluate(dataset=d, metric=m)", "metric"),
    "a run with an unknown parameter": (EXPERIMENT + "x = triage.arun([], promptfile='a')", "promptfile"),
}
RIGHT = {
    "attributes and methods of a prompt": (
        "p = load('main.yml.j2').render()\nprint(p.messages, p.tokens.total, p.truncate().removed)"
    ),
    "an attribute that the program sets": "t = load('main.yml.j2')\nt.version = 2\nprint(t.version)",
    "an attribute of a subclass": "load('main.yml.j2').rows",
    "a function of the same name": "from promptls.tokens import load as f\nf('o200k_base').encode('a')",
    "a metric without a name": "from promptls.metrics import AspectCritic\nAspectCritic(definition='a?')",
    "all in order": METRIC + EXPERIMENT + "quality.score(response='a', expected='b').value",
    "unpacked arguments": METRIC + "quality.score(**values)",
    "a bare experiment": EXPERIMENT.replace("experiment()", "experiment"),
    "another program's load": "import json\njson.load(stream, encodin='x')",
    "a backend of a plugin": "Dataset('d', backend='s3', root_dir='.')",
    "one template of two": "Prompt(raw_template='', template_path=None)",
    "a call that must fail": (
        "import pytest\nwith pytest.raises(ValueError):\n    Dataset.load('d', backend='csv', root_dir='.')"
    ),
    "a path that is like no other": "load('elsewhere.yml.j2')",
    "values that are truth values": METRIC.replace('["good", "bad"]', "[True, False]").replace(
        '"good" if response == expected else "bad"', "a == b"
    ),
    "rows with other keys": ROWS.replace("'label': 3", "'lable': 3").replace("'label': 4", "'lable': 4"),
    "an item of a list": METRIC + "def f():\n    r = rank(response='a')\n    return r['value']",
    "an awaited run": EXPERIMENT + "import asyncio\nasyncio.run(triage.arun([], prompt_file='b', name='c'))",
    "a parameter after the backend": (
        EXPERIMENT.replace('="main.yml.j2"', "") + "x = triage.arun([], 'c', None, 'main.yml.j2')"
    ),
    "a score before another metric of the name": (
        METRIC + "quality.score(response='a', expected='b')\n" + METRIC.replace("expected", "reference")
    ),
    "an experiment that is written twice": (
        EXPERIMENT + "x = triage.arun([], prompt_file='b')\n" + EXPERIMENT.replace("prompt_file=", "path=")
    ),
    "a dataset that another function may change": (
        EXPERIMENT
        + "d = Dataset('d')\nr = [{'idd': 1}]\nr.append(more)\nfor each in r:\n    d.append(each)\n"
        "x = triage.arun(d)"
    ),
    "an experiment that is called with a row": EXPERIMENT
    + "d = Dataset('d')\nfor r in d:\n    x = triage(r)",
    "a method of another object": "d = other()\nd.add({'id': 1})\nd = Dataset('d')",
    "a value that is computed": METRIC.replace('"good" if', 'f"{a}" if'),
}
IMPORTS = (
    "from promptls import Dataset, DiscreteMetric, MetricResult, Prompt, discrete_metric, experiment, load\n"
    "from promptls import evaluate, numeric_metric\n"
)


def found(folder: Path, text: str) -> list[str]:
    """Return the underlined text of each finding."""
    (folder / "main.yml.j2").write_text("- name: a\n  content: b\n")
    findings = findings_in_library_calls(text, str(folder / "program.py"), Project())
    assert all(finding.rule == "wrong-arguments" for finding in findings)
    return [text[finding.span.start : finding.span.end] for finding in findings]


@pytest.mark.parametrize(("text", "place"), WRONG.values(), ids=WRONG)
def test_a_wrong_use_is_reported_at_its_place(tmp_path: Path, text: str, place: str) -> None:
    assert found(tmp_path, IMPORTS + text) == [place]


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_right_use_is_not_reported(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, IMPORTS + text) == []


@pytest.mark.parametrize(
    "text",
    [
        "from ragas import experiment\n@experiment\ndef f(row): return {}",
        "from ragas.metrics import discrete_metric\n@discrete_metric(allowed_values=('a',))\ndef f(): ...",
        "from ragas.metrics import ranking_metric\n@ranking_metric(allowed_values=[0, 1])\ndef f(): ...",
    ],
)
def test_what_only_ragas_rejects_is_reported_in_its_programs(tmp_path: Path, text: str) -> None:
    assert len(found(tmp_path, text)) == 1
    assert found(tmp_path, text.replace("ragas.metrics", "promptls").replace("ragas", "promptls")) == []


def test_a_field_of_a_metrics_prompt_is_the_typo_if_the_value_has_the_name_of_the_argument(
    tmp_path: Path,
) -> None:
    text = JUDGED.replace("{notes}", "{nots}")
    assert found(tmp_path, text.replace('notes="c"', 'notes=row["notes"]')) == ["nots"]
    assert found(tmp_path, text) == ["notes"]


def test_an_argument_of_a_decorator_that_ragas_ignores_is_reported_if_it_is_a_typo(tmp_path: Path) -> None:
    text = "from ragas.metrics import discrete_metric\n@discrete_metric(allowed_value=['a'])\ndef f(): ..."
    assert found(tmp_path, text) == ["allowed_value"]
    assert found(tmp_path, text.replace("allowed_value=", "owner=")) == []


@pytest.mark.parametrize("package", ["ragas", "promptls"])
@pytest.mark.parametrize("name", ["discrete_metric", "DiscreteMetric", "NumericMetric"])
def test_allowed_values_in_one_text_are_reported(tmp_path: Path, package: str, name: str) -> None:
    text = f"from {package}.metrics import {name}\nmetric = {name}(name='a', allowed_values='yes, no')\n"
    assert found(tmp_path, text) == ["'yes, no'"]
    assert found(tmp_path, text.replace("'yes, no'", "values")) == []


JUDGED = """from ragas.metrics import DiscreteMetric
metric = DiscreteMetric(name="a", prompt="Is {response} like {notes}? {{so}}", allowed_values=["yes", "no"])
metric.score(llm=llm, response="b", notes="c", more="d")
"""


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("notes=", "note=", ["note"]),
        ('{notes}? {{so}}", allowed', '{note}? {{so}}", allowed', ["notes"]),
        ('notes="c"', 'note=row["notes"]', ["note"]),
        (', notes="c"', "", ["metric.score"]),
        (', notes="c"', ", **more", []),
        ("metric = ", "metric = other()\nmetric = ", []),
        ("{notes}", "{notes.text}", []),
        ("{{so}}", "{'so': 1}", ["{'so'"]),
        ("{{so}}", "{}", ["{}"]),
        ('"Is {response} like {notes}? {{so}}"', "f'{texts}'", []),
    ],
)
def test_the_fields_of_a_metrics_prompt_are_given(
    tmp_path: Path, old: str, new: str, places: list[str]
) -> None:
    assert found(tmp_path, JUDGED) == []
    assert found(tmp_path, JUDGED.replace(old, new, 1)) == places


def test_a_field_of_a_class_is_no_variable(tmp_path: Path) -> None:
    result = "class Result(BaseModel):\n    metric: str\n    other: int = 1\n"
    wrong = JUDGED.replace(', notes="c"', "")
    assert found(tmp_path, JUDGED + result) == []
    assert found(tmp_path, wrong + result) == ["metric.score"]
    assert found(tmp_path, wrong + "class Result:\n    metric = 1\n") == ["metric.score"]


@pytest.mark.parametrize(
    ("prompt", "allowed", "places"),
    [
        ("\"{a}: answer 'good' or 'bad'.\"", '["pass", "fail"]', ["good"]),
        ("\"Check {a}. Return 'pass' or 'failed'.\"", '["pass", "fail"]', ["failed"]),
        ('"Check {a}. Return `a`, `b` or `c`."', '["a", "b", "c"]', []),
        ("\"Check {a}. Return 'pass' or 'n/a'. Else, fail.\"", '["pass", "fail"]', []),
        ("\"Does {a} mention 'x' or 'y'?\"", '["pass", "fail"]', []),
        ("\"Pass if {a}. If it is one, return 'x' or 'y'.\"", '["pass", "fail"]', []),
        ('f"{a}: pass or fail?"', '["pass", "fail"]', ["{a}"]),
        ('f"{{a}}: pass or {fail}?"', '["pass", "fail"]', []),
        ('"{a}: pass or fail?".format(a=a)', '["pass", "fail"]', ["a"]),
        ("PROMPT", '["pass", "fail"]', ["yes"]),
        ('"Eyes on {a}. Is it fine? Answer yes or no."', '["pass", "fail"]', ["yes"]),
        ('"Is {a} fine? Answer Yes or No."', '["yes", "no"]', []),
        ('"Answer yes or no on {a}, then return pass or fail."', '["pass", "fail"]', []),
    ],
)
def test_the_prompt_of_a_metric_asks_for_its_values(
    tmp_path: Path, prompt: str, allowed: str, places: list[str]
) -> None:
    text = (
        "from ragas.metrics import DiscreteMetric\n"
        'PROMPT = """Is {a} fine?\nAnswer only "yes" or "no"."""\n'
        f"judge = DiscreteMetric(name='n', allowed_values={allowed}, prompt={prompt})\n"
        "judge.score(a='b', llm=llm)\n"
    )
    assert found(tmp_path, text) == places


@pytest.mark.parametrize(
    ("allowed", "places"), [("", ["1 to 5"]), (", allowed_values=(1, 5)", []), (", allowed_values=all", [])]
)
def test_the_scale_in_the_prompt_of_a_metric_is_allowed(
    tmp_path: Path, allowed: str, places: list[str]
) -> None:
    prompt = "Rate {a} on a scale of 1 to 5."
    text = (
        f"from ragas.metrics import NumericMetric\nm = NumericMetric(name='n', prompt='{prompt}'{allowed})\n"
    )
    assert found(tmp_path, text) == places


def test_the_metrics_of_a_file_beside_the_program_are_known(tmp_path: Path) -> None:
    (tmp_path / "scores.py").write_text(IMPORTS + METRIC)
    program = f"{IMPORTS}from scores import quality\nquality.score(response='a', expectd='b')"
    assert found(tmp_path, program) == ["expectd"]


RAGAS = """
from openai import AsyncOpenAI, OpenAI
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric, faithfulness
from ragas.metrics.collections import ContextRecall

client = AsyncOpenAI()
llm = llm_factory("gpt-4o-mini", client=client)
recall = ContextRecall(llm=llm)
quality = DiscreteMetric(name="q", prompt="Is {response} fine?")

async def run(row):
    result = await recall.ascore(user_input="a", retrieved_contexts=["b"], reference="c")
    other = await quality.ascore(response="d", llm=llm)
    return result.value, other.value.upper(), other.upper()
"""


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("result.value", "result.score", ["score"]),
        ("result.value", "result.quality", ["quality"]),
        ("client=client", "client", ["client"]),
        ("client = Async", "client = ", ["recall.ascore", "quality.ascore"]),
        (", llm=llm)\n    return", ")\n    return", ["quality.ascore"]),
        ("import ContextRecall", "import ContextRecal as ContextRecall", ["ContextRecal"]),
        ("faithfulness", "faithfullness", ["faithfullness"]),
        ("faithfulness", "context_relevancy", []),
        ("faithfulness", "my_own_metric", []),
        ("faithfulness", "_Faithfulness", []),
        ("faithfulness", "_AnswerRelevancy", []),
        ("client=client", "provider", []),
    ],
)
def test_what_fails_with_metrics_of_ragas_is_reported(
    tmp_path: Path, old: str, new: str, places: list[str]
) -> None:
    assert found(tmp_path, RAGAS) == []
    assert found(tmp_path, RAGAS.replace(old, new)) == places


@pytest.mark.parametrize(
    ("call", "places"),
    [
        ("RunConfig(timeout=1, max_workers=1)", []),
        ("RunConfig(time_out=1)", ["time_out"]),
        ("evaluate(query_engine=a, dataset=rows, metrics=[])", ["query_engine"]),
        ("from ragas.integrations.llama_index import evaluate as ask\nask(query_engine=a)", []),
        ("evaluate(rows, metrics=[Faithfulness(llm=a)], run_cfg=b)", ["run_cfg"]),
        ("Faithfulness(llm=a, embeddings=b)", ["embeddings"]),
        ("from ragas import metrics\nmetrics.Faithfulness(llm=a, embeddings=b)", ["embeddings"]),
        ("import ragas.metrics as m\nm.Faithfulness(llm=a, embeddings=b)", ["embeddings"]),
        ("FactualCorrectness(mode='recall')", []),
        ("from ragas.metrics._answer_relevance import AnswerRelevancy", []),
        ("from ragas.metrics._answer_relevancy import AnswerRelevancy", ["_answer_relevancy"]),
        ("FactualCorrectness(mode='f-1')", ["'f-1'"]),
        ("FactualCorrectness(mode=mode)", []),
        ("ContextRecall(llm=a, anything=b)", []),
        ("TestsetGenerator(llm=a, embedding_model=b)", []),
        ("TestsetGenerator(generator_llm=a, critic_llm=b, embeddings=c)", []),
        ("TestsetGenerator(llm=a, embeddings=b)", ["embeddings"]),
        ("Faithfulness(llm='gpt-4o')", ["'gpt-4o'"]),
        ("MODEL = 'gpt-4o'\nevaluate(rows, llm=MODEL)", ["MODEL"]),
        ("from ragas.llms import LangchainLLMWrapper\nLangchainLLMWrapper('gpt-4o')", ["'gpt-4o'"]),
        ("generator.generate_with_langchain_docs(docs, testset_size=1)", []),
        ("generator.generate_with_langchain_docs(docs, size=1)", ["size"]),
    ],
)
def test_the_arguments_of_classes_of_ragas_are_known(tmp_path: Path, call: str, places: list[str]) -> None:
    program = (
        "from ragas import RunConfig, evaluate\nfrom ragas.metrics import FactualCorrectness, Faithfulness\n"
        "from ragas.metrics.collections import ContextRecall\nfrom ragas.testset import TestsetGenerator\n"
    )
    assert found(tmp_path, program + call) == places


@pytest.mark.parametrize(
    ("call", "places"),
    [
        ("evaluate(rows, metrics=[], llm=a)", []),
        ("evaluate(rows, metrics=[], raise_exceptions=False)", ["raise_exceptions"]),
        ("evaluate(rows)", ["evaluate"]),
        ("load(path, limit=9)", ["limit"]),
        ("discrete_metric(name='a', allowed_value=['b'])", ["allowed_value"]),
    ],
)
def test_the_arguments_of_functions_of_promptls_are_known(
    tmp_path: Path, call: str, places: list[str]
) -> None:
    assert found(tmp_path, f"from promptls import discrete_metric, evaluate, load\n{call}\n") == places


def test_what_a_file_beside_the_program_defines_is_known(tmp_path: Path) -> None:
    models = "from pydantic import BaseModel\n"
    models += "".join(f"class {name}(BaseModel):\n    text: str\n" for name in ("A", "B"))
    judge = "quality = DiscreteMetric(name='q', prompt='Is {response} fine?')\n"
    (tmp_path / "shared.py").write_text(IMPORTS + EXPERIMENT + models + judge)
    program = (
        f"{IMPORTS}from ragas.prompt import PydanticPrompt\nfrom shared import A, B, quality, triage\n"
        "class Ask(PydanticPrompt[A, B]):\n    examples = [(A(txt='a'), B(text='b'))]\n"
        "x = triage.arun([], promptfile='a')\nquality.score(respons='a')\n"
    )
    assert found(tmp_path, program) == ["txt", "promptfile", "respons"]


OBJECT = """import promptls
prompt = promptls.Prompt(
    name="triage", instruction="Sort.", input_keys=["ticket"], output_key="label",
    output_type="str", examples=[{"ticket": "It broke", "label": "bug"}],
)
prompt.format(ticket="It broke")
"""


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('{"ticket"', '{"tiket"', '"tiket"'),
        ('"label": "bug"', '"lable": "bug"', '"lable"'),
        (', "label": "bug"', "", '{"ticket": "It broke"}'),
        ('["ticket"]', '"ticket"', '"ticket"'),
        ('["ticket"]', '["tick" "et"]', '"tick" "et"'),
        ('output_type="str"', 'output_type="JSON"', '"JSON"'),
        ('output_key="label"', 'output_key=["label"]', '["label"]'),
        ("format(ticket", "format(tickets", "tickets"),
        ("Sort.", "", '""'),
        ("Sort.", "Sort {tiket}.", "tiket"),
        ("Sort.", "Sort as {bug}.", "{bug"),
        ("Sort.", "Sort as {.", '"Sort as {."'),
        ('format(ticket="It broke")', "format()", "prompt.format"),
        ('format(ticket="It broke")', 'format("It broke")', '"It broke"'),
        ('output_type="str"', 'output_type="json"', '"bug"'),
        ("prompt.format(", 'prompt.save(path="a")\nprompt.format(', "path"),
        ("prompt.format(", "model.invoke(prompt.to_string())\nprompt.format(", "prompt.to_string()"),
    ],
)
def test_a_wrong_prompt_object_is_reported(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert found(tmp_path, OBJECT) == found(tmp_path, OBJECT.replace("Sort.", "{ticket} {{a}}")) == []
    assert found(tmp_path, OBJECT.replace(old, new)) == [place]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [('["ticket"]', '["tickets"]', '"tickets"'), ('output_key="label"', 'output_key="labels"', '"labels"')],
)
def test_a_declared_key_is_the_typo_if_all_examples_have_another(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    examples = '{"ticket": "It broke", "label": "bug"}, {"ticket": "It works", "label": "praise"}'
    text = OBJECT.replace('{"ticket": "It broke", "label": "bug"}', examples).rpartition("prompt.format")[0]
    assert found(tmp_path, text) == []
    assert found(tmp_path, text.replace(old, new)) == [place]


def test_an_input_of_another_type_than_in_other_examples_is_reported(tmp_path: Path) -> None:
    examples = '{"ticket": ["It broke"], "label": "bug"}, {"ticket": "It works", "label": "praise"}'
    examples += ', {"ticket": "It fails", "label": "bug"}'
    text = OBJECT.replace('{"ticket": "It broke", "label": "bug"}', examples)
    assert found(tmp_path, text) == ['["It broke"]']
    assert found(tmp_path, text.replace('"It fails"', "5")) == []
    assert found(tmp_path, text.replace('["It broke"]', "broken")) == []


def test_keys_in_one_text_become_a_list(tmp_path: Path) -> None:
    text = OBJECT.replace('["ticket"]', '"ticket, tone"')
    (finding,) = findings_in_library_calls(text, str(tmp_path / "program.py"), Project())
    assert apply_edits(text, finding.fixes[0].edits) == OBJECT.replace('["ticket"]', '["ticket", "tone"]')


@pytest.mark.parametrize("module", ["ragas.llms.prompt", "ragas.prompt"])
def test_a_prompt_object_of_ragas_is_known_by_its_keys(tmp_path: Path, module: str) -> None:
    text = OBJECT.replace("import promptls", f"from {module} import Prompt").replace(
        "promptls.Prompt", "Prompt"
    )
    assert found(tmp_path, text) == []
    assert found(tmp_path, text.replace('{"ticket"', '{"tiket"')) == ['"tiket"']
    assert found(tmp_path, f"from {module} import Prompt\nPrompt(instruction='a', response_model=B)") == []


@pytest.mark.parametrize(
    "change",
    ["prompt = other()", "prompt.input_keys = ['text']", "def f(prompt): ...", "for prompt in others: ..."],
)
def test_a_prompt_object_that_may_be_another_is_not_compared(tmp_path: Path, change: str) -> None:
    text = OBJECT.replace("format(ticket", "format(text")
    assert found(tmp_path, f"{text}{change}\n") == []
