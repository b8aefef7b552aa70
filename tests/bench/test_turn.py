"""What the benchmark of whole turns measures, and what it refuses."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import turn
from bench.turn_contest import Arena, Script
from bench.turn_foldline import Foldline
from bench.turn_work import KEEP, MESSAGES, SLACK, Talk


class Forgetful(Foldline):
    """A contestant that keeps a message too few."""

    async def count(self) -> int:
        """Return what it keeps."""
        return await super().count() - 1


@pytest.fixture(name="arena")
def _arena(tmp_path: Path) -> Iterator[Arena]:
    arena = Arena(Foldline, tmp_path)
    yield arena
    arena.close()


def _figures(*times: float) -> dict[str, list[float] | float]:
    """Return figures in which each peer takes so many times what ours takes."""
    figures: dict[str, list[float] | float] = {}
    for heat in turn.heats(turn.PEERS):
        figures[f"{heat}_exponent"] = 0.01
        figures[f"{heat}_flushes"] = [2.0, 2.0, 2.0]
        figures[f"{heat}_times_ours"] = list(times)
    return figures


def test_the_conversation_is_the_same_for_everybody() -> None:
    """Two talks of one seed say the same, and a longer one begins as a shorter one does."""
    assert Talk().take(200) == Talk().take(100) + Talk().take(200)[100:]


def test_the_conversation_has_the_shape_of_one_with_tools() -> None:
    """Ten messages are a user, four calls each with its result, and an answer."""
    said = Talk().take(10)
    ids = Counter(one.call_id for one in said if one.call_id)

    assert [one.role for one in said] == ["user", *["assistant", "tool"] * 4, "assistant"]
    assert list(ids.values()) == [2, 2, 2, 2]


def test_calls_of_new_turns_have_ids_of_their_own() -> None:
    """A talk that goes on behind another one numbers its calls behind those of the other."""
    grown = {one.call_id for one in Talk().take(100)}
    script = Script(Talk(first_call=100))
    script.begin("tool")

    assert script.reply(1).call_id not in grown


def test_a_turn_that_asks_too_seldom_is_found() -> None:
    """A script of which something is left over fails."""
    script = Script(Talk())
    script.begin("tool")
    script.reply(1)

    with pytest.raises(AssertionError):
        script.check()


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_step_of_a_turn_is_flushed_once(arena: Arena, kind: str) -> None:
    """A plain turn has two flushes, one with a tool four: one for each message."""
    written = arena.counted(10, kind, "whole", 2)

    assert written["flushes"] == MESSAGES[kind]
    assert written["written_kb"] > 1


@pytest.mark.parametrize("mode", ["newest", pytest.param("summary", marks=pytest.mark.slow)])
def test_a_reduced_turn_sends_the_newest_messages(arena: Arena, mode: str) -> None:
    """After 200 messages the model is sent at most what is kept, may gather, and the summary."""
    took = arena.timed(200, "plain", mode, 2)

    assert KEEP <= took["seen"] <= KEEP + SLACK + 1


def test_a_whole_turn_sends_everything(arena: Arena) -> None:
    """Without a reduction the model is sent all that was said, up to the last question."""
    took = arena.timed(20, "plain", "whole", 2)

    assert took["seen"] == 20 + 2 * 2 + 1
    assert took["cpu_ms"] > 0


@pytest.mark.slow
def test_rounds_begin_with_the_same_conversation(arena: Arena) -> None:
    """What one round adds is not there in the next."""
    first, second = (arena.timed(20, "tool", "whole", 1) for _ in range(2))

    assert first["seen"] == second["seen"]


def test_who_loses_a_message_is_not_measured(tmp_path: Path) -> None:
    """A contestant that keeps fewer messages than were said fails."""
    arena = Arena(Forgetful, tmp_path)

    with pytest.raises(RuntimeError, match="Forgetful keeps 15 messages of 16"):
        arena.timed(10, "plain", "whole", 2)
    arena.close()


def test_the_worst_size_is_judged() -> None:
    """A peer that is faster than ours at one size misses its goals, and theirs alone."""
    lost, won = (turn.goals(_figures(3.0, worst, 9.0)) for worst in (0.5, 2.0))
    missed = [what for what, value, most in lost if value is None or value > most]
    met = [value is not None and value <= most for _, value, most in won]

    assert len(missed) == len(turn.PEERS) * len(MESSAGES) * len(turn.MODES)
    assert all(met)


def test_goals_need_no_peers() -> None:
    """Without the environment of the peers our own goals are judged, and the others say so."""
    figures = {name: value for name, value in _figures(3.0).items() if name.startswith(turn.OURS)}
    rows = turn.goals(figures)
    missing = [what for what, value, _ in rows if value is None]

    assert len(missing) == len(turn.PEERS) * len(MESSAGES) * len(turn.MODES)
    assert all("times that of" in what for what in missing)
    assert any("flushes" in what and "summary" in what for what, _, _ in rows)


def test_growth_is_taken_from_a_thousand_messages_on() -> None:
    """What ten messages cost is no part of the exponent."""
    heats = turn.heats([])
    figures = {f"{heat}_cpu_ms": [500.0, 1.0, 10.0] for heat in heats}

    assert list(turn.growth(figures, heats).values()) == pytest.approx([1.0] * len(heats))
