function! Case() abort
  call feedkeys("Go\<C-U>- name: end\<CR>role: user\<CR>content: |\<CR>Hello: {{ tone }}\<CR>\<Tab>one\<Esc>", 'tx')
  return Text()
endfunction
