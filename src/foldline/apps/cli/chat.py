"""`foldline chat`: a conversation with a model, kept in a store and inside a budget."""

import sys
from pathlib import Path

import typer
from msgspec import structs

from foldline.apps.cli.chat_lines import STOPPED, Failure, JsonLines
from foldline.apps.cli.chat_options import DEFAULT_STORE, ChatOptions, takes_chat
from foldline.apps.cli.chat_prompt import INTERRUPTED, advised, converse
from foldline.apps.cli.chat_screen import Screen
from foldline.apps.cli.chat_session import Chat, Display
from foldline.apps.cli.chat_speaker import Speaker, speaker_of
from foldline.apps.cli.chat_standing import standing_line
from foldline.apps.cli.options import ConfigOptions
from foldline.apps.cli.stores import file_of, with_store
from foldline.apps.cli.terminal import error_console, output_console
from foldline.errors import ModelError, ThreadConflictError, ToolDecisionError, UsageError
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


__all__ = ["chat"]


@takes_chat
def chat(options: ChatOptions, flags: ConfigOptions) -> None:
    """
    Talk with a model; the conversation is kept in a store, and folded when it grows.

    On a terminal it asks for one line after the other, and /help lists what else can be typed:
    /history, /summary, /fold, /undo, /rewind, /fork and /quit. With --message, or with text piped
    into it, it says that, prints the answer and exits; what is not the answer (tools, folds, usage)
    goes to the standard error then.

    Everything is stored before anybody acts on it. Ctrl-C in the middle of an answer stops the
    turn; an empty line goes on with it, and anything else leaves it. What a crash has interrupted is
    found at the next start, and taken up in the same way. Ctrl-C at the prompt leaves with the exit
    code 130, Ctrl-D and /quit with 0.

    With scripted:FILE tools answer what they answered in the recording, the offline digest writes
    the summaries, and an empty line says what the user said there next.
    """
    failure = Failure(options.thread, is_shown=options.json)
    with failure.watched():
        code = _chat(options, flags, failure)
    if code:
        raise typer.Exit(code)


def _chat(options: ChatOptions, flags: ConfigOptions, failure: Failure) -> int:
    message = _message(options)
    speaker = speaker_of(options, flags)
    ThreadKey(options.tenant, options.thread)
    store = structs.replace(options, store=options.store or DEFAULT_STORE)
    # Not once it is open: closing a file takes away all locks that this process has on it.
    place = file_of(store, may_make=True)

    async def _talk(opened: ThreadStore) -> int:
        try:
            thread = await opened.thread(options.thread, tenant=options.tenant)
            return await _run(thread, options, speaker, message, place=place, failure=failure)
        finally:
            await speaker.close()

    return with_store(store, _talk, may_make=True)


def _message(options: ChatOptions) -> str | None:
    """Return what is said once; None where a person is asked."""
    if options.message is None and sys.stdin.isatty():
        if options.json:
            message = "--json is for one message: give --message TEXT, or pipe it"
            raise UsageError(message)
        return None
    given = options.message
    if given is None:
        try:
            given = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"the standard input is no text in UTF-8, at byte {error.start:,}"
            raise UsageError(message) from None
    given = given.strip()
    if not given and not options.resume:
        message = "there is nothing to say: give --message TEXT, or pipe it"
        raise UsageError(message)
    return given


async def _run(
    thread: ConversationThread,
    options: ChatOptions,
    speaker: Speaker,
    message: str | None,
    *,
    place: Path | None,
    failure: Failure,
) -> int:
    console = output_console()
    notes = console if message is None else error_console()
    screen = Screen(console, notes, is_recorded=speaker.is_recorded)
    display: Display = JsonLines() if options.json else screen
    talk = failure.talk = Chat(thread, speaker, display)
    if message is None:
        if options.resume and not talk.has_open_run:
            display.note("there is no interrupted run to go on with")
        return await converse(talk, console, place=place, resumes=options.resume)
    return await _say_once(talk, message, options, failure)


async def _say_once(talk: Chat, message: str, options: ChatOptions, failure: Failure) -> int:
    if options.resume and not talk.has_open_run and not message:
        text = f"thread {talk.thread.id!r} has no interrupted run: give --message TEXT"
        raise UsageError(text)
    try:
        finished = True
        if options.resume and talk.has_open_run:
            talk.display.note(await standing_line(talk.thread))
            finished = await talk.go_on()
        if finished and message:
            finished = await talk.say(message)
    except (ModelError, ThreadConflictError, ToolDecisionError) as error:
        way_on = "--resume goes on with it, and a message leaves it" if talk.has_open_run else ""
        raise advised(error, way_on, is_elsewhere=talk.speaker.has_own_address) from error
    if finished:
        return 0
    way_on = "; what was said is stored, and --resume goes on with it"
    told = f"stopped{way_on if talk.has_open_run else ''}"
    talk.display.note(told)
    failure.tell(STOPPED, told)
    return INTERRUPTED
