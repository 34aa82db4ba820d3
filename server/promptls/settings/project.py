"""The settings of a project and of an editor, declared once.

`promptls.toml`, or `[tool.promptls]` in `pyproject.toml`, holds the project's settings;
an editor's settings lie over them, and a prompt file's header over both. The JSON
Schema, the settings page and the extension's `package.json` block are made from here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from promptls.settings.header import Engine, ExperimentKey, NamedMetric

Severity = Literal["error", "warning", "information", "hint", "off"]


class ModelSettings(BaseModel):
    """A model under a name of the project's own."""

    model_config = ConfigDict(extra="forbid")

    provider: str = Field(
        description="`openai`, `anthropic`, `google`, `azure`, `bedrock`, `ollama`, `vllm`, `local`, …: "
        "`promptls models` lists them."
    )
    model: str = Field(description="The provider's own name of the model.")
    base_url: str | None = Field(None, description="Address of an OpenAI-compatible server, with its `/v1`.")
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = Field(
        None,
        description="The environment variable that holds the key; the key itself never stands in a file.",
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Sent with each request, such as `temperature`."
    )
    input_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="US dollars for a million input tokens."
    )
    output_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="US dollars for a million output tokens."
    )


class RateLimitSettings(BaseModel):
    """How fast a provider may be asked."""

    model_config = ConfigDict(extra="forbid")

    requests_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Requests that may go out in a minute."
    )
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Tokens of prompts and answers in a minute; those of an answer by `max_tokens`."
    )


class AskAboveSettings(BaseModel):
    """What a run may spend without a question."""

    model_config = ConfigDict(extra="forbid")

    cost: Annotated[float, Field(ge=0)] = Field(1.0, description="US dollars, where prices are known.")
    calls: Annotated[int, Field(ge=0)] = Field(
        1000, description="Calls of models that take money, where no price is known."
    )


class RaySettings(BaseModel):
    """The Ray cluster of experiments whose engine is `ray`."""

    model_config = ConfigDict(extra="forbid")

    address: str | None = Field(
        None,
        description="Address of the cluster, such as `host:6379`; unset, it is that of `RAY_ADDRESS`, else "
        "the cluster that runs on this machine, else one that starts and ends with the run.",
    )


class RenderingSettings(BaseModel):
    """Limits of the process that renders."""

    model_config = ConfigDict(extra="forbid")

    timeout: Annotated[float, Field(gt=0, le=600)] = Field(5.0, description="Seconds a rendering may take.")
    memory: Annotated[int, Field(ge=128)] = Field(1024, description="Megabytes that a rendering may use.")


class InlayHintSettings(BaseModel):
    """What stands between the lines."""

    model_config = ConfigDict(extra="forbid")

    tokens: bool = Field(default=True, description="Show the tokens of each part behind its name.")


class DiagnosticsSettings(BaseModel):
    """What is checked without being asked for."""

    model_config = ConfigDict(extra="forbid")

    closed_files: bool = Field(
        default=True,
        description="Show the findings of prompt files that are not open, in editors that ask for them.",
    )


class Project(BaseModel):
    """All settings, with their defaults."""

    model_config = ConfigDict(extra="forbid")

    include: list[str] = Field(
        default_factory=list,
        description="Globs of files that are prompt files whatever they look like.",
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files that promptls leaves alone.")
    template_paths: list[str] = Field(
        default_factory=list,
        description="Folders that includes count from, for sections that no template in sight includes.",
    )
    roles: list[str] = Field(
        default_factory=lambda: ["system", "user", "assistant", "developer", "tool", "function"],
        description="Roles that a part may have without a finding.",
    )
    rules: dict[str, Severity] = Field(
        default_factory=dict, description="Severity by rule name; `off` silences the rule."
    )
    encoding: str = Field("o200k_base", description="The tiktoken encoding where a header names none.")
    token_limit: Annotated[int, Field(gt=0)] | None = Field(
        None, description="The token limit where a header names none."
    )
    truncation_step: Annotated[int, Field(gt=0)] | None = Field(
        None, description="The truncation step where a header names none."
    )
    functions: str | None = Field(None, description="The functions file where a header names none.")
    ragas_version: Annotated[str, Field(pattern=r"^0\.1\.\d{1,3}$")] | None = Field(
        None,
        description="The release of Ragas that prompt objects are for, from `0.1.0` to `0.1.21`, where they "
        "name none; unset, it is 0.1.21 for those with `output_format_instruction`, and 0.1.0 for others.",
    )
    meta_templates: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="OpenCompass meta templates by name, such as one for each model: evaluation prompts are "
        "shown with the first of them where they declare no `meta_template`.",
    )
    default_model: str = Field("local:smollm2", description="The model of experiments that name none.")
    models: dict[str, ModelSettings] = Field(
        default_factory=dict, description="Models under names of the project's own."
    )
    metrics: dict[str, NamedMetric] = Field(
        default_factory=dict, description="Metrics with options, by the names that experiments give them."
    )
    judge: str | None = Field(
        None,
        description="The model that judges, for metrics that ask one and name none: `provider:model`, or one "
        "of `models`.",
    )
    experiments: dict[str, ExperimentKey] = Field(
        default_factory=dict, description="Experiments that any prompt of the project may run."
    )
    engine: Engine = Field(
        "local",
        description="Where models are asked from, for experiments that do not say: `local`, this machine, or "
        "`ray`, the nodes of a Ray cluster.",
    )
    ray: RaySettings = Field(
        default_factory=RaySettings, description="The cluster of experiments whose engine is `ray`."
    )
    rate_limits: dict[str, RateLimitSettings] = Field(
        default_factory=dict,
        description="Limits by provider (`openai`) or by model (`openai:gpt-4.1-mini`).",
    )
    ask_above: AskAboveSettings = Field(
        default_factory=AskAboveSettings, description="What a run may spend before somebody is asked."
    )
    rendering: RenderingSettings = Field(
        default_factory=RenderingSettings, description="Limits of the rendering process."
    )
    diagnostics: DiagnosticsSettings = Field(
        default_factory=DiagnosticsSettings, description="What is checked without being asked for."
    )
    inlay_hints: InlayHintSettings = Field(
        default_factory=InlayHintSettings, description="What stands between the lines."
    )
