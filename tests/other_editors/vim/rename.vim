function! Case() abort
  call GoTo('  tone:', 'tone')
  call feedkeys("\<C-u>manner\<CR>", 't')
  ALERename
  call Wait('the new name', {-> search('{{ manner }}', 'nw')})
  return Text()
endfunction
