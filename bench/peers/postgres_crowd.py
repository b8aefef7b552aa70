"""Many threads of foldline on PostgreSQL: `python -m bench.peers.postgres_crowd DSN NUMBER`."""

import sys

from bench.peers.child import serve
from bench.peers.crowd import Crowd
from bench.peers.foldline_crowd import Threads
from foldline.threads.stores.postgres.store import PostgresStore


if __name__ == "__main__":
    serve(Crowd(Threads(PostgresStore(sys.argv[1])), int(sys.argv[2])))
