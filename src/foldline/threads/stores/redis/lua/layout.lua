-- Every script begins with this: where things are stored, and what all scripts use.
--
--   base/format                     the number of this layout
--   base/fence                      number: how often a write was given up; it never decreases
--   base/tenants                    sorted set: tenants that have a thread
--   base/threads/tenant             sorted set: ids of the threads
--   base/thread/tenant/id           hash: revision, head and so on, and each document by kind/name
--   base/names/tenant/id            sorted set: kind/name of each document
--   base/live/tenant/id             list: the rows, each after a letter for its role
--   base/systems/tenant/id          sorted set: numbers of the system messages among these rows
--   base/epochs/tenant/id           list: each epoch, and the number of the first row it replaced
--   base/replaced/tenant/id/epoch   list: the rows that an epoch replaced
--
-- The base is in braces, so that a cluster keeps all of it in one slot. No tenant, id or epoch has a
-- slash, so no two of these keys are ever the same. Sets whose scores are all 0 are in order of
-- bytes.

local FORMAT = '2'
-- No thread has more rows.
local LAST = 4294967296
-- How many values one call is given: Lua has room for 8,000.
local CHUNK = 1000
-- The length of the id of an epoch in hexadecimal.
local EPOCH = 32

local base, tenant = ARGV[1], ARGV[2]
local tenants, threads = base .. '/tenants', base .. '/threads/' .. tenant
local cursor = 2

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

-- Whether a key has a type or is missing: with any other one Redis ends a script where it is.
local function is_of(kind, key)
  local found = redis.call('TYPE', key).ok
  return found == kind or found == 'none'
end

-- Whether the keys of a thread can be used.
local function is_thread(id)
  return is_of('hash', of('thread', id)) and is_of('zset', of('names', id)) and is_of('list', of('live', id))
    and is_of('zset', of('systems', id)) and is_of('list', of('epochs', id))
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
  if not current then
    return nil
  end
  local pieces, low = {}, LAST
  local function add(key, first, after)
    local from = math.max(start, first)
    local to = math.min(stop, after, first + redis.call('LLEN', key))
    if from < to then
      table.insert(pieces, 1, {key = key, first = first, from = from, to = to})
    end
  end
  if epoch ~= '' and epoch ~= current then
    local is_found = false
    for _, one in ipairs(epochs_of(id)) do
      -- The first epoch after it that replaced a row has the one of that time.
      if is_found and one.at < low then
        add(one.key, one.at, low)
        low = one.at
      end
      is_found = is_found or one.id == epoch
    end
    if not is_found then
      return nil
    end
  end
  add(of('live', id), 0, low)
  return pieces
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
  if redis.call('EXISTS', thread) == 0 then
    return {id}
  end
  if not is_thread(id) then
    return {id, '', '', '', 1, {}}
  end
  local revision, head, expires = unpack(redis.call('HMGET', thread, 'revision', 'head', 'expires'))
  local fields = newest(id, 'reduction', 1)
  for _, kind in ipairs({'execution', 'metadata', 'tool'}) do
    for _, field in ipairs(newest(id, kind, -1)) do
      fields[#fields + 1] = field
    end
  end
  -- Five fields of the hash are no documents; every other one has its name in the set.
  local strays = redis.call('HLEN', thread) - redis.call('ZCARD', of('names', id)) - 5
  return {id, revision, head, expires, strays, contents(id, fields)}
end

