-- promptls in Neovim 0.8 to 0.10, without a plugin: put this into ~/.config/nvim/init.lua.

vim.filetype.add({ pattern = { [".*%.ya?ml%.j2"] = "promptls" } })

vim.api.nvim_create_autocmd("FileType", {
  pattern = "promptls",
  callback = function(opened)
    local found = vim.fs.find({ "promptls.toml", "pyproject.toml", ".git" }, { path = opened.file, upward = true })
    vim.lsp.start({
      name = "promptls",
      cmd = { "promptls" },
      root_dir = vim.fs.dirname(found[1] or opened.file),
    })
    vim.cmd("setlocal expandtab shiftwidth=2 softtabstop=2") -- YAML has no tabs
    vim.bo[opened.buf].omnifunc = "v:lua.vim.lsp.omnifunc" -- completion with CTRL-X CTRL-O
    local keys = { K = "hover", gd = "definition", grn = "rename", gra = "code_action", grr = "references" }
    for key, name in pairs(keys) do
      vim.keymap.set("n", key, vim.lsp.buf[name], { buffer = opened.buf })
    end
  end,
})
