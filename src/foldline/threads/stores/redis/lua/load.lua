return {'ok', stored(take())}
