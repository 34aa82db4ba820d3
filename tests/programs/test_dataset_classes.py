"""Arguments of dataset classes in a configuration, in a checkout of OpenCompass."""

from __future__ import annotations

import pytest

from promptls.programs.configurations import findings_in_configuration
from promptls.settings.project import Project
from support.configuration_files import FilesOf

CONFIGURATION = """from opencompass.datasets import QuizDataset, TableDataset

q_reader_cfg = dict(input_columns=['question'], output_column='answer', test_split='validation')
q_infer_cfg = dict(
    prompt_template=dict(template='{question}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)
q_datasets = [
    dict(
        abbr='q', type=QuizDataset, path='quiz', n=2,
        reader_cfg=q_reader_cfg, infer_cfg=q_infer_cfg,
    )
]
"""
CLASSES = {
    "opencompass/datasets.py": "from .quiz import *\nfrom .tables import TableDataset\n",
    "opencompass/datasets/base.py": """class BaseDataset:
    def __init__(self, reader_cfg={}, k=1, n=1, **kwargs):
        abbr = kwargs.pop('abbr', 'dataset')
        self.load(**kwargs)
""",
    "opencompass/datasets/quiz.py": """class QuizDataset(BaseDataset):
    @staticmethod
    def load(path, lang='en'):
        made = {}
        for split in ['train', 'validation']:
            made[split] = Dataset.from_list(rows(path, split))
        return DatasetDict(made)
""",
    "opencompass/datasets/tables.py": """class TableDataset(BaseDataset):
    @staticmethod
    def load(path, name):
        rows = Dataset.from_list([path, name])
        return rows
""",
}


def found(text: str, files: dict[str, str] | None = None) -> list[str]:
    findings = findings_in_configuration(text, FilesOf(CLASSES if files is None else files), Project())
    return [text[each.span.start : each.span.end] for each in findings or ()]


def test_keys_that_are_taken_out_before_a_class_is_made_are_right() -> None:
    base = (
        "class BaseDataset:\n    def __init__(self, reader_cfg={}, **kwargs):\n        self.load(**kwargs)\n"
    )
    building = (
        "def build_dataset_from_cfg(cfg):\n    cfg.pop('n', None)\n    return LOAD_DATASET.build(cfg)\n"
    )
    files = {**CLASSES, "opencompass/datasets/base.py": base}
    assert found(CONFIGURATION, files) == ["n"]
    assert found(CONFIGURATION, {**files, "opencompass/utils/build.py": building}) == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("path='quiz'", "path='quiz', language='de'", "language"),
        ("path='quiz', ", "", "QuizDataset"),
        ("'validation'", "'val'", "'val'"),
        (", test_split='validation'", "", "dict"),
        ("type=QuizDataset", "type=TableDataset, name='a'", "'validation'"),
    ],
)
def test_what_a_class_does_not_accept_is_found(old: str, new: str, place: str) -> None:
    assert found(CONFIGURATION) == []
    text = CONFIGURATION.replace(old, new, 1)
    assert found(text) == [place]
    assert found(text, {}) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lang='en'", "lang='en', **others"),
        ("def load(", "def __init__(self, **kwargs): ...\n    def load("),
        ("(BaseDataset)", "(OtherDataset)"),
    ],
)
def test_a_class_that_may_accept_a_key_is_left_alone(old: str, new: str) -> None:
    classes = {name: text.replace(old, new) for name, text in CLASSES.items()}
    text = CONFIGURATION.replace("path='quiz'", "path='quiz', language='de'")
    assert found(text, classes) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for split in ['train', 'validation']", "for split in os.listdir(path)"),
        ("Dataset.from_list(rows(path, split))", "load_dataset(path)"),
        ("path, lang='en'", "path, split='x'"),
        ("return DatasetDict(made)", "return made"),
    ],
)
def test_splits_that_files_may_add_are_left_alone(old: str, new: str) -> None:
    classes = {name: text.replace(old, new) for name, text in CLASSES.items()}
    assert found(CONFIGURATION.replace("'validation'", "'val'"), classes) == []


ROWS = {
    **CLASSES,
    "opencompass/datasets/quiz.py": """class QuizDataset(BaseDataset):
    @staticmethod
    def load(path):
        made = DatasetDict()
        for split in ['train', 'validation']:
            rows = []
            for line in open(path):
                item = json.loads(line)
                rows.append({'question': item['q'], 'answer': item['a'], 'hint': ''})
            made[split] = Dataset.from_list(rows)
        return made
""",
}


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("output_column='answer'", "output_column='answers'", ["'answers'"]),
        ("['question']", "['question', 'context']", []),
        ("question", "query", ["'query'"]),
    ],
)
def test_a_column_that_no_row_of_a_class_has_is_found(old: str, new: str, places: list[str]) -> None:
    text = CONFIGURATION.replace(", n=2", "")
    assert found(text, ROWS) == []
    assert found(text.replace(old, new), ROWS) == places


def test_columns_that_data_may_add_are_left_alone() -> None:
    text = CONFIGURATION.replace(", n=2", "").replace("'answer'", "'answers'")
    assert found(text, ROWS) == ["'answers'"]
    for change in (
        ("'hint': ''}", "**item}"),
        ("rows.append", "rows.extend"),
        ("rows = []", "rows = [*others]"),
        ("Dataset.from_list(rows)", "Dataset.from_list(rows).map(more)"),
        ("            made[split]", "            rows[0]['more'] = 1\n            made[split]"),
    ):
        unsure = {name: code.replace(*change) for name, code in ROWS.items()}
        assert found(text, unsure) == []


def test_a_key_that_is_set_later_is_not_missing() -> None:
    text = CONFIGURATION.replace("path='quiz', ", "") + "for each in q_datasets:\n    each['path'] = 'quiz'\n"
    assert found(text) == []


def test_an_imported_name_that_the_checkout_does_not_have_is_found() -> None:
    """Classes are looked up in the texts of all modules that the package imports with `*`."""
    files = {**CLASSES, "opencompass/datasets/extra.py": "from . import quiz\nQuizEvaluator = make()\n"}
    package = "opencompass/datasets/__init__.py"
    files[package] = f"{files.pop('opencompass/datasets.py')}from .extra import *\n"
    for name in ("QuizEvaluator", "QuizDataset", "quiz"):
        assert found(f"from opencompass.datasets import {name}\n{CONFIGURATION}", files) == []
    text = f"from opencompass.datasets import QuizEvalator as Judge\n{CONFIGURATION}"
    assert found(text, files) == ["QuizEvalator"]
    assert found(text, {}) == found(text, {**files, package: "from .gone import *"}) == []


def test_a_class_of_another_package_is_left_alone() -> None:
    text = CONFIGURATION.replace("from opencompass.datasets", "from own.datasets").replace("quiz'", "q', a=1")
    assert found(text) == []
