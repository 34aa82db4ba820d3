ready()
vim.api.nvim_buf_set_lines(0, -1, -1, false, { "" })
vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })

--- Types keys as people do: Neovim drops questions that follow each other at once.
local function enter(keys)
  for key in keys:gsub("<%u%S->", vim.keycode):gmatch(".") do
    local ends = vim.uv.now() + 50
    vim.api.nvim_input(key)
    wait("a pause", function()
      return vim.uv.now() > ends
    end)
  end
end

local function offered(word)
  wait(word, function()
    local shown = vim.fn.complete_info({ "pum_visible", "items" })
    return shown.pum_visible == 1
      and vim.iter(shown.items):any(function(item)
        return vim.startswith(item.word, word)
      end)
  end)
end

--- Goes down the suggestions to one that ends the line; an answer that arrives meanwhile begins them again.
local function choose(word)
  local line = vim.api.nvim_get_current_line()
  while not vim.endswith(line, word) do
    vim.api.nvim_input("<C-N>")
    wait("another suggestion", function()
      return vim.api.nvim_get_current_line() ~= line
    end)
    line = vim.api.nvim_get_current_line()
  end
end

enter("i- ")
offered("name")
enter("name: end<CR>r")
offered("role")
enter("ole: ")
offered("user")
enter("user<CR>c")
offered("content")
enter("ontent: |<CR>{{ t")
offered("tone")
choose("tone")
enter("<C-Y> }}<Esc>")
return text()
