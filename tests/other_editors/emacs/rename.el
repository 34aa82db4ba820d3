(go-to "{{ tone }}" "one }}")
(rename "manner")
(wait "the new name" (lambda () (string-match-p "{{ manner }}" (content))))
(content)
