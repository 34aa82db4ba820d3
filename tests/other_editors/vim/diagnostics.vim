function! Case() abort
  let l:found = Findings('unknown-role')[0]
  return {'line': l:found.lnum, 'column': l:found.col, 'message': l:found.text}
endfunction
