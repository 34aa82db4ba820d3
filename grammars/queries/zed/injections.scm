; What stands around the tags is YAML, read as one text.
((content) @injection.content
  (#set! injection.language "yaml")
  (#set! injection.combined))
