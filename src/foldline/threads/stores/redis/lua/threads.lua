-- Returns the threads after an id, as many as are asked for at most.
local after, most = take(), take()
local found = {'ok'}
local first = after == '' and '-' or '(' .. after
for _, id in ipairs(redis.call('ZRANGEBYLEX', threads, first, '+', 'LIMIT', 0, most)) do
  found[#found + 1] = stored(id)
end
return found
