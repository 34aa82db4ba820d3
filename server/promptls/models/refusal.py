"""What an HTTP status of a provider means, and when it is worth asking again."""

from __future__ import annotations

import time

from promptls.models.model import ModelError
from promptls.models.steady import LONGEST_WAIT

_TRY_LATER = {408, 409, 425, 429, 500, 502, 503, 504, 529}

_MINUTE, _HOUR = 60, 3600


def refusal(server: str, status: int, retry_after: str | None, content: bytes, said: str) -> ModelError:
    """The error of an answer that is none; `said` quotes what its `content` has to say."""
    # An empty account stays empty, however long one waits.
    later = status in _TRY_LATER and "insufficient_quota" not in content.decode(errors="replace")
    wait = seconds_to_wait(retry_after) if later else None
    if wait is not None and wait > LONGEST_WAIT:
        remedy = f"wait {_time(wait)}, as the server asks"
    elif status in _TRY_LATER:
        remedy = "the server is busy or broken: run again later, or with a smaller `concurrency`"
    elif status // 100 == 3:  # noqa: PLR2004 - HTTP's own number
        remedy = "check `base_url`: the server leads to another address, where no key is sent"
    else:
        remedy = "check the parameters of the experiment, and whether the prompt is too long for the model"
    return ModelError(
        f"{server} answered with HTTP {status}: {said}", remedy, retryable=later, retry_after=wait
    )


def _time(seconds: float) -> str:
    if seconds >= 2 * _HOUR:
        return f"{seconds / _HOUR:.0f} hours"
    return f"{seconds / _MINUTE:.0f} minutes"


def seconds_to_wait(value: str | None) -> float | None:
    """Seconds that an HTTP `Retry-After` asks for, given as a number or as a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
