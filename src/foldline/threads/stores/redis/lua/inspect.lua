-- Compares what lies there of threads and branches with what names it elsewhere, and mends on request
-- what cannot be otherwise: what a thread or a branch says of itself goes before lists of it.
local mends = take() == '1'
local found = {'ok'}

-- Tells of one thing; what is behind its name is the call that mends it, where there is one.
local function tell(what, name, ...)
  local is_mended = mends and select('#', ...) > 0
  if is_mended then
    redis.call(...)
  end
  found[#found + 1] = {what, tenant, name, is_mended and 1 or 0}
end

local function is_there(kind, name)
  return redis.call('EXISTS', of(kind, name)) == 1
end

local function owner_of(branch)
  local link = of('branch', branch)
  return is_of('hash', link) and redis.call('HGET', link, 'owner')
end

-- Whether a thread takes a branch for its own.
local function claims(id, branch)
  if not (id and is_there('thread', id) and is_thread(id)) then
    return false
  end
  return redis.call('SISMEMBER', of('owned', id), branch) == 1 or redis.call('HGET', of('thread', id), 'branch') == branch
end

-- Tells where a branch that a thread takes for its own names another one, or none.
local function look_at_owner(id, branch)
  local owner = owner_of(branch)
  -- What is no branch at all is told where it is looked at itself.
  if owner == id or not is_of('hash', of('branch', branch)) then
    return
  end
  if not claims(owner, branch) then
    tell('owner', id, 'HSET', of('branch', branch), 'owner', id)
  elseif redis.call('HGET', of('thread', id), 'branch') ~= branch then
    tell('foreign', id, 'SREM', of('owned', id), branch)
  else
    tell('rivals', id)
  end
end

local look = {}

function look.thread(id)
  if not is_thread(id) then
    return
  end
  local threads, tenants = base .. '/threads/' .. tenant, base .. '/tenants'
  if not redis.call('ZSCORE', threads, id) then
    tell('thread', id, 'ZADD', threads, 0, id)
  end
  if not redis.call('ZSCORE', tenants, tenant) then
    tell('tenant', id, 'ZADD', tenants, 0, tenant)
  end
  -- Where it stands on none that is there, its head tells of it.
  local branch, owned = redis.call('HGET', of('thread', id), 'branch'), of('owned', id)
  if branch and is_there('branch', branch) and redis.call('SISMEMBER', owned, branch) == 0 then
    look_at_owner(id, branch)
  end
  for _, one in ipairs(redis.call('SMEMBERS', owned)) do
    if is_there('branch', one) then
      look_at_owner(id, one)
    else
      tell('written', id)
    end
  end
end

function look.owned(id)
  if not is_there('thread', id) then
    tell('orphan', id)
  end
end

look.names = look.owned

-- Tells where the first number of a branch is none, or not known to the branch before.
local function look_at_number(branch, parent, at)
  local children, known = of('children', parent or ''), '0'
  if not is_of('zset', children) then
    return
  end
  if parent then
    known = redis.call('ZSCORE', children, branch)
  end
  if at and is_number(at) then
    if parent and known ~= at then
      tell('child', branch, 'ZADD', children, at, branch)
    end
  elseif known and is_number(known) then
    tell('number', branch, 'HSET', of('branch', branch), 'at', known)
  else
    tell('branch', branch)
  end
end

function look.branch(branch)
  local link = of('branch', branch)
  if not is_of('hash', link) then
    tell('branch', branch)
    return
  end
  local owner, parent, at = unpack(redis.call('HMGET', link, 'owner', 'parent', 'at'))
  if parent and not is_there('branch', parent) then
    tell('parent', branch)
  else
    look_at_number(branch, parent, at)
  end
  if at and is_number(at) and not is_branch(branch) then
    tell('branch', branch)
    return
  end
  if owner and is_there('thread', owner) then
    if is_of('set', of('owned', owner)) and redis.call('SISMEMBER', of('owned', owner), branch) == 0 then
      tell('owned', owner, 'SADD', of('owned', owner), branch)
    end
  elseif owner or redis.call('EXISTS', of('children', branch)) == 0 then
    tell('nobody', branch)
  end
end

function look.children(branch)
  if not is_of('zset', of('children', branch)) then
    return
  end
  for _, child in ipairs(redis.call('ZRANGE', of('children', branch), 0, -1)) do
    local link = of('branch', child)
    if is_of('hash', link) and redis.call('HGET', link, 'parent') ~= branch then
      tell('stepchild', branch, 'ZREM', of('children', branch), child)
    end
  end
end

function look.rows(branch)
  if not is_there('branch', branch) then
    tell('rows', branch)
  end
end

look.system = look.rows

while cursor < #ARGV do
  local kind = take()
  tenant = take()
  local name = take()
  -- Somebody may have deleted it since its key was named.
  if is_there(kind, name) then
    look[kind](name)
  end
end
return found
