-- Whether what lies there of a thread beside its branches can be used.
local function is_thread(id)
  return is_of('hash', of('thread', id)) and is_of('zset', of('names', id)) and is_of('set', of('owned', id))
end

-- Returns ids behind one, as many as are asked for at most.
local function ids(after, most)
  local first = after == '' and '-' or '(' .. after
  return redis.call('ZRANGEBYLEX', base .. '/threads/' .. tenant, first, '+', 'LIMIT', 0, most)
end

-- Returns the names and contents of documents of a thread, one after the other.
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

local function newest(id, kind, most)
  -- The character behind the slash is 0.
  local first, last = '[' .. kind .. '/', '(' .. kind .. '0'
  return redis.call('ZREVRANGEBYLEX', of('names', id), last, first, 'LIMIT', 0, most)
end

-- Returns what comes with a thread; only its id where there is none. Damage is for the reader to
-- judge: an error would end the whole of a list.
local function stored(id)
  local thread, names = of('thread', id), of('names', id)
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
  local strays = redis.call('HLEN', thread) - redis.call('ZCARD', names) - 5
  return {id, revision, head, expires, strays, contents(id, fields)}
end

