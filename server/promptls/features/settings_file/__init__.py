"""The project's settings in TOML: what may be written in them, and what stands there."""

from __future__ import annotations

from promptls.features.settings_file.complete import complete_settings
from promptls.features.settings_file.explain import explain_setting
from promptls.features.settings_file.place import is_settings_file

__all__ = ["complete_settings", "explain_setting", "is_settings_file"]
