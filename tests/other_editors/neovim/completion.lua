ready()
go_to("{{ tone }}", "one }}")
local words
vim.api.nvim_create_autocmd("CompleteChanged", {
  callback = function()
    words = vim.tbl_map(function(item)
      return item.word
    end, vim.fn.complete_info({ "items" }).items)
  end,
})
vim.api.nvim_feedkeys(vim.keycode("Co<C-x><C-o>"), "nt", false)
return wait("the completions", function()
  return words and #words > 0 and words
end)
