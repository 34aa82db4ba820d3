"""Findings in OpenCompass configurations in Python, and their places."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.configurations import findings_in_configuration
from promptls.settings.project import Project
from support.configuration_files import FilesOf

ZERO = "retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer)"
SHOTS = (
    "ice_template=dict(template='Q'), retriever=dict(type=FixKRetriever, fix_id_list=[0]), "
    "inferencer=dict(type=GenInferencer)"
)
READER = "reader_cfg=dict(input_columns=['question', 'A'], output_column='answer')"


def found(text: str, files: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Return the rule of each finding, and the underlined text."""
    findings = findings_in_configuration(text, FilesOf(files), Project())
    return [(each.rule, text[each.span.start : each.span.end]) for each in findings or ()]


def one(template: str, *, before: str = "") -> str:
    """Return a configuration with one dataset whose `template` is the expression."""
    infer = f"infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template={template}), {ZERO})"
    return f"{before}q_datasets = [dict(type='D', {READER}, {infer})]\n"


def shown(template: str, *, before: str = "") -> str:
    """Return the same with an example, for which the template has a placeholder."""
    return (
        f"{before}q_infer_cfg = dict(prompt_template=dict(template={template}, ice_token='</E>'), {SHOTS})\n"
    )


FIELD = "unknown-field"
WRONG = {
    "a misspelled evaluator": (
        "from opencompass.openicl.icl_evaluator import EMEvaluater, OwnEvaluator\n"
        "from opencompass.openicl.icl_inferencer import GenInferencer\n"
        "from opencompass.openicl.icl_retriever import ZeroRetriever\n" + one("'Q: {question}'"),
        [("unresolved-import", "EMEvaluater")],
    ),
    "a text": (one("'Q: {qestion}'"), [(FIELD, "{qestion}")]),
    "texts after one another": (
        one("'Q: \\'\\n' \"\"\"\nx\\\ny {qestion}\"\"\""), [(FIELD, "{qestion}")]
    ),
    "a raw text": (one("r'\\d {qestion}'"), [(FIELD, "{qestion}")]),
    "a text with escapes": (one("'\\u4e2d\\x41\\N{BULLET}😀{qestion}'"), [(FIELD, "{qestion}")]),
    "an escape inside the words": (one("'{q\\x75estion} {q\\x65stio}'"), [(FIELD, "{q\\x65stio}")]),
    "letters of other planes ahead on the line": (one("'😀é{qestion}'"), [(FIELD, "{qestion}")]),
    "a sum of texts": (one("'Q: ' + '{qestion}'"), [(FIELD, "{qestion}")]),
    "a text that was stripped": (one("'''\n\n Q: {qestion}\n'''.strip()"), [(FIELD, "{qestion}")]),
    "an f-string": (one("f'{T}: {{qestion}}'", before="T = 'Task'\n"), [(FIELD, "{qestion}")]),
    "a text beside what is not known": (one("OTHER + ' {qestion}'"), [(FIELD, "{qestion}")]),
    "a text that is computed": (one("'Q: {qestion}'.replace('Q', 'A')"), [(FIELD, "template")]),
    "a variable that is used twice": (
        one("T", before="T = 'Q: {qestion}'\n") + one("T").replace("q_d", "r_d"), [(FIELD, "{qestion}")]
    ),
    "a loop over names": (
        ("x_datasets = []\nfor n in ['a', 'b']:\n  x_datasets.append(dict(abbr=n, "
        f"{READER}, infer_cfg=dict(prompt_template=dict(template=f'{{n}} {{{{qestion}}}}'), {ZERO})))\n"),
        [(FIELD, "{qestion}")],
    ),
    "a loop over what is not known": (
        ("x_datasets = []\nfor n in NAMES:\n  x_datasets.append(dict(abbr=n, "
        f"{READER}, infer_cfg=dict(prompt_template=dict(template=f'{{n}} {{{{qestion}}}}'), {ZERO})))\n"),
        [(FIELD, "{qestion}")],
    ),
    "braces instead of calls": (
        ("x_infer_cfg = {'ice_template': {'type': 'PromptTemplate', 'template': 'Q'}, "
        "'retriever': {'type': 'ZeroRetriever'}, 'inferencer': {'type': 'GenInferencer'}}\n"),
        [("missing-ice-token", "ice_template")],
    ),
    "an argument's name": (
        one("'Q'").replace("GenInferencer", "GenInferencer, max_out_ln=5"),
        [("unknown-evaluation-key", "max_out_ln")],
    ),
    "a key that is set later": (
        ("infer_cfg = dict(retriever=dict(type=ZeroRetriever))\n"
        "infer_cfg['ice_template'] = dict(template='Q')\n"),
        [("missing-ice-token", "ice_template")],
    ),
    "variables that stand alone": (
        (f"a_reader_cfg = dict(input_columns=['question'], output_column='b')\n"
        f"a_infer_cfg = dict(prompt_template=dict(type='PromptTemplate', template='{{qestion}}'), {ZERO})\n"),
        [(FIELD, "{qestion}")],
    ),
    "a mark in the text": (
        one("'{question}', ice_token='</E>'"),
        [("unused-ice-token", "ice_token"), ("missing-ice-token", "'</E>'")],
    ),
    "a number for a text": (
        one("'</E>{question}', ice_token=5"),
        [("invalid-evaluation-prompt", "ice_token"), ("unused-ice-token", "ice_token")],
    ),
    "a role of a dialogue": (
        one("dict(round=[dict(rol='HUMAN', prompt='{question}')])"),
        [("unknown-evaluation-key", "rol")],
    ),
    "a model's meta template": (
        ("models = [dict(abbr='m', meta_template=dict(round=[dict(role='HUMAN'), "
        "dict(role='HUMAN', generate=True)]))]\n"),
        [("invalid-evaluation-prompt", "'HUMAN'")],
    ),
    "a key of a model": (
        ("from opencompass.models import VLLM\n"
        "models = [dict(type=VLLM, path='a', batch_sise=8, max_seq_length=9)]\n"),
        [("unknown-evaluation-key", "batch_sise"), ("unknown-evaluation-key", "max_seq_length")],
    ),
    "a key of a model in a loop": (
        ("from opencompass.models import VLLM\n"
        "models = [dict(type=VLLM, path=path, batch_sise=8) for path in 'ab']\n"),
        [("unknown-evaluation-key", "batch_sise")],
    ),
    "a key of a model of a class of one's own": (
        ("from opencompass.models import OpenAI\nfrom mine import VLLM\n"
        "models = [dict(type=VLLM, batch_sise=8), dict(type=MyModel, batch_sise=8)]\n"),
        [],
    ),
    "a function of Python in an f-string": (
        one("f'Question: {input} {{question}}'"),
        [("unknown-evaluation-key", "input")],
    ),
    "a label that occurs twice": (
        one("{0: '{question} a', 0: '{question} b'}").replace("GenInferencer", "PPLInferencer"),
        [("invalid-ppl-template", "template"), ("unknown-evaluation-key", "0")],
    ),
    "labels that are forgotten": (
        one("{f'{{question}} {x}' for x in 'AB'}").replace("GenInferencer", "PPLInferencer"),
        [("unknown-evaluation-key", "{f'{{question}} {x}' for x in 'AB'}")],
    ),
    "a class that is imported under a misspelled name": (
        "from opencompass.openicl.icl_inferencer import GenInferncer, ZeroRetriever\n" + one("'{question}'"),
        [("unknown-evaluation-key", "GenInferncer")],
    ),
    "an expression in a text without its f": (
        ("x_datasets = []\nfor n in ['a', 'b']:\n  hint = 'About {n.upper()}'\n"
        f"  x_datasets.append(dict(abbr=n, {READER}, "
        f"infer_cfg=dict(prompt_template=dict(template=f'{{hint}} {{{{question}}}}'), {ZERO})))\n"),
        [("unknown-evaluation-key", "'About {n.upper()}'")],
    ),
    "a class that is called": (
        one("'{question}'").replace("type='PromptTemplate'", "type=PromptTemplate()"),
        [("unknown-evaluation-key", "PromptTemplate()")],
    ),
    "a number as a label": (
        ("x_infer_cfg = dict(prompt_template=dict(template={0: '</E>a', 1: 'b'}, ice_token='</E>'), "
        "ice_template=dict(template='x'), retriever=dict(type=FixKRetriever, fix_id_list=[0]), "
        "inferencer=dict(type=PPLInferencer))\n"),
        [("missing-ice-token", "template")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_found_once_under_the_guilty_words(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_lines_may_end_in_each_way(line_end: str) -> None:
    text = one("'''\n {question}\n {qestion}'''", before="# é\n")
    assert found(text.replace("\n", line_end)) == [(FIELD, "{qestion}")]


def test_a_mark_of_the_encoding_moves_no_place() -> None:
    assert found("\ufeff" + one("'{qestion}'")) == [(FIELD, "{qestion}")]


RIGHT = {
    "a prompt": one("'Q: {question}'"),
    "no Python": "infer_cfg = dict(prompt_template=",
    "no configuration": "def infer_cfg():\n    return {'prompt_template': 5}\n",
    "a template that is not known": shown("TEMPLATE"),
    "a text that ends in what is not known": shown("'Q' + TEMPLATE"),
    "a text that is filled with what is not known": shown("'Q {x}'.format(x=OTHER)"),
    "a choice that nobody knows": shown("'Q' if FAST else 'R</E>'"),
    "a branch that nobody knows": (
        f"infer_cfg = dict(ice_template=dict(type='PromptTemplate', template='Q'), {ZERO})\n"
        "if FAST:\n    infer_cfg['ice_template']['ice_token'] = '</E>'\n"
    ),
    "a name that is set in a branch": shown("T", before="T = 'Q'\nif FAST:\n  T = '</E>'\n"),
    "a function of another module": (
        f"infer_cfg = dict(ice_template=dict(template='Q'), {ZERO})\nadd_tokens(infer_cfg)\n"
    ),
    "a while": (
        f"infer_cfg = dict(ice_template=dict(type='PromptTemplate', template='Q'), {ZERO})\n"
        "while more():\n    infer_cfg['ice_template'].update(ice_token='</E>')\n"
    ),
    "a key that is taken out": (
        f"infer_cfg = dict(prompt_template=dict(tempalte='Q', template='R'), {ZERO})\n"
        "del infer_cfg['prompt_template']['tempalte']\n"
    ),
    "keys from another module": f"infer_cfg = dict(**BASE, ice_template=dict(template='Q'), {ZERO})\n",
    "classes of its own": (
        "infer_cfg = dict(ice_template=dict(type=MyTemplate, text='Q'), retriever=dict(type=Mine))\n"
    ),
    "braces that stay": one("'{{unknown}} \\\\frac{a}{b} {% raw %} {# #}'"),
    "a value that holds itself": "infer_cfg = dict()\ninfer_cfg['prompt_template'] = infer_cfg\n",
    "a meta template that is right": (
        "models = [dict(meta_template=dict(round=[dict(role='HUMAN'), dict(role='BOT', generate=True)]))]\n"
    ),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_is_right_or_cannot_be_known_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_errors_of_an_imported_file_are_reported_there() -> None:
    neighbor = "a_infer_cfg = dict(ice_template=dict(type='PromptTemplate', template='Q'))\n"
    text = (
        "with read_base():\n    from .neighbor import a_infer_cfg\n"
        f"x_datasets = [dict({READER}, infer_cfg=a_infer_cfg)]\n"
    )
    assert found(text, {"neighbor.py": neighbor}) == []
    assert found(neighbor) == [("missing-ice-token", "ice_template")]


def test_errors_of_a_combination_are_reported_where_it_is_made() -> None:
    neighbor = "TEMPLATE = dict(template='Q')\n"
    text = "from .neighbor import TEMPLATE\na_infer_cfg = dict(ice_template=TEMPLATE)\n"
    assert found(text, {"neighbor.py": neighbor}) == [("missing-ice-token", "ice_template")]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (one("'Q: {qestion}'"), one("'Q: {question}'")),
        (one("f'{1} {{qestion}}'"), one("f'{1} {{question}}'")),
        (one("'''\n {qestion}\n'''.strip()"), one("'''\n {question}\n'''.strip()")),
        (one("'Q', ice_tokn=None"), one("'Q', ice_token=None")),
        (one("{'round': [{'rol': 'HUMAN'}]}"), one("{'round': [{'role': 'HUMAN'}]}")),
        (
            one("'{question}'").replace("type=GenInferencer", "type=GenInferencer, max_out_len='5'"),
            one("'{question}'").replace("type=GenInferencer", "type=GenInferencer, max_out_len=5"),
        ),
    ],
)
def test_a_fix_changes_the_words_in_the_python(wrong: str, right: str) -> None:
    (finding,) = findings_in_configuration(wrong, FilesOf(), Project()) or ()
    (edit,) = finding.fixes[0].edits
    assert wrong[: edit.span.start] + edit.text + wrong[edit.span.end :] == right


def test_a_word_that_python_writes_with_an_escape_has_no_fix() -> None:
    (finding,) = findings_in_configuration(one("'{q\\x65stio}'"), FilesOf(), Project()) or ()
    assert finding.fixes == ()


def test_nothing_of_python_s_own_library_is_taken_for_a_configuration() -> None:
    listed = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:40:3]
    texts = [path.read_text("utf-8") + "\n# infer_cfg\n" for path in listed]
    assert [findings_in_configuration(text, FilesOf(), Project()) for text in texts] == [None] * len(texts)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("dict(template='Q')", "dict(ice_token='</E>', template='</E>Q')"),
        ("dict(template='''\n Q\n'''.strip())", "dict(ice_token='</E>', template='''\n </E>Q\n'''.strip())"),
        ("{'template': 'Q'}", "{'ice_token': '</E>', 'template': '</E>Q'}"),
    ],
)
def test_a_mark_for_examples_is_added_as_the_configuration_writes_its_keys(wrong: str, right: str) -> None:
    text = "a_infer_cfg = dict(ice_template=TEMPLATE, retriever=dict(type=ZeroRetriever))\n"
    (finding,) = findings_in_configuration(text.replace("TEMPLATE", wrong), FilesOf(), Project()) or ()
    (fix,) = finding.fixes
    fixed = apply_edits(text.replace("TEMPLATE", wrong), fix.edits)
    assert fixed == text.replace("TEMPLATE", right)
    assert found(fixed) == []
    assert not fix.preferred


def test_columns_that_only_the_dataset_class_makes_are_no_findings() -> None:
    assert found(one("'{other}'")) == []


def test_a_class_of_the_users_own_is_no_typo() -> None:
    own = one("'Q'").replace("GenInferencer", "GenInferencers")
    assert found(own) == [("unknown-evaluation-key", "type")]
    assert found(f"from mine import GenInferencers\n{own}") == []
    changed = {"opencompass/openicl.py": "class GenInferencers: ...\nclass ZeroRetriever: ...\n"}
    assert found(f"from opencompass.openicl import GenInferencers, ZeroRetriever\n{own}", changed) == []
    assert found(f"from opencompass.openicl import GenInferencers, ZeroRetriever\n{own}") == [
        ("unknown-evaluation-key", "type")
    ]


def test_a_template_that_is_filled_in_elsewhere_is_not_looked_at() -> None:
    loop = (
        f"q_infer_cfg = dict(prompt_template=dict(type='PromptTemplate', template=None), {ZERO})\n"
        "q_datasets = []\n"
        "for name in ['a', 'b']:\n"
        "    own = deepcopy(q_infer_cfg)\n"
        "    own['prompt_template']['template'] = name + ' {question}'\n"
        f"    q_datasets.append(dict({READER}, infer_cfg=own))\n"
    )
    assert found(loop) == []
    assert (
        found(f"q_infer_cfg = dict(prompt_template=dict(type='PromptTemplate', template=None), {ZERO})\n")
        == []
    )


@pytest.mark.parametrize(
    "text", [r"r'\\frac{\\sqrt{x}}{A} {A}'", r"'\frac{x}{y}'", r"r'$\\text{for }_{z}$ \\begin{aligned}{l}'"]
)
def test_braces_of_latex_are_no_fields(text: str) -> None:
    assert found(one(text)) == []


def test_a_base_that_is_not_there_is_reported_at_its_name() -> None:
    text = (
        "from .helpers import helper\n"
        "with read_base():\n"
        "    from .a import a_datasets\n"
        "    from .b import (\n        b_datasets)\n"
        "    from ..c.d import *\n"
        "    from known.e import e_datasets\n"
        "    from known.f import f_datasets\n"
        "    from other.g import g_datasets\n"
        "    try:\n        from .h import h_datasets\n    except ImportError:\n        pass\n"
        "    from .package import i_datasets\n"
    )
    files = {"a.py": "a_datasets = []", "known/e.py": "", "package/__init__.py": ""}
    assert found(text + one("'Q'"), files) == [
        ("unresolved-import", ".b"),
        ("unresolved-import", "..c.d"),
        ("unresolved-import", "known.f"),
    ]


def test_a_misspelled_name_of_a_base_is_reported_where_it_is_imported() -> None:
    text = (
        "with read_base():\n"
        "    from .a import a_dataset, math_datasets as other, helper\n"
        "    from .a import a_datasets, gone\n"
        "datasets = [*a_dataset, *other]\n"
    )
    files = {"a.py": "a_datasets = []\nmath_dataset = []\n"}
    assert found(text + one("'{question}'"), files) == [
        ("unresolved-import", "a_dataset"),
        ("unresolved-import", "math_datasets"),
    ]


def test_a_class_of_an_imported_module_is_no_typo_of_a_variable_in_it() -> None:
    text = "from .a import Scorer\nmeta_template = dict(round=[dict(role='BOT', generate=True)])\n"
    base = "class Scorer:\n    def score(self):\n        scorer = 1\n"
    assert found(text, {"a.py": base}) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("q_eval_cfg = dict(evaluator=dict(type='A'), pred_rol='BOT')\n", "pred_rol"),
        ("q_datasets = [dict(type='A', path='a', infer_cfg=q_infer_cfg)]\n", "dict"),
        ("q_reader_cfg = dict(input_columns=['a', 'b' 'c'], output_column='d')\n", "'b' 'c'"),
        ("q_infer = dict(type='A', max_out_len=1, max_out_len=2)\n", "max_out_len"),
        (f"w_datasets = [dict({READER}, infer_cfg=dict(retriever=dict(type=ZeroRetriever)))]\n", "dict"),
    ],
)
def test_a_configuration_that_cannot_run_is_reported(text: str, place: str) -> None:
    assert found(one("'{question}'") + text) == [("unknown-evaluation-key", place)]


def test_a_whole_text_is_corrected_between_its_quotes() -> None:
    text = one("dict(round=[dict(role='HUMNA', prompt='{question}')])")
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    (edit,) = finding.fixes[0].edits
    assert (text[edit.span.start : edit.span.end], edit.text) == ("HUMNA", "HUMAN")


def test_an_undefined_class_is_reported_once() -> None:
    imports = "from opencompass.openicl import GenInferencer, ZeroRetriever\n"
    wrong = imports + one("'{question}'").replace("type=ZeroRetriever", "type=ZeroRetriver")
    assert found(wrong) == [("unknown-evaluation-key", "ZeroRetriver")]


def test_a_misspelled_import_of_an_evaluator_is_reported_where_it_is_imported() -> None:
    text = "from opencompass.openicl import AccEvaluatr, GenInferencer, ZeroRetriever\n"
    evaluation = "e = dict(evaluator=dict(type=AccEvaluator))\n"
    assert found(text + one("'{question}'") + evaluation) == [("unknown-evaluation-key", "AccEvaluatr")]


def test_a_misspelled_name_in_a_list_of_datasets_is_reported() -> None:
    text = "with read_base():\n    from .a import a_datasets\ndatasets = [*a_dataset]\n"
    assert found(text, {"a.py": "a_datasets = []\n"}) == [("unknown-evaluation-key", "a_dataset")]
    text = text.replace("[*a_dataset]", "a_dataset + []")
    assert found(text, {"a.py": "a_datasets = []\n"}) == [("unknown-evaluation-key", "a_dataset")]


def test_a_missing_package_is_reported_once_if_there_is_nothing_else() -> None:
    imports = "with read_base():\n    from other.a import a_datasets\n    from other.b import b_datasets\n"
    findings = findings_in_configuration(imports, FilesOf(), Project())
    assert [(each.rule, each.severity) for each in findings or ()] == [("unresolved-import", "information")]
    assert found(imports + "models = [dict(type=VLLM)]\n") == found(imports)
    assert found(imports + one("'{question}'")) == []


def test_a_model_behind_an_api_needs_its_roles() -> None:
    roles = "[dict(role='HUMAN'), dict(role='BOT', generate=True)]"
    text = f"models = [dict(type={{}}, meta_template=dict(round={roles}))]\n"
    assert found(text.format("OpenAI")) == [
        ("invalid-evaluation-prompt", "'HUMAN'"),
        ("invalid-evaluation-prompt", "'BOT'"),
    ]
    assert found(text.format("VLLM")) == []
    assert found(text.format("MyModel")) == []


def test_a_text_with_many_brackets_is_a_template() -> None:
    assert found(one(repr("[ " * 200 + "{question}"))) == []


@pytest.mark.parametrize(
    ("inferencer", "left"),
    [
        ("type=GenInferencer, fix_id_list=[0, 2]", "type=GenInferencer"),
        ("fix_id_list=list(range(3)), type=GenInferencer", "type=GenInferencer"),
    ],
)
def test_the_rows_of_old_configurations_are_moved_to_the_retriever(inferencer: str, left: str) -> None:
    text = (
        "q_infer_cfg = dict(ice_template=dict(type='PromptTemplate', template='</E>Q', ice_token='</E>'), "
        f"retriever=dict(type=FixKRetriever), inferencer=dict({inferencer}))\n"
    )
    finding = next(each for each in findings_in_configuration(text, FilesOf(), Project()) or ())
    moved = "[0, 2]" if "[0, 2]" in inferencer else "[0, 1, 2]"
    expected = text.replace("type=FixK", f"fix_id_list={moved}, type=FixK").replace(inferencer, left)
    assert apply_edits(text, finding.fixes[0].edits) == expected


DATASET = f"q_reader_cfg = {{}}\nq_infer_cfg = dict(prompt_template=dict(template='Q'), {ZERO})\n"
KEYS = {
    "a key of a dataset": ("infr_cfg=q_infer_cfg", "infr_cfg"),
    "a variable": ("infer_cfg=q_infer_cf", "q_infer_cf"),
}


@pytest.mark.parametrize(("key", "wrong"), KEYS.values(), ids=KEYS)
def test_a_misspelled_key_or_variable_of_a_dataset_is_reported(key: str, wrong: str) -> None:
    text = f"{DATASET}q_datasets = [dict(type=D, path='p', reader_cfg=q_reader_cfg, {key})]\n"
    assert ("unknown-evaluation-key", wrong) in found(text)


def test_a_variable_may_have_the_name_of_its_key() -> None:
    infer = "infer_cfg = dict(prompt_template=dict(template='Q'), retriever=dict(type=ZeroRetriever))\n"
    evaluation = "eval_cfg = dict(evaluator=dict(type=E), pred_postproces=dict(type=P))\n"
    datasets = f"q_datasets = [dict(type=D, {READER}, infer_cfg=infer_cfg, eval_cfg=eval_cfg)]\n"
    rule = "unknown-evaluation-key"
    assert found(infer + evaluation + datasets) == [(rule, "dict"), (rule, "pred_postproces")]
    whole = "infer_cfg = dict(**infer_cfg, inferencer=dict(type=GenInferencer))\n"
    assert found(infer + whole + evaluation + datasets) == [(rule, "pred_postproces")]


def test_the_severity_of_a_wrong_key_is_that_of_the_settings() -> None:
    text = f"{DATASET}q_datasets = [dict(type=D, path='p', reader_cfg=q_reader_cfg, infr_cfg=q_infer_cfg)]\n"
    findings = findings_in_configuration(text, FilesOf(), Project(rules={"unknown-evaluation-key": "hint"}))
    assert {each.severity for each in findings or () if each.rule == "unknown-evaluation-key"} == {"hint"}


IMPORT = "from opencompass.openicl.icl_inferencer import GenInferencer\n"


def test_a_class_that_is_not_imported_is_reported_if_others_are() -> None:
    assert found(one("'Q: {question}'", before=IMPORT)) == [("unknown-evaluation-key", "ZeroRetriever")]
    both = f"{IMPORT}from opencompass.openicl.icl_retriever import ZeroRetriever\n"
    assert found(one("'Q: {question}'", before=both)) == []
    assert found(one("'Q: {question}'", before=f"{IMPORT}from classes import *\n")) == []


def test_a_reader_that_nothing_defines_is_reported_in_a_complete_program() -> None:
    text = f"{DATASET}q_datasets = [dict(type=D, path='p', reader_cfg=other_cfg, infer_cfg=q_infer_cfg)]\n"
    imports = f"{IMPORT}from opencompass.openicl.icl_retriever import ZeroRetriever\n"
    assert ("unknown-evaluation-key", "other_cfg") in found(imports + text)
    assert ("unknown-evaluation-key", "other_cfg") not in found(text)
    assert ("unknown-evaluation-key", "other_cfg") not in found(f"{imports}from readers import *\n{text}")


def test_a_misspelled_variable_that_another_takes_is_reported() -> None:
    text = f"{one(repr('Q: {question}'))}datasets = q_dataset\n"
    assert ("unknown-evaluation-key", "q_dataset") in found(text)


def test_the_prompt_of_a_judge_is_checked() -> None:
    judge = "dict(type=PromptTemplate, template=dict(round=[dict(role='HUMEN', prompt='{question}')]))"
    text = one("'Q: {question}'").replace(
        "infer_cfg=", f"eval_cfg=dict(evaluator=dict(prompt_template={judge})), infer_cfg="
    )
    assert found(text) == [("unknown-dialogue-role", "'HUMEN'")]


def test_a_misspelled_answer_in_the_prompt_of_a_judge_is_found() -> None:
    judge = "dict(type=LMEvaluator, prompt_template=dict(template='{question} {predictoin}'))"
    text = one("'Q: {question}'").replace("infer_cfg=", f"eval_cfg=dict(evaluator={judge}), infer_cfg=")
    assert ("unknown-field", "{predictoin}") in found(text)


@pytest.mark.parametrize(
    ("template", "places"),
    [
        ("{o: '{question} {o}' for o in 'AB'}", ["'{question} {o}'"]),
        ("{o: dict(round=[dict(role='BOT', prompt='{o}')]) for o in 'AB'}", ["'{o}'"]),
        ("{o: f'{{question}} {o}' for o in 'AB'}", []),
        ("{A: '{question} {A}' for A in 'XY'}", []),
        ("{o: '{question} {p}' + o for o in 'AB'}", []),
        ("{o: '{question} {o}'.replace('{o}', o) for o in 'AB'}", []),
    ],
)
def test_a_text_of_a_comprehension_that_lacks_its_f_is_found(template: str, places: list[str]) -> None:
    text = one(template).replace("GenInferencer", "PPLInferencer")
    findings = findings_in_configuration(text, FilesOf(), Project()) or ()
    lost = [each.span for each in findings if "without an `f`" in each.message]
    assert [text[span.start : span.end] for span in lost] == places


def test_the_name_of_a_variable_in_quotes_is_found() -> None:
    text = one("'ASK'", before="ASK = 'Q: {question}'\n")
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    assert apply_edits(text, finding.fixes[0].edits) == text.replace("'ASK'", "ASK")
    assert found(one("'ASK'", before="ASK = ['Q: {question}']\n")) == []
    assert found(f"{text}OTHER = ASK\n") == []


def test_a_sum_inside_of_the_list_of_datasets_is_found() -> None:
    text = one("'Q: {question}'") + "datasets = q_datasets + q_datasets\n"
    assert found(text) == []
    wrong = text.replace("q_datasets + q_datasets", "[q_datasets + q_datasets]")
    (finding,) = findings_in_configuration(wrong, FilesOf(), Project()) or ()
    assert apply_edits(wrong, finding.fixes[0].edits) == text


def test_a_variable_in_two_braces_of_an_f_string_is_found() -> None:
    text = one("f'{{T}}: {{question}} {{A}}'", before="T = 'Task'\n")
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    assert apply_edits(text, finding.fixes[0].edits) == text.replace("{{T}}", "{T}")
    assert found(text.replace("{{T}}", "{{{T}}}")) == found(text.replace("T = ", "U = ")) == []


def test_a_lost_comma_between_columns_is_one_finding() -> None:
    text = VALUES.replace("'C', 'D'", "'C' 'D'").replace("'{question}'", "'{question} {A} {B} {C} {D}'")
    assert found(text) == [("unknown-evaluation-key", "'C' 'D'")]


def test_a_field_in_an_f_string_is_a_variable_that_nothing_defines() -> None:
    assert ("unknown-evaluation-key", "question") in found(one("f'Q: {question}'"))
    assert found(one("f'{T}: {{question}}'", before="T = 'Task'\n")) == []


@pytest.mark.parametrize(
    ("source", "rules"), [("ice_num=1", []), ("fix_id_list", ["invalid-evaluation-prompt"])]
)
def test_rows_of_the_inferencer(source: str, rules: list[str]) -> None:
    """OpenCompass 0.1 reads the rows of `FixKRetriever` from the inferencer, so the checkout decides."""
    text = (
        "q_infer_cfg = dict(ice_template=dict(type='PromptTemplate', template='</E>Q', ice_token='</E>'), "
        "retriever=dict(type=FixKRetriever), inferencer=dict(type=GenInferencer, fix_id_list=[0, 1]))\n"
    )
    module = "opencompass/openicl/icl_retriever/icl_fix_k_retriever.py"
    assert [rule for rule, _ in found(text, {module: f"def retrieve({source}): ..."})] == rules
    assert [rule for rule, _ in found(text)] == ["invalid-evaluation-prompt"]


VALUES = """from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.utils.text_postprocessors import first_option_postprocess

a_reader_cfg = dict(input_columns=['question', 'A', 'B', 'C', 'D'], output_column='answer')
a_infer_cfg = dict(
    prompt_template=dict(type='PromptTemplate', template='{question}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)
a_eval_cfg = dict(
    evaluator=dict(type=AccEvaluator),
    pred_postprocessor=dict(type=first_option_postprocess, options='ABCD'),
)
a_datasets = [
    dict(abbr='a', type='D', reader_cfg=a_reader_cfg, infer_cfg=a_infer_cfg, eval_cfg=a_eval_cfg),
    dict(abbr='b', type='D', reader_cfg=a_reader_cfg, infer_cfg=a_infer_cfg, eval_cfg=a_eval_cfg),
]
"""


def test_options_of_columns_with_a_common_beginning_are_compared() -> None:
    text = VALUES.replace("'A', 'B', 'C', 'D'", "'textA', 'textB', 'textC', 'textD'")
    assert found(text) == []
    assert found(text.replace("'ABCD'", "'ABC'")) == [("unknown-evaluation-key", "'ABC'")]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("type=GenInferencer),\n)", "type=GenInferencer),\n),", ","),
        ("evaluator=dict(type=AccEvaluator)", "evaluator=AccEvaluator", "AccEvaluator"),
        ("evaluator=dict(type=AccEvaluator)", "evaluator=AccEvaluator()", "AccEvaluator()"),
        ("retriever=dict(type=ZeroRetriever)", "retriever=ZeroRetriever", "ZeroRetriever"),
        ("infer_cfg=a_infer_cfg", "infer_cfg=a_reader_cfg", "a_reader_cfg"),
        ("eval_cfg=a_eval_cfg", "eval_cfg=a_infer_cfg", "a_infer_cfg"),
        ("'ABCD'", "'ABC'", "'ABC'"),
        (", options='ABCD'", "", "first_option_postprocess"),
        ("'{question}'", "dict(round=[dict(role='HUMAN', prompt={'{question}'})])", "{'{question}'}"),
        ("abbr='b'", "abbr='a'", "'a'"),
        ("pred_postprocessor=", "pred_postprocess=", "pred_postprocess"),
        ("type=AccEvaluator)", "type=AccEvaluator, pred_role='BOT')", "pred_role"),
        ("N = 1", "models = [dict(type='M', abbr='m'), dict(type='M', abbr='m')]", "'m'"),
        ("type=AccEvaluator)", "type='AccEvaluater')", "AccEvaluater"),
        ("a_eval_cfg = dict(", "a_eval_cfg = list(", "list"),
        ("dict(type=GenInferencer)", "dict(type=ZeroRetriever)", "ZeroRetriever"),
        ("dict(type=ZeroRetriever)", "dict(type=LocalRunner)", "LocalRunner"),
        ("N = 1", "models = [dict(type=HuggingFace, abbr='m')]", "dict"),
        ("N = 1", "m = dict(type='M', max_out_len=9, max_seq_len=8)", "9"),
        ("N = 1", "b_datasets = dict(type='D', abbr='c', reader_cfg=a_reader_cfg)", "dict"),
        ("N = 1", "infer = dict(runner=dict(type=LocalRunner, debug=True))", "dict"),
        ("N = 1", "eval = dict(runner=dict(type=LocalRunner, task=OpenICLInferTask))", "OpenICLInferTask"),
        ("abbr='a', type", "abbr='{N}', type", "'{N}'"),
        (
            "dict(abbr='b', type='D', reader_cfg=a_reader_cfg, infer_cfg=a_infer_cfg, eval_cfg",
            "dict(abbr='b', type='D', reader_cfg=a_reader_cfg, infer_cfg=a_infer_cfg, judge",
            "judge",
        ),
    ],
)
def test_a_value_that_its_key_cannot_use_is_found(old: str, new: str, place: str) -> None:
    imports = "from opencompass.models import HuggingFace\n"
    imports += "from opencompass.runners import LocalRunner\nfrom opencompass.tasks import OpenICLInferTask\n"
    values = f"{imports}{VALUES}N = 1\n"
    assert found(values) == []
    assert found(values.replace(old, new, 1)) == [("unknown-evaluation-key", place)]


@pytest.mark.parametrize(
    ("pattern", "is_right"),
    [
        ("r'Answer: ([A-D])'", True),
        ("r'Answer: [A-D]'", False),
        ("r'Answer: (?:A|B)'", False),
        ("r'Answer: ([A-D]'", False),
        ("str(0)", True),
    ],
)
def test_a_pattern_without_a_group_is_found(pattern: str, is_right: bool) -> None:
    text = VALUES.replace("first_option_postprocess", "match_answer_pattern").replace(
        "options='ABCD'", f"answer_pattern={pattern}"
    )
    assert found(text) == ([] if is_right else [("unknown-evaluation-key", pattern)])


def test_a_text_in_place_of_the_ends_of_an_answer_is_found() -> None:
    def ended(value: str) -> list[tuple[str, str]]:
        return found(VALUES.replace("type=GenInferencer)", f"type=GenInferencer, stopping_criteria={value})"))

    assert ended("'Q:'") == [("unknown-evaluation-key", "'Q:'")]
    assert ended("['Q:']") == ended("list('Q')") == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("evaluator=dict(type=AccEvaluator)", "evaluator=EVALUATOR"),
        ("'ABCD'", "'ABCDE'"),
        ("'ABCD'", "options"),
        ("options='ABCD'", "**options"),
        ("'C', 'D']", "'C', 'D', *more]"),
        ("abbr='b'", "abbr=name"),
        ("abbr='b'", "abbr='{name}'"),
        ("abbr='b', ", "abbr='b', judge_cfg=a_eval_cfg, "),
    ],
)
def test_a_value_that_may_be_right_is_left_alone(old: str, new: str) -> None:
    assert found(f"from mine import EVALUATOR, more, name, options\n{VALUES.replace(old, new, 1)}") == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("a_eval_cfg = dict(", "a_eval_cfg = dcit(", "dcit"),
        ("a_eval_cfg = dict(", "a_eval_cgf = dict(", "a_eval_cfg"),
        ("type=first_option_postprocess, ", "", "dict"),
        ("type=ZeroRetriever", "tpye=ZeroRetriever", "tpye"),
        ("evaluator=", "evaluater=", "evaluater"),
        ("type='PromptTemplate', template", "type='PromptTemplate', tempalte", "tempalte"),
        ("abbr='a', type='D'", "abbr='a'", "dict"),
        ("infer_cfg=a_infer_cfg, eval_cfg", "eval_cfg", "dict"),
    ],
)
def test_a_slip_in_a_complete_configuration_is_found(old: str, new: str, place: str) -> None:
    changed = VALUES.replace(old, new, 1)
    assert place in [words for _, words in found(changed)]
    excerpt = changed[changed.index("\n\n") :]
    assert ("dict" in [words for _, words in found(excerpt)]) is False
    assert place.replace("dict", "{") in [words for _, words in found(in_braces(changed))]


def in_braces(configuration: str) -> str:
    """Return the configuration with mappings in braces instead of calls of `dict`."""

    closing, written = [""], ""
    for piece in re.split(r"(dict\(|[()])", configuration):
        if piece.endswith("("):
            closing.append(")" if piece == "(" else "}")
        key = r"'\1': " if closing[-1] == "}" else r"\g<0>"
        whole = re.sub(r"(\w+)=", key, piece).replace("dict(", "{")
        written += closing.pop() if piece == ")" else whole
    return written


def test_a_key_that_is_twice_in_braces_loses_its_first_value() -> None:
    text = "q_infer_cfg = {'retriever': {'type': ZeroRetriever, 'type': ZeroRetriever}}\n"
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    assert finding.message == "`type` occurs twice, and the first value is lost"


def test_a_custom_dataset_names_the_class_of_its_evaluator() -> None:
    imported = "from opencompass.openicl.icl_evaluator import AccEvaluator\n"
    assert (
        found(f"{imported}datasets = [dict(path='a.jsonl', data_type='qa', evaluator=AccEvaluator)]\n") == []
    )
    assert found(f"{imported}q_eval_cfg = dict(evaluator=AccEvaluator)\n") != []


@pytest.mark.parametrize("table", ["[{}, {}, {}]", "dict(a={}, b={}, c={})", "{{'a': {}, 'b': {}, 'c': {}}}"])
def test_a_misspelled_key_of_a_table_is_found(table: str) -> None:
    rows = [
        "{'abr': 'a', 'file': 'a.json'}",
        "{'abbr': 'b', 'file': 'b.json'}",
        "dict(abbr='c', file='c.json')",
    ]
    text = f"tables = {table.format(*rows)}\n{one(repr('Q'))}"
    assert ("unknown-evaluation-key", "abr") in found(text)
    assert "abr" not in str(found(text.replace("abr", "short")))


def test_a_table_of_datasets_needs_no_types() -> None:
    table = "tables = {'a': {'abbr': 'a', 'reader_cfg': reader, 'infer_cfg': inference}}\n"
    looped = "datasets = [dict(type=Rows, **each) for each in tables.values()]\n"
    whole = "class Rows: ...\nclass Naive: ...\nclass Local: ...\nclass Llama2Chat: ...\ndef clean(x): ...\n"
    text = re.sub(r"datasets = .*\n", lambda _: table + looped, WHOLE) + whole
    assert found(text) == []
    assert found(text.replace("tables = {'a': {", "tables = [{").replace("inference}}", "inference}]")) != []


@pytest.mark.parametrize(
    ("module", "meant"),
    [
        ("opencmpass.openicl.icl_evaluator", "opencompass.openicl.icl_evaluator"),
        ("opencompass.opencil.icl_evaluator", "opencompass.openicl.icl_evaluator"),
        ("opencompass.mine", None),
    ],
)
def test_a_module_that_opencompass_does_not_have_is_found(module: str, meant: str | None) -> None:
    right = "opencompass.openicl.icl_evaluator"
    text = VALUES.replace(right, module, 1)
    checkout = {
        "opencompass/__init__.py": "",
        "opencompass/openicl/icl_evaluator.py": "class AccEvaluator: ...",
    }
    findings = findings_in_configuration(text, FilesOf(checkout), Project()) or ()
    (fixed,) = [each for each in findings if text[each.span.start : each.span.end] == module]
    assert [edit.text for fix in fixed.fixes for edit in fix.edits] == ([meant] if meant else [])
    if meant is None:
        assert found(text) == []


@pytest.mark.parametrize("call", ["format(T=T)", "format(**given)", "format_map(given)", "replace('{T}', T)"])
def test_a_text_that_is_filled_in_later_lacks_no_f(call: str) -> None:
    text = one("'{T}: {{question}} {{A}}'", before="T = 'Task'\n")
    later = f"{text}b_datasets = [dict(template=infer_cfg['prompt_template']['template'].{call})]\n"
    for changed, is_reported in ((text, True), (later, False)):
        findings = findings_in_configuration(changed, FilesOf(), Project()) or ()
        assert any("without an `f`" in each.message for each in findings) == is_reported


def test_a_text_that_lacks_its_f_is_one_finding_with_a_fix() -> None:
    right = one("f'{T}: {{question}} {{A}}'", before="T = 'Task'\n")
    text = right.replace("=f'", "='")
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    assert finding.message == "without an `f` before this text, `{T}` reaches the model as it is"
    assert apply_edits(text, finding.fixes[0].edits) == right
    assert found(text.replace("{{A}}'", "{{A}}'.format(T=T)")) == []
    named = one("TEXT", before="from .shots import shots\nTEXT = '{shots}: {{question}} {{A}}'\n")
    assert found(named) == [("unknown-evaluation-key", "'{shots}: {{question}} {{A}}'")]
    assert found(named.replace("TEXT = '", "TEXT = f'")) == []


@pytest.mark.parametrize(("shown", "hidden"), [("{A} {B} {C}", "`D`"), ("{A} {B}", "`C`, `D`")])
def test_an_option_that_no_text_shows_is_found(shown: str, hidden: str) -> None:
    text = VALUES.replace("'{question}'", f"'{{question}} {shown}'")
    (finding,) = findings_in_configuration(text, FilesOf(), Project()) or ()
    assert finding.message == f"no text shows {hidden} beside `A`: the model does not see this option"
    assert text[finding.span.start : finding.span.end] == f"'{{question}} {shown}'"


@pytest.mark.parametrize(
    "template",
    [
        "'{question} {A}'",
        "f'{question} {{A}} {{B}} {{C}} {{{LAST}}}'",
        "'{question} {A} {B} {C}' + OTHER + ' {D}'",
        "{label: '{question} {A} {B} {C} {D}' for label in 'ABCD'}",
    ],
)
def test_options_that_may_be_shown_are_left_alone(template: str) -> None:
    names = "question, LAST, OTHER = '{question}', 'D', ''\n"
    text = names + VALUES.replace("'{question}'", template, 1)
    assert [place for _, place in found(text) if "{" in place] == []


def test_a_label_with_the_text_of_another_is_one_finding() -> None:
    labels = "{label: f'{{question}} {{{label}}}' for label in 'ABCD'}"
    template = "{'A': '{question} {A}', 'B': '{question} {B}', 'C': '{question} {B}', 'D': '{question} {D}'}"
    text = VALUES.replace("GenInferencer", "PPLInferencer").replace("'{question}'", template)
    assert [rule for rule, _ in found(text)] == ["invalid-ppl-template"]
    assert found(text.replace(template, labels)) == []


def test_a_misspelled_column_of_a_judge_is_found() -> None:
    def judged(field: str, kind: str = "GenericLLMEvaluator") -> str:
        template = f"dict(template='{{question}} {{answer}} {{{field}}}')"
        evaluator = f"dict(type={kind}, prompt_template={template})"
        return one("'Q: {question}'").replace(
            "infer_cfg=", f"eval_cfg=dict(evaluator={evaluator}), infer_cfg="
        )

    assert found(judged("predicion")) == [(FIELD, "{predicion}")]
    assert found(judged("refrence")) == [(FIELD, "{refrence}")]
    assert found(judged("prediction")) == found(judged("obj_gold} {prediction")) == []
    assert found(judged("predictions", "LMEvaluator")) == [(FIELD, "{predictions}")]
    assert found(judged("prediction1", "LMEvaluator")) == []


@pytest.mark.parametrize(
    ("kind", "template", "places"),
    [
        ("LMEvaluator", "'{question} {answer} {predicted}'", ["{predicted}"]),
        ("LMEvaluator", "'{question} {answer}'", ["{answer}"]),
        ("GenericLLMEvaluator", "'{question} {answer} {output}'", ["{output}"]),
        ("GenericLLMEvaluator", "dict(round=[dict(role='HUMAN', prompt='{answer}')])", ["{answer}"]),
        ("LMEvaluator", "'{question} {answer} {prediction2}'", []),
        ("LMEvaluator", "'{judge_prompt}'", []),
        ("LMEvaluator", "'{answer}' + REST", []),
        ("OwnEvaluator", "'{question} {answer} {output}'", []),
    ],
)
def test_a_judge_that_sees_no_answer_of_the_model_is_found(
    kind: str, template: str, places: list[str]
) -> None:
    evaluator = f"dict(type={kind}, prompt_template=dict(type='PromptTemplate', template={template}))"
    text = one("'Q: {question}'").replace("infer_cfg=", f"eval_cfg=dict(evaluator={evaluator}), infer_cfg=")
    assert found(text) == [(FIELD, place) for place in places]


@pytest.mark.parametrize(
    ("wrong", "right"), [("dataset", "datasets"), ("datsets", "datasets"), ("model", "models")]
)
def test_a_list_of_a_run_that_opencompass_does_not_read_is_found(wrong: str, right: str) -> None:
    run = "datasets = [*q_datasets]\nmodels = [dict(type=OpenAI, abbr='m')]\n"
    text = one("'Q: {question}'") + run
    assert found(text) == []
    assert found(text.replace(f"\n{right} = ", f"\n{wrong} = ")) == [("unknown-evaluation-key", wrong)]
    assert found(one("'Q: {question}'") + "dataset = [*q_datasets]\n") == []
    assert found(text + "model = [dict(type=OpenAI)]\n") == []


@pytest.mark.parametrize("key", ["datasets", "models"])
def test_a_list_inside_of_the_list_of_a_run_is_found(key: str) -> None:
    imports = (
        "from mmengine.config import read_base\nwith read_base():\n"
        f"    from opencompass.configs.some import a_datasets, {key} as others\n"
    )
    text = f"{imports}{key} = [others]\n"
    module = f"a_datasets = [dict(abbr='a')]\n{key} = [dict(abbr='b')]\n"
    files = {"opencompass/configs/some.py": module}
    assert found(text, files) == [("unknown-evaluation-key", "others")]
    assert ("unknown-evaluation-key", "others") in found(text)
    for right in ("[*others]", "others", "[others[0]]", f"[others]\n{key} = sum({key}, [])"):
        assert found(f"{imports}{key} = {right}\n", files) == []


WHOLE = """
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

reader = dict(input_columns=["question"], output_column="answer")
inference = dict(
    prompt_template=dict(type=PromptTemplate, template="{question}"),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)
evaluation = dict(evaluator=dict(type=AccEvaluator, pred_postprocessor=dict(type=clean)), pred_role="BOT")
datasets = [dict(type=Rows, path="a", reader_cfg=reader, infer_cfg=inference, eval_cfg=evaluation)]
models = [dict(type=Llama2Chat, abbr="llama", path="b")]
infer = dict(partitioner=dict(type=Naive), runner=dict(type=Local))
"""


LISTED = f"""
q_datasets = []
TABLE = {{"a": {{"hint": "x"}}, "b": {{"hint": "y"}}}}
for name in ["a", "b"]:
    q_datasets.append(
        dict(type=D, abbr=f"q_{{name}}", {READER}, infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=TABLE[name]["hint"] + "{{question}}"), {ZERO}))
    )
"""
COMBINED = """    model_dataset_combinations = [dict(models=[m], datasets=[q_datasets[0]])]
    q_datasets.append(
        dict(type=D, abbr="q\""""


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ('f"q_{name}"', '"q"', ['"q"']),
        ('f"q_{name}"', "names[name]", []),
        ('    q_datasets.append(\n        dict(type=D, abbr=f"q_{name}"', COMBINED, []),
        ('["hint"]', '["hnt"]', ['"hnt"']),
        ('"b": {"hint": "y"}', '"b": {}', []),
        ('"b": {"hint": "y"}', '"b": {"tip": "y"}', ['"hint"']),
        ('"b": {"hint": "y"}', '"b": {"tip": "y", **more}', []),
        ('"b": {"hint": "y"}}', '"b": {"tip": "y"}}\nfill(TABLE)', []),
        ('"b": {"hint": "y"}}', '"b": {"tip": "y"}}\nTABLE["b"]["hint"] = 1', []),
        ('TABLE[name]["hint"]', '(TABLE[name]["hint"] if "hint" in TABLE[name] else "")', []),
        ("append(", "extend(", ["extend"]),
        ("q_datasets.append(", "q_datasets += (", None),
    ],
)
def test_datasets_in_a_loop_have_a_name_and_the_keys_of_a_table(
    old: str, new: str, places: list[str] | None
) -> None:
    assert old in LISTED
    assert found(LISTED) == []
    words = [words for _, words in found(LISTED.replace(old, new, 1))]
    assert (words == places) if places is not None else words[0].startswith("dict(type=D")


def test_a_name_in_braces_is_that_of_a_text_which_nothing_reads() -> None:
    text = one("'{hint} {question}'", before="hint = 'Think.'\n")
    assert [words for _, words in found(text)] == ["'{hint} {question}'"]
    assert found(text.replace("'{hint} {question}'", "f'{hint} {{question}}'")) == []
    assert found(text.replace("'{hint} {question}'", "'{hint} {question}'.replace('{hint}', 'a')")) == []


def test_the_range_of_rows_is_a_key_of_the_reader() -> None:
    text = one("'Q: {question}'")
    assert found(text.replace("type='D',", "type='D', test_range='[:9]',", 1)) == [
        ("unknown-evaluation-key", "test_range")
    ]


def test_a_turn_is_no_set() -> None:
    turn = "{'role': 'HUMAN', 'prompt': '{question}'}"
    text = one(f"dict(round=[{turn}])")
    assert found(text) == []
    assert turn.replace(":", ",") in [words for _, words in found(text.replace(turn, turn.replace(":", ",")))]


def test_a_list_of_datasets_extends_that_of_a_run() -> None:
    text = one("'Q: {question}'") + "datasets = []\ndatasets.extend(q_datasets)\n"
    assert found(text) == []
    assert found(text.replace("extend", "append")) == [("unknown-evaluation-key", "append")]


def test_the_keys_of_a_run_are_those_of_its_classes() -> None:
    imports = "from opencompass.partitioners import NumWorkerPartitioner\n"
    run = "infer = dict(partitioner=dict(type=NumWorkerPartitioner, num_worker=8))\n"
    text = imports + one("'Q: {question}'") + run
    assert found(text) == []
    wrong = text.replace("num_worker=", "num_workers=")
    assert found(wrong) == [("unknown-evaluation-key", "num_workers")]
    assert found(text.replace("num_worker=", "other=")) == []


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ('["q_one", "both"]', '["q_oen", "both"]', ["q_oen"]),
        ('["q_one", "both"]', '["q_one", ["boht", "accuracy"]]', ["boht"]),
        ('subsets=["q_one", "q_two"]', 'subsets=["q_one", "q_tow"]', ["q_tow"]),
        ('["q_one", "both"]', '["q_one", "q_onee", "both"]', []),
        ('["q_one", "both"]', '["q_three", "both"]', []),
        ("datasets = [*one", "datasets = [*more, *one", []),
        ("groups = [", "groups = other + [", []),
    ],
)
def test_a_summarizer_names_the_datasets_of_the_run(old: str, new: str, places: list[str]) -> None:
    text = (
        one("'Q: {question}'")
        .replace("type='D'", "type='D', abbr='q_one'")
        .replace("q_datasets", "one_datasets")
        + one("'A: {question}'").replace("type='D'", "type='D', abbr='q_two'")
        + "datasets = [*one_datasets, *q_datasets]\n"
        + 'groups = [dict(name="both", subsets=["q_one", "q_two"])]\n'
        + 'summarizer = dict(dataset_abbrs=["q_one", "both"], summary_groups=groups)\n'
    )
    assert old in text
    assert found(text) == []
    assert [words for _, words in found(text.replace(old, new, 1)) if words != "more"] == places


def test_the_lists_of_a_base_are_read_in_a_call_of_read_base() -> None:
    files = {"neighbor.py": "a_datasets = []\n"}
    start = "from mmengine.config import read_base\n"
    text = f"{start}with read_base():\n    from .neighbor import a_datasets\n{WHOLE}"
    rule = "unknown-evaluation-key"
    assert (rule, "read_base") not in found(text, files)
    assert (rule, "read_base") in found(text.replace("read_base():", "read_base:"), files)
    outside = text.replace(start, f"{start}from .neighbor import a_datasets\n")
    assert found(outside, files).count((rule, "a_datasets")) == 1


def test_an_evaluation_that_the_only_dataset_lacks_is_found() -> None:
    text = WHOLE.replace(", eval_cfg=evaluation", "").replace("evaluation =", "q_eval_cfg =")
    own = "class Rows: ...\nclass Llama2Chat: ...\nclass Naive: ...\nclass Local: ...\ndef clean(text): ...\n"
    assert found(text + own) == [("unknown-evaluation-key", "q_eval_cfg")]
    assert found(text.replace("dict(type=Rows,", "dict(type=Rows, **KEYS,") + own + "KEYS = {}\n") == []


def test_the_first_with_needs_no_import_of_read_base() -> None:
    files = {"neighbor.py": "a_datasets = []\nb_datasets = []\n"}
    base = "with read_base():\n    from .neighbor import a_datasets\n"
    second = "with read_base():\n    from .neighbor import b_datasets\n"
    read = ("unknown-evaluation-key", "read_base")
    assert read not in found(base + WHOLE, files)
    assert found(base + second + WHOLE, files).count(read) == 1


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("dict(type=Rows, ", "dict(", ["dict"]),
        ("dict(type=Rows, ", "dict(**shared, ", []),
        ("dict(type=Llama2Chat, ", "dict(", ["dict"]),
        ("dict(type=Llama2Chat, abbr", "made(abbr", []),
        ("runner=", "runer=", ["runer"]),
        ("pred_postprocessor=", "pred_postprocesor=", ["pred_postprocesor"]),
        ('"BOT"', '"assistant"', ['"assistant"']),
        ('"BOT"', '"BOTT"', ['"BOTT"']),
        ('"BOT"', '"JUDGE"', []),
        ('"BOT")', '"assistant")  # RawPromptTemplate', []),
    ],
)
def test_the_parts_of_a_whole_configuration_are_known(old: str, new: str, places: list[str]) -> None:
    own = "class Rows: ...\nclass Llama2Chat: ...\nclass Naive: ...\nclass Local: ...\n"
    text = f"from mine import made, shared\n{WHOLE}{own}def clean(text): ...\n"
    assert old in text
    assert [each for _, each in found(text)] == []
    assert [each for _, each in found(text.replace(old, new, 1))] == places
