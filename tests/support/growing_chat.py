"""A prompt with a growing chat for the truncation lab."""

from __future__ import annotations

GROWING_CHAT = """\
- name: persona
  role: system
  content: You are kind.
{% for message in history %}
- name: turn
  role: {{ message.role }}
  truncation_priority: 1
  content: |
    {{ message.content }}
{% endfor %}
"""
