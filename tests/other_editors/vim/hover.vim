function! Shown() abort
  let l:windows = filter(range(1, winnr('$')), 'getwinvar(v:val, "&previewwindow")')
  return empty(l:windows) ? '' : join(getbufline(winbufnr(l:windows[0]), 1, '$'), "\n")
endfunction

function! Case() abort
  call GoTo('{{ tone', 'tone')
  ALEHover
  return Wait('the hover', function('Shown'))
endfunction
