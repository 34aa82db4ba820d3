(let ((found (car (diagnostics "unknown-role" 1))))
  (list :line (plist-get found :line) :column (plist-get found :column) :message (plist-get found :message)))
