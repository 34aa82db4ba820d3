"""The YAML parser: libyaml's result for a projection, with spans in the template."""
