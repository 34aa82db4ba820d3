;; How the cases speak to lsp-mode. -*- lexical-binding: t -*-

(require 'lsp-mode)
(require 'lsp-diagnostics)
(require 'lsp-completion)
(require 'lsp-modeline)

;; Nobody is there to be asked which folder is the project.
(setq lsp-auto-guess-root t
      lsp-enable-file-watchers nil
      lsp-enable-snippet nil
      lsp-restart 'ignore
      lsp-diagnostics-provider :flymake
      lsp-headerline-breadcrumb-enable nil
      lsp-session-file (expand-file-name "lsp-session" (getenv "PROMPTLS_HOME")))

(defun start ()
  ;; The deferred start waits until nobody has typed for a while.
  (lsp))

(defun send-changes ()
  (lsp--flush-delayed-changes))

(defun connected ()
  (seq-some (lambda (workspace) (eq 'initialized (lsp--workspace-status workspace))) (lsp-workspaces)))

(defun all-diagnostics ()
  "The diagnostics of the buffer as plists, lines and columns from 1."
  (mapcar (lambda (found)
            (let* ((start (lsp-get (lsp-get found :range) :start)))
              (save-excursion
                (goto-char (lsp--position-to-point start))
                (list :rule (lsp-get found :code)
                      :line (line-number-at-pos) :column (1+ (- (point) (line-beginning-position)))
                      :message (lsp-get found :message)))))
          (lsp--get-buffer-diagnostics)))

(defun hover ()
  (let ((contents (lsp-get (lsp-request "textDocument/hover" (lsp--text-document-position-params)) :contents)))
    (substring-no-properties (lsp--render-on-hover-content contents t))))

(defun fix ()
  "Apply the one fix at point."
  (lsp-execute-code-action-by-kind "quickfix"))

(defun rename (name) (lsp-rename name))

(defun completions ()
  (let ((found (lsp-completion-at-point)))
    (all-completions (buffer-substring (nth 0 found) (nth 1 found)) (nth 2 found))))
