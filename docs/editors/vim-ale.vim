" promptls in Vim with ALE: put this into ~/.vim/plugin/promptls.vim.

function! PromptlsRoot(buffer) abort
  let l:settings = ale#path#FindNearestFile(a:buffer, 'promptls.toml')
  return fnamemodify(empty(l:settings) ? bufname(a:buffer) : l:settings, ':p:h')
endfunction

" ALE counts bytes where other editors count UTF-16 units; this tells the server.
call ale#linter#Define('promptls', {
\ 'name': 'promptls',
\ 'lsp': 'stdio',
\ 'executable': 'promptls',
\ 'command': '%e',
\ 'project_root': function('PromptlsRoot'),
\ 'initialization_options': {'positionEncoding': 'utf-8'},
\ })

" Execute a server command for this prompt and show the result.
function! PromptlsExecute(command, arguments) abort
  let l:uri = ale#path#ToFileURI(expand('%:p'))
  let l:asked = {'command': a:command, 'arguments': [extend({'uri': l:uri}, a:arguments)]}
  call ale#lsp_linter#SendRequest(bufnr(''), 'promptls', [0, 'workspace/executeCommand', l:asked],
  \ function('PromptlsAnswered'))
endfunction

function! PromptlsAnswered(answer) abort
  let l:result = get(a:answer, 'result', {})
  if has_key(a:answer, 'error')
    echomsg a:answer.error.message
  elseif !empty(get(l:result, 'document', ''))
    execute 'split' fnameescape(l:result.document)
  else
    echomsg l:result.message
  endif
endfunction

command! PromptPreview call PromptlsExecute('promptls.preview', {})
command! PromptAsk call PromptlsExecute('promptls.ask', {})
command! -nargs=1 PromptRun call PromptlsExecute('promptls.runExperiment', {'experiment': <q-args>})

" Indent a new line to continue the YAML above.
function! PromptlsIndent() abort
  let l:number = prevnonblank(v:lnum - 1)
  let l:line = getline(l:number)
  if l:line !~# '^[ -]*\w\+:\( \|$\)'
    return indent(l:number)
  endif
  let l:opens = l:line =~# ':\( [|>][-+0-9]*\)\?$'
  return len(matchstr(l:line, '^[ -]*')) + (l:opens ? 2 : 0)
endfunction

augroup promptls
  autocmd!
  autocmd BufRead,BufNewFile *.yml.j2,*.yaml.j2 setfiletype promptls
  autocmd FileType promptls setlocal syntax=yaml commentstring={#\ %s\ #} omnifunc=ale#completion#OmniFunc
  autocmd FileType promptls setlocal expandtab shiftwidth=2 softtabstop=2
  autocmd FileType promptls setlocal indentexpr=PromptlsIndent() indentkeys=o,O
  autocmd FileType promptls nmap <buffer> K <Plug>(ale_hover)
  autocmd FileType promptls nmap <buffer> gd <Plug>(ale_go_to_definition)
augroup END

" Also :ALERename, :ALECodeAction, :ALEFindReferences, :ALESymbolSearch NAME.
