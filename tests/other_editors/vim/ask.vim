function! Case() abort
  PromptAsk
  call Wait('the answer', {-> bufname('') =~# 'answer\.md$'})
  return Text()
endfunction
