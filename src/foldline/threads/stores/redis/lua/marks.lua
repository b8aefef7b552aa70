-- Compares the numbers of the system messages of a branch with some of its rows, and mends them on
-- request; returns how many rows there were, and how many numbers were wrong.
local branch, first, most, mends = take(), tonumber(take()), tonumber(take()), take() == '1'
local system = of('system', branch)
local at = is_branch(branch) and redis.call('HGET', of('branch', branch), 'at')
if not at then
  return {'ok', 0, 0}
end

local found = redis.call('LRANGE', of('rows', branch), first, first + most - 1)
local low = first == 0 and '-inf' or at + first
local high = #found < most and '+inf' or '(' .. at + first + #found
local marks, known, wrong = redis.call('ZRANGEBYSCORE', system, low, high, 'WITHSCORES'), {}, 0
for place = 1, #marks, 2 do
  known[marks[place]] = marks[place + 1]
end

local function is_wrong(...)
  wrong = wrong + 1
  if mends then
    redis.call(...)
  end
end

for place, row in ipairs(found) do
  local number = tostring(at + first + place - 1)
  if string.sub(row, 1, 1) == 's' then
    if known[number] ~= number then
      is_wrong('ZADD', system, number, number)
    end
    known[number] = nil
  end
end
for number in pairs(known) do
  is_wrong('ZREM', system, number)
end
return {'ok', #found, wrong}
