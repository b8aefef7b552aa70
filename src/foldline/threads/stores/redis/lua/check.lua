return {'ok'}
