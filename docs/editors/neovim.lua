-- promptls in Neovim 0.11 or later: put this into ~/.config/nvim/init.lua.

vim.filetype.add({ pattern = { [".*%.ya?ml%.j2"] = "promptls" } })

-- Indents a new line to continue the YAML above.
function _G.promptls_indent()
  local number = vim.fn.prevnonblank(vim.v.lnum - 1)
  local line = vim.fn.getline(number)
  local before = line:match("^([ -]*)[%w_]+:$") or line:match("^([ -]*)[%w_]+: ")
  if not before then
    return vim.fn.indent(number)
  end
  local opens = line:find(":$") or line:find(": [|>][-+%d]*$")
  return #before + (opens and 2 or 0)
end

vim.api.nvim_create_autocmd("FileType", {
  pattern = "promptls",
  callback = function()
    vim.cmd("setlocal expandtab shiftwidth=2 softtabstop=2") -- YAML has no tabs
    vim.cmd("setlocal indentexpr=v:lua.promptls_indent() indentkeys=o,O")
  end,
})

vim.lsp.config("promptls", {
  cmd = { "promptls" },
  filetypes = { "promptls" },
  root_markers = { "promptls.toml", "pyproject.toml", ".git" },
})
vim.lsp.enable("promptls")

-- Off by default in Neovim: completion while typing, inlay hints and code lenses.
vim.api.nvim_create_autocmd("LspAttach", {
  callback = function(attached)
    local client = assert(vim.lsp.get_client_by_id(attached.data.client_id))
    if client.name ~= "promptls" then
      return
    end
    if client:supports_method("textDocument/completion") then
      -- Neovim asks at some characters only, and inserts the first suggestion by default.
      local triggers = client.server_capabilities.completionProvider.triggerCharacters
      vim.list_extend(triggers, vim.split("abcdefghijklmnopqrstuvwxyz_", ""))
      vim.bo[attached.buf].completeopt = "menuone,noselect,popup"
      vim.lsp.completion.enable(true, client.id, attached.buf, { autotrigger = true })
    end
    vim.lsp.inlay_hint.enable(true, { bufnr = attached.buf })
    vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "TextChanged" }, {
      buffer = attached.buf,
      callback = function()
        vim.lsp.codelens.refresh({ bufnr = attached.buf })
      end,
    })
    vim.lsp.codelens.refresh({ bufnr = attached.buf })
  end,
})

-- Colors from tree-sitter: install the parsers `jinja` and `yaml` of nvim-treesitter, and copy
-- grammars/queries/neovim to ~/.config/nvim/queries/promptls.
local jinja = vim.api.nvim_get_runtime_file("parser/jinja.so", false)[1]
if jinja and vim.treesitter.language.add("promptls", { path = jinja, symbol_name = "jinja" }) then
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "promptls",
    callback = function(opened)
      vim.treesitter.start(opened.buf, "promptls")
    end,
  })
end

-- The run commands: `gra` (code actions) on the first line, or these commands.
local function act(title)
  vim.lsp.buf.code_action({
    apply = true,
    context = { only = { "promptls.run" }, diagnostics = {} },
    filter = function(action)
      local is_open = title == "Run" or title == "Ask"
      return action.title == title or (is_open and vim.startswith(action.title, title))
    end,
  })
end
vim.api.nvim_create_user_command("PromptPreview", function()
  act("Preview")
end, { desc = "Show what the prompt renders to" })
vim.api.nvim_create_user_command("PromptAsk", function()
  act("Ask")
end, { desc = "Ask the model about the first sample" })
vim.api.nvim_create_user_command("PromptRun", function(options)
  act(vim.trim("Run " .. options.args))
end, { nargs = "?", desc = "Run an experiment of the prompt" })
vim.api.nvim_create_user_command("PromptCancel", function()
  for _, client in ipairs(vim.lsp.get_clients({ name = "promptls" })) do
    for token in pairs(client.progress.pending) do
      client:notify("window/workDoneProgress/cancel", { token = token })
    end
  end
end, { desc = "Cancel the questions and runs under way" })
