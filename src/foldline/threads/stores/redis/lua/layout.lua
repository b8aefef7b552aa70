-- Every script begins with this: where things lie, and whether this program knows their layout.
--
--   base/format                   the number of the layout
--   base/epoch                    number: how often a write was given up; it never goes back
--   base/tenants                  sorted set: tenants that have a thread
--   base/threads/tenant           sorted set: ids of the threads
--   base/thread/tenant/id         hash: revision, head and so on, and each document by kind/name
--   base/names/tenant/id          sorted set: kind/name of each document
--   base/owned/tenant/id          set: branches that the thread has written
--   base/branch/tenant/branch     hash: owner, parent, and the number of its first row
--   base/children/tenant/branch   sorted set: branches that begin where this one is left, and at
--   base/rows/tenant/branch       list: a letter for each message, and its row
--   base/system/tenant/branch     sorted set: numbers of the system messages
--
-- The base is in braces, so that a cluster keeps all of it in one slot; no tenant, id or branch
-- holds a slash, so that no two of these keys are ever the same. Sets whose scores are all 0 are
-- in order of bytes.

local FORMAT = 1
-- No thread has more rows.
local LAST = 4294967296
-- How many values one call is given: Lua has room for 8,000.
local CHUNK = 1000

local base, tenant = ARGV[1], ARGV[2]
local cursor = 2

local function take()
  cursor = cursor + 1
  return ARGV[cursor]
end

local function of(kind, name)
  return base .. '/' .. kind .. '/' .. tenant .. '/' .. name
end

local function in_chunks(values, act)
  for first = 1, #values, CHUNK do
    act(unpack(values, first, math.min(first + CHUNK - 1, #values)))
  end
end

-- Whether a key is of a type, or not there: at another one Redis ends a script where it is.
local function is_of(kind, name)
  local found = redis.call('TYPE', name).ok
  return found == kind or found == 'none'
end

-- Whether what was found is the number of a row: with any other text a script would end where it is.
local function is_number(found)
  return string.find(found, '^%d+$') ~= nil and tonumber(found) <= LAST
end

-- A write names the epoch that it knows, and is refused in another one: that is how one that was
-- given up, and arrives all the same, does nothing.
local function epoch()
  return redis.call('GET', base .. '/epoch') or '0'
end

local format = redis.call('GET', base .. '/format')
if format and tonumber(format) ~= FORMAT then
  return {'version', format, FORMAT}
end

