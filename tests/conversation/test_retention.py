"""Conversations that take folded messages out of the working history."""

from pathlib import Path

from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestrator import Orchestrator
from foldline.history.codec import encode_message
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.conversation.orchestrators import ON_EVERY_ORCHESTRATOR
from tests.conversation.stories import folding, said


@ON_EVERY_ORCHESTRATOR
async def test_folded_messages_go_and_come_back(
    orchestrator: Orchestrator | None, tmp_path: Path
) -> None:
    """A fold archives its messages, and undoing it brings them back byte for byte."""
    async with SQLiteStore(tmp_path / "chat.db") as store:
        thread = await store.thread("t")
        conversation = Conversation(
            folding(retention="reduced"), orchestrator=orchestrator, thread=thread
        )
        for text in said(3):
            await conversation.send(text)
        before = await thread.get_messages()
        result = await conversation.send(said(4)[3])

        assert result.reduction is not None
        assert (thread.head.archived, thread.count) == (4, 8)
        assert len(await thread.working_messages()) == 4
        assert (await conversation.messages())[:6] == before

        assert await thread.undo_reduction() is None
        working = await thread.working_messages()
        assert thread.head.archived == 0
        assert [*map(encode_message, working)][:6] == [*map(encode_message, before)]
