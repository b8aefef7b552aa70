return {'ok', ids(take(), take())}
