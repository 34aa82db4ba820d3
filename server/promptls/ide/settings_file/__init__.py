"""Completion, hover and navigation in the project's settings file (TOML)."""

from __future__ import annotations

from promptls.ide.settings_file.complete import complete_settings
from promptls.ide.settings_file.explain import explain_setting
from promptls.ide.settings_file.schema import is_settings_file

__all__ = ["complete_settings", "explain_setting", "is_settings_file"]
