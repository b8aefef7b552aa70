-- All that happens inside Redis: one script, whose second argument says what it does.
--
--   base/format                     the number of this layout
--   base/fence                      number: how often a write was given up; it never decreases
--   base/tenants                    sorted set: tenants that have a thread
--   base/threads/tenant             sorted set: ids of the threads
--   base/due/tenant                 sorted set: ids of the threads whose fold is due, by since when
--   base/thread/tenant/id           hash: revision, head and so on, and each document by kind/name
--   base/names/tenant/id            sorted set: kind/name of each document
--   base/live/tenant/id             list: the rows, each after a letter for its role
--   base/systems/tenant/id          sorted set: numbers of the system messages among these rows, and
--                                   of some that were replaced
--   base/epochs/tenant/id           list: each epoch, and the number of the first row it replaced
--   base/replaced/tenant/id/epoch   list: the rows that an epoch replaced
--   base/lease/tenant/id            string: who runs a turn; Redis lets it expire
--
-- The base is in braces, so that a cluster keeps all of it in one slot. No tenant, id or epoch has a
-- slash, so no two of these keys are ever the same. Sets whose scores are all 0 are in order of
-- bytes. Redis undoes nothing if a script fails, so everything is checked before the first write, the
-- rights of the user too; once a script has written, Redis refuses it nothing for lack of memory. What
-- can still stop it halfway: a key that another program made here, or one that the user may not use.

local FORMAT = '2'
-- How many values one call is given: Lua has room for 8,000.
local CHUNK = 1000
-- The length of the id of an epoch in hexadecimal.
local EPOCH = 32

local base, action, tenant = ARGV[1], ARGV[2], ARGV[3]
local tenants, threads = base .. '/tenants', base .. '/threads/' .. tenant
local due = base .. '/due/' .. tenant
local none, cursor = base .. '/none', 3

local function take()
  cursor = cursor + 1
  return ARGV[cursor]
end

local function of(kind, name)
  return base .. '/' .. kind .. '/' .. tenant .. '/' .. name
end

local function in_chunks(values, act)
  for first = 1, #values, CHUNK do
    act(unpack(values, first, math.min(first + CHUNK - 1, #values)))
  end
end

-- A write names the number that it knows and is refused under another one: so a write that was given
-- up and arrives later does nothing.
local function fence()
  return redis.call('GET', base .. '/fence') or '0'
end

-- Returns the epochs of a thread, the oldest first: id, first number that it replaced, replaced rows.
local function epochs_of(id)
  local found = {}
  for place, entry in ipairs(redis.call('LRANGE', of('epochs', id), 0, -1)) do
    local epoch = string.sub(entry, 1, EPOCH)
    local at = tonumber(string.sub(entry, EPOCH + 1)) or 0
    found[place] = {id = epoch, at = at, key = of('replaced', id) .. '/' .. epoch}
  end
  return found
end

-- Returns where a range of rows is stored at an epoch, in order of their numbers; an empty epoch is
-- the current one. Nothing for an unknown one.
local function pieces_at(id, epoch, start, stop)
  local current = redis.call('HGET', of('thread', id), 'epoch')
  local pieces, low, is_found = {}, math.huge, epoch == '' or epoch == current
  local function add(key, first, after)
    local from = math.max(start, first)
    local to = math.min(stop, after, first + redis.call('LLEN', key))
    if from < to then
      table.insert(pieces, 1, {key = key, first = first, from = from, to = to})
    end
  end
  for _, one in ipairs(is_found and {} or epochs_of(id)) do
    -- The first epoch after it that replaced a row has the one of that time.
    if is_found and one.at < low then
      add(one.key, one.at, low)
      low = one.at
    end
    is_found = is_found or one.id == epoch
  end
  add(of('live', id), 0, low)
  return current and is_found and pieces
end

-- Calls a function with the rows of a piece, some at a time, and the number of the first of them.
local function in_rows(piece, act)
  for from = piece.from, piece.to - 1, CHUNK do
    local to = math.min(from + CHUNK, piece.to)
    act(redis.call('LRANGE', piece.key, from - piece.first, to - piece.first - 1), from)
  end
end

-- Returns the names of the newest documents of a kind.
local function newest(id, kind, most)
  -- The character after the slash is 0.
  local first, last = '[' .. kind .. '/', '(' .. kind .. '0'
  return redis.call('ZREVRANGEBYLEX', of('names', id), last, first, 'LIMIT', 0, most)
end

-- Returns the names and contents of documents, in turn.
local function contents(id, fields)
  local found = {}
  in_chunks(fields, function(...)
    local values = redis.call('HMGET', of('thread', id), ...)
    for place, field in ipairs({...}) do
      found[#found + 1] = field
      found[#found + 1] = values[place]
    end
  end)
  return found
end

-- Returns what is loaded of a thread; only its id if there is none. The reader judges damage, since
-- an error would end a whole list.
local function stored(id)
  local thread = of('thread', id)
  local count = redis.call('HLEN', thread)
  if count == 0 then
    return {id}
  end
  local revision, head, expires = unpack(redis.call('HMGET', thread, 'revision', 'head', 'expires'))
  local fields = newest(id, 'reduction', 1)
  for _, kind in ipairs({'execution', 'metadata', 'tool'}) do
    for _, field in ipairs(newest(id, kind, -1)) do
      fields[#fields + 1] = field
    end
  end
  -- Five fields of the hash are no documents; every other one has its name in the set.
  local strays = count - redis.call('ZCARD', of('names', id)) - 5
  local lease = of('lease', id)
  return {id, revision, head, expires, strays, contents(id, fields), redis.call('GET', lease),
    redis.call('PTTL', lease)}
end

-- Returns calls of every command: some that read before the first write only, some that read later
-- too, some that change nothing while their key is missing, and some that together leave nothing.
local function trials()
  return {
    {'GET', none}, {'HGET', none, ''}, {'HLEN', none}, {'HMGET', none, ''}, {'LINDEX', none, 0}, {'LLEN', none},
    {'PTTL', none}, {'ZRANGE', none, 0, 0}, {'ZRANGEBYLEX', none, '-', '+'}, {'ZRANGEBYSCORE', none, 0, 0},
  }, {
    {'LRANGE', none, 0, 0}, {'ZCARD', none}, {'ZREVRANGEBYLEX', none, '+', '-'},
  }, {
    {'UNLINK', none}, {'HDEL', none, ''}, {'LTRIM', none, 0, -1}, {'SET', none, '', 'XX'},
    {'ZADD', none, 'XX', 0, ''}, {'ZREM', none, ''},
  }, {
    {'HSET', none, '', ''}, {'UNLINK', none}, {'RPUSH', none, ''}, {'UNLINK', none},
  }
end

-- Fails, before anything has changed, if this user has lost the right to a command.
local function rehearse()
  for _, calls in ipairs({select(2, trials())}) do
    for _, words in ipairs(calls) do
      redis.call(unpack(words))
    end
  end
end

-- Deletes all rows and epochs of a thread.
local function forget(id)
  for _, one in ipairs(epochs_of(id)) do
    redis.call('UNLINK', one.key)
  end
  redis.call('UNLINK', of('live', id), of('systems', id), of('epochs', id))
end

-- Appends some rows to a list, and notes the system messages among them if they are live.
local function append(id, key, rows, first)
  redis.call('RPUSH', key, unpack(rows))
  for place, row in ipairs(key == of('live', id) and rows or {}) do
    if string.sub(row, 1, 1) == 's' then
      redis.call('ZADD', of('systems', id), first + place - 1, first + place - 1)
    end
  end
end

-- The rows from a number on become those that a new epoch replaced.
local function replace(id, epoch, at, length)
  local live = of('live', id)
  in_rows({key = live, first = 0, from = at, to = length}, function(rows, number)
    append(id, of('replaced', id) .. '/' .. epoch, rows, number)
  end)
  -- From 1 to 0 is nothing.
  redis.call('LTRIM', live, at > 0 and 0 or 1, at > 0 and at - 1 or 0)
end

-- Deletes the rows that were replaced before the first of the kept epochs ended.
local function prune(id, kept)
  for place, one in ipairs(epochs_of(id)) do
    redis.call('UNLINK', one.key)
    if kept[one.id] then
      redis.call('LTRIM', of('epochs', id), place - 1, -1)
      return
    end
  end
end

local actions = {}

function actions.load()
  return {'ok', stored(take())}
end

-- Returns the threads after an id, as many as are asked for at most.
function actions.threads()
  local after, most, found = take(), take(), {'ok'}
  local first = after == '' and '-' or '(' .. after
  for _, id in ipairs(redis.call('ZRANGEBYLEX', threads, first, '+', 'LIMIT', 0, most)) do
    found[#found + 1] = stored(id)
  end
  return found
end

function actions.tenants()
  return {'ok', redis.call('ZRANGE', tenants, 0, -1)}
end

-- Returns the ids of threads whose fold is due, and since when, after one of them if one is given.
function actions.due()
  local since, after, most, found, skipped = take(), take(), tonumber(take()), {'ok'}, 0
  repeat
    local page = redis.call('ZRANGEBYSCORE', due, since, '+inf', 'WITHSCORES', 'LIMIT', skipped, CHUNK)
    for place = 1, #page, 2 do
      -- Of one time, those up to the last one were in the page before.
      local is_new = tonumber(page[place + 1]) ~= tonumber(since) or page[place] > after
      if #found <= most and is_new then
        found[#found + 1] = {page[place], page[place + 1]}
      end
    end
    skipped = skipped + CHUNK
  until #page < 2 * CHUNK or #found > most
  return found
end

-- Returns the threads after an id, as many as are asked for at most, and when each was last active.
function actions.active()
  local after, most, found = take(), take(), {'ok'}
  local first = after == '' and '-' or '(' .. after
  for _, id in ipairs(redis.call('ZRANGEBYLEX', threads, first, '+', 'LIMIT', 0, most)) do
    found[#found + 1] = {id, redis.call('HGET', of('thread', id), 'active')}
  end
  return found
end

function actions.documents()
  local id, kind, most = take(), take(), take()
  return {'ok', contents(id, newest(id, kind, most))}
end

-- Returns one document by its kind/name, if it is there.
function actions.document()
  local id, field = take(), take()
  return {'ok', redis.call('HGET', of('thread', id), field)}
end

-- Gives a lease to a holder for some milliseconds, or takes it away.
local function give(id, holder, milliseconds)
  if holder == '' or milliseconds <= 0 then
    redis.call('UNLINK', of('lease', id))
  else
    redis.call('SET', of('lease', id), holder, 'PX', milliseconds)
  end
end

-- Lets a lease last from now on, if its holder has it. One that has run out is gone.
function actions.hold()
  local id, holder, milliseconds = take(), take(), tonumber(take())
  if redis.call('GET', of('lease', id)) ~= holder then
    return {'done', 0}
  end
  give(id, holder, milliseconds)
  return {'done', 1}
end

-- Returns rows in pieces: number of the first row, rows. If only system messages are asked for, the
-- replaced rows are all returned, since nothing is known of them.
function actions.rows()
  local id, epoch, start, stop = take(), take(), tonumber(take()), tonumber(take())
  local systems, found = take() == '1', {'ok'}
  for _, piece in ipairs(pieces_at(id, epoch, start, stop) or {}) do
    if systems and piece.key == of('live', id) then
      local numbers = redis.call('ZRANGEBYSCORE', of('systems', id), piece.from, '(' .. piece.to)
      for _, number in ipairs(numbers) do
        found[#found + 1] = {tonumber(number), {redis.call('LINDEX', piece.key, number)}}
      end
    else
      in_rows(piece, function(rows, number)
        found[#found + 1] = {number, rows}
      end)
    end
  end
  return found
end

-- Makes one commit.
function actions.commit()
  local id, change, head = take(), cjson.decode(take()), take()
  local thread, names, live = of('thread', id), of('names', id), of('live', id)
  local is_new, at, first = change.revision == 0, change.at, change.first
  local actual, current = unpack(redis.call('HMGET', thread, 'revision', 'epoch'))
  actual = tonumber(actual) or 0
  if actual ~= change.revision then
    return {'conflict', actual}
  end
  if not is_new and current ~= change.epoch then
    -- The thread was deleted and made again, and has come to the same revision.
    return {'gone', 0}
  end
  local copied, length = {}, is_new and 0 or redis.call('LLEN', live)
  if change.count then
    copied = pieces_at(change.source, change.source_epoch, 0, change.count)
    for _, piece in ipairs(copied or {}) do
      length = length + piece.to - piece.from
    end
    if not copied or length < change.count then
      return {'gone', 0}
    end
  end
  if (at or 0) > length or (first and first ~= (at or length)) then
    return {'damaged'}
  end

  if not change.clears and not change.keeps then
    -- If memory is short, Redis refuses this, but not a commit that frees some.
    redis.call('ZADD', names, 'XX', 0, '')
  end
  if is_new or at or change.keeps or change.drops > 0 then
    rehearse()
  else
    -- Then rows come first, so RPUSH needs no trial.
    redis.call('ZREM', none, '')
    if change.holder then
      redis.call('SET', none, '', 'XX')
      redis.call('UNLINK', none)
    end
    redis.call('HSET', thread, 'revision', actual)
  end
  if is_new then
    redis.call('SET', base .. '/format', FORMAT)
    -- An evicted thread may have left some of its keys.
    forget(id)
    redis.call('UNLINK', thread, names, of('lease', id))
    redis.call('RPUSH', of('epochs', id), change.epoch .. '0')
    redis.call('ZADD', tenants, 0, tenant)
    redis.call('ZADD', threads, 0, id)
  end
  for _, piece in ipairs(copied) do
    in_rows(piece, function(rows, number)
      append(id, live, rows, number)
    end)
  end
  if at then
    if change.clears then
      forget(id)
    else
      replace(id, change.after, at, length)
    end
    redis.call('RPUSH', of('epochs', id), change.after .. at)
  end
  if change.keeps then
    prune(id, change.keeps)
  end
  local documents = cursor + change.drops + 2 * change.puts
  for place = documents + 1, #ARGV, CHUNK do
    local rows = {unpack(ARGV, place, math.min(place + CHUNK - 1, #ARGV))}
    append(id, live, rows, first + place - documents - 1)
  end
  for _ = 1, change.drops do
    -- A name, or a kind without a slash, of which all go.
    local dropped = take()
    local all = not string.find(dropped, '/', 1, true)
    in_chunks(all and newest(id, dropped, -1) or {dropped}, function(...)
      redis.call('HDEL', thread, ...)
      redis.call('ZREM', names, ...)
    end)
  end
  for _ = 1, change.puts do
    local field = take()
    redis.call('HSET', thread, field, take())
    redis.call('ZADD', names, 0, field)
  end
  if change.due then
    redis.call('ZADD', due, change.due, id)
  else
    redis.call('ZREM', due, id)
  end
  redis.call('HSET', thread, 'revision', change.revision + 1, 'head', head, 'epoch', change.after,
    'active', change.active, 'expires', change.expires or '')
  if change.holder then
    give(id, change.holder, change.lease)
  end
  return {'done', 1}
end

-- Deletes a thread; a revision of -1 is not compared.
function actions.delete()
  local id, expected, head = take(), tonumber(take()), take()
  local thread = of('thread', id)
  local actual, found = unpack(redis.call('HMGET', thread, 'revision', 'head'))
  actual = tonumber(actual) or 0
  if expected >= 0 and expected ~= actual then
    return {'conflict', actual}
  end
  if actual == 0 then
    return {'done', 0}
  end
  if expected >= 0 and head ~= found then
    -- The thread was deleted and made again, and has come to the same revision.
    return {'conflict', 0}
  end
  rehearse()
  forget(id)
  redis.call('UNLINK', thread, of('names', id), of('lease', id))
  redis.call('ZREM', threads, id)
  redis.call('ZREM', due, id)
  if redis.call('ZCARD', threads) == 0 then
    redis.call('ZREM', tenants, tenant)
  end
  if redis.call('ZCARD', tenants) == 0 then
    redis.call('UNLINK', base .. '/format')
  end
  return {'done', 1}
end

-- Has a write that was given up refused if it still arrives. Returns the number from now on, and the
-- revision and the head of the thread, which show the outcome of the write.
function actions.fence()
  local known, id = take(), take()
  if known == fence() then
    redis.call('SET', base .. '/fence', known + 1)
  end
  local revision, head = unpack(redis.call('HMGET', of('thread', id), 'revision', 'head'))
  return {'ok', fence(), tonumber(revision) or 0, head or ''}
end

-- What a store of another format is asked, while it is opened and migrated.
local opening = {}

-- Names a command of this script that this user may not run. One who may write nothing may read.
function opening.check()
  local reads, later, writes, others = trials()
  local function denied(calls)
    local found = {}
    for _, words in ipairs(calls) do
      local answer = redis.pcall(unpack(words))
      local text = type(answer) == 'table' and answer.err or ''
      -- Redis from 7 on and Valkey, Redis 6, and where the command was renamed.
      if string.find(text, 'ACL failure', 1, true) or string.find(text, "can't run this command", 1, true)
          or string.find(text, 'Unknown Redis command', 1, true) then
        found[#found + 1] = words[1]
      end
    end
    return found
  end
  local unwritten = denied(writes)
  if #unwritten == 0 then
    unwritten = denied(others)
  elseif #unwritten == #writes then
    unwritten = {}
  end
  local name = denied(reads)[1] or denied(later)[1] or unwritten[1]
  return name and {'denied', name} or {'ok', redis.call('GET', base .. '/format')}
end

-- Begins a migration from layout 1: from now on every program that knows only one layout is refused.
function opening.begin()
  if redis.call('GET', base .. '/format') == '1' then
    redis.call('SET', base .. '/format', 'migrating')
  end
  return {'ok'}
end

-- Gives a thread of layout 1 rows of its own: copies those that it reads from branches.
function opening.flatten()
  local id, count = take(), tonumber(take())
  local thread = of('thread', id)
  if not redis.call('HGET', thread, 'branch') then
    return {'ok'}
  end
  rehearse()
  for _ = 1, count do
    redis.call('RPUSH', of('epochs', id), take())
  end
  while cursor < #ARGV - 1 do
    local epoch, branch, origin = take(), take(), take()
    local first, from, to = tonumber(take()), tonumber(take()), tonumber(take())
    local target = epoch == '' and of('live', id) or of('replaced', id) .. '/' .. epoch
    in_rows({key = of('rows', branch), first = first, from = from, to = to}, function(rows, number)
      for place, row in ipairs(rows) do
        rows[place] = string.sub(row, 1, 1) .. origin .. string.sub(row, 2)
      end
      append(id, target, rows, number)
    end)
  end
  redis.call('HSET', thread, 'epoch', take())
  redis.call('HDEL', thread, 'branch')
  return {'ok'}
end

local format = redis.call('GET', base .. '/format')
if actions[action] and format and format ~= FORMAT then
  return {'version', format}
end
if (action == 'commit' or action == 'delete') and take() ~= fence() then
  return {'refused', fence()}
end
return (actions[action] or opening[action])()
