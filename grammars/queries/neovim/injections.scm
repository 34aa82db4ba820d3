; What stands around the tags is YAML, read as one text.
((content) @injection.content
  (#set! injection.language "yaml")
  (#set! injection.combined))

; So is the header, `{#--- … ---#}`.
((comment) @injection.content
  (#lua-match? @injection.content "^{#%-%-%-")
  (#offset! @injection.content 0 5 0 -5)
  (#set! injection.language "yaml"))
