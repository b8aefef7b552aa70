"""Bugs of the command, of what tests are given, and of guests."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
apps/cli/chat/screen.py: apps/test_chat_typed.py::test_nothing_steers_the_terminal
a streamed answer steers the terminal
- console.out("\n".join(map(clean, text.split("\n"))), end="", highlight=False)
+ console.out(text, end="", highlight=False)

apps/cli/chat/flow.py: apps/test_chat_flow.py
an answer in Markdown steers the terminal
- self._rest += "\n".join(map(clean, text.split("\n")))
+ self._rest += text
a block of code ends at its first blank line
- if is_blank and not fence and not line[0].isspace():
+ if is_blank and not line[0].isspace():

apps/cli/streaming.py: apps/test_streaming.py
a reduction of another log is taken over
- return found is not None and given is not None and found.is_like(given)
+ return True
what was folded away stays in memory
- history = history.after(cut) if cut > history.start else history
+ pass

apps/cli/chat/screen.py: apps/test_terminal.py::test_no_printed_text_steers_the_terminal
a note of a turn steers the terminal
- Text(clean(text), style=style)
+ Text(text, style=style)

apps/cli/chat/session.py: apps/test_chat_typed.py::test_nothing_steers_the_terminal
a summary in a chat steers the terminal
- clean(reduction.summary_content) or
+ reduction.summary_content or

apps/cli/terminal.py: apps/test_terminal.py::test_no_printed_text_steers_the_terminal
a printed line steers the terminal
- Text(clean(text), style=style)
+ Text(text, style=style)
a note on the standard error steers the terminal
- f"note: {clean(text)}"
+ f"note: {text}"

apps/cli/viewing.py: apps/test_terminal.py::test_no_printed_text_steers_the_terminal
a summary in a view steers the terminal
- return clean(text)
+ return text

apps/cli/threads_files.py: apps/test_threads_files.py
an answer that was being written stays cut off
- await thread.replace(snapshot.messages)
+ pass
any newest message is taken for one that was being written
- return now.role == stored.role and now.parts[: len(stored.parts)] == stored.parts
+ return True

apps/cli/threads_fold.py: apps/test_threads_fold.py
a fold from the command line is lost on the agent
- reducer.config_fingerprint = last.config_fingerprint
+ pass

testing/prefix_watch.py: testing/test_prefix_watch.py
the fixture forgets the tools of a request
- _FRONT = ("model", "tools", "tool_choice", "system", "instructions")
+ _FRONT = ("model", "tool_choice", "system", "instructions")
an announcement is good for ever
- cause = self._causes.pop(conversation, None) or self._causes.pop("", None)
+ cause = self._causes.get(conversation) or self._causes.get("")
a fold explains a request of another conversation
- cause = self._causes.pop(conversation, None) or self._causes.pop("", None)
+ cause = self._causes.popitem() if self._causes else None
the fold of an agent explains the requests of every thread
- yield partial(self.hear, conversation=thread_id)
+ yield self.hear
a breakpoint is taken for a change
- if name not in _MARKS
+ if name

guests/refusals.py: guests/test_refusals.py
a stream that is left stays open
- if isinstance(pieces, AsyncGenerator):
+ if False:
what opens a stream is taken for its answer
- not in openings
+ is not None
a view after a refusal does not go on from the fold before it
- facts.get("state") and self._state
+ facts.get("state")
a reducer without a state forgets what was folded after a refusal
- facts.get("state") and self._state
+ self._state

guests/answers.py: guests/test_answers.py
a link of another series is taken
- if not links or _name(text) == name:
+ if text:
all answers are read for one reduction
- self._links if len(self._links) < _MOST else []
+ self._links

guests/view.py: guests/test_view.py
what the guest tells of the window is not heard
- self._of_window(window) if window else self.reducer
+ self.reducer

agent/reducer.py: guests/test_view.py
what the guest tells counts before what the reducer knows
- made.window = self.window or window
+ made.window = window
""")
