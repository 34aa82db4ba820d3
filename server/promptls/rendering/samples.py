"""The data available to preview a prompt.

In order of preference: the header's `samples` file, its `examples`, the first row of the first
experiment's dataset, and placeholders derived from the use of the inputs. Any row of that dataset can also
be chosen. An evaluation prompt has test rows, and training rows that its examples come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from promptls.datasets.cells import typed_row
from promptls.datasets.dataset_files import SUFFIXES, open_dataset
from promptls.datasets.dataset_files import Row as DatasetRow
from promptls.dialects.opencompass.prompt_list import Row, complete_rows
from promptls.dialects.ragas.saved_prompt import SavedPrompt, example_inputs, saved_prompt_in
from promptls.rendering.job import EvaluationData, EvaluationJob, is_boundless
from promptls.security.files import (
    FileTooLargeError,
    cached_by_file,
    is_file,
    is_folder,
    join_path,
    read_text,
)
from promptls.semantic.evaluation_file import evaluation_of, fields_in, scalars_in
from promptls.semantic.flow.conditions import compared_values
from promptls.semantic.flow.paths import Each
from promptls.semantic.kind import Kind
from promptls.semantic.printed_inputs import printed_roles
from promptls.semantic.template import Template
from promptls.semantic.types.shape import Shape
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Conditional, Expression, Name, Operation
from promptls.syntax.jinja.problems import expressions_in, statement_of
from promptls.syntax.yaml.compose import compose
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import lower_first
from promptls.text.positions import Span, line_column, line_starts
from promptls.text.suggest import did_you_mean
from promptls.workspace.contract import NeededInput, inputs_of
from promptls.workspace.snapshot import Snapshot

USUAL_SPLITS: Final = {"train": "train", "test": "test"}


def rows_of(data: EvaluationData) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the training rows and the test rows; raises UserError for datasets that cannot be read."""
    test = _rows_of(data.test) if data.test else data.examples
    if data.train:
        return _rows_of(data.train), test
    return data.examples or test, test


def evaluation_data(template: Template, path: str) -> EvaluationData:
    """Return the data of the evaluation prompt at `path`; an experiment's dataset may be missing."""
    declared = template.declarations
    reader = declared.data.get("reader_cfg")
    reader = reader if isinstance(reader, Mapping) else {}
    splits = {name: str(reader.get(f"{name}_split") or name) for name in USUAL_SPLITS}
    folder = Path(path).parent
    named = declared.data.get("path")
    named = folder / named if isinstance(named, str) and named else None
    found = {}
    if named is not None and (is_file(named) or is_folder(named)):
        found = {name: _split_file(named, split) for name, split in splits.items()}
    test = found.get("test")
    for experiment in declared.settings.experiments.values():
        test = folder / experiment.dataset
        break
    train = found.get("train")
    return EvaluationData(
        test=str(test) if test else None,
        train=str(train) if train and train != found.get("test") else None,
        examples=tuple(example.data for example in declared.examples),
    )


def columns_of(template: Template) -> tuple[str, ...]:
    """Return the columns that an evaluation prompt uses: those of its reader, and the fields in its texts."""
    chunk = template.source.whole
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return ()
    fields = (
        field.name
        for each in evaluation.templates
        for body in each.bodies
        for scalar in scalars_in(body)
        for field in fields_in(chunk, scalar)
    )
    return tuple(dict.fromkeys((*(evaluation.columns or ()), *fields)))


def _split_file(named: Path, split: str) -> Path:
    """Return the file of a split: the one with its name in a folder, or else the file itself."""
    if is_file(named):
        return named
    files = [named / f"{split}{suffix}" for suffix in SUFFIXES]
    return next((file for file in files if is_file(file)), files[0])


@cached_by_file(8)
def _rows_of(path: str) -> tuple[Row, ...]:
    return tuple(complete_rows([dict(row.values) for row in open_dataset(path).rows()]))


def evaluation_job(
    snapshot: Snapshot, path: str, *, row: int | None = None, rows: int = 1, meta_template: str | None = None
) -> EvaluationJob:
    """Return the job to preview the evaluation prompt at `path`: `rows` rows (0 for all), from `row` on."""
    template = snapshot.template(path)
    return EvaluationJob(
        data=evaluation_data(template, path) if template else EvaluationData(),
        row=row,
        rows=rows,
        meta_template=meta_template,
        meta_templates=snapshot.project(path).settings.meta_templates,
    )


_KEY: Final = "key"
"""The only key of a mapping whose keys are not literal."""
_MADE_UP_COUNT: Final = 2
"""How many elements a list has: two show what a loop repeats."""
_MAX_DOUBLED: Final = 3
"""How many nested lists have that many elements; deeper ones have one, to avoid exponential growth."""
_PREFERRED: Final = ("list", "mapping")
"""The preferred kind of a value that may be of several kinds: the one that shows most of the template."""
_NOTHING: Final[Mapping[str, Any]] = {}


def placeholder(name: str, shape: Shape, schema: Mapping[str, Any] = _NOTHING) -> Any:
    """Return a value of this shape: text containing the name, a number, or a list or mapping of such values.

    A default, constant, example or `enum` in the JSON Schema takes precedence over the shape.
    """
    return _value(name, shape, schema, _MAX_DOUBLED)


def _value(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> Any:
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    if shape.kind == "union":
        shape = next((each for each in shape.alternatives if each.kind in _PREFERRED), shape.alternatives[0])
    match shape.kind:
        case "number":
            return _number(schema)
        case "boolean":
            return True
        case "list":
            return _elements(name, shape, schema, doubled)
        case "mapping":
            return _mapping(name, shape, schema, doubled)
        case _:
            return None if schema.get("type") == "null" else f"<{name}>"


def _number(schema: Mapping[str, Any]) -> float:
    """Return two, so that a loop over a range repeats; one if the schema declares a type."""
    least = schema.get("minimum")
    if isinstance(least, (int, float)) and not isinstance(least, bool):
        return least
    return {"integer": 1, "number": 1.0}.get(str(schema.get("type")), _MADE_UP_COUNT)


def _elements(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> list[Any]:
    count = _MADE_UP_COUNT if doubled else 1
    below = shape.element or Shape()
    items = _mapping_under(schema, "items")
    return [_value(f"{name} {number}", below, items, max(doubled - 1, 0)) for number in range(1, count + 1)]


def _mapping(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> dict[str, Any]:
    declared = _mapping_under(schema, "properties")
    if not shape.keys:
        return {_KEY: _value(f"{name}.{_KEY}", shape.element or Shape(), _NOTHING, doubled)}
    return {
        key: _value(f"{name}.{key}", below, _mapping_under(declared, key), doubled)
        for key, below in shape.keys
        if below.kind != "callable"
    }


def _mapping_under(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    below = schema.get(key)
    return below if isinstance(below, dict) else _NOTHING


PLACEHOLDERS: Final = "placeholders"
"""The sample whose values are made up."""
CALL_DATA: Final = "call data"
"""The sample of a template in a program whose call passes only literals."""
_MAX_ROWS: Final = 200
_MEGABYTE: Final = 1 << 20
_MAX_JSON_BYTES: Final = 32 * _MEGABYTE
_MAX_YAML_BYTES: Final = 2 * _MEGABYTE
"""Reading more would cause a noticeable delay while typing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Named data; `source` is a readable description of its origin.

    `number` is that of an example or a row, from 1. A `branch` is placeholders with one value that leads
    into a branch.
    """

    name: str
    source: str
    data: dict[str, Any]
    kind: Literal["named", "example", "row", "placeholders", "branch", "call"] = "named"
    number: int = 0

    @classmethod
    def of_row(cls, row: DatasetRow, dataset: str, template: Template | None, name: str = "") -> Sample:
        """Return a row of the dataset of this name as a sample of the template."""
        values = dict(row.values)
        if template is not None:
            values = typed_row(values, template.declarations.settings.input_types())
        return cls(name or f"row {row.number}", dataset, values, "row", row.number)


_EMPTY: Final = Sample("empty", "nothing", {})


def samples_of(snapshot: Snapshot, path: str) -> tuple[Sample, ...]:
    """Return the samples of the prompt file at `path`, the default one first; never empty.

    A samples file that cannot be read raises UserError, because the user has requested it.
    """
    template = snapshot.template(path)
    if template is None:
        return (_EMPTY,)
    return (*_given(template, path), placeholder_sample(snapshot, path))


def given_samples(snapshot: Snapshot, path: str) -> tuple[Sample, ...]:
    """Return the samples that are not placeholders. Raises like `samples_of`."""
    template = snapshot.template(path)
    return () if template is None else tuple(_given(template, path))


def default_sample(snapshot: Snapshot, path: str) -> Sample:
    """Return the first one of `samples_of`, without creating the others. Its data must not be modified."""
    template = snapshot.template(path)
    if template is None:
        return _EMPTY
    return next(iter(_given(template, path, _known)), None) or placeholder_sample(snapshot, path)


def sample_names(snapshot: Snapshot, path: str) -> tuple[tuple[str, str], ...]:
    """Return the name and source of each sample, without creating placeholders. Raises like `samples_of`."""
    template = snapshot.template(path)
    if template is None:
        return ((_EMPTY.name, _EMPTY.source),)
    given = [(sample.name, sample.source) for sample in _given(template, path, _known)]
    return (*given, (PLACEHOLDERS, _placeholder_source(template)))


def _given(template: Template, path: str, load: Callable[[Path], Any] | None = None) -> Iterable[Sample]:
    """Return the samples that are not placeholders, the default one first."""
    found = chain(_from_file(template, path, load), _from_examples(template), _first_row(template, path))
    if template.kind is Kind.EVALUATION:
        # Its examples are in-context examples, and its test data are the rows.
        return sorted(found, key=lambda sample: sample.kind == "example")
    return found


def sample_named(snapshot: Snapshot, path: str, name: str) -> Sample:
    """Return the sample called `name`; raises UsageError, which lists the available ones."""
    samples = samples_of(snapshot, path)
    for sample in samples:
        if sample.name == name:
            return sample
    names = [sample.name for sample in samples]
    raise UsageError(
        f"there is no sample `{name}`{did_you_mean(name, names)}",
        FilePlace(path),
        f"choose one of: {', '.join(names)}",
    )


def dataset_of_rows(snapshot: Snapshot, path: str) -> Path:
    """Return the dataset of the file's first experiment; raises `UsageError` if there is none."""
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    if dataset is None:
        raise UsageError(
            "there is no dataset to take a row from", FilePlace(path), "declare an experiment in the header"
        )
    return dataset


def row_sample(snapshot: Snapshot, path: str, number: int) -> Sample:
    """Return row `number`, from 1, of the dataset of the file's first experiment."""
    dataset = dataset_of_rows(snapshot, path)
    last = 0
    for row in open_dataset(dataset).rows():
        last = row.number
        if last == number:
            return Sample.of_row(row, dataset.name, snapshot.template(path))
    there = f"its last row is row {last}" if last else "it has no rows"
    raise UsageError(f"the dataset has no row {number}", FilePlace(dataset), there)


def row_samples(snapshot: Snapshot, path: str) -> tuple[Sample, ...]:
    """Return the first rows, at most 200, of the first experiment's dataset; empty if it cannot be read."""
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    if dataset is None:
        return ()
    return tuple(Sample.of_row(row, dataset.name, template) for row in _first_rows(dataset))


def rows_of_other_datasets(snapshot: Snapshot, path: str) -> Iterator[Sample]:
    """Yield the first rows, at most 200, of the datasets of the experiments after the first one."""
    template = snapshot.template(path)
    if template is None or template.kind is Kind.EVALUATION:
        return
    experiments = template.declarations.settings.experiments
    datasets = dict.fromkeys(join_path(Path(path).parent, each.dataset) for each in experiments.values())
    for dataset in list(datasets)[1:]:
        for row in _first_rows(dataset):
            yield Sample.of_row(row, dataset.name, template, f"row {row.number} of {dataset.name}")


def _first_rows(dataset: Path, limit: int = _MAX_ROWS) -> Sequence[DatasetRow]:
    """Return the first rows of a dataset; none if it cannot be read, which running the experiment reports."""
    try:
        return list(islice(open_dataset(dataset).rows(), limit))
    except UserError:
        return ()


def placeholder_sample(snapshot: Snapshot, path: str) -> Sample:
    """Return placeholder values for the inputs of the file and of all its includes, except functions."""
    template = snapshot.template(path)
    source = _placeholder_source(template)
    if template and (saved := _saved_prompt(template)):
        values = {key: placeholder(key, Shape(), {}) for key in saved.input_keys if key}
        return Sample(PLACEHOLDERS, source, values, "placeholders")
    data = {
        each.name: placeholder(each.name, each.shape, each.schema or _schema_below(snapshot, each))
        for each in inputs_of(snapshot, path)
        if each.shape.kind != "callable"
    }
    for each in map(snapshot.template, snapshot.included(path)):
        if each is not None:
            _set_roles(each, data)
    if template and template.kind is Kind.EVALUATION:
        for column in columns_of(template):
            data.setdefault(column, placeholder(column, Shape(), {}))
    return Sample(PLACEHOLDERS, source, data, "placeholders")


_ROLES: Final = ("user", "assistant")


def _set_roles(template: Template, data: dict[str, Any]) -> None:
    """Replace the texts in `data` that are roles of parts; those in a list alternate, as in a chat."""
    for _, path in printed_roles(template):
        _set_role(data, [step.key for step in path], _ROLES[0])


def _set_role(value: Any, keys: Sequence[object], role: str) -> None:
    first, *others = keys
    if first is Each.ELEMENT and isinstance(value, list) and others:
        for number, element in enumerate(value):
            _set_role(element, others, _ROLES[number % len(_ROLES)])
    elif isinstance(value, dict) and first in value:
        if others:
            _set_role(value[first], others, role)
        elif str(value[first]).startswith("<"):  # not what a declaration says
            value[first] = role


_MAX_BRANCHES: Final = 8
"""The maximum number of values with which other branches are tried."""


def branch_samples(snapshot: Snapshot, path: str, made_up: Sample) -> Iterator[Sample]:
    """Yield the placeholders with other values of one input, which lead into other branches.

    Those are the texts and numbers that an input is compared with, and an empty value of an input whose
    presence is tested.
    """
    templates = filter(None, map(snapshot.template, snapshot.included(path)))
    tried: dict[tuple[str, Any], None] = {}
    for chunk in (chunk for template in templates for chunk in template.source.chunks):
        for _, node in expressions_in(chunk):
            for value, constants in compared_values(node) if isinstance(node, Operation) else ():
                if isinstance(value, Name):
                    tried.update(
                        {
                            (value.name, each.value): None
                            for each in constants
                            if isinstance(each.value, str | int) and not isinstance(each.value, bool)
                        }
                    )
        for name in _names_tested_in(chunk):
            tried[name, _ABSENT.get(type(made_up.data.get(name)))] = None
    usable = [
        (name, value)
        for name, value in tried
        if value is not None and name in made_up.data and value != made_up.data[name]
    ]
    for name, value in usable[:_MAX_BRANCHES]:
        data = {**made_up.data, name: list(value) if isinstance(value, tuple) else value}
        shown = json.dumps(value, ensure_ascii=False)
        yield Sample(f"{PLACEHOLDERS} and {name} = {shown}", made_up.source, data, "branch")


_ABSENT: Final[Mapping[type, Any]] = {str: "", list: (), bool: False}


def _names_tested_in(chunk: Chunk) -> Iterator[str]:
    """Yield the names whose presence the conditions of a chunk test."""
    for _, node in expressions_in(chunk):
        if isinstance(node, Conditional):
            yield from _tested(node.test)
    for tag in chunk.tags:
        statement = statement_of(tag)
        if statement is not None and statement.keyword in {"if", "elif"}:
            for each in statement.expressions:
                yield from _tested(each)


def _tested(node: Expression) -> Iterator[str]:
    """Yield the names whose presence a condition tests."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Operation) and set(node.operators) <= {"and", "or", "not"}:
        for operand in node.operands:
            yield from _tested(operand)


def _placeholder_source(template: Template | None) -> str:
    if template and _saved_prompt(template):
        return "made from the fields of the instruction"
    return "made from how the inputs are used"


def _saved_prompt(template: Template) -> SavedPrompt | None:
    return saved_prompt_in(template.declarations.data) if template.kind is Kind.OBJECT else None


def _schema_below(snapshot: Snapshot, needed: NeededInput) -> Mapping[str, Any]:
    """Return the JSON Schema that an included file declares for an input it reads."""
    for path in dict.fromkeys(place.path for place in needed.places):
        template = snapshot.template(path)
        for key in template.declarations.inputs if template else ():
            if key.name == needed.name:
                return key.schema
    return {}


def file_samples(template: Template, path: str) -> tuple[Sample, ...]:
    """Return the samples in the file that the header names, which is reread only after a change.

    Raises UserError if it cannot be read. The data is shared by all callers, and must not be modified.
    """
    return tuple(_from_file(template, path, _known))


@cached_by_file(32)
def _known(file: Path) -> Any:
    return samples_in(file)


def _from_file(template: Template, path: str, load: Callable[[Path], Any] | None) -> Iterator[Sample]:
    named = template.declarations.settings.samples
    if not named:
        return
    file = Path(path).parent / named
    data = (load or samples_in)(file)
    if not isinstance(data, dict):
        raise UserError("a samples file is a mapping of inputs, or of named mappings", FilePlace(file))
    declared = {key.name for key in template.declarations.inputs}
    inputs = declared or {*template.names.input_names}
    if _is_named(data, inputs):
        for name, value in data.items():
            yield Sample(str(name), named, value)
    else:
        yield Sample(file.stem, named, data)


def _is_named(data: Mapping[Any, Any], inputs: set[str]) -> bool:
    """Return whether `data` maps names to samples: more inputs are keys of its values than keys of itself."""
    samples = [value for value in data.values() if isinstance(value, dict)]
    if not samples or len(samples) < len(data):
        return False
    keys = len(inputs & data.keys())
    return not keys or len(inputs & set().union(*samples)) > keys


def samples_in(file: Path) -> Any:
    """Return the content of a samples file. Raises UserError if it cannot be read."""
    is_json = file.suffix == ".json"
    try:
        text = read_text(file, limit=_MAX_JSON_BYTES if is_json else _MAX_YAML_BYTES)
        if is_json:
            return json.loads(text)
        # libyaml crashes on deeply nested input, so the depth is checked first.
        if (error := compose(text, Span, lambda _span: False).error) is not None:
            place = FilePlace(file, *line_column(line_starts(text), min(error.offset, len(text))))
            raise UserError(_invalid(error.message), place)
        loaded = yaml.load(text, Loader=yaml.CSafeLoader)
        if is_boundless(loaded):
            raise ValueError("a value contains itself through an alias (`*name`)")  # noqa: TRY301  (as above)
        return loaded  # noqa: TRY300  (as above)
    except FileTooLargeError as error:
        raise UserError(
            f"the samples file cannot be read: {error.strerror}, and is read as a whole",
            FilePlace(file),
            "put many rows into a dataset (`.jsonl` or `.csv`), which is read row by row",
        ) from None
    except OSError as error:
        raise UserError(
            f"the samples file cannot be read: {error.strerror}",
            FilePlace(file),
            "check the header's `samples`",
        ) from error
    except json.JSONDecodeError as error:
        place = FilePlace(file, error.lineno - 1, error.colno - 1)
        raise UserError(_invalid(lower_first(error.msg)), place) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(_invalid(str(error).splitlines()[0]), FilePlace(file)) from error


def _invalid(reason: str) -> str:
    return f"the samples file is not valid: {reason}"


def _from_examples(template: Template) -> Iterator[Sample]:
    if saved := _saved_prompt(template):
        for number, inputs in enumerate(example_inputs(saved), start=1):
            yield Sample(f"example {number}", "the examples", dict(inputs), "example", number)
        return
    output = template.declarations.data.get("output_key")
    for number, example in enumerate(template.declarations.examples, start=1):
        data = {key: value for key, value in example.data.items() if key != output}
        yield Sample(f"example {number}", "the examples", data, "example", number)


def _first_row(template: Template, path: str) -> Iterator[Sample]:
    dataset = dataset_path(template, path)
    if dataset is not None:
        yield from (Sample.of_row(row, dataset.name, template) for row in _first_rows(dataset, 1))


def dataset_path(template: Template, path: str) -> Path | None:
    """Return the dataset of the first experiment in the file at `path`, even if it does not exist.

    For an evaluation prompt, it may be the one that its `path` names.
    """
    if template.kind is Kind.EVALUATION:
        test = evaluation_data(template, path).test
        return Path(test) if test else None
    experiments = template.declarations.settings.experiments
    for experiment in experiments.values():
        return join_path(Path(path).parent, experiment.dataset)
    return None
