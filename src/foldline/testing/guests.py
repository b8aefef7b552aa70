"""Whether the codec of a framework's messages keeps the promises of `GuestCodec`."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from foldline.agent.blocks import held_by
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.guests.codec import GuestCodec
from foldline.guests.view import GuestView, taking_turns
from foldline.history.digest import EMPTY_DIGEST, chain_digest
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.renderings.sending import summary_text
from foldline.history.formats.wire import listed_blocks
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.repair import NO_RESPONSE
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.grammars import Rule, Violation, check_anthropic, check_openai_chat
from foldline.testing.report import Check, CheckOutcome, CheckResult, ConformanceReport
from foldline.testing.storage.check import expect


_Object = TypeVar("_Object")

_SUMMARY = Message(
    role="assistant", parts=(TextPart("They spoke of a plan."),), metadata={SUMMARY_KEY: True}
)

_OF_THE_VIEW = {Rule.FIRST_ROLE, Rule.ORPHAN, Rule.UNANSWERED}


def refusals(view: Iterable[Message]) -> tuple[Violation, ...]:
    """Return why Anthropic or OpenAI would refuse *view*, written as it is; nothing if neither does."""
    said = list(view)
    asked = [item for one in said if one.role != "system" for item in ANTHROPIC.build(one)]
    turns = [
        {"role": role, "content": [block for one in run for block in listed_blocks(one["content"])]}
        for role, run in groupby(asked, key=itemgetter("role"))
    ]
    items = [item for one in said for item in OPENAI_CHAT.build(one)]
    return check_anthropic(None, turns) + check_openai_chat(items)


class GuestCheck(Check, frozen=True, kw_only=True):
    """One promise of a codec."""

    check: Callable[..., bool | None]
    """The function that proves it."""


class GuestConformance(Generic[_Object]):
    """
    The promises of `GuestCodec`, one check for each, to run on a codec of one's own.

    ```python
    report = GuestConformance(MyCodec(), transcript).run()
    assert report.is_conformant, str(report)
    ```

    What is judged is what the objects hold, so give a list with everything that the framework
    knows: each role, parallel calls, results, images, thinking.
    """

    def __init__(self, codec: GuestCodec[_Object], objects: Sequence[_Object]) -> None:
        """
        Check *codec* with a conversation, *objects*.

        Raises:
            ConfigError: There are no objects.
        """
        if not objects:
            raise ConfigError("objects must be a conversation of the framework, got none")
        self.codec = codec
        self.objects = list(objects)

    @staticmethod
    def checks() -> tuple[GuestCheck, ...]:
        """Return every check."""
        return tuple(
            GuestCheck(name=name, fact=(one.__doc__ or "").strip(), check=one)
            for name, one in vars(_Promises).items()
            if not name.startswith("_")
        )

    def run(self) -> ConformanceReport:
        """Run every check and return what each has shown; none of them ends the others."""
        return ConformanceReport(tuple(map(self._result, self.checks())))

    def _result(self, check: GuestCheck) -> CheckResult:
        try:
            kept = self.prove(check)
        except Exception as error:  # noqa: BLE001 - whatever a codec raises is what was shown
            reason = f"{type(error).__name__}: {error}"
            return CheckResult(name=check.name, fact=check.fact, outcome="broken", reason=reason)
        outcome: CheckOutcome = "kept" if kept else "not_applicable"
        return CheckResult(name=check.name, fact=check.fact, outcome=outcome)

    def prove(self, check: GuestCheck) -> bool:
        """
        Run one check; False says that the objects hold nothing that it is about.

        Raises:
            AssertionError: The promise is broken.
            Exception: The codec raised something else.
        """
        # What one check has spoiled must not hide from the next.
        return check.check(_Promises(self.codec, copy.deepcopy(self.objects))) is not False

    def read(self, objects: Iterable[_Object]) -> list[Message]:
        """Return what *objects* say."""
        return [message for one in objects for message in self.codec.read(one)]

    def said(self) -> Iterator[tuple[_Object, Message]]:
        """Yield each message with the object that says it."""
        return ((one, message) for one in self.objects for message in self.codec.read(one))


def _digest(messages: Iterable[Message]) -> str:
    """Return the digest of *messages*, system messages included."""
    return reduce(chain_digest, messages, EMPTY_DIGEST).hex()


def _calls(messages: Iterable[Message]) -> list[tuple[str, str]]:
    calls = [("call", one.id) for message in messages for one in message.tool_calls]
    answers = (one for message in messages for one in message.tool_call_responses)
    return calls + [("result", one.id) for one in answers]


class _Promises(GuestConformance[Any]):
    """The public methods are the checks; what each proves is its docstring."""

    def reading_is_repeatable(self) -> None:
        """An object says the same each time, ids included, and so does an equal one."""
        once = self.read(self.objects)
        expect(self.read(self.objects), once, "what is read again")
        expect(self.read(copy.deepcopy(self.objects)), once, "what is read of equal objects")

    def what_is_read_is_remembered(self) -> None:
        """What the objects hold can be compared, so that they are read once; equal ones hold the same."""
        found = held_by(self.objects)
        expect(found is not None, wanted=True, what="whether the objects can be compared")
        expect(held_by(copy.deepcopy(self.objects)), found, "what equal objects hold")

    def reading_changes_nothing(self) -> None:
        """What is read is as it was."""
        before = held_by(self.objects)
        self.read(self.objects)
        expect(held_by(self.objects), before, "the objects afterwards")

    def a_written_message_reads_the_same(self) -> None:
        """A message that is written, with its source or without, has the same digest and call ids."""
        for source, message in self.said():
            for own in (source, None):
                found = list(self.codec.read(self.codec.write(message, own)))
                expect(_digest(found), _digest([message]), f"the digest of {message.role}")
                expect(_calls(found), _calls([message]), f"the calls of {message.role}")

    def a_written_message_keeps_its_role(self) -> None:
        """A message that is written is of the same speaker."""
        for source, message in self.said():
            roles = [one.role for one in self.codec.read(self.codec.write(message, source))]
            expect(roles, [message.role], "the roles")

    def writing_changes_no_source(self) -> None:
        """What a message was read from is as it was when the message is written."""
        before = held_by(self.objects)
        for source, message in self.said():
            self.codec.write(message, source)
        expect(held_by(self.objects), before, "the objects afterwards")

    def a_part_says_that_part(self) -> bool:
        """A part of an object with several messages says just those, and the object is as it was."""
        before, several = held_by(self.objects), False
        for one in self.objects:
            said = self.codec.read(one)
            for at in range(len(said)) if len(said) > 1 else ():
                several = True
                for which in ([at], [*range(at)], [*range(at, len(said))]):
                    found = self.read([self.codec.part(one, which)] if which else [])
                    wanted = [said[place] for place in which]
                    expect(_digest(found), _digest(wanted), f"the digest of part {which}")
                    expect(_calls(found), _calls(wanted), f"the calls of part {which}")
        expect(held_by(self.objects), before, "the objects afterwards")
        return several

    def a_summary_is_said(self) -> None:
        """A summary is written as text of the assistant, or of another speaker the guest has for it."""
        found = self.read([self.codec.write(_SUMMARY, None)])
        expect("\n".join(one.text for one in found), summary_text(_SUMMARY), "the summary")

    def a_missing_result_is_said(self) -> bool:
        """A result that says that there is none answers its call."""
        calls = [call for message in self.read(self.objects) for call in message.tool_calls]
        for call in calls:
            wanted = Message.tool(call.id, NO_RESPONSE, name=call.name)
            found = self.read([self.codec.write(wanted, None)])
            expect(_digest(found), _digest([wanted]), "the result")
        return bool(calls)

    def a_shortened_result_keeps_its_call(self) -> bool:
        """A result that is shown shortened still answers its call, in the shorter words."""

        def change(part: Part) -> Part:
            if isinstance(part, ToolCallResponsePart):
                return replace(part, response="[cleared]")
            return part

        return self._changes(change)

    def a_call_can_have_another_id(self) -> bool:
        """A call is written under the id of the message, whatever that of its source was."""

        def change(part: Part) -> Part:
            return replace(part, id=f"{part.id}_2") if isinstance(part, ToolCallPart) else part

        return self._changes(change)

    def _changes(self, change: Callable[[Part], Part]) -> bool:
        has_changed = False
        for source, message in self.said():
            parts = tuple(map(change, message.parts))
            if parts != message.parts:
                wanted, has_changed = replace(message, parts=parts), True
                (found,) = self.codec.read(self.codec.write(wanted, source))
                expect(_digest([found]), _digest([wanted]), "the changed message")
                expect(_calls([found]), _calls([wanted]), "its calls")
        return has_changed

    def a_whole_view_is_the_very_objects(self) -> None:
        """Without a reduction each object of a sound conversation is in the view as it is."""
        sound = [one for one in self.objects if not _calls(self.codec.read(one))]
        reducer = HistoryReducer(HistoryReductionConfig(enabled=False))
        view = GuestView(reducer, self.codec).reduce_sync(sound).messages
        expect([id(one) for one in view], [id(one) for one in sound], "the identities")

    def a_view_says_what_ours_says(self) -> None:
        """Wherever a conversation is cut, its view says what that of its messages says, user first."""
        for keep in range(1, len(self.objects) + 1):
            config = HistoryReductionConfig(
                strategy="message_counting",
                counting_unit="messages",
                target_count=keep,
                summarization_threshold=0,
            )
            reducer = HistoryReducer(config)
            found = self.read(GuestView(reducer, self.codec).reduce_sync(self.objects).messages)
            wanted = reducer.reduce_sync(self.read(self.objects)).messages
            expect(_digest(found), _digest(taking_turns(wanted)), f"the view of {keep} messages")
            # What its own objects hold that some vendor refuses is not the view's.
            broken = [one for one in refusals(found) if one.rule in _OF_THE_VIEW]
            expect(broken, [], f"what vendors refuse in the view of {keep} messages")
