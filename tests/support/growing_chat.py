"""A prompt whose chat grows, which the truncation lab can explore."""

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
