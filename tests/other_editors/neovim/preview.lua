ready()
if vim.fn.exists(":PromptPreview") == 2 then
  vim.cmd("PromptPreview")
else
  vim.lsp.buf.code_action({
    apply = true,
    context = { only = { "promptls.run" }, diagnostics = {} },
    filter = function(action)
      return action.title == "Preview"
    end,
  })
end
wait("the preview", function()
  return vim.api.nvim_buf_get_name(0):find("preview%.md$")
end)
return text()
