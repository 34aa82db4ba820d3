-- Runs one case in a real Neovim, and writes what it returns, or why it failed, as JSON.
-- The file of the case is named by PROMPTLS_CASE, that of the answer by PROMPTLS_ANSWER.

local patience = 60 -- seconds
local case

--- The first value of `condition` that is neither nil nor false; the editor goes on meanwhile.
function wait(what, condition)
  local ends = vim.uv.now() + patience * 1000
  local found = condition()
  while not found do
    if vim.uv.now() > ends then
      error(("waited in vain for %s; messages: %s"):format(what, vim.fn.execute("messages")), 2)
    end
    vim.defer_fn(function()
      coroutine.resume(case)
    end, 20)
    coroutine.yield()
    found = condition()
  end
  return found
end

--- Waits until the server has read the prompt: its one finding is then shown.
function ready()
  wait("the finding", function()
    return vim.iter(vim.diagnostic.get(0)):any(function(diagnostic)
      return diagnostic.code == "unknown-role"
    end)
  end)
end

--- Puts the cursor on the first letter of `text` in the line that holds `line`, both plain.
function go_to(line, text)
  for number, content in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local start = content:find(line, 1, true) and content:find(text, 1, true)
    if start then
      vim.api.nvim_win_set_cursor(0, { number, start - 1 })
      return
    end
  end
  error(("no line with %q holds %q"):format(line, text), 2)
end

--- The text of the current buffer.
function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

--- The diagnostics of a rule, once there are as many as `count`.
function diagnostics(rule, count)
  return wait(("%d of %s"):format(count, rule), function()
    local found = vim.tbl_filter(function(diagnostic)
      return diagnostic.code == rule
    end, vim.diagnostic.get(0))
    return #found == count and found
  end)
end

vim.lsp.set_log_level("debug")
case = coroutine.create(function()
  local ok, answer = xpcall(assert(loadfile(vim.env.PROMPTLS_CASE)), debug.traceback)
  local file = assert(io.open(vim.env.PROMPTLS_ANSWER, "w"))
  file:write(vim.json.encode(ok and { answer = answer } or { failure = tostring(answer) }))
  file:close()
  vim.cmd("qall!")
end)
coroutine.resume(case)
