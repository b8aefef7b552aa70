"""The same for every guest: its own loop shows the model what foldline alone would show it."""

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestCodec, summary_text
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.guests import GuestConformance, refusals
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
from tests.integrations.player import BLOCKING, Guest, Player


HEADER = summary_text(Message(role="assistant", metadata={SUMMARY_KEY: True}))

each_transcript = pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda one: one.name)


def hashes(views: Sequence[Sequence[Message]]) -> list[str]:
    """Return the hash of each view."""
    return [view_hash(view) for view in views]


def wanted(guest: Guest, transcript: Transcript) -> list[str]:
    """Return the hash of each view as foldline alone makes it of what the guest has."""
    return hashes([*own_views(guest.carried(transcript))])


async def played(guest: Guest, transcript: Transcript, reducer: HistoryReducer) -> Player:
    """Return what has played all of *transcript*."""
    player = await guest.play(transcript, reducer)
    for turn in transcript.turns:
        await player.say(turn)
    return player


@each_transcript
def test_the_model_receives_the_view(guest: Guest, transcript: Transcript) -> None:
    """At each call what the model received has the hash of foldline's own view, awaited."""
    if transcript.name in guest.cannot:
        return

    player = asyncio.run(played(guest, transcript, make_reducer()))

    assert hashes(player.requests) == wanted(guest, transcript)


@each_transcript
def test_every_vendor_accepts_the_view(guest: Guest, transcript: Transcript) -> None:
    """What the model received passes the grammars of Anthropic and of OpenAI, whichever it is of."""
    if transcript.name in guest.cannot:
        return

    player = asyncio.run(played(guest, transcript, make_reducer()))
    refused = [refusals(view) for view in player.requests]

    assert refused == [()] * len(refused)


@each_transcript
def test_what_a_guest_cannot_carry_it_spoils_itself(guest: Guest, transcript: Transcript) -> None:
    """Where a row says so, the guest fails or sends something else with no reduction at all."""

    async def play() -> list[str]:
        reducer = HistoryReducer(HistoryReductionConfig(enabled=False))
        found, *_ = await asyncio.gather(played(guest, transcript, reducer), return_exceptions=True)
        return [] if isinstance(found, BaseException) else hashes(found.requests)

    said, whole = [Message.system(RULES), *guest.carried(transcript).before], list[str]()
    for message in (message for turn in transcript.turns for message in turn):
        whole += [view_hash(said)] if message.role == "assistant" else []
        said.append(message)
    # A damaged history is sent as it is, if it is not reduced.
    is_sound = asyncio.run(play()) == whole
    assert is_sound == (transcript.name not in guest.cannot)


@each_transcript
def test_a_blocking_run_receives_the_view(guest: Guest, transcript: Transcript) -> None:
    """So it is through the blocking face of the guest."""
    if transcript.name in guest.cannot:
        return
    player = asyncio.run(guest.play(transcript, make_reducer()))

    for turn in transcript.turns:
        player.say_blocking(turn)

    assert hashes(player.requests) == wanted(guest, transcript)


@each_transcript
def test_the_history_stays_as_it_was(guest: Guest, transcript: Transcript) -> None:
    """After each turn every object that was stored before is equal, and no summary is stored."""

    async def play() -> list[Message]:
        player = await guest.play(transcript, make_reducer())
        before, turns = copy.deepcopy(await player.stored()), transcript.turns
        for turn in turns:
            await player.say(turn)
            stored = await player.stored()
            is_answered = guest.unanswered and transcript.imported and turn is turns[0]
            assert is_answered or stored[: len(before)] == before
            before = copy.deepcopy(stored)
        return [one for one in player.read(before) if one.role != "system"]

    said = asyncio.run(play())

    kept = guest.carried(transcript) if guest.unanswered else transcript
    assert view_hash(said) == view_hash(kept.messages)
    assert not any(HEADER in one.text or SUMMARY in one.text for one in said)


def test_a_restart_in_the_middle_folds_nothing_again(guest: Guest) -> None:
    """Another process continues with what is stored: the same views, and no summary more."""
    transcript = TRANSCRIPTS[0]
    summarizer = ScriptedSummarizer(repeat=SUMMARY)

    async def play() -> list[str]:
        player = await guest.play(transcript, make_reducer(summarizer))
        for at, turn in enumerate(transcript.turns):
            if at == 6:
                player.restart(make_reducer(summarizer))
            await player.say(turn)
        return hashes(player.requests)

    assert asyncio.run(play()) == wanted(guest, transcript)
    assert len(summarizer.requests) == len(_summaries(transcript))


def _summaries(transcript: Transcript) -> set[str]:
    views = own_views(transcript)
    return {one.text + str(one.metadata) for view in views for one in view if one.is_summary}


def test_a_blocking_run_inside_a_loop_folds(guest: Guest) -> None:
    """A notebook or a web handler may call the blocking face while its loop is running."""
    transcript = TRANSCRIPTS[0]
    player = asyncio.run(guest.play(transcript, make_reducer()))

    async def play() -> None:
        for turn in transcript.turns:
            player.say_blocking(turn)

    if BLOCKING in guest.cannot:
        with pytest.raises(Exception, match=guest.cannot[BLOCKING]):
            asyncio.run(play())
        return
    asyncio.run(play())

    assert hashes(player.requests) == wanted(guest, transcript)


@each_transcript
def test_the_codec_keeps_its_promises(guest: Guest, transcript: Transcript) -> None:
    """What the guest sends of each transcript passes the kit for codecs."""

    async def play() -> list[object]:
        reducer = HistoryReducer(HistoryReductionConfig(enabled=False))
        player = await guest.play(transcript, reducer)
        for turn in transcript.turns[:2]:
            await player.say(turn)
        return player.received()

    if guest.codec is not None:
        report = GuestConformance(guest.codec, asyncio.run(play())).run()
        assert report.is_conformant, str(report)


def test_a_call_reads_what_is_new(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn late in a conversation reads no more objects than an early one: calls stay fast."""
    read: list[object] = []
    if guest.codec is None:
        return
    codec = type(guest.codec)
    whole = codec.read

    def reading(self: GuestCodec[Any], item: object, /) -> Sequence[Message]:
        read.append(item)
        said: Sequence[Message] = whole(self, item)
        return said

    async def play() -> list[int]:
        player = await guest.play(TRANSCRIPTS[0], make_reducer())
        monkeypatch.setattr(codec, "read", reading)
        counts: list[int] = []
        for turn in TRANSCRIPTS[0].turns:
            read.clear()
            await player.say(turn)
            counts.append(len(read))
        return counts

    # What is short is read again.
    counts = asyncio.run(play())[3:]
    assert counts == counts[:1] * len(counts)
    assert 0 < counts[0] <= 3 * len(TRANSCRIPTS[0].turns[0])


@each_transcript
def test_a_transcript_folds_several_times(guest: Guest, transcript: Transcript) -> None:
    """The table is about something: each transcript has several summaries, and its rules stay."""
    assert len(_summaries(guest.carried(transcript))) >= 2
    assert all(view[0].text == RULES for view in own_views(transcript))
