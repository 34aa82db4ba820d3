;; How the cases speak to Eglot. -*- lexical-binding: t -*-

(require 'eglot)

(defun start ()
  ;; It waits for the end of a command, and none ends where nobody types.
  (run-hooks 'post-command-hook))

(defun send-changes ()
  ;; It waits until nobody has typed for a while.
  (eglot--signal-textDocument/didChange))

(defun connected () (eglot-current-server))

(defun all-diagnostics ()
  "The diagnostics of the buffer as plists, lines and columns from 1."
  (mapcar (lambda (found)
            (let ((lsp (alist-get 'eglot-lsp-diag (flymake-diagnostic-data found))))
              (save-excursion
                (goto-char (flymake-diagnostic-beg found))
                (list :rule (plist-get lsp :code)
                      :line (line-number-at-pos) :column (1+ (- (point) (line-beginning-position)))
                      :message (plist-get lsp :message)))))
          (flymake-diagnostics)))

(defun hover ()
  (let (found)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq found text)))
    (wait "the hover" (lambda () found))))

(defun fix ()
  "Apply the one fix at point."
  (eglot-code-actions (point) (1+ (point)) "quickfix" t))

(defun rename (name) (eglot-rename name))

(defun completions ()
  (let ((found (eglot-completion-at-point)))
    (all-completions (buffer-substring (nth 0 found) (nth 1 found)) (nth 2 found))))
