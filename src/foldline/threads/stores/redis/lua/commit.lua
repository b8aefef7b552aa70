-- Makes one step. Redis undoes nothing when a script fails, so that everything is looked at before
-- the first write: what lies there, and whether this user may run what follows. The first write is
-- one that Redis refuses where it has no memory left, and says nothing where it stays alone. The
-- branch comes before the head, so that what ends in between is of no thread.
local known, id, expected, following, head, branch = take(), take(), take(), take(), take(), take()
local active, expires, purges = take(), take(), take() == '1'
local opens, parent, at = take() == '1', take(), take()
local number, drops, puts = take(), tonumber(take()), tonumber(take())

if known ~= epoch() then
  return {'ok', 'refused', epoch()}
end

local thread, names, owned = of('thread', id), of('names', id), of('owned', id)
local link, rows, system = of('branch', branch), of('rows', branch), of('system', branch)
local tenants, threads = base .. '/tenants', base .. '/threads/' .. tenant

if not (is_of('zset', tenants) and is_of('zset', threads) and is_thread(id) and is_branch(branch))
    or (parent ~= '' and not is_branch(parent)) or (purges and not can_disown(id)) then
  return {'damaged'}
end

local actual = redis.call('HGET', thread, 'revision') or '0'
if actual ~= expected then
  return {'conflict', actual}
end
if opens then
  if redis.call('EXISTS', link) == 1 then
    return {'damaged'}
  end
  if parent ~= '' then
    local owner, begin = unpack(redis.call('HMGET', of('branch', parent), 'owner', 'at'))
    -- Somebody has deleted or cleared the thread that was to be forked; or the thread was deleted
    -- and made anew, and what is to be rewound is another one.
    if not owner or (expected ~= '0' and owner ~= id) then
      return {'gone'}
    end
    if not begin or begin + redis.call('LLEN', of('rows', parent)) < tonumber(at) then
      return {'gone'}
    end
    parent = shares_with(parent, tonumber(at))
    if not parent then
      return {'damaged'}
    end
  end
else
  local owner, begin = unpack(redis.call('HMGET', link, 'owner', 'at'))
  -- The thread was deleted and made anew, and has come to the same revision.
  if owner ~= id or redis.call('HGET', thread, 'branch') ~= branch then
    return {'gone'}
  end
  if not begin then
    return {'damaged'}
  end
  at = begin
end
if number ~= '' and tonumber(number) ~= at + redis.call('LLEN', rows) then
  return {'damaged'}
end

redis.call('ZADD', names, 'XX', 0, '')
if drops > 0 or purges then
  rehearse()
end
if expected == '0' then
  redis.call('SET', base .. '/format', FORMAT)
else
  redis.call('HSET', thread, 'active', active)
end

if opens then
  redis.call('SADD', owned, branch)
  redis.call('HSET', link, 'owner', id, 'at', at)
  if parent ~= '' then
    redis.call('HSET', link, 'parent', parent)
    redis.call('ZADD', of('children', parent), at, branch)
  end
end

local before = cursor + drops + 2 * puts
local marks = {}
for place = before + 1, #ARGV do
  if string.sub(ARGV[place], 1, 1) == 's' then
    local mark = number + place - before - 1
    marks[#marks + 1] = mark
    marks[#marks + 1] = mark
  end
end
for first = before + 1, #ARGV, CHUNK do
  redis.call('RPUSH', rows, unpack(ARGV, first, math.min(first + CHUNK - 1, #ARGV)))
end
in_chunks(marks, function(...)
  redis.call('ZADD', system, ...)
end)

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

redis.call('HSET', thread, 'revision', following, 'head', head, 'branch', branch, 'active', active, 'expires', expires)
if expected == '0' then
  redis.call('ZADD', tenants, 0, tenant)
  redis.call('ZADD', threads, 0, id)
end

if purges then
  disown(id, branch)
end
return {'ok', 'done', 1}
