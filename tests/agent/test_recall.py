"""The tool that gives back what a view does not show."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from foldline import (
    Agent,
    ConversationThread,
    History,
    HistoryReductionConfig,
    MemoryStore,
    Message,
    ThreadStore,
    TokenEstimator,
)
from foldline.agent.recall import RecalledPage, page_of, recall, recall_tool
from foldline.agent.request import RECALL
from foldline.agent.tools import ToolAnswer, ToolContext, run_tool
from foldline.history.codec import encode_json
from foldline.history.formats.anthropic import to_anthropic
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.providers.model import ChatRequest
from foldline.reduction.budget import budget_of
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.key import ThreadKey
from foldline.threads.reader import text_of
from foldline.threads.row import StoredRow
from foldline.threads.stores.memory import MemoryStorage
from tests.histories import legal_history


PAGE = 120
LONG = "".join(f"line {n}: {n * 7919:x} über 水 🐟\n" * (n % 3) for n in range(300))
SAID = [
    Message.user("Find the file about salt, please."),
    Message.assistant("I will look.", tool_calls=[ToolCallPart("c1", "grep", '{"word": "salt"}')]),
    Message.tool("c1", LONG, name="grep"),
    Message.assistant("It is in lines 1 to 299."),
]


def context(thread: ConversationThread | None, page_tokens: int = PAGE) -> ToolContext:
    return ToolContext(call_id="c", name=RECALL, thread=thread, page_tokens=page_tokens)


async def thread_of(messages: Sequence[Message]) -> ConversationThread:
    thread = await MemoryStore().thread("t")
    await thread.add_messages(messages)
    return thread


async def asked(thread: ConversationThread | None, **arguments: object) -> ToolAnswer:
    return await run_tool(recall_tool(), encode_json(arguments).decode(), context(thread))


def reader(said: Sequence[Message], number: int) -> Callable[[int], str]:
    return lambda page: str(recall(said, number, page=page))


def joined(read: Callable[[int], str]) -> str:
    """Follow the headers from the first page to the last, and join what follows them."""
    texts: list[str] = []
    page: int | None = 1
    while page is not None:
        header, _, text = read(page).partition("\n")
        texts.append(text)
        following = re.search(r"; next recall\(message=\d+, page=(\d+)\)", header)
        page = int(following[1]) if following else None
    return "".join(texts)


def test_pages_joined_are_what_was_said() -> None:
    """Each page is small, says how to get the next, and no byte is lost between them."""
    sizes: list[int] = []

    def read(page: int) -> str:
        shown = str(recall(SAID, 2, page=page, page_tokens=PAGE))
        sizes.append(TokenEstimator().count(shown))
        return shown

    assert joined(read) == LONG
    assert len(sizes) > 20
    assert max(sizes) <= PAGE


@pytest.mark.parametrize(
    "text",
    ["", "\n", "x" * 5_000, " " * 50_000, "水" * 3_000, "\x00\r\n\u2028" * 900, "🐟" * 2_000],
)
def test_any_text_comes_back(text: str) -> None:
    """Texts without lines, without words or without ASCII are cut into pages that fit, too."""
    said = [Message.user("a"), Message.tool("c", text)]

    assert joined(lambda page: str(recall(said, 1, page=page, page_tokens=PAGE))) == text


async def test_every_message_of_a_long_thread_comes_back() -> None:
    """Through the tool, by its number, system messages not counted, whatever kind it is."""
    said = [one for seed in range(12) for one in legal_history(Random(seed))]
    said = [Message.system("Be brief."), *said[:60], Message.system("Be long."), *said[60:]]
    thread = await thread_of(said)
    told = [one for one in said if one.role != "system"]
    plain = [
        (number, one.parts[0])
        for number, one in enumerate(told)
        if len(one.parts) == 1 and isinstance(one.parts[0], TextPart | ToolCallResponsePart)
    ]

    assert len(plain) > 100
    for number, part in plain:
        wanted = part.content if isinstance(part, TextPart) else part.response
        if not isinstance(wanted, str):
            continue
        pages: list[str] = []
        header, page = "page=1)", 1
        while f"page={page})" in header:
            answer = await asked(thread, message=number, page=page)
            header, _, text = answer.text.partition("\n")
            pages.append(text)
            page += 1
        assert "".join(pages) == wanted


def test_calls_media_and_unknown_parts_come_back() -> None:
    """Arguments are there word for word, an image is beside its mark; reasoning is left out."""
    image = BlobPart("image", "image/png", "aGVsbG8=")
    parts = (
        ReasoningPart("hm"),
        TextPart("So:"),
        image,
        GenericPart("audio", '{"a": 1}'),
        GenericPart("image_generation_call", f'{{"result":"iVBORw0KGgo{"A" * 99}"}}'),
        ToolCallPart("c1", "write", '{"text":  "a\\nb"}'),
    )
    answer = ToolCallResponsePart("c1", (TextPart("done"), image))
    said = [Message(role="assistant", parts=parts), Message(role="tool", parts=(answer,))]

    assert recall(said, 0).text == 'So:\n[image]\n{"a": 1}\n{"result":}\nwrite\n{"text":  "a\\nb"}'
    assert recall(said, 1) == RecalledPage(
        header="[message 1, tool result, page 1 of 1, the end]",
        text="done\n[image]",
        media=(image,),
    )
    # One image costs more than a small page may.
    assert recall(said, 1, page_tokens=PAGE).media == ()


async def test_an_image_reaches_the_model() -> None:
    """The result of the tool holds the image itself."""
    image = BlobPart("image", "image/png", "aGVsbG8=")
    thread = await thread_of([Message(role="user", parts=(TextPart("Look."), image))])
    answer = await run_tool(recall_tool(page_tokens=4_000), '{"message": 0}', context(thread))

    assert answer.content == (
        TextPart("[message 0, user, page 1 of 1, the end]\nLook.\n[image]"),
        image,
    )


async def test_a_span_is_shown_message_by_message() -> None:
    """Whole messages as long as they fit, then the call that continues; a long one in pages."""
    thread = await thread_of([*SAID, *(Message.user(f"u{n} " * 9) for n in range(20))])

    first = (await asked(thread, message=0, last=22)).text
    assert first == (
        "[messages 0-1 of 0-22; then recall(message=2, last=22)]\n"
        "--- message 0, user ---\nFind the file about salt, please.\n"
        '--- message 1, assistant ---\nI will look.\ngrep\n{"word": "salt"}\n'
    )
    long = (await asked(thread, message=2, last=22)).text
    assert re.match(
        r"\[message 2, tool result \(grep\), page 1 of \d\d; next recall\(message=2, page=2\); "
        r"then recall\(message=3, last=22\)\]\n",
        long,
    )
    seen, at = [*range(2)], 3
    while at <= 22:
        header, *blocks = (await asked(thread, message=at, last=22)).text.split("\n--- message ")
        seen += [int(block.split(",")[0]) for block in blocks]
        following = re.search(r"then recall\(message=(\d+), last=22\)\]", header)
        at = int(following[1]) if following else 23
    assert seen == [0, 1, *range(3, 23)]


async def test_a_search_names_the_messages() -> None:
    """Newest first, each with its number; the tool's own calls and results are left out."""
    model = ScriptedModel(
        [
            calls((RECALL, {"search": "salt"})),
            calls((RECALL, {"search": "salt"})),
            calls((RECALL, {"message": 0})),
            "Done.",
        ]
    )
    thread = await thread_of([Message.system("Be brief."), *SAID[:2]])
    await thread.add_message(Message.tool("c1", "Salt is in pan.txt", name="grep"))
    await Agent(model, tools=[recall_tool()]).run("Where was that?", thread=thread)
    first, second, third = (one.messages[-1].tool_call_responses[0] for one in model.requests[1:])

    assert first.response == second.response
    assert first.response == (
        "[3 found, newest first; recall(message=N) returns one in full]\n"
        "message 2, tool result (grep): Salt is in pan.txt\n"
        'message 1, assistant: I will look. grep {"word": "salt"}\n'
        "message 0, user: Find the file about salt, please."
    )
    assert third.response == (
        "[message 0, user, page 1 of 1, the end]\nFind the file about salt, please."
    )


@pytest.mark.parametrize("page_tokens", [PAGE, 1_000])
async def test_what_a_search_found_is_shown_in_pages(page_tokens: int) -> None:
    """Each says how many there are in all and how to get what follows; together they have all, once."""
    said = [Message.user(f"Parcel {n} of {'many ' * 9}is here.") for n in range(30)]
    said = [Message.system("Find each parcel."), *said]
    tool, thread = recall_tool(page_tokens=page_tokens), await thread_of(said)
    numbers: list[int] = []
    page = 1
    while len(numbers) < 30:
        arguments = {"search": "parcel", "page": page}
        answer = await run_tool(tool, encode_json(arguments).decode(), context(thread))
        header, *lines = answer.text.splitlines()
        first, page = len(numbers) + 1, page + 1
        numbers += [int(re.match(r"message (\d+), user: ", line)[1]) for line in lines]  # type: ignore[index]
        more = f"the same search with page={page} shows more; " * (len(numbers) < 30)
        assert header == (
            f"[30 found, newest first, {first}-{len(numbers)} shown; {more}"
            "recall(message=N) returns one in full]"
        )
        assert TokenEstimator().count(answer.text) <= page_tokens
        assert answer.text == str(recall(said, page_tokens=page_tokens, **arguments))  # type: ignore[arg-type]

    assert numbers == [*range(29, -1, -1)]
    assert page > (4 if page_tokens == PAGE else 3)
    past = recall(said, search="parcel", page=page, page_tokens=page_tokens)
    assert str(past) == (f"Error: page must be 1 to {page - 1} for what was found, got {page}\n")


def test_a_search_of_callers_leaves_out_recalls() -> None:
    """Also in dictionaries, in which results have no name."""
    call = ToolCallPart("r1", RECALL, '{"search": "salt"}')
    said = [*SAID[:1], Message.assistant(tool_calls=[call]), Message.tool("r1", "no salt")]

    assert recall(said, search="salt").text == f"message 0, user: {SAID[0].text}"
    assert recall(to_anthropic(said), search="salt") == recall(said, search="salt")
    assert recall(said, search="pepper").header == "[no message has all of these words; try fewer]"


def test_dictionaries_and_histories_are_taken() -> None:
    """The numbers are those of the reducer, whatever the form."""
    items = to_anthropic(SAID)

    assert recall(items, 2).text == recall(History(SAID), 2).text
    assert recall(items, 3).text == "It is in lines 1 to 299."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "give either message, a number from 0 to 3, or search, some words"),
        ({"message": 1, "search": "x"}, "give either message, a number from 0 to 3, or search"),
        ({"message": 4}, "message must be 0 to 3, got 4"),
        ({"message": -1}, "message must be 0 to 3, got -1"),
        ({"message": 2, "last": 1}, "last must be 2 to 3, got 1"),
        ({"message": 2, "last": 9}, "last must be 2 to 3, got 9"),
        ({"message": 0, "page": 2}, "page must be 1 to 1 for message 0, got 2"),
        ({"message": 0, "page": 0}, "page must be 1 to 1 for message 0, got 0"),
        ({"message": 0, "last": 1, "page": 2}, "page must be 1 with last, got 2"),
        ({"search": "!?"}, "text must contain a word, got 2 characters without one"),
        ({"message": "message 2"}, "Expected `int | null`, got `str`"),
    ],
)
async def test_a_wrong_pointer_is_answered_in_one_line(
    arguments: dict[str, object], says: str
) -> None:
    """The model reads what would be right, also if a caller answers its call."""
    answer = await asked(await thread_of(SAID), **arguments)

    assert answer.is_error
    assert answer.text.startswith("Error: ")
    assert says in answer.text
    assert "\n" not in answer.text
    page = recall(SAID, **arguments)  # type: ignore[arg-type]
    assert page.header.startswith("Error: ")
    assert says in page.header or "`" in says
    assert (page.text, "\n" in page.header) == ("", False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"message": "3"},
        {"message": 3.0, "page": None},
        {"message": "3", "last": None, "page": "1", "search": None},
    ],
)
def test_what_a_model_writes_in_another_form_is_taken(arguments: dict[str, Any]) -> None:
    """A string with a number is that number, and null is the default."""
    assert recall(SAID, **arguments) == recall(SAID, 3)


@pytest.mark.parametrize("name", ["message", "last", "page", "search"])
@pytest.mark.parametrize("value", [[1], {}, 1.5, True, "x", 99_999, 10**30, "\ud800"])
def test_nothing_that_a_model_sends_raises(name: str, value: Any) -> None:
    """Its caller's loop continues with a line that says what is wrong, or that nothing was found."""
    arguments: dict[str, Any] = {"message": 1, name: value}
    page = recall(SAID, **arguments)

    assert page.header.startswith("Error: ")


@pytest.mark.parametrize("name", ["query", "messages", "wanted", "self"])
def test_arguments_that_a_model_makes_up_are_answered(name: str) -> None:
    """The line names the one that there is not, and those that there are."""
    made_up: dict[str, Any] = {name: "x"}

    said = f"Error: Object contains unknown field `{name}`"
    assert (
        recall(SAID, **made_up).header
        == f"{said}. The arguments are message, page, last and search"
    )


async def test_a_search_shows_the_words_and_their_page() -> None:
    """In a long message the words are far from its head, and not on its first page."""
    long = "\n".join(f"row {number}: ORD-{number:05}" for number in range(1_500))
    said = [Message.user("x"), Message.assistant(long), Message.user("y")]
    found = recall(said, search="ORD-00777", page_tokens=2_000)
    where = re.match(r"message 1, assistant, page (\d+): .*ORD-00777", found.text)
    answer = await run_tool(
        recall_tool(page_tokens=2_000), '{"search": "ORD-00777"}', context(await thread_of(said))
    )

    assert where is not None
    assert int(where[1]) > 1
    assert "ORD-00777" in recall(said, 1, page=int(where[1]), page_tokens=2_000).text
    assert answer.text == str(found)


@pytest.mark.parametrize(("words", "page"), [("row 00000", 1), ("row 01499", 14)])
def test_a_search_names_the_page_with_all_words(words: str, page: int) -> None:
    """The first page of a long message is named too, and a word of every line leads nowhere else."""
    long = "\n".join(f"row {number}: ORD-{number:05}" for number in range(1_500))
    found = recall([Message.user(long)], search=words, page_tokens=1_000).text

    assert found.startswith(f"message 0, user, page {page}: ")
    assert words.split()[1] in found


async def test_without_a_thread_the_tool_says_so() -> None:
    """Somebody may run the tool by hand."""
    answer = await asked(None, message=1)

    assert answer.text == "Error: there is no thread to read: the tool runs in an agent"


async def test_one_message_of_a_long_thread_is_a_few_reads() -> None:
    """A page, or a span, never reads the whole thread."""

    class Counting(MemoryStorage):
        rows_read = 0
        reads = 0

        async def rows(
            self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
        ) -> list[StoredRow]:
            found = await super().rows(key, epoch, start, stop, system=system)
            self.reads += 1
            self.rows_read += len(found)
            return found

    storage = Counting()
    async with ThreadStore(storage) as store:
        thread = await store.thread("t")
        for start in range(0, 3_000, 500):
            await thread.add_messages([Message.user(f"m{n}") for n in range(start, start + 500)])
        thread = await store.thread("t")
        storage.reads = storage.rows_read = 0
        answers = [await asked(thread, message=7), await asked(thread, message=900, last=2_900)]

    assert answers[0].text.endswith("\nm7")
    assert storage.reads <= 2
    assert storage.rows_read <= 70


async def test_a_page_in_an_agent_is_an_eighth_of_the_ceiling() -> None:
    """Joined over many calls the pages are the file, and folds in between change nothing."""
    pages: list[str] = []

    def ask(request: ChatRequest) -> Message | str:
        results = [one for one in request.messages if one.role == "tool" and one.name == RECALL]
        if results:
            page = str(results[-1].tool_call_responses[0].response)
            if not pages or pages[-1] != page:
                pages.append(page)
            if "the end]" in page:
                return "done"
        return calls((RECALL, {"message": 2, "page": len(pages) + 1}))

    thread = await thread_of([*SAID, Message.user("so " * 3_000), Message.assistant("yes")])
    model = ScriptedModel(repeat=ask, name="openai:gpt-4")
    await Agent(model, tools=[recall_tool()]).run("Read it all again.", thread=thread)

    assert "".join(page.partition("\n")[2] for page in pages) == LONG
    assert len(pages) > 5
    assert max(map(TokenEstimator().count, pages)) <= 0.7 * 8_192 / 8


def test_a_page_shrinks_where_the_estimate_is_far_too_low() -> None:
    """By the corrected count a page is an eighth of the ceiling, too."""
    for ratio in (0.5, 1.0, 1.5, 1.6, 4.0):
        budget = budget_of(HistoryReductionConfig(ceiling=64_000), ratio=ratio)
        assert page_of(budget) * ratio <= 8_000


async def test_every_pointer_in_a_request_can_be_followed() -> None:
    """What is clipped, cleared or folded of 30 large results comes back by the call that notes name."""

    def read_file(path: str) -> str:
        return f"{path}:\n" + f"{path} says: salt, {len(path)} grams.\n" * (
            900 if "7" in path else 90
        )

    wanted = [calls(("read_file", {"path": f"src/file-{n}.txt"})) for n in range(20)]
    model = ScriptedModel([*wanted, "done"], name="openai:gpt-4")
    thread = await MemoryStore().thread("t")
    # The ceiling of that model decides; the digest writes.
    agent = Agent(model, tools=[read_file, recall_tool()], summarizer=())
    await agent.run("Read all.", thread=thread)
    sent = "\n".join(repr(one.parts) for request in model.requests for one in request.messages)
    pointers = {int(number) for number in re.findall(r"recall\(message=(\d+)\)", sent)}
    said = await thread.get_messages()

    assert len(pointers) > 5
    assert thread.last_reduction is not None
    for number in {*pointers, *range(thread.last_reduction.summarized_up_to_index)}:
        assert joined(reader(said, number)) == text_of(said[number])


async def test_a_tool_of_the_same_name_is_another_one() -> None:
    """Notes name the tool of this module alone, and not the memory of somebody else."""

    def recall(topic: str) -> str:
        """Look into the memory."""
        return f"{topic}: {LONG}"

    steps = [step for n in range(9) for step in (calls((RECALL, {"topic": f"{n}"})), f"It is {n}.")]
    model = ScriptedModel(steps)
    agent = Agent(model, tools=[recall], history_reduction=HistoryReductionConfig(ceiling=9_000))
    thread = await thread_of(SAID)
    for n in range(9):
        await agent.run(f"And topic {n}?", thread=thread)
    sent = " ".join(map(text_of, model.requests[-1].messages))

    assert "Result of recall cleared" in sent
    assert f"{RECALL}(" not in sent
