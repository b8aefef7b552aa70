local id, kind, most = take(), take(), take()
if not is_thread(id) then
  return {'damaged'}
end
return {'ok', contents(id, newest(id, kind, most))}
