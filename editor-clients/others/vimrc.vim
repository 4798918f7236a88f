" Vim 9.0.0185 or newer with coc.nvim: ghost text; <C-l> accepts, <Tab> where no menu is open
inoremap <silent><expr> <C-l> coc#inline#visible() ? coc#inline#accept() : "\<C-l>"
inoremap <silent><expr> <Tab> coc#inline#visible() && !coc#pum#visible() ? coc#inline#accept() : "\<Tab>"
inoremap <silent><expr> <M-]> coc#inline#next()
