-- Has a write that was given up refused should it still arrive; returns the epoch from now on, and
-- how the thread stands: that is what became of the write.
local known, id = take(), take()
if known == epoch() then
  redis.call('INCR', base .. '/epoch')
end
local revision, head = unpack(redis.call('HMGET', of('thread', id), 'revision', 'head'))
return {'ok', epoch(), revision or '0', head or ''}
