-- Makes one commit. Redis undoes nothing if a script fails, so everything is checked before the first
-- write: what is stored, and whether this user may run what follows. The first write is one that
-- Redis refuses if it is out of memory, and that changes nothing by itself.
local known, id, expected, following, head = take(), take(), take(), take(), take()
local epoch, after, active, expires = take(), take(), take(), take()
local opens, at, clears = take() == '1', tonumber(take()), take() == '1'
local copies, source, source_epoch, count = take() == '1', take(), take(), tonumber(take())
local prunes, keeps, first = take() == '1', tonumber(take()), tonumber(take())
local drops, puts = tonumber(take()), tonumber(take())

if known ~= fence() then
  return {'ok', 'refused', fence()}
end

local thread, names, live = of('thread', id), of('names', id), of('live', id)
if not (is_of('zset', tenants) and is_of('zset', threads) and is_thread(id))
    or (copies and not is_thread(source)) then
  return {'damaged'}
end

local is_new = expected == '0'
local actual, current = unpack(redis.call('HMGET', thread, 'revision', 'epoch'))
if (actual or '0') ~= expected then
  return {'conflict', actual or '0'}
end
if not is_new and current ~= epoch then
  -- The thread was deleted and made again, and has come to the same revision.
  return {'gone'}
end
local copied, length = {}, is_new and 0 or redis.call('LLEN', live)
if copies then
  copied = pieces_at(source, source_epoch, 0, count)
  for _, piece in ipairs(copied or {}) do
    length = length + piece.to - piece.from
  end
  if not copied or length < count then
    return {'gone'}
  end
end
if opens and (at > length or redis.call('EXISTS', of('replaced', id) .. '/' .. after) == 1) then
  return {'damaged'}
end
if first and first ~= (opens and at or length) then
  return {'damaged'}
end

redis.call('ZADD', names, 'XX', 0, '')
if is_new or opens or prunes or drops > 0 then
  rehearse_all()
end
if is_new then
  redis.call('SET', base .. '/format', FORMAT)
  -- An evicted thread may have left some of its keys.
  forget(id)
  redis.call('UNLINK', thread, names)
  redis.call('RPUSH', of('epochs', id), epoch .. '0')
else
  redis.call('HSET', thread, 'active', active)
end

for _, piece in ipairs(copied) do
  in_rows(piece, function(rows, number)
    append(id, live, rows, number)
  end)
end

if opens and clears then
  forget(id)
elseif opens then
  in_rows({key = live, first = 0, from = at, to = length}, function(rows, number)
    append(id, of('replaced', id) .. '/' .. after, rows, number)
  end)
  -- From 1 to 0 is nothing.
  redis.call('LTRIM', live, at > 0 and 0 or 1, at > 0 and at - 1 or 0)
  redis.call('ZREMRANGEBYSCORE', of('systems', id), at, '+inf')
end
if opens then
  redis.call('RPUSH', of('epochs', id), after .. at)
end

if prunes then
  local kept = {[after] = true}
  for _ = 1, keeps do
    kept[take()] = true
  end
  -- Rows that an epoch replaced are needed only by those before it.
  for place, one in ipairs(epochs_of(id)) do
    redis.call('UNLINK', one.key)
    if kept[one.id] then
      redis.call('LTRIM', of('epochs', id), place - 1, -1)
      break
    end
  end
end

for _ = 1, drops do
  -- A name, or a kind without a slash, of which all go.
  local dropped = take()
  local all = not string.find(dropped, '/', 1, true)
  in_chunks(all and newest(id, dropped, -1) or {dropped}, function(...)
    redis.call('HDEL', thread, ...)
    redis.call('ZREM', names, ...)
  end)
end
for _ = 1, puts do
  local field = take()
  redis.call('HSET', thread, field, take())
  redis.call('ZADD', names, 0, field)
end

for place = cursor + 1, #ARGV, CHUNK do
  local rows = {unpack(ARGV, place, math.min(place + CHUNK - 1, #ARGV))}
  append(id, live, rows, first + place - cursor - 1)
end

redis.call('HSET', thread, 'revision', following, 'head', head, 'epoch', after, 'active', active, 'expires', expires)
if is_new then
  redis.call('ZADD', tenants, 0, tenant)
  redis.call('ZADD', threads, 0, id)
end
return {'ok', 'done', 1}
