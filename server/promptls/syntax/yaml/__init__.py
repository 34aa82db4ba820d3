"""YAML under the Jinja: what libyaml makes of a projection, with spans in the template."""
