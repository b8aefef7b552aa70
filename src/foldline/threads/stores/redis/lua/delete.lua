local known, id, compares, expected, head = take(), take(), take() == '1', take(), take()
local thread, threads, tenants = of('thread', id), base .. '/threads/' .. tenant, base .. '/tenants'

if known ~= epoch() then
  return {'ok', 'refused', epoch()}
end

-- Redis undoes nothing when a script fails: it is to fail before the first write.
redis.call('ZCARD', threads)
redis.call('ZCARD', tenants)
if not (is_of('hash', thread) and is_of('set', of('owned', id)) and can_disown(id)) then
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
-- The thread was deleted and made anew, and has come to the same revision.
if compares and head ~= found then
  return {'conflict', '0'}
end
rehearse()
redis.call('UNLINK', thread, of('names', id))
disown(id)
redis.call('ZREM', threads, id)
if redis.call('ZCARD', threads) == 0 then
  redis.call('ZREM', tenants, tenant)
end
if redis.call('ZCARD', tenants) == 0 then
  redis.call('UNLINK', base .. '/format')
end
return {'ok', 'done', 1}
