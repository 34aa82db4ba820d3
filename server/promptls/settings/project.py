"""The settings of a project and of an editor.

Project settings are in `promptls.toml`, or under `[tool.promptls]` in `pyproject.toml`.
Editor settings override them, and a prompt's header overrides both. The JSON Schema,
the settings page and the settings in the extension's `package.json` are generated from here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from promptls.settings.header import Engine, ExperimentKey, NamedMetric, StrictKeys

Severity = Literal["error", "warning", "information", "hint", "off"]


class ModelSettings(StrictKeys):
    """A model with a name defined by the project."""

    provider: str = Field(
        description="`openai`, `anthropic`, `google`, `azure`, `bedrock`, `ollama`, `vllm`, `local`, …: "
        "see `promptls models --providers`."
    )
    model: str = Field(description="The provider's name of the model.")
    base_url: str | None = Field(
        None,
        description="URL of an OpenAI-compatible server, including `/v1`. A key is sent there only if the "
        "user allows it.",
    )
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = Field(
        None,
        description="The environment variable that contains the key. Never put the key itself into a file. "
        "The user is asked once before the key is sent to a server other than the provider's.",
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of each request, such as `temperature`."
    )
    input_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Price of a million input tokens in US dollars."
    )
    output_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Price of a million output tokens in US dollars."
    )
    cached_input_price: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Price of a million input tokens that the provider reads from its prefix cache, in US "
        "dollars. By default, `input_price`.",
    )


class RateLimitSettings(StrictKeys):
    """Rate limits of a provider or model."""

    requests_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Maximum number of requests per minute."
    )
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="Maximum number of prompt and answer tokens per minute. An answer counts as "
        "`max_tokens`.",
    )


class AskAboveSettings(StrictKeys):
    """What a run may spend without asking."""

    cost: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Cost in US dollars, if the prices are known."
    )
    calls: Annotated[int, Field(ge=0)] = Field(
        1000, description="Number of calls to paid models whose price is unknown."
    )


class RaySettings(StrictKeys):
    """The Ray cluster for experiments with the engine `ray`."""

    address: str | None = Field(
        None,
        description="Address of the cluster, such as `host:6379`. By default `RAY_ADDRESS`, then a cluster "
        "on this machine, then a new one for the run. The user is asked once before a run connects to it.",
    )


class RenderingSettings(StrictKeys):
    """Limits of the rendering process."""

    timeout: Annotated[float, Field(gt=0, le=600)] = Field(
        5.0, description="Maximum seconds per rendering; more than 5 only in a trusted folder."
    )
    memory: Annotated[int, Field(ge=128)] = Field(
        1024, description="Maximum memory in megabytes; more than 1024 only in a trusted folder."
    )


class InlayHintSettings(StrictKeys):
    """Inlay hints."""

    tokens: bool = Field(default=True, description="Show the number of tokens after the name of each part.")


class DiagnosticsSettings(StrictKeys):
    """Diagnostics in the editor."""

    closed_files: bool = Field(
        default=True,
        description="Show diagnostics of files that are not open, if the editor supports it.",
    )


class Project(StrictKeys):
    """All settings, with their defaults."""

    include: list[str] = Field(
        default_factory=list,
        description="Globs of files to treat as prompt files, whatever their content.",
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files to ignore.")
    template_paths: list[str] = Field(
        default_factory=list,
        description="Folders in which to look for included files, for sections that no known template "
        "includes.",
    )
    roles: list[str] = Field(
        default_factory=lambda: ["system", "user", "assistant", "developer", "tool", "function"],
        description="Roles that parts may have.",
    )
    rules: dict[str, Severity] = Field(
        default_factory=dict, description="Severity by rule name; `off` disables the rule."
    )
    encoding: str = Field(
        "o200k_base",
        description="The default tiktoken encoding, or the `tokenizer.json` file of an open model, relative "
        "to the folder of these settings. Files need the extra `tokenizers`; nothing is downloaded.",
    )
    token_limit: Annotated[int, Field(gt=0)] | None = Field(None, description="The default token limit.")
    truncation_step: Annotated[int, Field(gt=0)] | None = Field(
        None, description="The default truncation step."
    )
    functions: str | None = Field(None, description="The default functions file.")
    ragas_version: Annotated[str, Field(pattern=r"^0\.1\.\d{1,3}$")] | None = Field(
        None,
        description="The default Ragas version of prompt objects, from `0.1.0` to `0.1.21`. If unset, it "
        "is 0.1.21 for prompt objects with `output_format_instruction`, and 0.1.0 for others.",
    )
    meta_templates: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="OpenCompass meta templates by name, such as one per model. Evaluation prompts without a "
        "`meta_template` are shown with the first one.",
        examples=[
            {"chat": {"round": [{"role": "HUMAN", "begin": "User: "}, {"role": "BOT", "generate": True}]}}
        ],
    )
    opencompass: str | None = Field(
        None,
        description="Folder of OpenCompass, such as a checkout, from which configurations in Python import. "
        "By default, a folder above the configuration, then the environment of promptls.",
    )
    default_model: str = Field("local:smollm2", description="The default model of experiments.")
    models: dict[str, ModelSettings] = Field(
        default_factory=dict,
        description="Models by name. The names cannot be those of a provider's models, such as "
        "`openai:gpt-4.1-mini`.",
        examples=[
            {"office": {"provider": "vllm", "model": "qwen3-8b", "base_url": "http://localhost:8000/v1"}}
        ],
    )
    environment: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = Field(
        default_factory=list,
        description="Names of environment variables that functions and metrics may read, in trusted folders. "
        "They see no other variable that may contain a secret. A provider's key is visible only to runs "
        "whose models need it.",
    )
    metrics: dict[str, NamedMetric] = Field(
        default_factory=dict,
        description="Metrics with options, by the name that experiments use.",
        examples=[{"polite": {"use": "aspect_critic", "definition": "Is the response polite?"}}],
    )
    judge: str | None = Field(
        None,
        description="The default model of metrics that ask a judge: `provider:model`, or a name in `models`.",
    )
    experiments: dict[str, ExperimentKey] = Field(
        default_factory=dict,
        description="Experiments for all prompts of the project, by name.",
        examples=[{"triage": {"dataset": "datasets/tickets.csv", "metrics": ["exact_match"]}}],
    )
    engine: Engine = Field(
        "local",
        description="The default engine of experiments: `local` (this machine) or `ray` (the nodes of a Ray "
        "cluster).",
    )
    ray: RaySettings = Field(
        default_factory=RaySettings, description="The Ray cluster for experiments with the engine `ray`."
    )
    rate_limits: dict[str, RateLimitSettings] = Field(
        default_factory=dict,
        description="Rate limits by provider (`openai`) or model (`openai:gpt-4.1-mini`).",
        examples=[{"openai": {"requests_per_minute": 500, "tokens_per_minute": 200_000}}],
    )
    ask_above: AskAboveSettings = Field(
        default_factory=AskAboveSettings, description="What a run may spend without asking."
    )
    rendering: RenderingSettings = Field(
        default_factory=RenderingSettings, description="Limits of the rendering process."
    )
    diagnostics: DiagnosticsSettings = Field(
        default_factory=DiagnosticsSettings, description="Diagnostics in the editor."
    )
    inlay_hints: InlayHintSettings = Field(default_factory=InlayHintSettings, description="Inlay hints.")
