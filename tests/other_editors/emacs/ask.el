(promptls-ask)
(wait "the answer" (lambda () (get-buffer "support.yml.j2.answer.md")))
(with-current-buffer "support.yml.j2.answer.md" (buffer-string))
