return {'ok', redis.call('ZRANGE', base .. '/tenants', 0, -1)}
