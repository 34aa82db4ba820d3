function! Case() abort
  call GoTo('role: usr', 'usr')
  call feedkeys("1\<CR>", 't')
  ALECodeAction
  call Wait('the fix', {-> search('role: user', 'nw')})
  return Text()
endfunction
