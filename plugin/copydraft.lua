-- Neovim reads lsp/copydraft.lua, which has the commands, with the first buffer that has a filetype.
-- Whoever begins without one has them, too.
vim.api.nvim_create_autocmd('VimEnter', {
  callback = function()
    if vim.lsp.is_enabled and vim.lsp.is_enabled('copydraft') then
      local _ = vim.lsp.config.copydraft
    end
  end,
})
