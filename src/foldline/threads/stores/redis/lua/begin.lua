-- Begins a migration from layout 1: from now on every program that knows only one layout is refused.
if redis.call('GET', base .. '/format') == '1' then
  redis.call('SET', base .. '/format', 'migrating')
end
return {'ok'}
