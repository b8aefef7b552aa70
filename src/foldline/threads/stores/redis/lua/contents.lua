local id, kind, most = take(), take(), take()
return {'ok', contents(id, newest(id, kind, most))}
