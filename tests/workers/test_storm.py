"""Workers are killed and the server restarts: every turn is answered once, in order, and soon."""

from pathlib import Path

import pytest

from tests.servers.postgres import PostgresServer
from tests.workers.storm import Plan, storm


pytestmark = pytest.mark.posix

SMALL = Plan(threads=20, turns=10, restarts=1, kill_every=1.0)
LARGE = Plan(threads=500, turns=10, restarts=3, kill_every=5.0)


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(SMALL, id="small", marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
        pytest.param(LARGE, id="large", marks=pytest.mark.long),
    ],
)
async def test_each_turn_is_answered_once(
    postgres_server: PostgresServer, postgres_dsn: str, tmp_path: Path, plan: Plan
) -> None:
    """None is lost, doubled, out of order or run by two; no tool runs twice; takeovers are quick."""
    found = await storm(postgres_server, postgres_dsn, tmp_path, plan)

    assert found.turns == plan.threads * plan.turns
    assert (found.lost, found.doubled, found.disordered) == (0, 0, 0)
    assert (found.overlapping, found.tools_twice) == (0, 0)
    assert found.kills > 0
    assert max(found.takeovers, default=0.0) <= plan.lease + 2
