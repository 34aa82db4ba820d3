local shown = {}
local notify = vim.lsp.handlers["window/showMessage"]
vim.lsp.handlers["window/showMessage"] = function(err, result, context)
  table.insert(shown, result.message)
  return notify(err, result, context)
end
ready()
local function run()
  if vim.fn.exists(":PromptRun") == 2 then
    vim.cmd("PromptRun quick")
  else
    vim.lsp.buf.code_action({
      apply = true,
      context = { only = { "promptls.run" }, diagnostics = {} },
      filter = function(action)
        return action.title == "Run quick"
      end,
    })
  end
end

run()
local answer = wait("the end of the run", function()
  return shown[1]
end)
-- There are more actions for the experiment now.
run()
wait("the end of the second run", function()
  return shown[2]
end)
return answer
