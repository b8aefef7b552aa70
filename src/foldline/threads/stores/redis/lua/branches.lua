-- Whether what lies there of a branch can be used.
local function is_branch(branch)
  local link = of('branch', branch)
  if not (is_of('hash', link) and is_of('list', of('rows', branch))
      and is_of('zset', of('system', branch)) and is_of('zset', of('children', branch))) then
    return false
  end
  local at = redis.call('HGET', link, 'at')
  return not at or tonumber(at) ~= nil
end

-- Whether `sweep` can go through: only what is shared has to be cut, the rest goes whatever it is.
local function can_sweep(branch)
  local children = of('children', branch)
  return is_branch(branch) or (is_of('hash', of('branch', branch)) and is_of('zset', children)
    and redis.call('ZCARD', children) == 0)
end

-- Whether `disown` can go through: so can each sweep that may come of it.
local function can_disown(id)
  local seen = {}
  for _, branch in ipairs(redis.call('SMEMBERS', of('owned', id))) do
    while branch and not seen[branch] do
      if not can_sweep(branch) then
        return false
      end
      seen[branch] = true
      branch = redis.call('HGET', of('branch', branch), 'parent')
    end
  end
  return true
end

-- Deletes the rows of a branch that nobody owns, but for those that another one shares. What never
-- ends, as a damaged branch that goes on behind itself, would block all of Redis.
local function sweep(branch)
  local seen = {}
  while branch and not seen[branch] do
    seen[branch] = true
    local link, children = of('branch', branch), of('children', branch)
    local rows, system = of('rows', branch), of('system', branch)
    local owner, parent, at = unpack(redis.call('HMGET', link, 'owner', 'parent', 'at'))
    if owner or not at then
      return
    end
    local shared = redis.call('ZRANGE', children, -1, -1, 'WITHSCORES')[2]
    if not shared then
      redis.call('UNLINK', link, rows, system, children)
      if parent then
        redis.call('ZREM', of('children', parent), branch)
      end
    elseif tonumber(shared) > tonumber(at) then
      redis.call('LTRIM', rows, 0, shared - at - 1)
      redis.call('ZREMRANGEBYSCORE', system, shared, '+inf')
      return
    else
      -- No row of its own is needed, and fewer of those before it.
      redis.call('UNLINK', rows, system)
      redis.call('HSET', link, 'at', shared)
      if parent then
        redis.call('ZADD', of('children', parent), shared, branch)
      end
    end
    branch = parent
  end
end

-- Lets a thread own no branch, or one alone, and deletes what only it has needed.
local function disown(id, kept)
  local owned, left = of('owned', id), {}
  for _, branch in ipairs(redis.call('SMEMBERS', owned)) do
    if branch ~= kept then
      left[#left + 1] = branch
      redis.call('HDEL', of('branch', branch), 'owner')
      redis.call('SREM', owned, branch)
    end
  end
  for _, branch in ipairs(left) do
    sweep(branch)
  end
end

