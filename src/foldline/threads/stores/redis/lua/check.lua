-- Checks whether this user may run every command of the scripts: without one of them a script could
-- end half way. A user who may write nothing at all is refused before anything, and may read.
local key = base .. '/check'
local reads = {
  {'EXISTS', key}, {'GET', key}, {'HGET', key, ''}, {'HLEN', key}, {'HMGET', key, ''}, {'LINDEX', key, 0},
  {'LLEN', key}, {'LRANGE', key, 0, 0}, {'TYPE', key}, {'ZCARD', key}, {'ZRANGE', key, 0, 0},
  {'ZRANGEBYLEX', key, '-', '+'}, {'ZRANGEBYSCORE', key, 0, 0}, {'ZREVRANGEBYLEX', key, '+', '-'},
}
-- These change nothing while the key is missing.
local writes = {
  {'UNLINK', key}, {'HDEL', key, ''}, {'LTRIM', key, 0, -1}, {'ZADD', key, 'XX', 0, ''}, {'ZREM', key, ''},
  {'ZREMRANGEBYSCORE', key, 0, 0},
}
local makers = {{'HSET', key, '', ''}, {'INCR', key}, {'RPUSH', key, ''}, {'SET', key, ''}}

-- Anything else that Redis may refuse, out of memory or as a replica, it refuses before the first write.
local function denied(commands)
  local found = {}
  for _, words in ipairs(commands) do
    local answer = redis.pcall(unpack(words))
    local text = type(answer) == 'table' and answer.err or ''
    if string.find(text, 'NOPERM', 1, true) or string.find(text, "can't run this command", 1, true)
        or string.find(text, 'Unknown Redis command', 1, true) then
      found[#found + 1] = words[1]
    end
  end
  return found
end

local refused = denied(reads)
local unwritten = denied(writes)
if #unwritten == 0 then
  unwritten = denied(makers)
  redis.pcall('UNLINK', key)
elseif #unwritten == #writes then
  unwritten = {}
end
local name = refused[1] or unwritten[1]
return name and {'denied', name} or {'ok', redis.call('GET', base .. '/format')}
