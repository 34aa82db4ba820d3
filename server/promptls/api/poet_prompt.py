"""Prompt Poet's `Prompt` class: rendered on construction, then tokenized and truncated in place."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from jinja2 import Environment, Template

from promptls.api.rendered import Encode, PromptError, encoder
from promptls.api.template import CompiledFiles
from promptls.dialects.prompt_poet.environment import FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError, render_failure
from promptls.dialects.prompt_poet.prompt_parts import (
    NO_LIMIT,
    PromptPart,
    count_parts,
    join_contents,
    messages,
    truncate,
)
from promptls.dialects.prompt_poet.template_rendering import (
    RenderOptions,
    load_template,
    parse_parts,
    render_loaded,
    template_data,
)
from promptls.dialects.prompt_poet.vocabulary import Markers

RAW_NAME: Final = "raw_template"
"""The path that errors report for templates without a file."""
_DEFAULT: Final = Markers()
Made = TypeVar("Made")


class TruncationError(PromptError):
    """The prompt cannot be reduced to its token limit."""


class TemplateLoader(Protocol):
    """A source of templates; Prompt Poet's loaders implement this interface."""

    def load(self) -> Template:
        """Return the compiled template."""

    def id(self) -> str:
        """Return a unique name of the template."""


class LocalFSTemplateLoader:
    """A loader for a template file; the path is relative to the working directory."""

    def __init__(self, template_path: str) -> None:
        self._path = Path(template_path)

    def load(self) -> Template:
        """Return the compiled template, which runs in Jinja's sandbox; raises PromptError."""
        path = self._path.absolute()
        files = FolderLoader(path.parent, {})
        try:
            return load_template(make_environment(files), files, path.name)
        except PromptPoetError as error:
            raise PromptError(error, str(path)) from error

    def id(self) -> str:
        """Return the path."""
        return os.path.join(str(self._path.parent), self._path.name)  # noqa: PTH118 - the format of Prompt Poet


class LocalPackageTemplateLoader(LocalFSTemplateLoader):
    """A loader for a template file in an installed Python package, which is not imported."""

    def __init__(self, package_name: str, template_path: str) -> None:
        super().__init__(str(package_folder(package_name) / template_path))
        self._id = f"{package_name}:{Path(template_path).parent}/{Path(template_path).name}"

    def id(self) -> str:
        """Return the package and the path within it."""
        return self._id


def package_folder(package_name: str) -> Path:
    """Return the folder of a Python package; raises ValueError if it does not exist."""
    try:
        spec = importlib.util.find_spec(package_name)
    except ImportError:
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise ValueError(f"There is no package `{package_name}`: check `package_name`.")
    return Path(folders[0])


class _RawLoader(FolderLoader):
    """A loader for a single text. It has no folder, so includes fail, as in Prompt Poet."""

    def __init__(self, text: str) -> None:
        super().__init__(".", {})
        self._text = text

    def path_of(self, name: str) -> Path:
        return Path(name)

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        del environment
        if template != RAW_NAME:
            raise TypeError("no loader for this environment specified")
        self.loaded.add(RAW_NAME)
        return self._text, RAW_NAME, lambda: True


class Prompt:
    """A drop-in replacement for Prompt Poet's `Prompt`, with its parameters, methods and properties.

    The template is a text (`raw_template`), a file (`template_path`, in the working directory or the package
    `package_name`), or loaded by a `template_loader`. It is rendered immediately, with `template_data`.
    Templates are rendered in Jinja's sandbox, except those of a custom loader;
    `sandboxed=False` disables it. `from_cache` and `logger` are ignored.

    Raises ValueError unless exactly one template is passed, and PromptError as `promptls.load` and
    `PromptTemplate.render` do.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parameters are those of Prompt Poet
        self,
        template_data: Mapping[str, Any] | None = None,
        template_path: str | os.PathLike[str] | None = None,
        template_loader: TemplateLoader | None = None,
        package_name: str | None = None,
        raw_template: str | None = None,
        logger: Any = None,
        encode_func: Encode | Any = None,
        tiktoken_encoding_name: str | None = None,
        token_limit: int = NO_LIMIT,
        truncation_step: int | None = None,
        from_cache: bool = False,
        from_examples: bool = False,
        space_marker: str = _DEFAULT.space,
        newline: str = _DEFAULT.newline,
        escaped_newline: str = _DEFAULT.escaped_newline,
        carriage_return: str = _DEFAULT.carriage_return,
        escaped_carriage_return: str = _DEFAULT.escaped_carriage_return,
        single_quote: str = _DEFAULT.single_quote,
        escaped_single_quote: str = _DEFAULT.escaped_single_quote,
        allow_token_overrides: bool = False,
        *,
        sandboxed: bool = True,
    ) -> None:
        del logger, from_cache
        if from_examples:
            raise ValueError("promptls does not include the examples of Prompt Poet: pass a `template_path`.")
        if raw_template and template_path:
            raise ValueError("Both `raw_template` and `template_path` are given: remove one of them.")
        if not (raw_template or template_path or template_loader):
            raise ValueError(
                "There is no template: pass `raw_template`, `template_path` or `template_loader`."
            )
        markers = Markers(
            space_marker,
            newline,
            escaped_newline,
            carriage_return,
            escaped_carriage_return,
            single_quote,
            escaped_single_quote,
        )
        self.token_limit: int = token_limit
        """The token limit for `truncate`; -1 means no limit."""
        self.template_package_name = package_name
        """The package that contains the template."""
        self._truncation_step = truncation_step
        self._allow_token_overrides = allow_token_overrides
        self._path = None if template_path is None else os.fspath(template_path)
        self._loader = template_loader
        file = Path(self._path or RAW_NAME)
        if package_name and not raw_template:
            file = package_folder(package_name) / file
        self._name = RAW_NAME if raw_template else os.path.normpath(file.absolute())
        self._encode = self._check(lambda: encoder(_encoding(encode_func, tiktoken_encoding_name)))
        options = RenderOptions(token_limit, markers, allow_token_overrides, sandboxed)
        self._template_data, self._parts = self._check(
            lambda: self._render(raw_template, template_data or {}, options)
        )
        self._whole: tuple[PromptPart, ...] | None = None

    def __repr__(self) -> str:
        return f"<Prompt {self._name!r}>"

    def _render(
        self, raw_template: str | None, data: Mapping[str, Any], options: RenderOptions
    ) -> tuple[Mapping[str, Any], list[PromptPart]]:
        """Return the data with the reserved names, and the parts; raises PromptPoetError."""
        if raw_template:
            loader: FolderLoader = _RawLoader(raw_template)
            environment = make_environment(loader, sandboxed=options.sandboxed)
            rendered = render_loaded(environment, loader, RAW_NAME, data, options)
            text, values = rendered.text, rendered.data
        elif self._loader is not None:
            values = template_data(data, options)
            template = self._loader.load()
            try:
                text = template.render(values)
            except Exception as error:
                empty = FolderLoader(".", {})
                raise render_failure(error, template.environment, empty) from error
        else:
            file = Path(self._name)
            files = CompiledFiles(file.parent)
            environment = make_environment(files, sandboxed=options.sandboxed)
            rendered = render_loaded(environment, files, file.name, data, options)
            text, values = rendered.text, rendered.data
        return values, list(parse_parts(text, values, options))

    @property
    def parts(self) -> list[PromptPart]:
        """The parts, with token ids after `tokenize`, as a new list."""
        return list(self._parts)

    @property
    def pretruncation_parts(self) -> list[PromptPart]:
        """The parts as they were before `truncate`."""
        return list(self._whole or self._parts)

    @property
    def string(self) -> str:
        """The prompt as a single text; raises PromptError if the content of a part is not a text."""
        return self._check(lambda: join_contents(self._parts))

    @property
    def pretruncation_string(self) -> str:
        """The prompt as a single text, before truncation."""
        return self._check(lambda: join_contents(self.pretruncation_parts))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt as chat messages, one per part."""
        return messages(self._parts)

    @property
    def tokens(self) -> list[int]:
        """The token ids of the prompt; raises PromptError before `tokenize`."""
        return self._joined_tokens(self._parts)

    @property
    def pretruncation_tokens(self) -> list[int]:
        """The token ids of the prompt as it was before `truncate`; raises PromptError before `tokenize`."""
        return self._joined_tokens(self.pretruncation_parts)

    @property
    def template_data(self) -> Mapping[str, Any]:
        """The template's data, including the names that Prompt Poet adds."""
        return self._template_data

    @property
    def template_name(self) -> str:
        """The file name of the template; empty if it has no file."""
        return Path(self._path).name if self._path else ""

    @property
    def template_dir(self) -> str:
        """The folder of the template as passed, `.` if it has none; empty if there is no file."""
        return str(Path(self._path).parent) if self._path else ""

    @property
    def template_id(self) -> str:
        """The id from the template's loader, or the template's folder and file name."""
        return self._loader.id() if self._loader is not None else f"{self.template_dir}/{self.template_name}"

    @property
    def section_stats(self) -> list[dict[str, Any]]:
        """Token counts of each part and its sections, in Prompt Poet's structure; 0 before `tokenize`."""
        return [
            {
                "part_name": part.name,
                "part_tokens": len(part.tokens or ()),
                "part_role": part.role,
                "has_sections": bool(part.sections),
                "sections": [
                    {"section_name": each.name, "section_tokens": len(each.tokens or ())}
                    for each in part.sections or ()
                ],
            }
            for part in self._parts
        ]

    def get_section_token_counts(self) -> dict[str, dict[str, int]]:
        """Return token counts by part and section; parts without sections have the key `_part_total`."""
        return {
            part.name: {each.name: len(each.tokens or ()) for each in part.sections}
            if part.sections
            else {"_part_total": len(part.tokens)}
            for part in self._parts
            if part.tokens
        }

    def tokenize(self, force_retokenize: bool = False) -> None:
        """Tokenize the parts; parts that have token ids are skipped unless `force_retokenize` is set.

        Raises PromptError of kind `tokens` if a part's content is not a text or contains a special token,
        and if there are no parts.
        """
        self._check(self._refuse_uncountable)
        self._parts = [
            part if part.tokens and not force_retokenize else self._tokenize(part) for part in self._parts
        ]
        if self._whole is None:
            self._whole = tuple(self._parts)

    def lreplace_at(self, old: str, new: str, index: int) -> None:
        """Replace the prefix `old` of the content of the part at `index` by `new`, and tokenize the part.

        Content without that prefix is unchanged. Raises IndexError if there is no such part.
        """
        part = self._parts[index]
        if part.content.startswith(old):
            self._parts[index] = self._tokenize(replace(part, content=f"{new}{part.content[len(old) :]}"))

    def truncate(self, token_limit: int | None = None, truncation_step: int | None = None) -> None:
        """Remove parts with a truncation priority until the tokenized prompt is within the limit.

        Limit and step default to those of the constructor; a limit of -1 changes nothing.
        Raises TruncationError if that is not sufficient or if limit, step or priorities are invalid, and
        PromptError of kind `tokens` before `tokenize`.
        """
        limit = self.token_limit if token_limit is None else token_limit
        step = self._truncation_step if truncation_step is None else truncation_step
        if limit == NO_LIMIT:
            return
        self._joined_tokens(self._parts)
        whole = self._whole or tuple(self._parts)
        self._parts = list(whole)
        try:
            result = truncate(
                [part.truncation_priority for part in whole],
                [len(part.tokens) for part in whole],
                limit,
                step,
                [part.tokens for part in whole],
            )
        except PromptPoetError as error:
            raise TruncationError(error, self._name) from error
        self._parts = [whole[index] for index in result.kept]

    def _refuse_uncountable(self) -> None:
        """Raise PromptPoetError if Prompt Poet could not tokenize a part."""
        # The texts are encoded after this check.
        count_parts(self._parts, lambda _text: 0, allow_token_overrides=self._allow_token_overrides)

    def _tokenize(self, part: PromptPart) -> PromptPart:
        try:
            sections = part.sections and tuple(
                each if each.tokens is not None else replace(each, tokens=self._encode(each.content))
                for each in part.sections
            )
            return replace(part, tokens=self._encode(part.content), sections=sections)
        except PromptPoetError as error:
            raise PromptError(error, self._name) from error
        except ValueError as error:
            problem = PromptPoetError("tokens", f"The part {part.name!r} cannot be tokenized: {error}")
            raise PromptError(problem, self._name) from error

    def _joined_tokens(self, parts: Sequence[PromptPart]) -> list[int]:
        if any(part.tokens is None for part in parts):
            problem = PromptPoetError("tokens", "The prompt has no tokens yet: call `tokenize()` first.")
            raise PromptError(problem, self._name)
        return [token for part in parts for token in part.tokens]

    def _check(self, work: Callable[[], Made]) -> Made:
        """Return the result of `work`; a PromptPoetError is re-raised as PromptError."""
        try:
            return work()
        except PromptPoetError as error:
            raise PromptError(error, self._name) from error


def _encoding(encode_func: Any, name: str | None) -> str | Encode:
    """Return the encoding function, that of a tiktoken encoding, or the encoding's name."""
    if encode_func is None:
        return name or "o200k_base"
    # The documentation of Prompt Poet passes the encoding itself.
    encode = encode_func if callable(encode_func) else getattr(encode_func, "encode", None)
    if not callable(encode):
        raise PromptPoetError(
            "tokens",
            f"`encode_func` is of type {type(encode_func).__name__}: pass a function from a text to its "
            "token ids.",
            cause="TypeError",
        )
    made: Encode = encode
    return made
