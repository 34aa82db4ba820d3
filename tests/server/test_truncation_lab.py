from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = """\
{#---
token_limit: 300
truncation_step: 20
---#}
{% for message in messages %}
- name: message {{ loop.index }}
  role: user
  truncation_priority: 1
  content: "{{ escape_special_characters(message.content) }}"
{% endfor %}
"""


async def test_the_lab_grows_the_chat_of_the_unsaved_text(code: Editor) -> None:
    uri = code.open("chat.yml.j2", CHAT)
    code.replace(uri, "token_limit: 300", "token_limit: 200")
    made = await code.command("truncationLab", uri=uri, turns=12)
    assert (made.failure, made.cancelled, made.found.limit, made.found.input) == (
        None,
        False,
        200,
        "messages",
    )
    assert len(made.found.chats[0].turns) == 12
    assert {best.limit for best in made.found.best} == set(made.found.limits)


async def test_a_limit_and_a_step_are_applied_to_the_header_of_the_open_prompt(code: Editor) -> None:
    changes: list[Any] = []

    @code.client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        changes.append(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    uri = code.open("applied.yml.j2", CHAT)
    made = await code.command("applyTruncation", uri=uri, limit=240, step=40)
    assert made.message == "The header sets `token_limit: 240` and `truncation_step: 40`."
    (change,) = changes
    assert "240" in str(change)
    assert "40" in str(change)
    with pytest.raises(JsonRpcException, match="of at least 1"):
        await code.command("applyTruncation", uri=uri, limit=0, step=40)


async def test_a_prompt_without_a_chat_is_a_failure_with_a_sentence(code: Editor) -> None:
    uri = code.open("plain.yml.j2", "- {name: a, content: b}\n")
    made = await code.command("truncationLab", uri=uri)
    assert (made.found, made.failure.kind) == (None, "truncation")
    assert "no chat can grow" in made.failure.message


async def test_the_lab_reports_progress_and_can_be_cancelled(code: Editor) -> None:
    slow = CHAT.replace("{% endfor %}", "{% for i in range(200000) %}{% endfor %}{% endfor %}")
    uri = code.open("slow.yml.j2", slow)
    code.client.progress_reports.clear()
    running = asyncio.ensure_future(code.command("truncationLab", uri=uri, turns=100))

    async def begun() -> list[Any]:
        return [token for token, seen in code.client.progress_reports.items() if len(seen) > 1]

    (token,) = await eventually(begun, bool)
    assert "of 100" in code.client.progress_reports[token][1].message
    code.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    made = await running
    assert (made.cancelled, made.found) == (True, None)
