(promptls-preview)
(wait "the preview" (lambda () (get-buffer "support.yml.j2.preview.md")))
(with-current-buffer "support.yml.j2.preview.md" (buffer-string))
