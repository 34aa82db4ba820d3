"""Diagnostics for samples of Ragas in a program: fields, types, and the columns that metrics need."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from promptls.lint.rule import Finding, Fix
from promptls.programs.program import Program, change_literal, is_open, type_error
from promptls.programs.ragas_classes import INSTANCES, METRIC_CLASSES
from promptls.syntax.python_places import (
    Function,
    arguments,
    dict_items,
    dotted_name,
    last_name,
    parameter_names,
    text_of,
)
from promptls.text.format import in_code, lower_first
from promptls.text.suggest import nearest
from promptls.workspace.python_scopes import own_nodes, returned_values

if TYPE_CHECKING:
    from pydantic import BaseModel

_SAMPLES: Final = ("SingleTurnSample", "MultiTurnSample")
_MODELS: Final = (*_SAMPLES, "HumanMessage", "AIMessage", "ToolMessage", "ToolCall")
_DATASET: Final = "EvaluationDataset"
_OLD_NAMES: Final[Mapping[str, str]] = {
    "question": "user_input",
    "query": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}
"""Other names of fields, such as those of Ragas before 0.2, and the fields."""
_SCORES: Final = frozenset({"single_turn_score", "single_turn_ascore"})
_METHODS: Final = {tuple(sorted(name.split("_"))): name for name in _SCORES}
_TABLES: Final = frozenset({"DataFrame", "read_csv", "read_excel", "read_json", "read_parquet"})
"""The functions of pandas that make a table."""
_CHANGES: Final = frozenset({"extend", "insert", "update", "setdefault", "pop", "remove", "clear"})
_UNKNOWN: Final = object()
"""A value that only running the program would reveal."""


def findings_in_samples(program: Program) -> Iterator[Finding]:
    """Yield the fields of samples that are unknown or of a wrong type, and the columns that metrics lack."""
    samples = _Samples(program)
    yield from _set_fields(program)
    for call in program.calls:
        name = program.library_name(call.func)
        if name in _MODELS:
            yield from samples.fields(call, name)
        elif isinstance(call.func, ast.Attribute) and program.library_name(call.func.value) == _DATASET:
            for row in (samples.rows(call) or ()) if call.func.attr in {"from_list", "from_dict"} else ():
                if isinstance(row, ast.Dict):
                    yield from samples.columns(row)
        if name == _DATASET:
            yield from samples.mixed(call)
        yield from _misnamed_score(program, call)
        yield from samples.contexts(call)
        yield from samples.arguments(call)
        yield from samples.parts(call)
        yield from samples.mappings(call)
        if name == "evaluate" or (isinstance(call.func, ast.Attribute) and call.func.attr in _SCORES):
            yield from samples.needs(call)


def _set_fields(program: Program) -> Iterator[Finding]:
    """Yield the attributes that the program sets on a sample and that are not its fields."""
    known = (
        {key for each in _SAMPLES for key in _model(each).model_fields} if program.imports.names else set()
    )
    for node in program.nodes if known else ():
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store) or node.attr in known:
            continue
        made = program.resolved(node.value) if isinstance(node.value, ast.Name) else None
        name = program.library_name(made.func) if isinstance(made, ast.Call) else ""
        if name in _SAMPLES:
            meant = _meant(node.attr, [*_model(name).model_fields])
            message = f"`{name}` has no field `{node.attr}`"
            yield Finding.suggest(program.places.attribute_span(node), message, meant)


def _misnamed_score(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield a method of a metric whose name has the words of another one in a different order."""
    name = last_name(call.func)
    meant = _METHODS.get(tuple(sorted(name.split("_"))), name)
    if meant != name and isinstance(call.func, ast.Attribute):
        span = program.places.attribute_span(call.func)
        yield Finding.suggest(span, f"a metric has no `{name}`", meant, preferred=True)


class _Samples:
    """A program, and the values of the names that it binds once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        functions = program.top_functions.values()
        self._fixtures = {
            each.name: each
            for each in functions
            if any("fixture" in ast.unparse(decorator) for decorator in each.decorator_list)
        }
        self._methods = {each.name for each in program.functions}
        self._scored = {each: {*_scored_parameters(program, each)} for each in functions}
        self._mentioned: set[str | None] = set()
        # The fields of a conversation are no columns of other samples.
        conversations = (each for each in program.calls if program.library_name(each.func) == _SAMPLES[1])
        others = {id(keyword) for call in conversations for keyword in call.keywords}
        for node in program.nodes:
            match node:
                case ast.keyword() if id(node) in others:
                    continue
                case ast.Constant(value=str(name)) | ast.keyword(arg=name) | ast.Attribute(attr=name):
                    self._mentioned.add(name)

    def _resolved(
        self, node: ast.expr | None, followed: frozenset[Function] = frozenset()
    ) -> ast.expr | None:
        """Return the value of a name that is bound once, of an item of a list in such a name, and of a call.

        A call is that of a function of the program with a single `return`; a parameter may be a fixture.
        """
        match node:
            case ast.Name(id=name) if name in self._fixtures:
                return self._returned(self._fixtures[name], followed)
            case ast.Name():
                value = self._variable(node)
                return self._resolved(value, followed) if isinstance(value, ast.Call | ast.Await) else value
            case ast.Await(value=value):
                return self._resolved(value, followed)
            case ast.Call() if (function := self._program.function(node.func)) is not None:
                return self._filled(self._returned(function, followed), node, function) or node
            case ast.Subscript(value=ast.Name(id=name) as variable, slice=ast.Constant(value=int(index))):
                items = self._variable(variable) if name not in self._program.appended else None
                is_item = isinstance(items, ast.List) and 0 <= index < len(items.elts)
                return items.elts[index] if is_item and isinstance(items, ast.List) else None
        return node

    def _variable(self, node: ast.Name) -> ast.expr | None:
        """Return the value of a name that is bound once, unless a method may change it."""
        is_changed = self._program.attributes.get(node.id, frozenset()) & _CHANGES
        return None if is_changed else self._program.resolved(node)

    def _filled(self, made: ast.expr | None, call: ast.Call, function: Function) -> ast.expr | None:
        """Return what a function makes, with the argument in place of a parameter that it unpacks."""
        match made:
            case ast.Call(args=[], keywords=[ast.keyword(arg=None, value=ast.Name(id=parameter))]):
                given = _arguments(call, function).get(parameter)
                if given is not None:
                    unpacked = ast.copy_location(ast.keyword(None, given), made.keywords[0])
                    return ast.copy_location(ast.Call(made.func, [], [unpacked]), made)
        return made

    def _returned(self, function: Function, followed: frozenset[Function]) -> ast.expr | None:
        """Return what a function of the program returns, if that is a single expression."""
        returned = returned_values(function) if function not in followed else []
        return self._resolved(returned[0] if len(returned) == 1 else None, followed | {function})

    # -- fields -----------------------------------------------------------------------

    def fields(self, call: ast.Call, name: str) -> Iterator[Finding]:
        """Yield the wrong arguments of a sample or a message."""
        model = _model(name)
        given = {keyword.arg: keyword for keyword in call.keywords}
        first = call.args[0] if call.args else None
        is_placeholder = isinstance(first, ast.Constant) and first.value is ...
        if first is not None and not is_placeholder and not isinstance(first, ast.Starred):
            message = f"`{name}` takes its arguments by name"
            yield Finding(self._program.span(first), message)
        if call.args or None in given:
            return
        missing = [each for each, field in model.model_fields.items() if field.is_required()]
        missing = [each for each in missing if each not in given]
        for key, keyword in given.items():
            if key is None or key in model.model_fields:
                continue
            meant = _meant(key, [each for each in model.model_fields if each not in given])
            span = self._program.span(keyword)
            fixes = (
                (Fix.change_to(span, meant, preferred=True),) if meant and _may_be(key, keyword.value) else ()
            )
            suggestion = f"; did you mean `{meant}`?" if meant else ""
            message = f"`{name}` has no field `{key}` and ignores it{suggestion}"
            yield Finding(span, message, fixes, severity=None if meant in missing else "warning")
            missing = [each for each in missing if each != meant]
        if missing:
            yield Finding(self._program.span(call.func), f"`{name}` needs {in_code(missing)}")
        for key, keyword in given.items():
            if key in model.model_fields:
                yield from self._mismatch(name, key or "", keyword.value)
        if name == "MultiTurnSample" and (said := given.get("user_input")) is not None:
            yield from self._order(said.value)

    def columns(self, row: ast.Dict) -> Iterator[Finding]:
        """Yield the keys of a row that no sample has, and values of a wrong type."""
        known = list(dict.fromkeys(key for each in _SAMPLES for key in _model(each).model_fields))
        given = {
            text: (each, value)
            for each, value in zip(row.keys, row.values, strict=True)
            if each is not None and (text := text_of(each)) is not None
        }
        for key, (place, value) in given.items():
            meant = _meant(key, [each for each in known if each not in given]) if key not in known else None
            if meant is not None:
                message = f"a sample has no field `{key}` and ignores it; did you mean `{meant}`?"
                fixes = (change_literal(self._program, place, meant),) if _may_be(key, value) else ()
                yield Finding(self._program.span(place), message, fixes, severity="warning")
            elif key in known and key != "user_input":
                model = _SAMPLES[key not in _model(_SAMPLES[0]).model_fields]
                yield from self._mismatch(model, key, value)

    def _mismatch(self, name: str, key: str, node: ast.expr) -> Iterator[Finding]:
        """Yield the first value in an expression that the type of a field does not allow."""
        value = self._value(node)
        if value is _UNKNOWN or value is None:
            return
        error = type_error(_model(name).model_fields[key].annotation, value)
        if error is None or isinstance(error["input"], dict):
            return  # Ragas tries several types of messages.
        place = node
        for step in error["loc"]:
            if isinstance(step, int) and isinstance(place, ast.List) and step < len(place.elts):
                place = place.elts[step]
        reason = lower_first(error["msg"])
        if key == "user_input" and name == "MultiTurnSample":
            reason = "each item is a `HumanMessage`, `AIMessage` or `ToolMessage`"
        yield Finding(self._program.span(place), f"`{key}` of `{name}`: {reason}")

    def _value(self, node: ast.expr | None) -> Any:
        """Return the value of a literal, or a message with the known ones of its fields."""
        node = self._resolved(node)
        match node:
            case ast.Constant(value=value):
                return _UNKNOWN if value is ... else value
            case (
                ast.JoinedStr()
                | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="join" | "format"))
            ):
                return ""
            case ast.List(elts=items) if not any(isinstance(each, ast.Starred) for each in items):
                values = [self._value(each) for each in items]
                return _UNKNOWN if any(each is _UNKNOWN for each in values) else values
            case ast.Dict(keys=keys, values=items) if None not in keys:
                pairs = [
                    (self._value(key), self._value(value)) for key, value in zip(keys, items, strict=True)
                ]
                is_known = all(isinstance(key, str) and value is not _UNKNOWN for key, value in pairs)
                return dict(pairs) if is_known else _UNKNOWN
            case ast.Call(keywords=keywords) if (name := self._program.library_name(node.func)) in _MODELS:
                given = {each.arg: self._value(each.value) for each in keywords if each.arg}
                return _model(name).model_construct(**given)
        return _UNKNOWN

    def _order(self, node: ast.expr) -> Iterator[Finding]:
        """Yield the first result of a tool in a conversation in which no tool was called before it."""
        said = self._resolved(node)
        messages = said.elts if isinstance(said, ast.List) else []
        before = ""
        for message in messages:
            name = self._program.library_name(message.func) if isinstance(message, ast.Call) else ""
            if name not in _MODELS or not isinstance(message, ast.Call):
                return
            if name == "ToolMessage" and before not in {"ToolMessage", "a call"}:
                text = "a `ToolMessage` follows an `AIMessage` with `tool_calls`: Ragas refuses this sample"
                yield Finding(self._program.span(message.func), text)
                return
            calls = next((each.value for each in message.keywords if each.arg in {"tool_calls", None}), None)
            is_empty = calls is None or (isinstance(calls, ast.List) and not calls.elts)
            before = name if name != "AIMessage" or (is_empty and not message.args) else "a call"

    def mixed(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the first sample of a dataset that is of another kind than the one before it."""
        rows = [each for each in self.rows(call) or () if isinstance(each, ast.Call)]
        kinds = [self._program.library_name(each.func) for each in rows]
        other = next((each for each in kinds if each != kinds[0]), None)
        if other is not None and {*kinds} == {*_SAMPLES}:
            listed = self._resolved(next(iter(call.args), None) or call.keywords[0].value)
            items = listed.elts if isinstance(listed, ast.List) else []
            index = kinds.index(other)
            place = items[index] if index < len(items) else rows[index]
            message = f"this is a `{other}`, and the first sample a `{kinds[0]}`: a dataset has one kind"
            yield Finding(self._program.span(place), message)

    def mappings(self, call: ast.Call) -> Iterator[Finding]:
        """Yield a mapping in place of a sample that is scored, also after a parameter of a function."""
        given: list[ast.expr] = []
        if not _SCORES.isdisjoint(self._methods):
            return  # The program has metrics with methods of its own.
        match call.func:
            case ast.Attribute(attr=method) if method in _SCORES:
                given += [*call.args[:1], *(each.value for each in call.keywords if each.arg == "sample")]
            case ast.Name() if (function := self._program.function(call.func)) is not None:
                passed = _arguments(call, function)
                given += [passed[each] for each in self._scored[function] if each in passed]
        for sample in given:
            made = self._resolved(sample)
            if isinstance(made, ast.Dict | ast.List | ast.ListComp):
                kind = "mapping" if isinstance(made, ast.Dict) else "list"
                message = f"a sample is a `SingleTurnSample`, and this is a {kind}"
                yield Finding(self._program.span(sample), message)

    # -- columns of metrics -----------------------------------------------------------

    def rows(self, call: ast.Call) -> list[ast.expr] | None:
        """Return the rows of a dataset that a call makes from a list; None if they are not all known."""
        given = next(iter(call.args), None) or next(
            (each.value for each in call.keywords if each.arg in {"data", "samples"}), None
        )
        made = self._resolved(given)
        if not isinstance(made, ast.List):
            return None
        appended = self._program.appended.get(given.id, ()) if isinstance(given, ast.Name) else ()
        rows = [self._resolved(each) for each in (*made.elts, *appended)]
        known: list[ast.expr] = [each for each in rows if isinstance(each, ast.Dict | ast.Call)]
        return known if known and len(known) == len(rows) else None

    def needs(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the metrics of an evaluation that need a column which the program nowhere names."""
        given = arguments(call, ("dataset", "metrics"))
        if isinstance(call.func, ast.Attribute) and call.func.attr in _SCORES:
            rows = [self._resolved(given.get("sample") or given.get("dataset"))]
            yield from self._unmet(
                [call.func.value], rows, self._names(rows), self._program.stored_attributes
            )
            return
        yield from self._no_dataset(call, given.get("dataset"))
        listed = self._resolved(given.get("metrics"))
        yield from self._no_list(given.get("metrics"), listed)
        metrics = listed.elts if isinstance(listed, ast.List) else []
        if table := self._table(given.get("dataset")):
            yield from self._unmet(metrics, [], table, set())
        else:
            rows = [*self._rows_of_dataset(given.get("dataset"))]
            yield from self._unmet(metrics, rows, self._names(rows), self._mentioned)

    def _no_dataset(self, call: ast.Call, dataset: ast.expr | None) -> Iterator[Finding]:
        """Yield a list in place of a dataset, which Ragas does not evaluate."""
        if dataset is None or self._program.meaning(call.func)[0] != "ragas":
            return
        made = self._resolved(dataset)
        if isinstance(made, ast.List | ast.ListComp | ast.Dict):
            kind = "mapping" if isinstance(made, ast.Dict) else "list"
            message = f"a dataset is an `EvaluationDataset`, and this is a {kind}"
            yield Finding(self._program.span(dataset), message)
        elif isinstance(made, ast.Call) and last_name(made.func) in _TABLES:
            message = "this is a table of pandas; `EvaluationDataset.from_pandas` makes a dataset of it"
            yield Finding(self._program.span(dataset), message)

    def _rows_of_dataset(self, node: ast.expr | None) -> list[ast.expr]:
        """Return the rows of an `EvaluationDataset`; nothing if they are not all known."""
        dataset = self._resolved(node)
        if not isinstance(dataset, ast.Call):
            return []
        owner = dataset.func.value if isinstance(dataset.func, ast.Attribute) else dataset.func
        return (self.rows(dataset) or []) if self._program.library_name(owner) == _DATASET else []

    def _unmet(
        self,
        metrics: list[ast.expr],
        rows: list[ast.expr | None],
        columns: set[str | None],
        elsewhere: AbstractSet[str | None],
    ) -> Iterator[Finding]:
        """Yield what is no metric, and what needs a column that no row, or one of the rows, has."""
        for metric in metrics:
            yield from self._class(metric)
            if text_of(metric) is not None:
                yield Finding(self._program.span(metric), "a metric is an object, and not its name")
        if not columns:
            return
        needed = {each: metric for metric in metrics for each in self._needed(metric)}
        for metric in metrics:
            missing = [each for each in self._needed(metric) if each not in columns | elsewhere]
            if missing:
                message = f"`{ast.unparse(metric)}` needs {in_code(missing)}, and no sample here has it"
                yield Finding(self._program.span(metric), message)
        for row in rows:
            given = self._names([row])
            lacked = [each for each in needed if each in columns - given - self._program.stored_keys]
            if lacked and isinstance(row, ast.Dict) and given <= _model(_SAMPLES[0]).model_fields.keys():
                message = f"this sample has no `{lacked[0]}`, which `{ast.unparse(needed[lacked[0]])}` needs"
                yield Finding(self._program.span(row), message, severity="warning")

    def _table(self, node: ast.expr | None) -> set[str | None]:
        """Return the columns of a table of the package `datasets` that is made from a literal mapping.

        They have the names of Ragas from 0.2 on. The result is empty if they are not known.
        """
        given, data = self._table_data(self._resolved(node))
        keys = data.keys if data is not None else []
        names = [each.value for each in keys if isinstance(each, ast.Constant)]
        stores = [each for each in self._program.nodes if isinstance(each, ast.Subscript)]
        is_changed = given is not None and any(
            isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == ast.unparse(given)
            for each in stores
        )
        is_known = len(names) == len(keys) and not is_changed
        return {_OLD_NAMES.get(each, each) for each in map(str, names)} if is_known else set()

    def _table_data(self, made: ast.expr | None) -> tuple[ast.expr | None, ast.Dict | None]:
        """Return the argument that a table of the package `datasets` is made from, and the mapping in it."""
        match made:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="Dataset"), attr="from_dict"), args=[given]):
                data = self._resolved(given)
                return given, data if isinstance(data, ast.Dict) else None
        return None, None

    def contexts(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the texts in a column of a table of the package `datasets` that has a list for each row."""
        _, data = self._table_data(call)
        if data is None or self._program.imported_from("datasets").get("Dataset") != "Dataset":
            return
        for name, _, column in dict_items(data):
            if name not in {"contexts", "retrieved_contexts"}:
                continue
            listed = self._resolved(column)
            rows = [*listed.elts] if isinstance(listed, ast.List) else []
            rows += self._program.appended.get(column.id, ()) if isinstance(column, ast.Name) else ()
            wrong = next((each for each in rows if isinstance(self._value(each), str)), None)
            if wrong is not None:
                message = f"`{name}` has a list of texts for each row, and this is one text"
                yield Finding(self._program.span(wrong), message)

    def _no_list(self, given: ast.expr | None, metrics: ast.expr | None) -> Iterator[Finding]:
        """Yield a metric in place of a list of metrics."""
        if isinstance(given, ast.Name) and self._program.library_name(given) in INSTANCES:
            metrics = given
        if isinstance(metrics, ast.Call | ast.Name) and self._needed(metrics):
            span = self._program.span(metrics)
            yield Finding(span, "`metrics` is a list", (Fix.put_into_list(span),))

    def _class(self, metric: ast.expr) -> Iterator[Finding]:
        """Yield the class of a metric in place of a metric."""
        from promptls.metrics.ragas_metrics import RAGAS_METRICS

        name = self._program.library_name(metric)
        if name in METRIC_CLASSES or any(name == each.kind for each in RAGAS_METRICS):
            span = self._program.span(metric)
            message = f"`{name}` is a class, and no metric"
            yield Finding(span, message, (Fix.insert(span.end, "()"),))
        elif isinstance(metric, ast.Call) and not metric.args and not metric.keywords:
            name = self._program.library_name(metric.func)
            if name in INSTANCES:
                message = f"`{name}` is a metric, which cannot be called: its class is `{INSTANCES[name]}`"
                fixes = (self._program.without_call(metric),)
                yield Finding(self._program.span(metric), message, fixes)

    def arguments(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the columns that a call of `ascore` does not pass to a metric of Ragas."""
        made = call.func if isinstance(call.func, ast.Attribute) else None
        given = {each.arg for each in call.keywords}
        if made is None or made.attr not in {"ascore", "score"} or call.args or not given or None in given:
            return
        needed = self._needed(made.value)
        missing = [each for each in needed if each not in given]
        name = ast.unparse(made)
        for keyword in call.keywords:
            meant = _meant(keyword.arg or "", missing)
            if keyword.arg in needed:
                yield from self._mismatch(_SAMPLES[0], keyword.arg or "", keyword.value)
            elif meant is not None:
                missing.remove(meant)
                message = f"`{name}` takes no `{keyword.arg}`"
                yield Finding.suggest(self._program.span(keyword), message, meant, preferred=True)
        if missing:
            yield Finding(self._program.span(made), f"`{name}` needs {in_code(missing)}")

    def parts(self, call: ast.Call) -> Iterator[Finding]:
        """Yield a metric of `ragas.metrics.collections` that is made without its judge or its embeddings."""
        from promptls.metrics.ragas_metrics import RAGAS_METRICS

        known = {each.kind: each for each in RAGAS_METRICS}
        metric = known.get(self._program.collected.get(dotted_name(call.func), ""))
        given = {each.arg for each in call.keywords}
        if metric is None or call.args or None in given:
            return
        needs = {"llm": metric.asks, "embeddings": metric.embeds and "weights" not in given}
        missing = [name for name, is_needed in needs.items() if is_needed and name not in given]
        if missing:
            yield Finding(self._program.span(call.func), f"`{metric.kind}` needs {in_code(missing)}")

    def _names(self, rows: list[ast.expr | None]) -> set[str | None]:
        """Return the columns of rows and samples; nothing if any may have others."""
        found: set[str | None] = set()
        for row in rows:
            match row:
                case ast.Dict(keys=keys) if all(isinstance(each, ast.Constant) for each in keys):
                    found |= {str(each.value) for each in keys if isinstance(each, ast.Constant)}
                case ast.Call(args=[], keywords=keywords) if (
                    self._program.library_name(row.func) == _SAMPLES[0]
                ):
                    fields = [*_model(_SAMPLES[0]).model_fields]
                    given = [each.arg for each in keywords if each.arg is not None]
                    found |= {key if key in fields else _meant(key, fields) for key in given}
                    others = [self._resolved(each.value) for each in keywords if each.arg is None]
                    inner = self._names(others) if others else found
                    if not inner:
                        return set()
                    found |= inner
                case _:
                    return set()
        return found

    def _needed(self, metric: ast.expr) -> tuple[str, ...]:
        """Return the columns that a metric of Ragas reads from samples of a single turn."""
        from promptls.metrics.ragas_metrics import CONVERSATIONS, RAGAS_METRICS

        made = self._resolved(metric) if not self._program.library_name(metric) else metric
        name = self._program.library_name(made.func if isinstance(made, ast.Call) else made) if made else ""
        if name in METRIC_CLASSES.keys() - {*self._program.collected.values()} or name in INSTANCES:
            return METRIC_CLASSES[INSTANCES.get(name, name)].needs
        known = (each for each in RAGAS_METRICS if each.kind not in CONVERSATIONS)
        return next((each.needs for each in known if name in {each.kind, each.name}), ())


def _arguments(call: ast.Call, function: Function) -> dict[str, ast.expr]:
    """Return the arguments of a call of a function, by its parameters."""
    return {} if is_open(call) else arguments(call, parameter_names(function))


def _scored_parameters(program: Program, function: Function) -> Iterator[str]:
    """Yield the parameters that a function passes to a metric as they are."""
    for node in own_nodes(function):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Name(id=name) as given, *_]):
                is_plain = name in parameter_names(function) and program.values_of(given) == [None]
                if method in _SCORES and is_plain:
                    yield name


def _model(name: str) -> type[BaseModel]:
    from promptls.api import ragas_samples

    model: type[BaseModel] = getattr(ragas_samples, name)
    return model


def _may_be(key: str, value: ast.expr) -> bool:
    """Return whether the value of a key with an old name may be that of the field."""
    return _OLD_NAMES.get(key) != "reference" or not isinstance(value, ast.List)


def _meant(key: str, free: list[str]) -> str | None:
    """Return the field that a key is probably meant to be."""
    old = _OLD_NAMES.get(key)
    return old if old in free else nearest(key, free)
