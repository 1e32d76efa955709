-- copydraft in Neovim 0.11 and later: this repository on the runtimepath, then
-- vim.lsp.enable('copydraft'). README.md, "Editors", has the commands, mappings and settings.
--
-- It is one file because Neovim reads it as a whole, by its name, again whenever a setting changes:
-- edits, explanations, what the server sends, buffers, commands, and at the end the configuration.

local api, lsp, levels = vim.api, vim.lsp, vim.log.levels
local EDIT, EXPLAIN, PREPARE = 'copydraft.edit', 'copydraft.explain', 'copydraft.prepare'
local namespace = api.nvim_create_namespace('copydraft')
local root = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)))

-- Neovim reads this file again whenever a setting changes; what is under way must be kept.
local state = package.loaded['copydraft.state'] or { numbers = 0, edits = {}, explanations = {} }
package.loaded['copydraft.state'] = state
-- edits: what is written or waits for a decision, by buffer:
--   name, client_id, request, mark (of the lines), lines (as asked), result (nil: being written)
-- explanations: by name: buffer, from (row of the answer), client_id, request, session

local function say(message, level)
  vim.notify('copydraft: ' .. message, level or levels.INFO)
end

local function say_changed()
  say('the buffer was changed meanwhile; ask again', levels.WARN)
end

local function python_command(module, ...)
  local python = vim.fs.joinpath(root, '.venv/bin/python')
  return vim.fn.executable(python) == 1 and { python, '-P', '-m', module, ... } or nil
end

local function new_name()
  state.numbers = state.numbers + 1
  return 'nvim-' .. state.numbers
end

local function attached(bufnr)
  return lsp.get_clients({ name = 'copydraft', bufnr = bufnr })[1]
end

--- The client of the buffer; nil, and the user is told, if there is none.
local function client_of(bufnr)
  local client = attached(bufnr)
  if not client then
    say(vim.bo[bufnr].buftype ~= '' and 'this window shows no file'
      or api.nvim_buf_get_name(bufnr) == '' and 'give the buffer a name first (:file NAME)'
      or 'it is not attached to this buffer; see :checkhealth vim.lsp', levels.WARN)
  end
  return client
end

--- Lines [first, last) of the buffer, as a command's range.
local function argument(bufnr, first, last, more)
  local start, stop = { line = first, character = 0 }, { line = last, character = 0 }
  local document = { uri = vim.uri_from_bufnr(bufnr) }
  return vim.tbl_extend('error', more,
    { textDocument = document, range = { start = start, ['end'] = stop } })
end

--- Run a command of the server's; `take` gets its fault or its result, nothing if cancelled.
local function execute(client, bufnr, name, asked, take)
  local params = { command = name, arguments = { asked } }
  local _, request = client:request('workspace/executeCommand', params, take, bufnr)
  return request
end

local function cancel_request(of)
  local client = of.request and lsp.get_client_by_id(of.client_id)
  if client then
    client:cancel_request(of.request)
  end
end

-- Edits ----

local function forget(bufnr)
  state.edits[bufnr] = nil
  if api.nvim_buf_is_valid(bufnr) then
    api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  end
end

--- The rows [first, last) of the region now; nil while its lines are deleted.
local function region_rows(bufnr, edit)
  local options = { details = true }
  local found = api.nvim_buf_get_extmark_by_id(bufnr, namespace, edit.mark, options)
  if found[1] and not found[3].invalid then
    return found[1], found[3].end_row
  end
end

--- In all windows of the buffer: `act` with the window as the current one.
local function in_windows(bufnr, act)
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    api.nvim_win_call(window, act)
  end
end

--- Open the folds of the region: they would hide what is shown in it.
local function unfold(bufnr, edit)
  local first, last = region_rows(bufnr, edit)
  if first then
    in_windows(bufnr, function()
      vim.cmd(('silent! %d,%dfoldopen!'):format(first + 1, last))
    end)
  end
end

--- Scroll to lines above a window's first: Neovim shows them only then.
local function scroll_above(bufnr, row, count)
  in_windows(bufnr, function()
    if vim.fn.line('w0') == row + 1 then
      vim.fn.winrestview({ topfill = math.min(count, api.nvim_win_get_height(0) - 1) })
    end
  end)
end

--- Virtual lines of a text. Neovim cuts off what is wider than a window: they are broken instead.
local function virtual_lines(bufnr, texts)
  local width, found = vim.o.columns, {}
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    local shown = vim.fn.getwininfo(window)[1]
    width = math.max(1, math.min(width, shown.width - shown.textoff))
  end
  local function add(text)
    table.insert(found, { { text == '' and ' ' or text, 'DiffAdd' } })
  end
  api.nvim_buf_call(bufnr, function() -- Tabs are as wide as they are there.
    for _, text in ipairs(texts) do
      local from, column = 1, 0
      if vim.fn.strdisplaywidth(text) > width then
        local at = 1
        for _, character in ipairs(vim.fn.split(text, [[\zs]])) do
          local wide = vim.fn.strdisplaywidth(character, column)
          if column + wide > width and at > from then
            add(text:sub(from, at - 1))
            from, column = at, 0
            wide = vim.fn.strdisplaywidth(character)
          end
          at, column = at + #character, column + wide
        end
      end
      add(text:sub(from))
    end
  end)
  return found
end

--- Show hunks { first, last, lines }, rows counted from the region's first line.
local function draw(bufnr, edit, hunks)
  local row = region_rows(bufnr, edit)
  if not row then
    return
  end
  for _, mark in ipairs(api.nvim_buf_get_extmarks(bufnr, namespace, 0, -1, {})) do
    if mark[1] ~= edit.mark then
      api.nvim_buf_del_extmark(bufnr, namespace, mark[1])
    end
  end
  for _, hunk in ipairs(hunks) do
    local first, last, lines = row + hunk[1], row + hunk[2], hunk[3]
    -- Hidden while their lines are deleted.
    local function mark(line, options)
      options.strict, options.invalidate = false, true
      api.nvim_buf_set_extmark(bufnr, namespace, line, 0, options)
    end
    for line = first, last - 1 do
      mark(line, { line_hl_group = 'DiffDelete' })
    end
    local virtual = virtual_lines(bufnr, lines)
    if #virtual > 0 then
      -- The line above the region may be in a fold, or not be there.
      local above = last == row
      mark(above and row or last - 1, { virt_lines = virtual, virt_lines_above = above })
      if above then
        scroll_above(bufnr, row, #virtual)
      end
    end
  end
end

--- With `bufnr`, as its buffer has them: a `\r` that ends no line there is a character of it.
local function as_lines(text, bufnr)
  local ends = { unix = '\n', mac = '\r', dos = '\r\n' }
  ends = bufnr and ends[vim.bo[bufnr].fileformat] or '\r\n?'
  local lines = vim.split(text:gsub(ends, '\n'), '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

--- What turns `old` into `new` (lists of lines): hunks as `draw` takes them.
local function hunks_between(old, new)
  local function joined(lines)
    return #lines > 0 and table.concat(lines, '\n') .. '\n' or ''
  end
  local diff = vim.text and vim.text.diff or vim.diff
  return vim.tbl_map(function(found)
    local first, count, new_first, new_count = unpack(found)
    -- Of an empty range, the line before it is named.
    first = count == 0 and first or first - 1
    local start = new_count == 0 and new_first + 1 or new_first
    return { first, first + count, vim.list_slice(new, start, start + new_count - 1) }
  end, diff(joined(old), joined(new), { result_type = 'indices' }))
end

local function answered(bufnr, edit, err, result)
  if state.edits[bufnr] ~= edit then
    return
  end
  edit.request = nil
  if err then
    forget(bufnr)
    return say(err.message, levels.ERROR)
  end
  edit.result = as_lines(result.text, bufnr)
  local hunks = hunks_between(edit.lines, edit.result)
  if #hunks == 0 then
    forget(bufnr)
    return say('no change: the model left the lines as they are')
  end
  unfold(bufnr, edit)
  draw(bufnr, edit, hunks)
  local speed = ('%.1f tokens/s'):format(result.stats.tokens_per_s)
  say(speed .. '; :CopydraftAccept or :CopydraftReject')
end

--- The buffer's client; nil, and the user is told, if no edit of it can begin now.
local function client_for_edit(bufnr)
  if not vim.bo[bufnr].modifiable then
    return say('this buffer cannot be changed (:set modifiable)', levels.WARN)
  elseif state.edits[bufnr] then
    return say('accept or reject the edit of this buffer first', levels.WARN)
  end
  return client_of(bufnr)
end

local function edit_lines(bufnr, first, last, instruction)
  local client = client_for_edit(bufnr)
  if not client then
    return
  end
  local edit = { name = new_name(), client_id = client.id }
  edit.lines = api.nvim_buf_get_lines(bufnr, first, last, false)
  local options = { end_row = last, end_col = 0, invalidate = true }
  edit.mark = api.nvim_buf_set_extmark(bufnr, namespace, first, 0, options)
  state.edits[bufnr] = edit
  unfold(bufnr, edit)
  local more = { instruction = instruction, id = edit.name, apply = false }
  local asked = argument(bufnr, first, last, more)
  edit.request = execute(client, bufnr, EDIT, asked, function(err, result)
    answered(bufnr, edit, err, result)
  end)
end

--- Ask for the instruction where there is none; the model reads the lines meanwhile.
local function start_edit(bufnr, first, last, instruction)
  if instruction and instruction ~= '' then
    return edit_lines(bufnr, first, last, instruction)
  end
  local client = client_for_edit(bufnr)
  if not client then
    return
  end
  local reading = { client_id = client.id }
  local asked = argument(bufnr, first, last, { kind = 'edit' })
  reading.request = execute(client, bufnr, PREPARE, asked, function()
    reading.request = nil
  end)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  vim.ui.input({ prompt = ('Edit lines %d to %d: '):format(first + 1, last) }, function(given)
    if not given or given == '' then
      cancel_request(reading)
    elseif not api.nvim_buf_is_valid(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
      say_changed()
    else
      edit_lines(bufnr, first, last, given)
    end
  end)
end

local function accept(bufnr)
  local edit = state.edits[bufnr]
  if not (edit and edit.result) then
    return say(edit and 'the edit is still being written' or 'there is no edit in this buffer')
  end
  local row, last_row = region_rows(bufnr, edit)
  local now = row and api.nvim_buf_get_lines(bufnr, row, last_row, false)
  if not vim.deep_equal(now, edit.lines) then
    return say('the lines were changed since; nothing is applied (:CopydraftReject)', levels.ERROR)
  end
  if not vim.bo[bufnr].modifiable then
    return say('this buffer cannot be changed; :set modifiable, then accept again', levels.ERROR)
  end
  -- From below, so that rows stay right. Together they are one undo step.
  local hunks = hunks_between(edit.lines, edit.result)
  forget(bufnr)
  for index = #hunks, 1, -1 do
    local first, last, lines = unpack(hunks[index])
    api.nvim_buf_set_lines(bufnr, row + first, row + last, true, lines)
  end
end

local function reject(bufnr)
  local edit = state.edits[bufnr]
  if not edit then
    return say('there is no edit in this buffer')
  end
  cancel_request(edit)
  forget(bufnr)
end

-- Explanations ----

local function scratch(lines, filetype)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].filetype = filetype
  return bufnr
end

local function float(bufnr, title, keys)
  local window = api.nvim_open_win(bufnr, true, {
    relative = 'cursor', row = 1, col = 0, border = 'rounded',
    width = math.max(20, math.min(100, vim.o.columns - 4)),
    height = math.max(1, math.min(15, vim.o.lines - 6)),
    title = (' %s (q closes%s) '):format(title, keys or ''),
  })
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, nowait = true })
end

--- Show an answer, or what there is of it, below what its window has of earlier ones.
local function show_answer(shown, text)
  if api.nvim_buf_is_valid(shown.buffer) then
    -- There is none yet while the model thinks.
    local lines = as_lines(text == '' and '…' or text)
    api.nvim_buf_set_lines(shown.buffer, shown.from, -1, false, lines)
  end
end

local function explain(client, bufnr, shown, asked)
  asked.id = new_name()
  state.explanations[asked.id] = shown
  shown.request = execute(client, bufnr, EXPLAIN, asked, function(err, result)
    shown.request, state.explanations[asked.id] = nil, nil
    shown.session = result and result.session or shown.session
    show_answer(shown, err and err.message or result.text)
  end)
end

local function ask_on(shown)
  local client = lsp.get_client_by_id(shown.client_id)
  if shown.request or not (shown.session and client) then
    return say(shown.request and 'the answer is still being written' or 'nobody can be asked')
  end
  vim.ui.input({ prompt = 'Ask: ' }, function(question)
    if question and question ~= '' and api.nvim_buf_is_valid(shown.buffer) then
      local lines = as_lines('\n**' .. question .. '**\n\n…')
      api.nvim_buf_set_lines(shown.buffer, -1, -1, false, lines)
      shown.from = api.nvim_buf_line_count(shown.buffer) - 1
      explain(client, shown.buffer, shown, { session = shown.session, question = question })
    end
  end)
end

local function explain_lines(bufnr, first, last, question)
  local client = client_of(bufnr)
  if not client then
    return
  end
  local shown = { client_id = client.id, buffer = scratch({ '…' }, 'markdown'), from = 0 }
  explain(client, bufnr, shown, argument(bufnr, first, last, { question = question or '' }))
  float(shown.buffer, 'copydraft', ', <CR> asks on')
  vim.keymap.set('n', '<CR>', function()
    ask_on(shown)
  end, { buffer = shown.buffer })
  local function leave()
    cancel_request(shown)
  end
  api.nvim_create_autocmd('BufWipeout', { buffer = shown.buffer, callback = leave })
end

-- From the server ----

local function on_delta(_, delta)
  if delta.kind == 'explain' then
    local shown = state.explanations[delta.id]
    return shown and show_answer(shown, delta.text)
  end
  for bufnr, edit in pairs(state.edits) do
    if edit.name == delta.id and api.nvim_buf_is_valid(bufnr) then
      draw(bufnr, edit, vim.tbl_map(function(hunk)
        return { hunk.start - delta.start, hunk['end'] - delta.start, hunk.lines }
      end, delta.hunks))
    end
  end
end

local function reopen(bufnr, client_id)
  lsp.buf_detach_client(bufnr, client_id)
  lsp.buf_attach_client(bufnr, client_id)
end

--- The server does not know the buffer's text for sure: open it there again.
local function on_resync(_, params, context)
  local buffers = lsp.get_client_by_id(context.client_id).attached_buffers
  for _, bufnr in ipairs(vim.tbl_keys(buffers)) do
    if vim.uri_from_bufnr(bufnr) == params.uri then
      reopen(bufnr, context.client_id)
    end
  end
end

--- Drop what is under way in a client, or one request of it: no answer will come.
local function drop(message, client_id, request)
  for _, under_way in ipairs({ state.edits, state.explanations }) do
    for key, of in pairs(under_way) do
      if of.client_id == client_id and of.request and of.request == (request or of.request) then
        if under_way == state.edits then
          forget(key)
        end
        under_way[key], of.request = nil, nil
        say(message)
      end
    end
  end
end

-- Buffers ----

local group = api.nvim_create_augroup('copydraft', {})

local function on(events, act, pattern)
  api.nvim_create_autocmd(events, { group = group, callback = act, pattern = pattern })
end

--- What vim.lsp.enable() does when a filetype is set: some files have none, or get a name later.
local function attach(bufnr)
  local config = lsp.is_enabled and lsp.is_enabled('copydraft') and lsp.config.copydraft
  local is_file = api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == ''
  if not (config and is_file) or attached(bufnr) then
    return
  end
  local only = config.filetypes
  if only and not vim.list_contains(only, vim.bo[bufnr].filetype) then
    return
  end
  config = vim.deepcopy(config)
  local root = config.root_dir
  local function start(found)
    config.root_dir = found
    lsp.start(config, { bufnr = bufnr, reuse_client = config.reuse_client })
  end
  if type(root) == 'function' then
    root(bufnr, start)
  else
    start(root)
  end
end

--- Then it is known whether the buffer is a terminal.
local function attach_soon(bufnr)
  vim.schedule(function()
    attach(bufnr)
  end)
end

on({ 'BufWinEnter', 'BufWritePost' }, function(event)
  attach_soon(event.buf)
end)
vim.iter(api.nvim_list_wins()):map(api.nvim_win_get_buf):each(attach_soon)

local names = {}
on('BufFilePre', function(event)
  names[event.buf] = vim.uri_from_bufnr(event.buf)
end)
on('BufFilePost', function(event)
  local client = attached(event.buf)
  if client then
    client:notify('textDocument/didClose', { textDocument = { uri = names[event.buf] } })
    lsp.buf_detach_client(event.buf, client.id)
  end
  attach_soon(event.buf)
end)

on('OptionSet', function()
  local bufnr = api.nvim_get_current_buf()
  local client = attached(bufnr)
  if client then
    reopen(bufnr, client.id) -- The server's text has the line ends of before.
  end
end, 'fileformat')

-- When a file was read again, marks are in the rows of before, whatever stands there now.
on({ 'BufUnload', 'FileChangedShellPost' }, function(event)
  if state.edits[event.buf] then
    cancel_request(state.edits[event.buf])
    forget(event.buf)
    if event.event == 'FileChangedShellPost' then
      say_changed()
    end
  end
end)

-- Whoever cancels: Neovim calls no handler of a cancelled request.
on('LspRequest', function(event)
  if event.data.request.type == 'cancel' then
    drop('cancelled', event.data.client_id, event.data.request_id)
  end
end)

-- Commands ----

--- Run by code actions: { command, arguments } as the server made it.
local function run_here(start)
  return function(command, context)
    local asked = command.arguments[1]
    local more = asked.instruction or asked.question
    local version = asked.textDocument.version
    if version and version ~= lsp.util.buf_versions[context.bufnr] then
      return say_changed()
    end
    start(context.bufnr, asked.range.start.line, asked.range['end'].line, more)
  end
end

local function show_status(bufnr, take)
  local client = client_of(bufnr)
  if not client then
    return take({ 'no server is attached to this buffer' })
  end
  execute(client, bufnr, 'copydraft.status', nil, function(err, found)
    if err then
      return take({ err.message })
    end
    local daemon = found.daemon ~= vim.NIL and found.daemon
    local model = daemon and daemon.model ~= vim.NIL and daemon.model
    take({
      ('copydraft-lsp %s, %d documents'):format(found.version, found.documents),
      daemon and ('daemon: process %d, %.1f tokens/s'):format(daemon.pid, daemon.tokens_per_s)
        or 'daemon: ' .. found.problem,
      model and ('model: %s on %s'):format(model.name, model.device) or 'model: none is loaded',
      'completion: ' .. found.completion,
    })
  end)
end

local function doctor(bufnr)
  local program = python_command('copydraft', 'doctor') or { 'copydraft', 'doctor' }
  local show = vim.schedule_wrap(function(done)
    show_status(bufnr, function(lines)
      vim.list_extend(lines, as_lines('\n' .. done.stdout .. done.stderr))
      float(scratch(lines, 'text'), 'copydraft doctor')
    end)
  end)
  local ok, problem = pcall(vim.system, program, { text = true }, show)
  if not ok then
    say(problem, levels.ERROR)
  end
end

local function cancel_all()
  vim.iter(vim.tbl_values(state.edits)):each(cancel_request)
  vim.iter(vim.tbl_values(state.explanations)):each(cancel_request)
end

local function toggle_completion()
  local completion = lsp.inline_completion
  if not completion then
    return say('completion needs Neovim 0.12', levels.WARN)
  end
  completion.enable(not completion.is_enabled())
  say('completion is ' .. (completion.is_enabled() and 'on' or 'off'))
end

local function command(name, act, options)
  api.nvim_create_user_command('Copydraft' .. name, function(given)
    act(api.nvim_get_current_buf(), given.line1 - 1, given.line2, given.args)
  end, options)
end

-- What is asked may have a bar in it; the others can stand before one.
local lines, plain = { range = true, nargs = '*' }, { bar = true }
command('Edit', start_edit, lines)
command('Explain', explain_lines, lines)
command('Accept', accept, plain)
command('Reject', reject, plain)
command('Cancel', cancel_all, plain)
command('Completion', toggle_completion, plain)
command('Doctor', doctor, plain)
command('Status', function(bufnr)
  show_status(bufnr, function(found)
    say(table.concat(found, '\n'))
  end)
end, plain)
vim.keymap.set('n', '<Plug>(copydraft-accept)', '<Cmd>CopydraftAccept<CR>')
vim.keymap.set('n', '<Plug>(copydraft-reject)', '<Cmd>CopydraftReject<CR>')
vim.keymap.set({ 'n', 'x' }, '<Plug>(copydraft-edit)', ':CopydraftEdit<CR>')
vim.keymap.set({ 'n', 'x' }, '<Plug>(copydraft-explain)', ':CopydraftExplain<CR>')

return {
  cmd = python_command('copydraft_lsp') or { 'copydraft-lsp' },
  -- Any language. Buffers without a name all have one URI: they are left alone, as directories.
  root_dir = function(bufnr, on_dir)
    local name = api.nvim_buf_get_name(bufnr)
    if name ~= '' and vim.fn.isdirectory(name) == 0 then
      on_dir(vim.fs.root(bufnr, { '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml' }))
    end
  end,
  -- One server for all: a further root becomes a further folder.
  reuse_client = function(client, config)
    local same = client.name == config.name and not client:is_stopped()
    local folder = { uri = vim.uri_from_fname(config.root_dir or '/'), name = config.root_dir }
    local folders = client.workspace_folders or {}
    local known = vim.iter(folders):any(function(other)
      return other.uri == folder.uri
    end)
    if same and config.root_dir and not known then
      client.workspace_folders = vim.list_extend(folders, { folder })
      local event = { added = { folder }, removed = {} }
      client:notify('workspace/didChangeWorkspaceFolders', { event = event })
    end
    return same
  end,
  -- What is typed is drafted from 50 ms later; Neovim alone would keep it back for 150.
  flags = { debounce_text_changes = 20 },
  capabilities = { experimental = { copydraft = { asks = true } } },
  handlers = { ['copydraft/delta'] = on_delta, ['copydraft/resync'] = on_resync },
  on_exit = vim.schedule_wrap(function(_, _, client_id)
    drop('the language server ended; :edit starts it again', client_id)
  end),
  commands = { [EDIT] = run_here(start_edit), [EXPLAIN] = run_here(explain_lines) },
}
