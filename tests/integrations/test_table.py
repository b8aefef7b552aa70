"""The same for every guest: its own loop shows the model what foldline alone would show it."""

import asyncio
import copy

import pytest

from foldline.guests import summary_text
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.testing.summarizer import ScriptedSummarizer
from tests.integrations.golden import (
    RULES,
    SUMMARY,
    TRANSCRIPTS,
    Transcript,
    make_reducer,
    own_views,
    view_hash,
)
from tests.integrations.player import BLOCKING, Guest


HEADER = summary_text(Message(role="assistant", metadata={SUMMARY_KEY: True}))

each_transcript = pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda one: one.name)


async def _refused(guest: Guest, transcript: Transcript) -> bool:
    """Whether the guest itself refuses *transcript*, as its row says it does."""
    refusal = guest.cannot.get(transcript.name)
    if refusal is None:
        return False
    player = guest.play(transcript, make_reducer())
    with pytest.raises(Exception, match=refusal):
        for turn in transcript.turns:
            await player.say(turn)
    return True


@each_transcript
def test_the_model_receives_the_view(guest: Guest, transcript: Transcript) -> None:
    """At each call what the model received has the hash of foldline's own view, awaited."""

    async def play() -> list[str] | None:
        if await _refused(guest, transcript):
            return None
        player = guest.play(transcript, make_reducer())
        for turn in transcript.turns:
            await player.say(turn)
        return list(map(view_hash, player.requests))

    found = asyncio.run(play())

    assert found in (None, list(map(view_hash, own_views(guest.carried(transcript)))))


@each_transcript
def test_a_blocking_run_receives_the_view(guest: Guest, transcript: Transcript) -> None:
    """So it is through the blocking face of the guest."""
    if asyncio.run(_refused(guest, transcript)):
        return
    player = guest.play(transcript, make_reducer())

    for turn in transcript.turns:
        player.say_blocking(turn)

    assert list(map(view_hash, player.requests)) == list(map(view_hash, own_views(guest.carried(transcript))))


@each_transcript
def test_the_history_stays_as_it_was(guest: Guest, transcript: Transcript) -> None:
    """After each turn every object that was stored before is equal, and no summary is stored."""

    async def play() -> None:
        player = guest.play(transcript, make_reducer())
        before, turns = copy.deepcopy(await player.stored()), transcript.turns
        for turn in turns:
            await player.say(turn)
            stored = await player.stored()
            is_answered = guest.unanswered and transcript.imported and turn is turns[0]
            assert is_answered or stored[: len(before)] == before
            before = copy.deepcopy(stored)
        said = [one for one in player.read(before) if one.role != "system"]
        assert view_hash(said) == view_hash(guest.carried(transcript).messages)
        assert not any(HEADER in one.text or SUMMARY in one.text for one in said)

    async def refused_or_played() -> None:
        if not await _refused(guest, transcript):
            await play()

    asyncio.run(refused_or_played())


def test_a_restart_in_the_middle_folds_nothing_again(guest: Guest) -> None:
    """Another process goes on with what is stored: the same views, and no summary more."""
    transcript = TRANSCRIPTS[0]
    summarizer = ScriptedSummarizer(repeat=SUMMARY)

    async def play() -> list[str]:
        player = guest.play(transcript, make_reducer(summarizer))
        for at, turn in enumerate(transcript.turns):
            if at == 6:
                player.restart(make_reducer(summarizer))
            await player.say(turn)
        return list(map(view_hash, player.requests))

    views = list(own_views(guest.carried(transcript)))
    assert asyncio.run(play()) == list(map(view_hash, views))
    summaries = {one.text + str(one.metadata) for view in views for one in view if one.is_summary}
    assert len(summarizer.requests) == len(summaries)


def test_a_blocking_run_inside_a_loop_folds(guest: Guest) -> None:
    """A notebook or a web handler may call the blocking face while its loop is running."""
    transcript = TRANSCRIPTS[0]
    player = guest.play(transcript, make_reducer())

    async def play() -> None:
        for turn in transcript.turns:
            player.say_blocking(turn)

    if BLOCKING in guest.cannot:
        with pytest.raises(Exception, match=guest.cannot[BLOCKING]):
            asyncio.run(play())
        return
    asyncio.run(play())

    assert list(map(view_hash, player.requests)) == list(map(view_hash, own_views(guest.carried(transcript))))


def test_the_transcripts_fold_several_times() -> None:
    """The table is about something: each transcript is folded twice at least, the rules are there."""
    for transcript in TRANSCRIPTS:
        views = list(own_views(transcript))
        summaries = {one.text + str(one.metadata) for view in views for one in view if one.is_summary}
        assert len(summaries) >= 2
        assert all(view[0].text == RULES for view in views)
