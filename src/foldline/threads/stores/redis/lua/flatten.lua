-- Gives a thread of layout 1 rows of its own: copies those that it reads from branches. Before the
-- last write the thread is as it was, and a further attempt begins again.
local id, count = take(), tonumber(take())
local thread = of('thread', id)
if not redis.call('HGET', thread, 'branch') then
  return {'ok'}
end
redis.call('ZADD', of('names', id), 'XX', 0, '')
forget(id)
for _ = 1, count do
  redis.call('RPUSH', of('epochs', id), take())
end
while cursor < #ARGV - 1 do
  local epoch, branch, origin = take(), take(), take()
  local first, from, to = tonumber(take()), tonumber(take()), tonumber(take())
  local target = epoch == '' and of('live', id) or of('replaced', id) .. '/' .. epoch
  in_rows({key = of('rows', branch), first = first, from = from, to = to}, function(rows, number)
    for place, row in ipairs(rows) do
      rows[place] = string.sub(row, 1, 1) .. origin .. string.sub(row, 2)
    end
    append(id, target, rows, number)
  end)
end
redis.call('HSET', thread, 'epoch', take())
redis.call('HDEL', thread, 'branch')
return {'ok'}
