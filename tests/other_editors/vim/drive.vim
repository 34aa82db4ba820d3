" Runs one case in a real Vim with ALE, and writes what it returns, or why it failed, as JSON.
" The file of the case is named by PROMPTLS_CASE, that of the answer by PROMPTLS_ANSWER.

" The first value of a condition that is not empty; what the server says is handled meanwhile.
function! Wait(what, Condition) abort
  for l:try in range(1200)
    let l:found = a:Condition()
    if !empty(l:found)
      return l:found
    endif
    sleep 50m
  endfor
  throw 'waited in vain for ' . a:what . '; messages: ' . execute('messages')
endfunction

" The findings of a rule, once there are any.
function! Findings(rule) abort
  return Wait(a:rule, {-> Found(a:rule)})
endfunction

function! Found(rule) abort
  return filter(copy(ale#engine#GetLoclist(bufnr(''))), 'get(v:val, "code", "") ==# a:rule')
endfunction

" Puts the cursor on the first letter of a text in the line that holds another.
function! GoTo(line, text) abort
  call cursor(1, 1)
  call search('\V' . a:line, 'cW')
  call cursor(line('.'), 1)
  call search('\V' . a:text, 'cW', line('.'))
endfunction

function! Text() abort
  return join(getline(1, '$'), "\n") . "\n"
endfunction

try
  call Findings('unknown-role')
  source $PROMPTLS_CASE
  let g:answer = {'answer': Case()}
catch
  let g:answer = {'failure': v:exception . ' at ' . v:throwpoint}
endtry
call writefile([json_encode(g:answer)], $PROMPTLS_ANSWER)
qall!
