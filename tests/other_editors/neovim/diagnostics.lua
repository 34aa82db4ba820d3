ready()
local found = diagnostics("unknown-role", 1)[1]
local column = vim.str_utfindex(vim.fn.getline(found.lnum + 1), "utf-32", found.col)
return { line = found.lnum + 1, column = column + 1, message = found.message }
