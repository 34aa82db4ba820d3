"""The tools for prompt files: check, render, count, compare with the last commit, edit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.chosen_files import ChosenFiles, rewrite
from promptls.cli.terminal import shown_path
from promptls.mcp.folder import Folder, ToolResult
from promptls.rendering.job import RenderJob
from promptls.rendering.make import code_of_rendering, limits_for
from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering
from promptls.rendering.samples import Sample
from promptls.rendering.worker import RenderWorker
from promptls.semantic.kind import Kind
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_dollars, plural, shorten_text
from promptls.tokens.tokenizer_files import encoding_title
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.cli.checked import CheckedFile

MAX_FINDINGS: Final = 50
"""The number of findings in the text of an answer."""
MAX_CHARACTERS: Final = 20_000
"""The number of characters of a rendered part, or of a diff, in an answer."""


async def check_prompts(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the findings of the chosen files, with their places and what corrects them."""
    chosen = await asyncio.to_thread(folder.choose, arguments.get("paths") or [])
    return await asyncio.to_thread(_check, chosen, arguments.get("rules"))


def _check(chosen: ChosenFiles, rules: list[str] | None = None) -> ToolResult:
    from promptls.cli.arguments import chosen_rules
    from promptls.cli.checked import checked_files

    files, incomplete, _ = checked_files(chosen, chosen_rules(rules, None))
    found = [each for file in files for each in _findings(file)]
    checked = sum(file.kind is not Kind.OTHER for file in files)
    heading = f"{plural(len(found), 'finding')} in {plural(checked, 'prompt')}"
    lines = [heading if found else f"no findings in {plural(checked, 'prompt')}"]
    for each in found[:MAX_FINDINGS]:
        fix = f" (fix: {each['fix']})" if each["fix"] else ""
        place = f"{each['path']}:{each['line']}:{each['column']}"
        lines.append(f"{place} {each['severity']} {each['rule']}: {each['message']}{fix}")
    if len(found) > MAX_FINDINGS:
        lines.append(f"… and {len(found) - MAX_FINDINGS} more: name fewer `paths`, or `rules`")
    left_out = code_of_rendering(chosen.snapshot, incomplete).left_out() if incomplete else None
    if left_out is not None:
        lines.append(f"not trusted: {left_out}")
    return ToolResult("\n".join(lines), {"checked": checked, "findings": found, "left_out": left_out})


def _findings(file: CheckedFile) -> Iterator[dict[str, Any]]:
    from promptls.cli.checked import region_of

    for finding in file.findings:
        region = region_of(file.text, finding.span)
        yield {
            "path": shown_path(file.path),
            "line": region.line,
            "column": region.column,
            "severity": finding.severity or "error",
            "rule": finding.rule,
            "message": finding.message,
            "fix": finding.fixes[0].title if finding.fixes else None,
        }


async def explain_rule(_folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the page of a rule."""
    from promptls.cli.commands.explain import rule_json, rule_named

    rule = rule_json(rule_named(arguments["rule"]))
    return ToolResult(f"# {rule['name']} ({rule['severity']})\n\n{rule['page']}", {**rule})


async def show_contract(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the inputs of a prompt."""
    from promptls.cli.commands.contract import contract_json

    def read() -> dict[str, Any]:
        chosen, path = folder.choose_prompt(arguments["file"])
        return contract_json(chosen.snapshot, path)

    contract = await asyncio.to_thread(read)
    return ToolResult("\n".join(_contract_lines(contract)), contract)


def _contract_lines(contract: Mapping[str, Any]) -> Iterator[str]:
    inputs = contract["inputs"]
    yield f"{contract['path']} has {plural(len(inputs), 'input')}"
    for each in inputs:
        need = f"needed where {each['needed_where']}" if each["needed_where"] else "needed"
        read = ", ".join(dict.fromkeys(f"{place['path']}:{place['line']}" for place in each["read"]))
        described = f": {each['description']}" if each["description"] else ""
        yield f"{each['name']}: {each['type']}, {'optional' if each['optional'] else need}{described}" + (
            f" (read at {read})" if read else " (never read)"
        )
    if not contract["complete"]:
        yield "an include is not known, so there may be more"


async def read_prompt(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the text of a prompt file."""
    text = await asyncio.to_thread(prompt_text, folder, arguments["file"])
    return ToolResult(text, {"text": text})


def prompt_text(folder: Folder, name: str) -> str:
    """Return the text of the prompt file with this name."""
    chosen, path = folder.choose_prompt(name)
    template = chosen.snapshot.template(path)
    assert template is not None
    return template.source.text


async def render_prompt(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the parts of the rendered prompt."""
    snapshot, job, sample = await asyncio.to_thread(_job, folder, arguments)
    return _render(job, sample, await _outcome(snapshot, job))


def _job(folder: Folder, arguments: Mapping[str, Any]) -> tuple[Snapshot, RenderJob, Sample]:
    from promptls.preview.preview_result import RenderingChoice, chosen_sample, preview_job

    chosen, path = folder.choose_prompt(arguments["file"])
    folder.require_trust_to_render(chosen, [path])
    row = arguments.get("row")
    choice = RenderingChoice(sample=arguments.get("sample"), row=None if row is None else row - 1)
    if arguments.get("data") is not None:
        sample = Sample("data", "the call", arguments["data"])
    else:
        sample = chosen_sample(chosen.snapshot, path, choice.data)
    return chosen.snapshot, preview_job(chosen.snapshot, path, sample, choice), sample


async def _outcome(snapshot: Snapshot, job: RenderJob) -> Rendering | RenderFailure:
    async with RenderWorker(limits_for(snapshot, job.path)) as worker:
        return await worker.render(job)


def _render(job: RenderJob, sample: Sample, outcome: Rendering | RenderFailure) -> ToolResult:
    rendering = _succeeded(job, outcome)
    path = shown_path(job.path)
    retained = (
        "" if rendering.tokens_kept == rendering.tokens else f", {rendering.tokens_kept:,} of them kept"
    )
    limit = f", limit {job.token_limit:,}" if job.token_limit > 0 else ""
    counted = f"{plural(rendering.tokens, 'token')} ({encoding_title(job.encoding)})"
    lines = [f"{path} with {sample.name}: {counted}{retained}{limit}"]
    for part in rendering.parts:
        cut = "" if part.kept else ", cut by the token limit"
        lines += ["", f"## {part.name} ({part.role}, {plural(part.tokens, 'token')}{cut})", _content(part)]
    lines += [f"problem: {problem.message}" for problem in rendering.problems]
    if job.stand_ins:
        lines.append(f"stand-ins were called for {', '.join(job.stand_ins)}, which nothing provides")
    data = {
        "path": path,
        "sample": sample.name,
        "encoding": job.encoding,
        "tokens": rendering.tokens,
        "tokens_kept": rendering.tokens_kept,
        "parts": [
            {
                "name": part.name,
                "role": part.role,
                "tokens": part.tokens,
                "kept": part.kept,
                "content": _content(part),
            }
            for part in rendering.parts
        ],
        "problems": [problem.message for problem in rendering.problems],
    }
    return ToolResult("\n".join(lines), data)


def _content(part: RenderedPart) -> str:
    return shorten_text(str(part.content), MAX_CHARACTERS)


def _succeeded(job: RenderJob, outcome: Rendering | RenderFailure) -> Rendering:
    """Return the rendering; raises UserError with the place of the failure."""
    if isinstance(outcome, RenderFailure):
        raise UsageError(
            f"the prompt does not render: {outcome.message}",
            FilePlace(outcome.path or job.path, outcome.line),
            "correct the template, or render it with other data",
        )
    return outcome


async def count_tokens(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the tokens of the chosen prompts, part by part."""
    from promptls.cli.commands.tokens import count_prompts, counted_json, counted_paths

    def choose() -> tuple[Snapshot, list[str]]:
        chosen = folder.choose(arguments.get("paths") or [])
        paths = list(counted_paths(chosen))
        folder.require_trust_to_render(chosen, paths)
        return chosen.snapshot, paths

    snapshot, paths = await asyncio.to_thread(choose)
    prompts = [
        counted_json(each) for each in await count_prompts(snapshot, paths, model_name=arguments.get("model"))
    ]
    lines = [line for each in prompts for line in _count_lines(each)] or ["there is no prompt here"]
    return ToolResult("\n".join(lines), {"prompts": prompts})


def _count_lines(prompt: Mapping[str, Any]) -> Iterator[str]:
    if "tokens" not in prompt:
        yield f"{prompt['path']} does not render: {prompt.get('message')}"
        return
    about = "≈ " if prompt["approximate"] else ""
    limit = f" of {prompt['token_limit']:,}" if prompt["token_limit"] else ""
    line = f"{prompt['path']}: {about}{prompt['tokens']:,}{limit} tokens with {prompt['sample']}"
    if (rows := prompt.get("rows")) is not None:
        line += f"; rows of {rows['dataset']}: {rows['min']:,} to {rows['max']:,}"
    if prompt.get("cost"):
        line += f"; {in_dollars(prompt['cost'])} ({prompt['model']})"
    yield line
    for part in prompt["parts"]:
        yield f"  {part['name']} ({part['role']}): {part['tokens']:,}{'' if part['kept'] else ', cut'}"
    yield from (f"  problem: {problem}" for problem in prompt["problems"])


async def preview_changes(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the difference between the rendering of the last commit and the current one."""
    from promptls.preview.preview_answers import committed_prompt

    snapshot, job, sample = await asyncio.to_thread(_job, folder, arguments)
    commit, former = await committed_prompt(snapshot, job)
    old = _succeeded(former, await _outcome(snapshot, former))
    new = _succeeded(job, await _outcome(snapshot, job))
    path, name = shown_path(job.path), commit["name"]
    difference = unified_diff(_messages(old), _messages(new), name, "now", n=1, lineterm="")
    diff = shorten_text("\n".join(difference), MAX_CHARACTERS)
    growth = new.tokens - old.tokens
    heading = f"{path} with {sample.name}, since {name} ({commit['subject']}): {growth:+,} tokens"
    data = {
        "path": path,
        "sample": sample.name,
        "commit": name,
        "tokens_before": old.tokens,
        "tokens": new.tokens,
        "changed": bool(diff),
        "diff": diff,
    }
    return ToolResult(f"{heading}\n{diff or 'the rendered prompt is the same with this data'}", data)


def _messages(rendering: Rendering) -> list[str]:
    return [
        line
        for part in rendering.parts
        for line in (f"## {part.name} ({part.role})", *str(part.content).splitlines())
    ]


async def edit_prompt(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Replace the text, and return the findings of the new one."""
    return await asyncio.to_thread(_edit, folder, arguments["file"], arguments["old"], arguments["new"])


def _edit(folder: Folder, name: str, old: str, new: str) -> ToolResult:
    chosen, path = folder.choose_prompt(name)
    template = chosen.snapshot.template(path)
    assert template is not None
    text = template.source.text
    count = text.count(old)
    if count != 1:
        raise UsageError(
            "the file does not contain the old text" if not count else f"the old text occurs {count} times",
            FilePlace(path),
            "read_prompt shows the text; copy it exactly" if not count else "give more of its context",
        )
    rewrite(path, text, text.replace(old, new))
    checked = _check(folder.choose([name]))
    return ToolResult(f"{shown_path(Path(path))} is changed; {checked.text}", checked.data)
