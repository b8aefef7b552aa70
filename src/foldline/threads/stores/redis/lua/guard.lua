local format = redis.call('GET', base .. '/format')
if format and format ~= FORMAT then
  return {'version', format}
end

