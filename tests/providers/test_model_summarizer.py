"""A model as a summarizer: what it is asked, what is taken from it, and how it may fail."""

import asyncio

import pytest
from msgspec import structs

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError, ContextOverflowError, ModelError, SummarizerError
from foldline.history.messages import Message, Usage
from foldline.history.parts import ReasoningPart, TextPart
from foldline.providers.model import ChatRequest, ChatResponse, Summarizer
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, ModelSummarizer
from foldline.reduction.event import Reason
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from foldline.reduction.state import HistoryReductionState
from foldline.testing.model import ModelStep, ScriptedModel, calls
from tests.agent.test_reducer import CONFIG as QUOTING
from tests.agent.test_reducer import talk


CONFIG = structs.replace(QUOTING, quote_user_messages=0)
REQUEST = SummaryRequest(messages=(Message.user("hello"),), prompt="Sum it {up}.\n", budget=100)
GOOD = f"{FIRST_LINE}\nThe weather was spoken of.\n{LAST_LINE}"


def summarize(step: ModelStep, request: SummaryRequest = REQUEST) -> str:
    return asyncio.run(ModelSummarizer(ScriptedModel([step])).summarize(request))


def asked(request: SummaryRequest = REQUEST) -> str:
    model = ScriptedModel([GOOD])
    asyncio.run(ModelSummarizer(model).summarize(request))
    return model.requests[0].messages[-1].text


def reduce(
    *steps: ModelStep, state: HistoryReductionState | None = None, count: int = 9
) -> tuple[ReducedHistory[Message], ScriptedModel]:
    model = ScriptedModel(steps)
    timeout = 1.0 if _late in steps else 60
    reducer = HistoryReducer(CONFIG, summarizer=ModelSummarizer(model), timeout=timeout)
    return asyncio.run(reducer.reduce(talk(count), state=state)), model


def test_the_transcript_stands_first_and_the_instruction_last() -> None:
    """The record is fenced, then come prompt, budget and the line to begin with; no tool is offered."""
    model = ScriptedModel([GOOD])
    asyncio.run(ModelSummarizer(model, settings={"temperature": 0}).summarize(REQUEST))
    request = model.requests[0]
    text = request.messages[1].text
    lines = text.split("\n")

    assert lines[0].startswith("====== TRANSCRIPT ")
    assert f"begins with the line TRANSCRIPT {lines[0].split()[2]}." in text
    assert lines[-4:] == [
        "Begin with exactly this line, and write nothing before it:",
        FIRST_LINE,
        "When all is written, end with exactly this line, and write nothing after it:",
        LAST_LINE,
    ]
    places = [text.index(one) for one in ("hello", "=== END", "Sum it {up}.", "100 tokens")]
    assert places == sorted(places)
    assert "was rejected" not in text
    assert [message.role for message in request.messages] == ["system", "user"]
    assert (request.tools, request.settings) == ((), {"temperature": 0})


def test_defects_are_listed_at_the_end() -> None:
    """What was wrong with the text before comes after the prompt."""
    text = asked(
        SummaryRequest(
            messages=(), earlier=("old",), prompt="Sum.", budget=9, defects=("Too long.", "Odd.")
        )
    )

    assert text.index("Sum.") < text.index("- Too long.\n- Odd.\n") < text.index(FIRST_LINE)
    assert "=== earlier summary 1 ===\nold" in text


def test_the_focus_comes_after_the_prompt() -> None:
    """What matters most is part of the instruction, outside the fence; without it nothing is said."""
    focus = "keep the {schema}"
    text = asked(
        SummaryRequest(messages=(), earlier=("old",), prompt="Sum.", focus=focus, budget=9)
    )

    assert text.index("=== END") < text.index("Sum.") < text.index(focus) < text.index("9 tokens")
    assert "before anything else" in text
    assert "before anything else" not in asked()


def test_secrets_and_long_results_stay_in_the_process() -> None:
    """What looks like a key is not sent, in a focus neither, nor the middle of a long result."""
    secret = "sk-ant-" + "a1B2" * 8
    messages = (Message.user(secret), Message.tool("c", "x" * 99))
    model = ScriptedModel([GOOD])
    request = SummaryRequest(messages=messages, prompt="p", focus=f"keep {secret}", budget=9)
    asyncio.run(ModelSummarizer(model, most_result=10).summarize(request))
    text = model.requests[0].messages[-1].text

    assert secret not in text
    assert text.count("[redacted anthropic key]") == 2
    assert "[89 characters left out]" in text


@pytest.mark.parametrize(
    "reply",
    [
        f"{FIRST_LINE}\nAll is well.\n{LAST_LINE}\n",
        f"{FIRST_LINE} All is well. {LAST_LINE}",
        f"\n\n**{FIRST_LINE}**\n\nAll is well.\n\n**{LAST_LINE}**\n\n",
        f"## {FIRST_LINE.rstrip(':').upper()}\nAll is well.\n## {LAST_LINE.rstrip('.').upper()}",
        f"Here it is:\n\n{FIRST_LINE}\nAll is well.\n\n{LAST_LINE}\nTell me what to change.",
        f"<think>\nFirst line:\n{FIRST_LINE}\n</think>\n\n{FIRST_LINE}\nAll is well.\n{LAST_LINE}",
        f"It is short.\n</think>\n{FIRST_LINE}\nAll is well.\n{LAST_LINE}",
        f"[THINK]It is\nshort.[/THINK]{FIRST_LINE}\nAll is well.\n{LAST_LINE}",
        f"It is\nshort.<|end|><|channel|>final<|message|>{FIRST_LINE}\nAll is well.\n{LAST_LINE}",
        f"<analysis>\nIt is short.\n</analysis>\n<summary>\n{FIRST_LINE}\nAll is well.\n{LAST_LINE}\n</summary>",
        Message(
            role="assistant",
            parts=(ReasoningPart("hm"), TextPart(f"{FIRST_LINE}All is well.\n{LAST_LINE}")),
        ),
        ChatResponse(
            messages=(
                Message.assistant(FIRST_LINE),
                Message.assistant(f"All is well.\n{LAST_LINE}"),
            )
        ),
    ],
)
def test_the_first_and_the_last_line_are_taken_off(reply: ModelStep) -> None:
    """What is returned is the summary alone, however the lines were dressed up and what was thought."""
    assert summarize(reply) == "All is well."
    # What the summary itself is dressed in stays.
    for text in (
        "The tag </think>\nis closed.",
        "**Aims**\nall",
        "* one\n* two",
        "# One",
        "*one* is well",
    ):
        replies = (f"**{FIRST_LINE}**\n{text}\n{LAST_LINE}", f"{FIRST_LINE} {text}\n{LAST_LINE}")
        assert [*map(summarize, replies)] == [text, text]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "no text"),
        (" \n", "no text"),
        (FIRST_LINE, "no text"),
        (f"{FIRST_LINE}\n{LAST_LINE}", "no text"),
        (f"{FIRST_LINE}\nThe weather was", "without the last line"),
        (f"{FIRST_LINE}\nOne.\n{LAST_LINE}\n{'x' * 121}", "without the last line"),
        (f"{FIRST_LINE}\nOne.\n{LAST_LINE}\n1\n2\n3", "without the last line"),
        (ChatResponse(messages=()), "no text"),
        (Message(role="assistant", parts=(ReasoningPart("hm"),)), "no text"),
        (calls(("look_up", {})), "called a tool"),
        (calls(("look_up", {}), text=GOOD), "called a tool"),
        ("Safe travels! Shall I book the hotel too?", "41 characters without the first line"),
        (f"One.\nTwo.\n{FIRST_LINE}\nThree.", "without the first line"),
        (f"{'x' * 121}\n{FIRST_LINE}\nThree.", "without the first line"),
        (f"<think>\n{FIRST_LINE}\nOne.\nTwo.\n</think>\nThree.", "without the last line"),
        ("\n" * 200_000 + "*" * 200_000, "without the first line"),
        ("</think>\n" * 50_000, "without the first line"),
        (
            ChatResponse(messages=(Message.assistant(GOOD),), finish_reason="length"),
            "did not finish its summary: length",
        ),
    ],
)
def test_what_is_no_summary_is_an_error(reply: ModelStep, said: str) -> None:
    """The error names the summarizer and the fault, never the text."""
    with pytest.raises(SummarizerError, match=f"^scripted .*{said}") as raised:
        summarize(reply, structs.replace(REQUEST, prompt=DEFAULT_PROMPT))

    assert "travels" not in f"{raised.value} {raised.value.defect}"
    assert raised.value.defect.endswith(".")


@pytest.mark.parametrize(
    "reply",
    [
        "The weather was spoken of.",
        f"The weather was spoken of.\n{LAST_LINE}",
        "<think>\nShort.\n</think>\n\nThe weather was spoken of.",
        "<think>Short.</think><analysis>Weather.</analysis> The weather was spoken of.",
        "Short: one sentence.\n</think>\nThe weather was spoken of.",
    ],
)
def test_a_prompt_of_ones_own_may_be_answered_in_its_own_form(reply: str) -> None:
    """Without the first line all that was written is the summary, but thoughts and a last line."""
    assert summarize(reply) == "The weather was spoken of."


@pytest.mark.parametrize("thoughts", ["", "<think>\nShort.\n</think>\n"])
def test_a_summary_in_its_own_form_may_speak_of_thoughts(thoughts: str) -> None:
    """What stands before the name of a tag that ends thoughts is no thought for that."""
    summary = "Order 4711: the parser drops `</think>`.\nThen </analysis> was tried."
    assert summarize(f"{thoughts}{summary}") == summary


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (f"{FIRST_LINE}\nThe weather was", "without the last line"),
        ("<think>\nhm\n</think>", "no text"),
        (calls(("look_up", {}), text="The weather."), "called a tool"),
        (
            ChatResponse(messages=(Message.assistant("The wea"),), finish_reason="length"),
            "did not finish",
        ),
    ],
)
def test_what_is_no_summary_in_any_form_is_an_error(reply: ModelStep, said: str) -> None:
    """A prompt of one's own allows no call, no end in the middle and no form begun and not ended."""
    with pytest.raises(SummarizerError, match=said):
        summarize(reply)


def test_name_and_window_are_those_of_the_model() -> None:
    """A name of its own can be given; a window is known if the model says it."""

    class Known(ScriptedModel):
        context_window = 8_000

    known = ModelSummarizer(Known(name="cheap"))

    assert isinstance(known, Summarizer)
    assert (known.name, known.context_window) == ("cheap", 8_000)
    assert ModelSummarizer(Known(), name="mine").name == "mine"
    assert ModelSummarizer(ScriptedModel()).context_window is None


@pytest.mark.parametrize("model", ["openai:gpt", ScriptedModel, None])
def test_what_is_no_model_is_refused(model: object) -> None:
    """The kind is named at once, not when the first summary is due."""
    with pytest.raises(ConfigError, match="model must be a ChatModel, got "):
        ModelSummarizer(model)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"most_result must be .* got 0"):
        ModelSummarizer(ScriptedModel(), most_result=0)


def test_a_reducer_folds_with_a_model() -> None:
    """The event has the model's summary and what it cost; the prompt is the built-in one."""
    usage = Usage(input_tokens=100, output_tokens=7)
    reduced, model = reduce(ChatResponse(messages=(Message.assistant(GOOD),), usage=usage))

    assert (reduced.event.status, reduced.event.summarizer) == ("performed", "scripted")
    assert reduced.event.summarizer_usage == usage
    assert reduced.event.summary == "The weather was spoken of."
    assert DEFAULT_PROMPT.strip() in model.requests[0].messages[-1].text


def test_the_second_request_lists_the_defects() -> None:
    """After a text that breaks the contract the model reads the defect and is asked again."""
    reduced, model = reduce(f"{FIRST_LINE}\n{'word ' * 4000}\n{LAST_LINE}", GOOD)

    assert reduced.event.summarizer == "scripted"
    assert reduced.event.summarizer_calls == 2
    assert "was rejected:\n- The text has " in model.requests[1].messages[-1].text


def test_the_event_and_the_record_say_who_read_what() -> None:
    """Each summarizer that was asked, with its model, its calls and what its own vendor counted."""
    usage = Usage(input_tokens=100, output_tokens=7)
    chats = ChatResponse(messages=(Message.assistant("Sure, here it is."),), usage=usage)
    dear = ModelSummarizer(ScriptedModel([chats, chats], name="acme:dear"), name="mine")
    cheap = ModelSummarizer(ScriptedModel([GOOD], name="acme:cheap"))
    unasked = ModelSummarizer(ScriptedModel(name="acme:last"))
    reducer = HistoryReducer(CONFIG, summarizer=[dear, cheap, unasked])

    reduced = asyncio.run(reducer.reduce(talk(9)))
    first, second = reduced.event.readings

    assert (first.summarizer, first.model, first.calls) == ("mine", "acme:dear", 2)
    assert first.usage == Usage(input_tokens=200, output_tokens=14)
    assert (second.summarizer, second.model, second.calls) == ("acme:cheap", "acme:cheap", 1)
    assert (second.usage, first.tokens) == (None, 2 * second.tokens)
    assert first.tokens + second.tokens == reduced.event.summarizer_tokens
    assert reduced.state is not None
    assert reduced.state.readings == reduced.event.readings
    assert HistoryReductionState.from_json(reduced.state.to_json()) == reduced.state


def _never(request: ChatRequest) -> str:
    raise ConnectionError


async def _late(request: ChatRequest) -> str:
    await asyncio.Event().wait()
    return GOOD


MISHAPS: list[tuple[ModelStep, str]] = [
    (ModelError("down", status=500), "ModelError"),
    (_never, "ConnectionError"),
    (_late, "TimeoutError"),
    ("", "The reply"),
    ("word " * 40_000, "The reply"),
    (f"{FIRST_LINE}\n{'word ' * 40_000}\n{LAST_LINE}", "The text has "),
    (calls(("look_up", {"q": 1})), "The reply"),
    (
        f'{FIRST_LINE}\n{{"name": "look_up", "arguments": {{}}}}\n{LAST_LINE}',
        "The text is a tool call",
    ),
    ("That is wonderful! Shall I look for hotels as well?", "The reply"),
]


@pytest.mark.parametrize(("step", "failure"), MISHAPS)
def test_the_digest_steps_in(step: ModelStep, failure: str) -> None:
    """However the model fails, the digest folds with the earlier summary, and the event says why."""
    first, _ = reduce(GOOD)
    # After a timeout it is not asked again.
    steps = [step] * (1 if step is _late else 2)
    reduced, model = reduce(*steps, state=first.state, count=16)

    assert (reduced.event.status, reduced.event.summarizer) == ("performed", "digest")
    assert reduced.event.reason is Reason.FOLDED_BY_FALLBACK
    assert len(reduced.event.failures) == 2
    assert all(one.startswith((failure, "not asked")) for one in reduced.event.failures)
    assert reduced.event.reduced_tokens < reduced.event.original_tokens
    assert "The weather was spoken of." in (reduced.event.summary or "")
    model.check()


@pytest.mark.usefixtures("no_digest")
def test_without_a_digest_the_old_reduction_stands() -> None:
    """Where nobody can write, the fold fails, the old view is served, and the event says so."""
    first, _ = reduce(GOOD)
    model = ScriptedModel(repeat="Safe travels!")
    reducer = HistoryReducer(CONFIG, summarizer=ModelSummarizer(model))
    second = asyncio.run(reducer.reduce(talk(16), state=first.state))

    assert (second.event.status, second.event.reason) == ("failed", Reason.SUMMARIZERS_FAILED)
    assert second.event.summary == "The weather was spoken of."
    assert second.messages[0].is_summary
    assert second.messages[1:] == talk(16)[4:]


@pytest.mark.parametrize(
    ("name", "read", "is_cut"),
    [
        ("llama3.2:3b", 2_050, True),
        ("llama3.2:3b", 5_000, False),
        # Plain Chinese in the vocabulary of Qwen.
        ("openai-chat:qwen-plus", 3_000, False),
        # What was not in a cache, as Ollama has counted.
        ("llama3.2:3b", 300, False),
        ("openai:gpt-5-mini", 2_050, False),
    ],
)
def test_a_summary_of_the_end_alone_is_none(name: str, read: int, is_cut: bool) -> None:
    """Ollama cuts what is longer than its window; what it left out would be lost without a trace."""
    text = "The trains were late and the weather was bad, as everybody said. " * 400
    request = structs.replace(REQUEST, messages=(Message.user(text),))
    usage = Usage(input_tokens=read, output_tokens=9)
    answer = ChatResponse(messages=(Message.assistant(GOOD),), usage=usage)
    summarizer = ModelSummarizer(ScriptedModel([answer], name=name))
    if is_cut:
        with pytest.raises(ContextOverflowError, match="the window of 4096 tokens of llama"):
            asyncio.run(summarizer.summarize(request))
    else:
        assert asyncio.run(summarizer.summarize(request)) == "The weather was spoken of."
