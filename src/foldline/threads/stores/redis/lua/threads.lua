local after, most = take(), take()
local found = {'ok'}
for _, id in ipairs(ids(after, most)) do
  found[#found + 1] = stored(id)
end
return found
