"""Writes `docs/errors.md`, what to do about each error, by its code."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from foldline import errors
from foldline.errors import FoldlineError


PAGE = Path(__file__).parent.parent / "docs" / "errors.md"
FRONT = """\
<!-- Made by `make docs` from `foldline.errors` and `tools/errors_page.py`; edit those instead. -->

# When an error is raised

Every error that foldline raises on purpose is a `FoldlineError` with a `code`, which stays the same
in all versions: it is the `error.type` of a span, it is in what `foldline chat --json` prints, and it is
on this page. The message says what to do, in one line, and holds names, ids and sizes, never text of a
conversation or a key.

```python
from foldline import FoldlineError, HistoryReductionConfig

try:
    HistoryReductionConfig(target_count=-1)
except FoldlineError as error:
    print(error.code, "-", error)
```

```output
config_invalid - target_count must be a whole number of at least 1 or None, got -1
```

All of them can be imported from `foldline.errors`. They are of two kinds: after a `UsageError`
something in the call has to change, after an `ExternalError` the same call may work later.
"""
KINDS = ("UsageError", "ExternalError")
ADVICE = {
    "BlockingCallError": (
        "In a coroutine write `await agent.run(…)`, not `agent.run_sync(…)`; or block the loop on "
        "purpose: `call_sync(agent.run, …)`."
    ),
    "CheckpointError": "The message says what is missing. `ThreadCheckpointer.history` lists what is there.",
    "CheckpointStaleError": "Start from the thread itself, or load the moment with `load_at` and fork it.",
    "CommitUnknownError": (
        "`await thread.refresh()`, then look at what is there. If it has a `commit_id`, the same "
        "call with that one may simply be repeated: it is stored once. `may_arrive` is for storages: it "
        "tells a thread to make an empty commit, which keeps a late one out."
    ),
    "ConfigError": "Correct the field that is named; [every field](configuration.md) has its default.",
    "ContextOverflowError": (
        "Enable reduction, or lower `ceiling`, the target or `summary_budget`. The built-in models "
        "raise it and the agent folds by itself; you see it if that did not help."
    ),
    "FormatError": (
        "Correct the message that is named by its index, or pass `format=` if it was taken for "
        "another vendor's."
    ),
    "HistoryTooShortError": "Pass the full history that the reduction was made of.",
    "IntegrityError": "Drop the reduction; the next fold makes a new one.",
    "MessagesNotLoadedError": "`await thread.get_messages()` reads it.",
    "MissingExtraError": "Run the command that the message names.",
    "ModelError": (
        "Resume with `await agent.run(thread=thread)`; all messages are stored. `status` is the "
        "vendor's HTTP status, so 401 means the key and 429 means later. The message has the vendor's "
        "codes and the parameter that it names; its text may quote the conversation, so only the "
        "logger `foldline` has it, at DEBUG."
    ),
    "NewerFormatError": "Upgrade foldline.",
    "RequestTooLargeError": (
        "`parts` has the size of each part: shorten the largest one, which is instructions, tools "
        "or system messages, or raise `ceiling` or the window."
    ),
    "RunStartError": (
        "If a run is open: resume it without a message, or leave `on_open` at `leave`. "
        "If not: pass a message. [How a run starts](agent.md#how-a-run-starts)."
    ),
    "ServiceThreadLostError": "Nothing: the agent sends the whole view to a new conversation there.",
    "StoreBusyError": "Repeat the call after a moment; nothing was written.",
    "StoreCorruptError": "`foldline verify` names what is damaged; [what then](operations.md#damage).",
    "StoreError": (
        "The message names the cause. Nothing of the call is stored, so it can be repeated once "
        "the store is back; `foldline doctor` looks at the store's surroundings."
    ),
    "StoreKeyError": "Open the store with the key that it was written with; [keys](operations.md#keys).",
    "StoreVersionError": "Upgrade foldline in this program; [upgrades](operations.md#upgrades).",
    "SummarizerError": (
        "You raise it in a summarizer of your own. It fails no turn: the next summarizer or the "
        "digest writes, and the event says so."
    ),
    "ThreadConflictError": (
        "`await thread.refresh()`, then decide again. "
        "`thread.retry` does that in a loop, `append` needs no decision."
    ),
    "ThreadExistsError": "Choose another id, or delete the thread.",
    "ThreadIdError": (
        "Use 1 to 200 letters, digits and `. _ : -`; for any other text give "
        "`ThreadKey.named(text)` in place of an id."
    ),
    "ThreadNotFoundError": "Check id and tenant; the thread may have expired or been deleted.",
    "ToolDecisionError": (
        "Find out what the call has done, then `await thread.answer_tool(call_id, text)` for each "
        "of `call_ids`, and resume."
    ),
    "TurnIdError": (
        "Give each message an id of its own, and the same message the same id. "
        "[Each turn once](agent.md#each-turn-once)."
    ),
    "TurnFailedError": "Look at `reason` and at the log of the worker, then post the turn again.",
    "TurnPendingError": "Wait again, or show that it takes longer: the turn goes on.",
    "TurnRunningError": "Try again later, or leave `on_conflict` at `wait`.",
    "TurnStoppedError": (
        "If `thread.has_open_run`: resume with `await agent.run(thread=thread)`. If not: what was"
        " streamed is stored as the answer, and the next message goes on from there."
    ),
    "UnknownFormatError": "Name the format with `format=`; `foldline formats` lists them.",
    "ViewGivenError": "Keep your own list, append to that, and send `reduced.messages`.",
}


def page() -> str:
    """Return the page, in Markdown."""
    given = {name for name in vars(errors) if name.endswith("Error")} - {"FoldlineError", *KINDS}
    assert set(ADVICE) == given, f"ADVICE and foldline.errors differ in {set(ADVICE) ^ given}"
    return "\n".join([FRONT, *(line for kind in map(_named, KINDS) for line in _part(kind))])


def _part(root: type[FoldlineError]) -> Iterator[str]:
    family = [kind for kind in map(_named, ADVICE) if issubclass(kind, root)]
    yield f"## `{root.code}`\n"
    yield f"`{root.__name__}`: {root.__doc__}\n"
    for kind in sorted(family, key=lambda one: one.code):
        meaning = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        carries = ", ".join(f"`{name}`" for name in _attributes(kind))
        has = f" It has {carries}." if carries else ""
        yield f"### `{kind.code}`\n"
        yield _wrapped(f"`{kind.__name__}`: {meaning}{has}")
        yield _wrapped(f"**To do:** {ADVICE[kind.__name__]}")


def _wrapped(text: str) -> str:
    return f"{textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)}\n"


def _named(name: str) -> type[FoldlineError]:
    kind: type[FoldlineError] = getattr(errors, name)
    return kind


def _attributes(kind: type[FoldlineError]) -> list[str]:
    """Return the names that `__init__` of *kind* sets."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    return [
        target.attr
        for node in ast.walk(body)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    ]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
