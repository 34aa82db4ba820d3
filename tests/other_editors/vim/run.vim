function! Case() abort
  PromptRun quick
  return Wait('the end of the run', {-> matchstr(execute('messages'), '[^\n]*exact_match[^\n]*')})
endfunction
