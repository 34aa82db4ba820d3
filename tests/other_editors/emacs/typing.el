;; Off in `--batch'.
(electric-indent-mode)
(goto-char (point-max))
(execute-kbd-macro "- name: end\rrole: user\rcontent: |\rHello: {{ tone }}\r\r- this one\r- that\r")
(content)
