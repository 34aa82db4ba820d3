function! Case() abort
  PromptPreview
  call Wait('the preview', {-> bufname('') =~# 'preview\.md$'})
  return Text()
endfunction
