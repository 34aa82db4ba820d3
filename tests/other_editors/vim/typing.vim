function! Case() abort
  call feedkeys("Go\<C-U>- name: end\<CR>\<Tab>role: user\<CR>content: {{ tone }}\<Esc>", 'tx')
  return Text()
endfunction
