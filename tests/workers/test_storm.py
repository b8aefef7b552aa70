"""Workers are killed and the server restarts: every turn is answered once and in order."""

from pathlib import Path

import pytest

from tests.servers.postgres import PostgresServer
from tests.workers.storm import Findings, Plan, storm


pytestmark = pytest.mark.posix


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_each_turn_is_answered_once(
    postgres_server: PostgresServer, postgres_dsn: str, tmp_path: Path
) -> None:
    """None is lost, doubled, out of order or run by two, and no tool runs twice."""
    plan = Plan(threads=20, turns=10, restarts=1, kill_every=20)

    check(await storm(postgres_server, postgres_dsn, tmp_path, plan), plan)


@pytest.mark.long
async def test_a_large_storm_is_over_soon(
    postgres_server: PostgresServer, postgres_dsn: str, tmp_path: Path
) -> None:
    """The same with 500 threads; on a machine of its own a takeover takes the lease and 2 s."""
    plan = Plan(threads=500, turns=10, restarts=3, kill_every=150)

    found = await storm(postgres_server, postgres_dsn, tmp_path, plan)

    check(found, plan)
    assert max(found.takeovers, default=0.0) <= plan.lease + 2


def check(found: Findings, plan: Plan) -> None:
    """Check that every turn was answered once and in order."""
    assert found.turns == plan.threads * plan.turns
    assert (found.lost, found.doubled, found.disordered) == (0, 0, 0)
    assert (found.overlapping, found.tools_twice) == (0, 0)
    assert (found.kills > plan.restarts, found.restarts) == (True, plan.restarts)
