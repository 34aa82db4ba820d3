ready()
diagnostics("unknown-role", 1)
go_to("role: usr", "usr")
vim.lsp.buf.code_action({
  apply = true,
  context = { only = { "quickfix" }, diagnostics = vim.lsp.diagnostic.from(vim.diagnostic.get(0)) },
})
wait("the fix", function()
  return not text():find("usr", 1, true)
end)
diagnostics("unknown-role", 0)
return text()
