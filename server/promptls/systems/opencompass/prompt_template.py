"""`PromptTemplate`: a text, a dialogue, or one of either for each label.

Source: `opencompass.openicl.icl_prompt_template` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from promptls.systems.opencompass.arguments import check_arguments
from promptls.systems.opencompass.failure import ConfigPath, OpenCompassError
from promptls.systems.opencompass.prompt_list import Messages, Prompt, PromptList, Row, filled

_ARGUMENTS: Final = ("template", "ice_token", "sep_token")
_SECTIONS: Final = frozenset({"begin", "round", "end"})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template that OpenCompass accepts; `kind` is its own word: `meta` is a dialogue."""

    name: str
    """`ice_template` or `prompt_template`: where it stands."""
    template: Any
    kind: Literal["origin", "meta"]
    ice_token: str | None = None
    sep_token: str | None = None

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The keys of a mapping: the labels, or the sections of a dialogue; None for a text."""
        return tuple(self.template) if isinstance(self.template, Mapping) else None

    def example(self, row: Row, label: Any) -> Prompt:
        """The row as an in-context example; of a mapping from labels, the template of `label`.

        No column is masked. `sep_token` stays, as OpenCompass takes it out and throws the result away.
        """
        template = self._encoded(self._body_of(label), is_example=True)
        if self.ice_token is not None:
            template = _replaced(template, self.ice_token, "")
        return _filled(template, row)

    def labelled(self, row: Row, examples: Prompt, label: Any, *, keep_separator: bool = False) -> Prompt:
        """The prompt that claims `label` for the row. No column is masked."""
        template = self._encoded(self._body_of(label))
        if not keep_separator and self.sep_token is not None:
            template = _replaced(template, self.sep_token, "")
        if self.ice_token is not None:
            template = self._with_examples(template, examples)
        return _filled(template, row)

    def generating(self, row: Row, examples: Prompt, output_column: str | None, mask: str) -> Prompt:
        """The prompt whose answer the model writes: `mask` stands in place of the output column's value.

        Of a mapping from labels, it is the first label's.
        """
        body = self.template
        if self.kind == "origin" and isinstance(body, Mapping):
            body = next(iter(body.values()))
        template = self._encoded(body)
        if self.ice_token is not None:
            template = self._with_examples(template, examples)
        if self.sep_token is not None:
            template = _replaced(template, self.sep_token, "")
        if output_column is not None:
            row = {**row, output_column: mask}
        return _filled(template, row)

    def _body_of(self, label: Any) -> Any:
        if isinstance(self.template, str) or self.kind == "meta":
            return self.template
        if label not in self.template:
            labels = ", ".join(f"`{each}`" for each in self.template)
            raise OpenCompassError(
                f"`{self.name}` has no template for the label `{label}`; it has {labels}.",
                cause="KeyError",
                said=str(label),
                at=(self.name, "template"),
            )
        return self.template[label]

    def _encoded(self, body: Any, *, is_example: bool = False) -> Prompt:
        """The text, or the dialogue with the marks of its sections, of which examples show `round` only."""
        if isinstance(body, str):
            return body
        if not isinstance(body, Mapping):
            raise OpenCompassError(
                f"`{self.name}` is read as a mapping from labels, because it has a key that is neither "
                "`begin`, `round` nor `end`; and what stands at a label must be a text or a dialogue, "
                "not a list.",
                cause="TypeError",
                said="list indices must be integers or slices, not str",
                at=(self.name, "template"),
            )
        if "round" not in body:
            raise OpenCompassError(
                f"`{self.name}` is a dialogue without `round`: the turns stand there.",
                cause="KeyError",
                said="round",
                at=(self.name, "template"),
            )
        items: list[Any] = []
        if "begin" in body and not is_example:
            items += [_mark("begin", "begin"), *_listed(body["begin"]), _mark("begin", "end")]
        section = "ice" if is_example else "round"
        items += [_mark(section, "begin"), *_turns(body["round"]), _mark(section, "end")]
        if "end" in body and not is_example:
            # OpenCompass opens this section with the mark that closes one.
            items += [_mark("end", "end"), *_listed(body["end"]), _mark("end", "end")]
        return PromptList(tuple(items))

    def _with_examples(self, template: Prompt, examples: Prompt) -> Prompt:
        assert self.ice_token is not None
        if isinstance(template, str) and not isinstance(examples, str):
            what = "a dialogue" if isinstance(examples, PromptList) else "messages"
            kind = "PromptList" if isinstance(examples, PromptList) else "list"
            raise OpenCompassError(
                f"The examples are {what}, which cannot go into the text of `{self.name}`: let both be "
                "texts, or both dialogues.",
                cause="TypeError",
                said=f"replace() argument 2 must be str, not {kind}",
                at=(self.name, "template"),
            )
        try:
            made: Prompt = _replaced(template, self.ice_token, examples)
        except OpenCompassError as error:
            error.at = error.at or (self.name, "template")
            raise
        return made


def build_prompt_template(name: str, config: Mapping[str, Any]) -> PromptTemplate:
    """The template that `config` describes; raises OpenCompassError as `PromptTemplate(…)` would."""
    check_arguments("PromptTemplate", name, config, _ARGUMENTS, "template")
    template = config["template"]
    if not isinstance(template, str | Mapping):
        raise OpenCompassError(
            f"The `template` of `{name}` is neither a text nor a mapping.",
            cause="AssertionError",
            at=(name, "template"),
        )
    tokens: dict[str, str | None] = {}
    for key in ("ice_token", "sep_token"):
        value = config.get(key)
        if value is not None and not isinstance(value, str):
            raise OpenCompassError(
                f"`{key}` of `{name}` is a text, or left out.",
                cause="TypeError",
                said=f"Expected an object in [None, 'str'] type, but got {value}",
                at=(name, key),
            )
        tokens[key] = value
    _check_bodies(name, template, tokens["ice_token"])
    is_dialogue = isinstance(template, Mapping) and template.keys() <= _SECTIONS
    return PromptTemplate(name, template, "meta" if is_dialogue else "origin", **tokens)


def _check_bodies(name: str, template: str | Mapping[Any, Any], token: str | None) -> None:
    """Raises OpenCompassError for a label's value of another type, and a text without its `ice_token`.

    Within a dialogue, OpenCompass does not look.
    """
    bodies: list[tuple[ConfigPath, Any]] = [((name, "template"), template)]
    if isinstance(template, Mapping):
        bodies = [((name, "template", label), body) for label, body in template.items()]
    for at, body in bodies:
        if not isinstance(body, str | list | Mapping):
            raise OpenCompassError(
                f"`{at[-1]}` holds {body!r}, which is neither a text, a list nor a mapping.",
                cause="TypeError",
                said=f"dictionary of template expects a str, list or a dict, but got '{body}'",
                at=at,
            )
        if isinstance(body, str) and token and token not in body:
            raise OpenCompassError(
                f"`{token}`, the `ice_token`, does not stand in this text.",
                cause="LookupError",
                said=f"'{token}' not in '{body}'",
                at=at,
            )


def _mark(section: str, pos: str) -> dict[str, str]:
    return {"section": section, "pos": pos}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _turns(value: Any) -> list[Any]:
    """What `prompt += value` adds: of a text the text, of a mapping its keys, of nothing nothing."""
    if not value:
        return []
    return [value] if isinstance(value, str) else list(value)


def _replaced(template: Any, mark: str, by: Prompt) -> Any:
    return template.replaced(mark, by) if isinstance(template, PromptList) else template.replace(mark, by)


def _filled(template: Prompt, row: Row) -> Prompt:
    assert not isinstance(template, Messages)
    if isinstance(template, PromptList):
        return template.filled(row)
    text: str = filled(template, row)
    return text
