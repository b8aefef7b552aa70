local after, most = take(), take()
local first = after == '' and '-' or '(' .. after
local found = {'ok'}
for _, id in ipairs(redis.call('ZRANGEBYLEX', base .. '/threads/' .. tenant, first, '+', 'LIMIT', 0, most)) do
  found[#found + 1] = stored(id)
end
return found
