-- Whether what lies there of a branch can be used.
local function is_branch(branch)
  local link = of('branch', branch)
  if not (is_of('hash', link) and is_of('list', of('rows', branch))
      and is_of('zset', of('system', branch)) and is_of('zset', of('children', branch))) then
    return false
  end
  local at = redis.call('HGET', link, 'at')
  return not at or is_number(at)
end

-- Returns how many rows of a branch others share, as a text; nothing where none does.
local function shared_of(branch)
  return redis.call('ZRANGE', of('children', branch), -1, -1, 'WITHSCORES')[2]
end

-- Returns the branch that has the last row before a number: '' where there is none, and nothing
-- where a branch on the way is damaged. A branch whose own rows all lie behind has nothing to share,
-- and is passed over, so that every branch begins behind the first row of the one before it.
local function shares_with(branch, at)
  local seen = {}
  while at > 0 do
    if not branch or seen[branch] or not is_branch(branch) then
      return nil
    end
    seen[branch] = true
    local begin, parent = unpack(redis.call('HMGET', of('branch', branch), 'at', 'parent'))
    if not begin or tonumber(begin) < at then
      return begin and branch or nil
    end
    branch = parent
  end
  return ''
end

-- Whether `sweep` can go through: only what is shared has to be cut, the rest goes whatever it is.
local function can_sweep(branch)
  if not (is_of('hash', of('branch', branch)) and is_of('zset', of('children', branch))) then
    return false
  end
  local shared = shared_of(branch)
  return not shared or (is_number(shared) and is_branch(branch))
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

-- Runs what follows a first write in forms that change nothing: what this user may not run any more
-- is to end a script before that.
local function rehearse()
  local none = base .. '/none'
  redis.call('HDEL', none, '')
  redis.call('LTRIM', none, 0, -1)
  redis.call('SISMEMBER', none, '')
  redis.call('SREM', none, '')
  redis.call('UNLINK', none)
  redis.call('ZREM', none, '')
  redis.call('ZREMRANGEBYSCORE', none, 0, 0)
  redis.call('ZREVRANGEBYLEX', none, '+', '-')
end

-- Deletes the rows of a branch that nobody owns, but for those that another one shares. It goes on to
-- the branch before only where it has deleted one, so that all sweeps together do as much as there
-- is to delete, and one along a damaged branch that goes on behind itself ends.
local function sweep(branch)
  while branch do
    local link, rows, system = of('branch', branch), of('rows', branch), of('system', branch)
    local owner, parent, at = unpack(redis.call('HMGET', link, 'owner', 'parent', 'at'))
    if owner or not at then
      return
    end
    local shared = shared_of(branch)
    if shared then
      -- From 1 to 0 is nothing.
      local first, last = 0, shared - at - 1
      if last < 0 then
        first, last = 1, 0
      end
      redis.call('LTRIM', rows, first, last)
      redis.call('ZREMRANGEBYSCORE', system, shared, '+inf')
      return
    end
    redis.call('UNLINK', link, rows, system, of('children', branch))
    if parent then
      redis.call('ZREM', of('children', parent), branch)
    end
    branch = parent
  end
end

-- Whether a branch is of another thread, whatever the list of this one says.
local function is_foreign(id, branch)
  local owner = redis.call('HGET', of('branch', branch), 'owner')
  if not owner or owner == id or not is_of('set', of('owned', owner)) then
    return false
  end
  return redis.call('SISMEMBER', of('owned', owner), branch) == 1
end

-- Lets a thread own no branch, or one alone, and deletes what only it has needed.
local function disown(id, kept)
  local owned, left = of('owned', id), {}
  for _, branch in ipairs(redis.call('SMEMBERS', owned)) do
    if branch ~= kept then
      if not is_foreign(id, branch) then
        left[#left + 1] = branch
        redis.call('HDEL', of('branch', branch), 'owner')
      end
      redis.call('SREM', owned, branch)
    end
  end
  for _, branch in ipairs(left) do
    sweep(branch)
  end
end

