-- Has a write that was given up refused if it still arrives. Returns the number from now on, and the
-- revision and the head of the thread, which show the outcome of the write.
local known, id = take(), take()
if known == fence() then
  redis.call('INCR', base .. '/fence')
end
local revision, head = unpack(redis.call('HMGET', of('thread', id), 'revision', 'head'))
return {'ok', fence(), revision or '0', head or ''}
