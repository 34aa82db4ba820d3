---@brief
---
--- promptls checks, previews and tests LLM prompt templates: `.yml.j2` files, which are YAML with Jinja.
---
--- ```sh
--- pipx install promptls
--- ```
---
--- Neovim does not detect this file type:
---
--- ```lua
--- vim.filetype.add({ pattern = { ['.*%.ya?ml%.j2'] = 'promptls' } })
--- ```

---@type vim.lsp.Config
return {
  cmd = { 'promptls' },
  filetypes = { 'promptls' },
  root_markers = { 'promptls.toml', 'pyproject.toml', '.git' },
}
