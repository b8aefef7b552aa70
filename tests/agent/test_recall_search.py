"""What a search of the tool `recall` costs, and what room each message has that it found."""

import pytest

from foldline import MemoryStore, Message, TokenEstimator
from foldline.agent.recall import recall, recall_tool
from foldline.agent.request import RECALL
from foldline.agent.tools import ToolContext, run_tool
from foldline.history.codec import encode_json
from foldline.history.parts import TextPart
from foldline.threads.reader import Query
from tests.linearity import is_linear


@pytest.mark.parametrize("page", [1, 2, 99, 100, 101, 10**6])
async def test_a_word_of_every_message_is_counted_so_far(page: int) -> None:
    """The newest thousand are found in a thread and in a list, and that there may be more is said."""
    said = [Message.user(f"Parcel {n}") for n in range(1_200)]
    arguments = {"search": "parcel", "page": page}
    thread = await MemoryStore().thread("t")
    await thread.add_messages(said)
    context = ToolContext(call_id="c", name=RECALL, thread=thread)
    tool = recall_tool(page_tokens=1_000)
    answer = await run_tool(tool, encode_json(arguments).decode(), context)
    found = recall(said, page_tokens=1_000, **arguments)  # type: ignore[arg-type]

    if page <= 100:
        first = 10 * page - 9
        assert found.header.startswith(
            f"[at least 1,000 found, newest first, {first:,}-{first + 9:,} "
        )
        assert found.text.startswith(f"message {1_200 - first}, user: ")
        assert answer.text == str(found)
    else:
        assert found.header == f"Error: page must be 1 to 100 for what was found, got {page}"
        assert answer.text == found.header


@pytest.mark.parametrize("page", [1, 90, 10**6])
def test_a_page_of_what_was_found_reads_no_other(
    page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its own messages are shown, and no more than a thousand are looked at."""
    shown, looked_at = 0, 0

    class Counting(Query, frozen=True):
        def fits(self, text: str) -> bool:
            nonlocal looked_at
            looked_at += 1
            return super().fits(text)

        def excerpt(self, text: str) -> str:
            nonlocal shown
            shown += 1
            return super().excerpt(text)

    monkeypatch.setattr("foldline.agent.recall.Query", Counting)
    said = [Message.user(f"Parcel {n} of {'many ' * 500}") for n in range(1_200)]
    recall(said, search="parcel", page=page)

    assert shown == 10 * (page <= 100)
    assert looked_at == 1_000


@pytest.mark.parametrize("page", [1, 60])
def test_a_search_of_a_list_is_linear(page: int) -> None:
    """Also where each message fits, and for a page far away."""
    said = Message.user("A word of the order.")

    assert is_linear(lambda text: recall([said] * len(text), search="order", page=page), "", "a")


@pytest.mark.parametrize("page_tokens", [1, 100, 200, 700])
def test_a_line_of_what_was_found_has_its_share(page_tokens: int) -> None:
    """No message takes the room of the others, whatever its name and its script."""
    long = "水" * 40 + " parcel " + "水" * 4_000
    said = [Message(role="user", parts=(TextPart(long),), name="水" * 64) for _ in range(30)]
    found = recall(said, search="parcel", page_tokens=page_tokens)

    assert found.text.startswith("message 29, user (水")
    assert len(found.text.splitlines()) == max(1, min(10, (page_tokens - 60) // 64))
    assert TokenEstimator().count(str(found)) <= max(page_tokens, 100)
