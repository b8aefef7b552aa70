-- What the scripts that write have in common.

-- Runs each command that may follow a deletion in a form that changes nothing: if this user has lost
-- the right to one, the script ends here and not half way.
local function rehearse()
  local none = base .. '/none'
  redis.call('HDEL', none, '')
  redis.call('LTRIM', none, 1, 0)
  redis.call('UNLINK', none)
  redis.call('ZREM', none, '')
  redis.call('ZREMRANGEBYSCORE', none, 0, 0)
  redis.call('LRANGE', none, 0, 0)
  redis.call('ZCARD', none)
  redis.call('ZREVRANGEBYLEX', none, '+', '-')
end

-- The same with the commands that write; Redis refuses them if it is out of memory.
local function rehearse_all()
  rehearse()
  redis.call('HSET', base .. '/none', '', '')
  redis.call('UNLINK', base .. '/none')
  redis.call('RPUSH', base .. '/none', '')
  redis.call('UNLINK', base .. '/none')
end

-- Deletes all rows and epochs of a thread.
local function forget(id)
  for _, one in ipairs(epochs_of(id)) do
    redis.call('UNLINK', one.key)
  end
  redis.call('UNLINK', of('live', id), of('systems', id), of('epochs', id))
end

-- Notes which of some rows are system messages.
local function mark(id, rows, first)
  local marks = {}
  for place, row in ipairs(rows) do
    if string.sub(row, 1, 1) == 's' then
      marks[#marks + 1] = first + place - 1
      marks[#marks + 1] = first + place - 1
    end
  end
  in_chunks(marks, function(...)
    redis.call('ZADD', of('systems', id), ...)
  end)
end

-- Appends rows to a list, and notes the system messages if the list is the live rows of a thread.
local function append(id, key, rows, first)
  in_chunks(rows, function(...)
    redis.call('RPUSH', key, ...)
  end)
  if key == of('live', id) then
    mark(id, rows, first)
  end
end

