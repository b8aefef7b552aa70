local known, id, expected = take(), take(), take()
local thread, threads, tenants = of('thread', id), base .. '/threads/' .. tenant, base .. '/tenants'

if known ~= epoch() then
  return {'ok', 'refused', epoch()}
end

local actual = redis.call('HGET', thread, 'revision') or '0'
if expected ~= '' and expected ~= actual then
  return {'conflict', actual}
end
if actual == '0' then
  return {'ok', 'done', 0}
end
redis.call('UNLINK', thread, of('names', id))
disown(id)
redis.call('ZREM', threads, id)
if redis.call('EXISTS', threads) == 0 then
  redis.call('ZREM', tenants, tenant)
end
if redis.call('EXISTS', tenants) == 0 then
  redis.call('DEL', base .. '/format')
end
return {'ok', 'done', 1}
