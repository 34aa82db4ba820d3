"""OpenCompass configurations in Python: read without being run, and written as evaluation prompts."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptls.convert import python_interpreter
from promptls.convert.formats import convert
from promptls.convert.opencompass import Configuration, evaluation_prompt, read_configuration
from promptls.convert.python_values import MAX_ITEMS, PlacedText, TextPiece, is_huge
from promptls.dialects.prompt_poet.document import load
from promptls.dialects.prompt_poet.template_rendering import render_text
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import UserError
from promptls.workspace.configuration_files import ConfigurationFiles
from support.configuration_files import FilesOf

INFER = "infer_cfg=dict(prompt_template=dict(template=t), retriever=dict(type=ZeroRetriever))"


def templates(text: str, files: dict[str, str] | None = None) -> list[Any]:
    """Return the `template` of each dataset."""
    read = read_configuration(text, FilesOf(files))
    return [each["infer_cfg"]["prompt_template"]["template"] for each in read.datasets]


SETTING = {
    "a text": (f"t = 'Q: {{q}}'\nx_datasets = [dict({INFER})]", ["Q: {q}"]),
    "a loop": (
        (
            "x_datasets = []\nfor n in ['a', 'b']:\n  t = f'{n.upper()}: {{q}}'\n"
            f"  x_datasets.append(dict({INFER}))"
        ),
        ["A: {q}", "B: {q}"],
    ),
    "a loop that leaves out": (
        (
            "x_datasets = []\nfor n in range(4):\n  if n == 1: continue\n  if n > 2: break\n"
            f"  t = n * 'x'\n  x_datasets += [dict({INFER})]"
        ),
        ["", "xx"],
    ),
    "variables by their names": (
        (
            "x_datasets = []\ndef keep(t):\n  globals()['x_' + 'datasets'].append(dict({INFER}))\n"
            "keep('a')\nt = eval('Cl' + 'ass')\nglobals()['x_datasets'].append(dict({INFER}))"
        ).replace("{INFER}", INFER),
        ["a", "Class"],
    ),
    "another name for what is imported": (
        f"from opencompass.datasets import ClassA as B\nt = B\nx_datasets = [dict({INFER})]",
        ["ClassA"],
    ),
    "a comprehension": (
        f"t = {{o: f'{{o}}.' for o in 'ABC' if o != 'B'}}\nx_datasets = [dict({INFER})]",
        [{"A": "A.", "C": "C."}],
    ),
    "items": (
        f"names = {{'a': ['A', 1]}}\nx_datasets = [dict({INFER}) for t, _ in names.values()]",
        ["A"],
    ),
    "a function": (
        (
            f"def made(t, end='!'):\n  t = t + end\n  return dict({INFER})\n"
            "x_datasets = [made('a'), made('b', end='?')]"
        ),
        ["a!", "b?"],
    ),
    "unpacking": (
        f"t = dict(begin='</E>', **{{'round': [dict(role='HUMAN')]}})\nx_datasets = [{{**dict({INFER})}}]",
        [{"begin": "</E>", "round": [{"role": "HUMAN"}]}],
    ),
    "logic": (f"t = ('a'\n 'b') if 1 in [1] and not [] else 'c'\nx_datasets = [dict({INFER})]", ["ab"]),
    "keys that are numbers": (
        f"t = {{0: 'no', 1: 'yes'}}\nx_datasets = [dict({INFER})]",
        [{0: "no", 1: "yes"}],
    ),
    "a later change": (
        f"t = 'a'\nx = dict({INFER})\nx['infer_cfg']['prompt_template']['template'] = 'b'\nx_datasets = [x]",
        ["b"],
    ),
    "variables alone": (
        (
            "t = 'a'\nmy_infer_cfg = dict(prompt_template=dict(template=t))\n"
            "my_reader_cfg = dict(input_columns=['q'])"
        ),
        ["a"],
    ),
    "a class that decides": (
        f"if dict(type=PPLInferencer)['type'] == PPLInferencer:\n  t = 'yes'\nx_datasets = [dict({INFER})]",
        ["yes"],
    ),
    "what only running gives": (
        "t = 'a %s' % 1\ninfer_cfg = dict(prompt_template=dict(template=t))",
        ["'a %s' % 1"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), SETTING.values(), ids=SETTING)
def test_data_is_read_as_python_would_make_it(text: str, expected: list[Any]) -> None:
    assert templates(text) == expected


def test_neighbors_are_read_by_their_imports() -> None:
    files = {
        "base/a.py": f"from .b import t\na_datasets = [dict({INFER})]",
        "base/b.py": "t = 'from b'",
        "../c.py": "c_datasets = []\n_hidden = 1",
    }
    text = (
        "from mmengine.config import read_base\n"
        "with read_base():\n"
        "    from .base.a import a_datasets\n"
        "    from ..c import *\n"
        "    from .base.missing import d_datasets\n"
        "datasets = sum((v for k, v in locals().items() if k.endswith('_datasets')), [])\n"
    )
    assert templates(text, files) == ["from b"]


def test_texts_beside_the_configuration_are_read(tmp_path: Path) -> None:
    (tmp_path / "hint.txt").write_text("Think.", "utf-8")
    text = (
        "import os\n"
        "with open(os.path.join(os.path.dirname(__file__), 'hint.txt'), 'r') as f:\n"
        "    t = f.read() + ' {q}'\n"
        f"x_datasets = [dict({INFER})]\n"
    )
    assert templates(text, {"./hint.txt": "Think."}) == ["Think. {q}"]
    assert ConfigurationFiles(str(tmp_path / "config.py")).text("./hint.txt") == "Think."


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "folder/../../secret.txt", "\0", "."])
def test_other_files_are_not_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x", "utf-8")
    (tmp_path / "folder").mkdir()
    assert ConfigurationFiles(str(tmp_path / "folder" / "config.py")).text(name) is None


def test_nothing_is_run(tmp_path: Path) -> None:
    target = tmp_path / "made"
    call = f"(lambda: __import__('os').mkdir({str(target)!r}))()"
    text = (
        f"open({str(target)!r}, 'w').write('x')\n"
        f"__import__('os').mkdir({str(target)!r})\n"
        f"t = {call}\n"
        f"x_datasets = [dict({INFER})]\n"
    )
    read = read_configuration(text)
    assert not target.exists()
    assert read.unread == (ast.unparse(ast.parse(call)),)  # Python 3.10 writes `lambda :`


@pytest.mark.parametrize(
    "text",
    [
        "x = 'a'\nfor i in range(99):\n  x = x + x",
        "x = [1]\nfor i in range(99):\n  x = [x, x]\nmy_datasets = [dict(infer_cfg=dict(a=x))]",
        "x = {}\nx['infer_cfg'] = x\nmy_datasets = [x]",
        "for a in range(9999):\n  for b in range(9999):\n    c = a + b",
        "x = '{:>999999999}'.format(1) + f'{1:999999999}'",
        "def f(x):\n  return f(x)\ny = f(1)",
        "x = " + " + ".join(["'a'"] * 5000),
        "x = 9 * 9\nfor i in range(99):\n  x = x * x",
        "x = [",
        "infer_cfg = 1",
        "\0",
    ],
)
def test_what_is_no_configuration_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_interpreter, "_MAX_STEPS", 50_000)
    with pytest.raises(UserError):
        read_configuration(text)


def test_a_text_of_more_pieces_than_a_person_writes_is_not_built() -> None:
    assert is_huge(PlacedText.of([TextPiece("a")] * (MAX_ITEMS + 1)))
    assert not is_huge(PlacedText.of([TextPiece("a" * (MAX_ITEMS + 1))]))


ODD = {
    "abbr": "a: b",
    "path": "a/b",
    "infer_cfg": {
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {
                0: "{q}\n{{a}} {% x %} {# y #}\n",
                "yes": "a\n\n  b\n\n",
                "null": " starts\nwith a space",
                "#": "trailing \nspace",
                "": "\ttab\n",
                "long": "word " * 40 + "\nend",
            },
            "ice_token": "</E>",
        },
        "retriever": {"type": "FixKRetriever", "fix_id_list": []},
        "inferencer": {"type": "GenInferencer", "stopping_criteria": ["\n", "- x\ny"]},
    },
    "eval_cfg": {"evaluator": {}, "pred": None, "deep": [[{"a": "x\ny"}], [], True, 1.5]},
    "reader_cfg": {"input_columns": ["q"], "output_column": None},
}


def test_what_is_written_renders_to_the_same_data() -> None:
    text = evaluation_prompt(ODD, ()).text
    rendered = render_text("/p/a.yml.j2", {}, unsaved={"/p/a.yml.j2": text}).text
    assert load(rendered) == ODD
    assert Template(Source.of(text)).kind is Kind.EVALUATION


def test_texts_of_many_lines_are_written_as_lines() -> None:
    made = evaluation_prompt({"infer_cfg": {"prompt_template": {"template": "Q: {q}\nA: {a}"}}}, ())
    assert made.text == ("infer_cfg:\n  prompt_template:\n    template: |-\n      Q: {q}\n      A: {a}\n")


TWO = (
    "x_datasets = [dict(abbr=n, infer_cfg=dict(prompt_template=dict(template=n))) for n in ('one', 'two')]\n"
)


def test_one_data_set_is_converted_and_the_others_are_named() -> None:
    made = convert(TWO, "x.py", "opencompass", "evaluation")
    assert yaml.safe_load(made.text)["abbr"] == "one"
    assert made.lost == ("the other dataset of the file, which `--dataset` chooses: two",)
    chosen = convert(TWO, "x.py", "opencompass", "evaluation", dataset="two")
    assert (yaml.safe_load(chosen.text)["abbr"], chosen.lost) == ("two", ())
    with pytest.raises(UserError, match="no dataset `tow`; did you mean `two`"):
        convert(TWO, "x.py", "opencompass", "evaluation", dataset="tow")


def test_data_sets_have_names() -> None:
    assert Configuration(({"abbr": "a"}, {"name": "b"}, {}), ()).names() == ("a", "b", "3")


MODELS = """\
from opencompass.models import OpenAI, VLLMwithChatTemplate
meta = dict(round=[dict(role='HUMAN', api_role='HUMAN'), dict(role='BOT', api_role='BOT', generate=True)])
models = [
    dict(type=OpenAI, abbr='gpt', meta_template=meta, key='ENV'),
    dict(type=VLLMwithChatTemplate, path='org/model', max_seq_len=2048),
]
"""


def test_packages_are_read_inside_of_read_base_alone() -> None:
    files = {
        "opencompass/configs/datasets/a.py": f"from .b import t\na_datasets = [dict({INFER})]",
        "opencompass/configs/datasets/b.py": "t = 'from b'",
        "opencompass/configs/models/m.py": MODELS,
        "opencompass/datasets.py": "raise SystemExit",
    }
    text = (
        "from mmengine.config import read_base\n"
        "from opencompass.datasets import A\n"
        "with read_base():\n"
        "    from opencompass.configs.datasets.a import a_datasets\n"
        "    from opencompass.configs.models.m import models as own\n"
        "    from opencompass.configs.missing import c_datasets\n"
        "datasets = a_datasets\n"
        "models = own\n"
    )
    read = read_configuration(text, FilesOf(files))
    assert [each["infer_cfg"]["prompt_template"]["template"] for each in read.datasets] == ["from b"]
    assert read.missing == ("opencompass.configs.missing",)
    assert [(each["abbr"], each["type"]) for each in read.models] == [
        ("gpt", "OpenAI"),
        ("org_model", "VLLMwithChatTemplate"),
    ]


def test_a_configuration_of_nothing_but_a_missing_package_names_it() -> None:
    text = (
        "with read_base():\n    from opencompass.configs.missing import a_datasets\ndatasets = a_datasets\n"
    )
    with pytest.raises(UserError, match=r"`opencompass\.configs\.missing` is not found") as caught:
        read_configuration(text)
    assert caught.value.remedy is not None
    assert "opencompass" in caught.value.remedy


def test_models_are_converted_with_their_meta_templates() -> None:
    text = MODELS + f"t = 'Q'\ndatasets = [dict({INFER})]\n"
    made = yaml.safe_load(convert(text, "config.py", "opencompass", "evaluation").text)
    assert made["models"] == [
        {
            "abbr": "gpt",
            "type": "OpenAI",
            "meta_template": {
                "round": [
                    {"role": "HUMAN", "api_role": "HUMAN"},
                    {"role": "BOT", "api_role": "BOT", "generate": True},
                ]
            },
        },
        {"abbr": "org_model", "type": "VLLMwithChatTemplate", "max_seq_len": 2048},
    ]


@pytest.mark.parametrize("where", ["above", "checkout", "setting", "installed"])
def test_a_package_is_found(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {
        "above": tmp_path,
        "checkout": tmp_path / "opencompass",
        "setting": tmp_path / "elsewhere",
        "installed": tmp_path / "site",
    }[where]
    file = package / "opencompass/configs/a.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = open('b.txt').read()", "utf-8")
    (file.parents[1] / "__init__.py").write_text("raise SystemExit", "utf-8")
    (file.parent / "b.txt").write_text("Think.", "utf-8")
    (file.parent / "key").write_text("secret", "utf-8")
    (tmp_path / "evals").mkdir()
    if where == "setting":
        (tmp_path / "promptls.toml").write_text('opencompass = "elsewhere"', "utf-8")
    if where == "installed":
        monkeypatch.syspath_prepend(str(package))
        monkeypatch.delitem(sys.modules, "opencompass", raising=False)
    files = ConfigurationFiles(str(tmp_path / "evals" / "config.py"))
    found = files.module("opencompass.configs.a")
    assert found == file.as_posix()
    assert files.text(found) == "x = open('b.txt').read()"
    assert files.text(str(file.with_name("b.txt"))) == "Think."
    assert files.text(str(file.with_name("key"))) is None
    assert files.module("opencompass.configs.b") is None
    assert files.module("opencompass.../a") is None


def test_mappings_are_those_of_mmengine() -> None:
    text = (
        f"t = 'a'\nx = dict({INFER})\ny = x.deepcopy()\ny.infer_cfg.prompt_template.template = 'b'\n"
        "x_datasets = [x, y]"
    )
    assert templates(text) == ["a", "b"]
