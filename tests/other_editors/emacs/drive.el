;; Runs one case in a real Emacs, and writes what it returns, or why it failed, as JSON.
;; The prompt is named by PROMPTLS_PROMPT, the case by PROMPTLS_CASE, the answer's file by
;; PROMPTLS_ANSWER, and the client, `eglot' or `lsp-mode', by PROMPTLS_CLIENT. -*- lexical-binding: t -*-

(require 'json)
(require 'seq)
(require 'flymake)

(defconst case-patience 60 "Seconds until a condition that does not come true fails the case.")
(defconst case-client (getenv "PROMPTLS_CLIENT"))

(defvar case-messages nil "What was said, the last first; without a terminal nothing is kept of it.")
(advice-add 'message :before
            (lambda (form &rest arguments)
              (when form (push (apply #'format-message form arguments) case-messages))))

(defun wait (what condition)
  "The first value of CONDITION that is not nil; WHAT says what is waited for."
  (let ((end (+ (float-time) case-patience)) found)
    (while (not (setq found (funcall condition)))
      (when (> (float-time) end)
        (error "Waited in vain for %s; messages: %s" what
               (string-join (reverse case-messages) "\n")))
      (accept-process-output nil 0.02))
    found))

(defun go-to (line text)
  "Put point on TEXT in the line that holds LINE."
  (goto-char (point-min))
  (search-forward line)
  (beginning-of-line)
  (search-forward text (line-end-position))
  (goto-char (match-beginning 0)))

(defun diagnostics (rule count)
  "The diagnostics of RULE, once there are as many as COUNT."
  (wait (format "%d of %s" count rule)
        (lambda ()
          (let ((found (seq-filter (lambda (it) (equal (plist-get it :rule) rule)) (all-diagnostics))))
            (when (= (length found) count) (or found t))))))

(defun message-with (text)
  "The first message that holds TEXT, once it is there."
  (wait (format "a message with %s" text)
        (lambda ()
          (seq-find (lambda (said) (string-match-p (regexp-quote text) said)) case-messages))))

;; Nobody is there to be asked.
(advice-add 'y-or-n-p :override (lambda (&rest _) t))

(defun content ()
  "The prompt's text."
  (with-current-buffer (find-buffer-visiting (getenv "PROMPTLS_PROMPT"))
    (buffer-substring-no-properties (point-min) (point-max))))

(load (expand-file-name (concat "client-" case-client ".el") (file-name-directory load-file-name)) nil t)

(let ((answer
       (condition-case failure
           (progn
             (find-file (getenv "PROMPTLS_PROMPT"))
             (start)
             (wait "the server" #'connected)
             (diagnostics "unknown-role" 1)
             (list :answer (with-temp-buffer
                             (insert-file-contents (getenv "PROMPTLS_CASE"))
                             (let ((form (read (format "(progn %s\n)" (buffer-string)))))
                               (with-current-buffer (find-buffer-visiting (getenv "PROMPTLS_PROMPT"))
                                 (eval form t))))))
         (error (list :failure (error-message-string failure))))))
  (let ((coding-system-for-write 'utf-8))
    (with-temp-file (getenv "PROMPTLS_ANSWER") (insert (json-encode answer))))
  (kill-emacs 0))
