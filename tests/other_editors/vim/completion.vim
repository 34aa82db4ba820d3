function! Case() abort
  call GoTo('answer in a', '{{ tone')
  " The first of the words offered is put in.
  call feedkeys("A {{ to\<C-x>\<C-o>", 'tx')
  return [matchstr(getline('.'), '\w\+$')]
endfunction
