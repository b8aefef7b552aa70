-- Returns the first rows of a range in pieces: number of the first row, rows.
local id, epoch, start, stop = take(), take(), tonumber(take()), tonumber(take())
local most, system_only = tonumber(take()), take() == '1'
if not is_thread(id) then
  return {'damaged'}
end

local found = {'ok'}

local function add(number, row)
  if most > 0 and row then
    found[#found + 1] = {number, {row}}
    most = most - 1
  end
end

for _, piece in ipairs(pieces_at(id, epoch, start, stop) or {}) do
  if not system_only then
    piece.to = math.min(piece.to, piece.from + most)
    in_rows(piece, function(rows, number)
      found[#found + 1] = {number, rows}
      most = most - #rows
    end)
  elseif piece.key == of('live', id) then
    local range = {piece.from, '(' .. piece.to, 'LIMIT', 0, most}
    for _, number in ipairs(redis.call('ZRANGEBYSCORE', of('systems', id), unpack(range))) do
      add(tonumber(number), redis.call('LINDEX', piece.key, number))
    end
  else
    in_rows(piece, function(rows, number)
      for place, row in ipairs(rows) do
        add(number + place - 1, string.sub(row, 1, 1) == 's' and row)
      end
    end)
  end
end
return found
