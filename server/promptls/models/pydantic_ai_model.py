"""Models of Anthropic, Google and Bedrock, called with pydantic-ai.

pydantic-ai is imported when a model is opened, which only happens in the process of a run.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptls.models.keys import key_remedy
from promptls.models.model import Completion, Messages, ModelError, ModelReference, check_key
from promptls.models.openai_compatible import TRY_LATER
from promptls.text.format import shorten_line

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as LibraryModel
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage

KNOWN_PARAMETERS = frozenset(
    {
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "stop_sequences",
        "logit_bias",
        "thinking",
        "service_tier",
    }
)
"""Parameters that pydantic-ai supports for every provider; others are sent unchanged."""

QUOTED = 300
"""Maximum number of characters of the provider's message that an error quotes."""


class PydanticAiModel:
    """A model behind a provider-specific protocol."""

    max_at_once: int | None = None

    def __init__(self, reference: ModelReference, key: str | None) -> None:
        self.name = reference.name
        self._key_remedy = (
            "check the credentials of the AWS environment, and the region"
            if reference.provider == "bedrock" and not key
            else key_remedy(reference)
        )
        # boto3 has no such setting per request; its client is configured instead.
        self._settings = {} if reference.provider == "bedrock" else {"max_retries": 0}
        check_key(key)
        try:
            self._model = _open(reference, key)
        except ImportError as error:
            raise ModelError(
                f"the model `{reference.name}` needs a package that is not installed: {error.name}",
                'run `pip install "promptls[providers]"`',
            ) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in {"pydantic_ai", "botocore", "builtins"}:
                raise
            raise ModelError(
                f"the model `{reference.name}` cannot be opened: {_one_line(str(error))}",
                "check its credentials, and for Bedrock the region",
            ) from None

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the model's answer, constrained to `json_schema` if the model supports that.

        The prompt is sent unchanged.
        """
        from pydantic_ai import direct
        from pydantic_ai.exceptions import ModelAPIError

        began = time.perf_counter()
        try:
            response = await direct.model_request(
                self._model,
                _requests(messages),
                model_settings=_settings(parameters, self._settings),
                model_request_parameters=self._form(json_schema),
            )
        except ModelAPIError as error:
            raise self._refusal(error) from None
        except Exception as error:  # noqa: BLE001 - the providers' libraries raise many kinds of errors
            raise ModelError(
                f"`{self.name}` gave no answer that can be used: {_one_line(str(error))}",
                "check the model's name and the parameters of the experiment",
            ) from None
        return self._completion(response, time.perf_counter() - began)

    async def close(self) -> None:
        """Close the connections."""
        client = getattr(self._model, "client", None)
        close = getattr(client, "close", None) or getattr(getattr(client, "aio", None), "aclose", None)
        if callable(close):
            with contextlib.suppress(Exception):
                closing = close()
                if hasattr(closing, "__await__"):
                    await closing

    def _form(self, schema: Mapping[str, Any] | None) -> ModelRequestParameters | None:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        if schema is None or not self._model.profile.get("supports_json_schema_output"):
            return None
        form = OutputObjectDefinition(json_schema=dict(schema), name="answer")
        return ModelRequestParameters(output_mode="native", output_object=form)

    def _completion(self, response: ModelResponse, seconds: float) -> Completion:
        usage = response.usage
        return Completion(
            text="".join(part.content for part in response.parts if part.part_kind == "text"),
            input_tokens=usage.input_tokens or None,
            output_tokens=usage.output_tokens or None,
            seconds=seconds,
            model=response.model_name or self.name,
            finish_reason=response.finish_reason or "stop",
            cached_tokens=usage.cache_read_tokens or None,
            written_tokens=usage.cache_write_tokens or None,
            reasoning_tokens=_reasoning(usage),
        )

    def _refusal(self, error: Any) -> ModelError:
        from pydantic_ai import exceptions

        said = _said(error)
        status = getattr(error, "status_code", None)
        shown = f" (HTTP {status})" if status else ""
        if isinstance(error, exceptions.ModelAuthenticationError) or status in {401, 403}:
            return ModelError(f"`{self.name}` refused the key{shown}: {said}", self._key_remedy)
        if isinstance(error, exceptions.ModelNotFoundError):
            return ModelError(f"there is no model `{self.name}`{shown}: {said}", "check the model's name")
        if isinstance(error, exceptions.ModelConnectionError):
            return ModelError(
                f"`{self.name}` cannot be reached: {said}",
                "check the network, and `base_url` where one is set",
                retryable=True,
                unreachable=not isinstance(error, exceptions.ModelTimeoutError),
            )
        later = status in TRY_LATER and not isinstance(error, exceptions.ModelQuotaExceededError)
        return ModelError(
            f"`{self.name}` gave no answer{shown}: {said}",
            "the provider is busy or broken: run again later, or with a smaller `concurrency`"
            if later
            else "check the parameters of the experiment",
            retryable=later,
            retry_after=error.retry_after if later else None,
        )


def _open(reference: ModelReference, key: str | None) -> LibraryModel:
    if reference.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        # A custom server may not need a key, but the library requires a value.
        anthropic = AnthropicProvider(api_key=key or "none", base_url=reference.base_url)
        return AnthropicModel(reference.model, provider=anthropic)
    if reference.provider == "google":
        from google.genai.types import HttpRetryOptions
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        google = GoogleProvider(
            api_key=key or "none",
            base_url=reference.base_url,
            retry_options=HttpRetryOptions(attempts=1),
        )
        return GoogleModel(reference.model, provider=google)
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    bedrock = (
        BedrockProvider(api_key=key, base_url=reference.base_url)
        if key
        else BedrockProvider(base_url=reference.base_url)
    )
    # Only promptls retries requests and counts the retries.
    bedrock.client.meta.config.retries = {"total_max_attempts": 1, "mode": "standard"}
    return BedrockConverseModel(reference.model, provider=bedrock)


def _requests(messages: Messages) -> list[ModelMessage]:
    """Return the messages in pydantic-ai's form; messages after an answer begin a new request."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    found: list[ModelMessage] = []
    for message in messages:
        content = str(message.get("content") or "")
        role = message.get("role")
        if role == "assistant":
            found.append(ModelResponse(parts=[TextPart(content)]))
            continue
        part = SystemPromptPart(content) if role in {"system", "developer"} else UserPromptPart(content)
        last = found[-1] if found else None
        if isinstance(last, ModelRequest):
            last.parts = [*last.parts, part]
        else:
            found.append(ModelRequest(parts=[part]))
    return found


def _settings(parameters: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    known = {name: value for name, value in parameters.items() if name in KNOWN_PARAMETERS}
    others = {name: value for name, value in parameters.items() if name not in KNOWN_PARAMETERS}
    return {**known, **({"extra_body": others} if others else {}), **own}


def _said(error: Any) -> str:
    body = error.body
    with contextlib.suppress(TypeError, LookupError):
        body = body["error"]["message"]
    return _one_line(str(body or error))


def _one_line(text: str) -> str:
    return shorten_line(re.sub(r"\bsk-[\w*.-]{4,}", "[key]", text), QUOTED)


def _reasoning(usage: RequestUsage) -> int | None:
    """Return the reasoning tokens; older versions of the library list them among the provider's details."""
    details = usage.details
    named = getattr(usage, "output_reasoning_tokens", 0)
    return named or details.get("reasoning_tokens") or details.get("thoughts_tokens") or None
