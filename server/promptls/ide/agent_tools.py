"""The tools offered to coding agents: their names, descriptions and arguments.

`promptls mcp` and the extension of VS Code declare them to their clients from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool. `changes` says whether a call may write files, run code of the project or ask models."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    changes: bool = False
    in_editor: bool = True
    """Whether the extension offers it too; editors have their own tools for some tasks."""
    not_in_editor: tuple[str, ...] = ()
    """The arguments that the commands of the language server do not have."""

    def schema(self, *, in_editor: bool = False) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        left_out = self.not_in_editor if in_editor else ()
        return {
            "type": "object",
            "properties": {name: dict(each) for name, each in self.arguments.items() if name not in left_out},
            **({"required": list(self.required)} if self.required else {}),
            "additionalProperties": False,
        }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_FILE: Final = _text("Path of the prompt file, such as `prompts/triage.yml.j2`.")
_DATA: Final = {
    "sample": _text("Name of the sample to render with. Default: the first sample."),
    "row": _number("Row of the experiment's dataset to render with, from 1."),
}
_RUN: Final = "Name or table of a run, or a prompt file for its last run."

TOOLS: Final = (
    AgentTool(
        "check_prompts",
        "Check prompts",
        "Find mistakes in prompt files: broken Jinja or YAML, undeclared inputs, unknown roles, and more. "
        "Call it after every edit of a prompt.",
        {
            "paths": _texts("Files and folders. Default: the whole folder."),
            "rules": _texts("Run only these rules."),
        },
        not_in_editor=("rules",),
    ),
    AgentTool(
        "explain_rule",
        "Explain a rule",
        "Explain a rule that check_prompts reported: what it finds, why, and how to correct it.",
        {"rule": _text("Name of the rule, such as `undeclared-input`.")},
        ("rule",),
        in_editor=False,
    ),
    AgentTool(
        "show_contract",
        "Show the inputs of a prompt",
        "List the inputs that a prompt and its includes need from the caller, with types and places.",
        {"file": _FILE},
        ("file",),
    ),
    AgentTool(
        "read_prompt",
        "Read a prompt",
        "Show the text of a prompt file or of a file that prompts include, as edit_prompt changes it.",
        {"file": _FILE},
        ("file",),
        in_editor=False,
    ),
    AgentTool(
        "render_prompt",
        "Render a prompt",
        "Show the messages that a model receives, part by part with token counts, for a sample, a row of "
        "the dataset, or data.",
        {
            "file": _FILE,
            **_DATA,
            "data": {"type": "object", "description": "Values of the inputs, instead of a sample or row."},
        },
        ("file",),
        not_in_editor=("data",),
    ),
    AgentTool(
        "count_tokens",
        "Count tokens",
        "Count the tokens of prompts, part by part, with the range over the rows of the dataset.",
        {
            "paths": _texts("Files and folders. Default: the whole folder."),
            "model": _text("Count for this model, such as `openai:gpt-4.1-mini`."),
        },
    ),
    AgentTool(
        "preview_changes",
        "Preview changes",
        "Show how the rendered prompt differs from that of the last git commit, as a diff, for the same "
        "data.",
        {"file": _FILE, **_DATA},
        ("file",),
    ),
    AgentTool(
        "edit_prompt",
        "Edit a prompt",
        "Replace text in a prompt file, and report the findings of the new text. The old text must occur "
        "exactly once.",
        {
            "file": _FILE,
            "old": {
                **_text("The text to replace, as read_prompt shows it, with enough context to be unique."),
                "minLength": 1,
            },
            "new": _text("The new text."),
        },
        ("file", "old", "new"),
        changes=True,
        in_editor=False,
    ),
    AgentTool(
        "run_experiment",
        "Run an experiment",
        "Run the experiment that a prompt's header declares: ask its models about the rows of the dataset "
        "and score the answers. Needs a folder that the user trusts, and a budget if a model is not on this "
        "machine. Use `rows` for a first look and `plan_only` to see the number of calls and their cost.",
        {
            "file": _FILE,
            "experiment": _text("Name of the experiment. Default: the first one."),
            "models": _texts("Ask only these of the experiment's models."),
            "rows": _text("The first N rows, row numbers (`3,7,10-20`), `failing`, or a condition."),
            "repeats": _number("Ask each row this many times."),
            "fresh": {"type": "boolean", "description": "Ignore answers in the cache."},
            "max_calls": _number("Stop after this many calls."),
            "max_tokens": _number("Stop after this many tokens."),
            "max_cost": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Stop after so many US dollars.",
            },
            "plan_only": {"type": "boolean", "description": "Return the plan and its cost; ask no model."},
        },
        ("file",),
        changes=True,
    ),
    AgentTool(
        "compare_runs",
        "Compare runs",
        "Compare two runs row by row: which one is better, by how much, and whether the difference is "
        "statistically significant. Changes that are not should not be kept for their score.",
        {
            "before": _text(_RUN),
            "after": _text(_RUN),
            "count": _number("Number of changed rows to show. Default: 10."),
        },
        ("before", "after"),
    ),
    AgentTool(
        "read_results",
        "Read results",
        "Read the rows of a run, worst first: the data, the answer, and the reason of each score.",
        {
            "run": _text(_RUN),
            "show": {
                "enum": ["worst", "failing", "error", "all"],
                "description": "`worst` first (default), only `failing` rows, only those without an answer "
                "(`error`), or `all` in order.",
            },
            "search": _text("Only rows that contain this text."),
            "start": _number("Skip this many rows. Default: 0.", 0),
            "count": {**_number("Number of rows. Default: 10."), "maximum": 100},
        },
        ("run",),
    ),
    AgentTool(
        "list_runs",
        "List runs",
        "List the runs of a prompt or of the whole folder, newest first, with scores.",
        {"file": _FILE, "count": _number("Number of runs. Default: 10.")},
        in_editor=False,
    ),
)
"""All tools, in the order of their use."""
