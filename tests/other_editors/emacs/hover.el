(go-to "{{ tone }}" "one }}")
(substring-no-properties (hover))
