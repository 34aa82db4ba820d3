"""Check the installation for `promptls doctor`: packages, encodings, settings, models, keys, editors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from promptls import __version__
from promptls.lint.settings_problems import settings_problems
from promptls.models.keys import destination_of
from promptls.models.model import ModelError
from promptls.models.model_names import find_model
from promptls.models.opening import check_model
from promptls.models.providers import TABLE
from promptls.models.weights import LOCAL_MODELS, MissingModelError, pip_install
from promptls.rendering.worker import MAX_MEGABYTES_UNTRUSTED, Limits, limits_of
from promptls.security.trust import TrustStore
from promptls.settings.project import Project
from promptls.text.errors import UsageError, UserError
from promptls.tokens import ENCODING_NAMES, VocabularyError, load
from promptls.workspace.settings import SETTINGS_FILE, ProjectFile, find_project, folder_to_trust

State = Literal["fine", "absent", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: `absent` means that something optional is missing, `broken` something required.

    `detail` describes the result, and never contains a secret; `remedy` is how to fix it, and `installs` the
    requirement or the model that has to be installed for that.
    """

    topic: str
    name: str
    state: State
    detail: str
    remedy: str | None = None
    installs: str | None = None


def diagnose(folder: Path, environment: Mapping[str, str] = os.environ) -> tuple[Check, ...]:
    """Return all checks, for prompts in `folder`; loads the vocabularies, which takes about half a second."""
    project = find_project(folder / SETTINGS_FILE)
    return (
        *_promptls(),
        *_packages(),
        *map(_encoding, ENCODING_NAMES),
        *_settings(project),
        _trust(folder, project.settings),
        *_models(project.settings),
        *_keys(project.settings, environment),
        *_extras(),
        *_programs(environment),
    )


def repairs(checks: Sequence[Check]) -> list[str]:
    """Return the commands that install everything that the checks miss, required or not."""
    missing = dict.fromkeys(check.installs for check in checks if check.installs)
    models = [each for each in missing if each.startswith("local:")]
    extras = [match[1] for each in missing if (match := re.fullmatch(r"promptls\[(.+)\]", each))]
    packages = [each for each in missing if each not in models and not each.startswith("promptls[")]
    if extras:
        packages.append(f"promptls[{','.join(extras)}]")
    commands = [shlex.join(pip_install(*packages))] if packages else []
    return commands + ([f"promptls models --install {' '.join(models)}"] if models else [])


def _promptls() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("promptls", "version", "fine", f"{__version__} in {Path(__file__).parents[1]}")
    yield Check("promptls", "Python", "fine", f"{version} at {sys.executable}")


def _packages() -> Iterator[Check]:
    for requirement in _requirements(extra=""):
        yield _package("packages", requirement)
    if find_spec("yaml._yaml") is None:
        remedy = "install a wheel of PyYAML, or build it with libyaml"
        yield Check("packages", "libyaml", "absent", "PyYAML was built without it: checks are slow", remedy)
    else:
        yield Check("packages", "libyaml", "fine", "in PyYAML")


def _extras() -> Iterator[Check]:
    for extra in ("local", "remote", "metrics", "mcp", "tokenizers"):
        for requirement in _requirements(extra):
            yield _package(f"extra `{extra}`", requirement, extra)


def _requirements(extra: str) -> list[Requirement]:
    """Return the requirements of the installed package: the general ones, or those of `extra`."""
    declared = map(Requirement, metadata.requires("promptls") or ())
    return [
        requirement
        for requirement in declared
        if _applies(requirement, extra) and not (extra and _applies(requirement, ""))
    ]


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _package(topic: str, requirement: Requirement, extra: str = "") -> Check:
    needed = f"promptls[{extra}]" if extra else f"{requirement.name}{requirement.specifier}"
    remedy = f"pip install '{needed}'"
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        state: State = "absent" if extra else "broken"
        return Check(topic, requirement.name, state, "not installed", remedy, needed)
    if not requirement.specifier.contains(version, prereleases=True):
        detail = f"{version} is too old or too new"
        return Check(topic, requirement.name, "broken", detail, remedy, needed)
    return Check(topic, requirement.name, "fine", version)


def _encoding(name: str) -> Check:
    try:
        load(name)
    except VocabularyError as error:
        return Check("tokens", name, "broken", str(error), "pip install --force-reinstall bpe-openai")
    return Check("tokens", name, "fine", "loads, without a network")


def _settings(project: ProjectFile) -> Iterator[Check]:
    problems = settings_problems(project)
    if project.path is None:
        yield Check("settings", "file", "absent", f"none for {project.root}: the defaults apply")
    elif not problems:
        yield Check("settings", "file", "fine", str(project.path))
    for problem in problems:
        yield Check("settings", "file", "broken", problem.message, f"correct it in {project.path}")


def _trust(folder: Path, settings: Project) -> Check:
    unit = folder_to_trust(folder)
    try:
        decision = TrustStore().decision([unit])
    except UserError as failure:
        return Check("settings", "trust", "broken", failure.message, failure.remedy)
    if decision:
        return Check("settings", "trust", "fine", f"{unit} is trusted")
    said = (
        "is not trusted" if decision is False else "is not trusted yet: commands ask before they run its code"
    )
    default = Limits()
    requested = limits_of(settings.rendering.timeout, settings.rendering.memory, trusted=True)
    is_lowered = limits_of(settings.rendering.timeout, settings.rendering.memory, trusted=False) != requested
    limits = (
        f"; `rendering` is limited to {default.seconds:g} s and {MAX_MEGABYTES_UNTRUSTED} MB"
        if is_lowered
        else ""
    )
    return Check("settings", "trust", "absent", f"{unit} {said}{limits}", "`promptls trust .` trusts it")


def _models(settings: Project) -> Iterator[Check]:
    local = (f"local:{model}" for model in LOCAL_MODELS)
    for name in dict.fromkeys([settings.default_model, *local, *settings.models]):
        yield _model(name, settings)


def _model(name: str, settings: Project) -> Check:
    default = ", and the default" if name == settings.default_model else ""
    try:
        reference = find_model(name, settings.models)
        check_model(reference)
    except UsageError as failure:
        return Check("models", name, "broken", failure.message, failure.remedy)
    except ModelError as failure:
        installs = name if isinstance(failure, MissingModelError) else None
        return Check("models", name, "absent", failure.message, failure.remedy, installs)
    destination = destination_of(reference)
    sends = "" if destination is None else f"; {destination.description()}"
    return Check("models", name, "fine", f"ready{default}{sends}")


def _keys(settings: Project, environment: Mapping[str, str]) -> Iterator[Check]:
    named = (model.api_key_env for model in settings.models.values() if model.api_key_env)
    of_providers = [variable for provider in TABLE.values() for variable in provider.key_envs]
    found = [variable for variable in of_providers if environment.get(variable, "").strip()]
    for variable in dict.fromkeys([*TABLE["openai"].key_envs, *found, *named]):
        there = bool(environment.get(variable, "").strip())
        yield Check("keys", variable, "fine" if there else "absent", "is set" if there else "is not set")


def _programs(environment: Mapping[str, str]) -> Iterator[Check]:
    for program, name, purpose in (
        ("node", "Node.js", "needed only to build the VS Code extension"),
        ("code", "VS Code", "its command `code` is not on the PATH"),
        ("nvim", "Neovim", "not on the PATH"),
        ("emacs", "Emacs", "not on the PATH"),
    ):
        path = shutil.which(program, path=environment.get("PATH"))
        yield Check("editors", name, "fine" if path else "absent", path or purpose)
