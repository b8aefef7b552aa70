-- Returns the first rows of a range, in pieces: branch, number of the first row, rows.
local branch, start, stop = take(), tonumber(take()), tonumber(take())
local most, system_only = tonumber(take()), take() == '1'

local spans, seen = {}, {}
while branch and start < stop do
  if seen[branch] or not is_branch(branch) then
    return {'damaged'}
  end
  seen[branch] = true
  local at, parent = unpack(redis.call('HMGET', of('branch', branch), 'at', 'parent'))
  if not at then
    break
  end
  at = tonumber(at)
  if at < stop then
    spans[#spans + 1] = {branch = branch, at = at, first = math.max(start, at), stop = stop}
  end
  branch, stop = parent, math.min(stop, at)
end

local found = {'ok'}

local function add(span, first, rows)
  if #rows > 0 then
    found[#found + 1] = {span.branch, first, rows}
    most = most - #rows
  end
end

for place = #spans, 1, -1 do
  if most <= 0 then
    break
  end
  local span = spans[place]
  local rows, last = of('rows', span.branch), math.min(span.stop, span.first + most)
  if system_only then
    local system = of('system', span.branch)
    local before = '(' .. span.stop
    for _, number in ipairs(redis.call('ZRANGEBYSCORE', system, span.first, before, 'LIMIT', 0, most)) do
      if not is_number(number) then
        return {'damaged'}
      end
      add(span, tonumber(number), {redis.call('LINDEX', rows, number - span.at) or nil})
    end
  elseif span.first < last then
    add(span, span.first, redis.call('LRANGE', rows, span.first - span.at, last - span.at - 1))
  end
end
return found
