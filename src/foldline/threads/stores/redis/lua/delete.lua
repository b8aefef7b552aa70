local known, id, compares, expected, head = take(), take(), take() == '1', take(), take()
local thread = of('thread', id)

if known ~= fence() then
  return {'ok', 'refused', fence()}
end

-- Redis undoes nothing if a script fails, so everything is checked before the first write.
if not (is_of('zset', tenants) and is_of('zset', threads) and is_of('hash', thread) and is_of('list', of('epochs', id))) then
  return {'damaged'}
end
local actual, found = unpack(redis.call('HMGET', thread, 'revision', 'head'))
actual = actual or '0'
if compares and expected ~= actual then
  return {'conflict', actual}
end
if actual == '0' then
  return {'ok', 'done', 0}
end
if compares and head ~= found then
  -- The thread was deleted and made again, and has come to the same revision.
  return {'conflict', '0'}
end
rehearse()
forget(id)
redis.call('UNLINK', thread, of('names', id))
redis.call('ZREM', threads, id)
if redis.call('ZCARD', threads) == 0 then
  redis.call('ZREM', tenants, tenant)
end
if redis.call('ZCARD', tenants) == 0 then
  redis.call('UNLINK', base .. '/format')
end
return {'ok', 'done', 1}
