"""Bugs of the loop of the agent."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
agent/progress.py: agent/test_cut_prompt.py
a window that was learned under another setting holds
- known is not None and known.configured == config.context_window_size
+ True

providers/summarizer.py: providers/test_model_summarizer.py
a summary of the end alone is taken
- if window is not None:
+ if False:

agent/request.py: agent/test_cut_prompt.py
a count of less than half makes room
- if self.reported * 2 < estimated and
+ if False and
what a proxy has not counted from a cache is forgotten
- return total + cached if cached > total else total
+ return total

providers/cut_prompt.py: agent/test_cut_prompt.py
a vendor that refuses what is too long is taken for one that cuts it
- if _REFUSES(name) or not
+ if not
a vendor with a name of its own is taken for a server of one's own
- or not (is_own(name) or ":" not in name):
+ :
another vocabulary is taken for a cut prompt
- if read * 2 >= estimated or
+ if read * 1.6 >= estimated or
tools that a proxy has not counted are taken for what was cut
- (read * 2 < estimated and not is_half)
+ False
thoughts that a template leaves out are taken for what was cut
- total += counter.count(unannounced(text))
+ total += counter.count(text)
what a proxy has not counted is taken for what was cut
- max(_LEAST, usage.cache_read_tokens + usage.cache_write_tokens):
+ _LEAST:
the half that was read is taken for the window
- (read - _BESIDES) * 2 if is_half else read)
+ read)
what was not in a cache is taken for all that was read
- abs(read - fresh) <= fresh * _OFF:
+ False:
a window that took more before is taken for a smaller one
- or read * 2 < taken:
+ :

agent/turn.py: agent/test_cut_prompt.py
a stream that is left keeps the words of a void answer
- elif isinstance(event, RequestSentEvent):
+ elif False:

providers/vendors/vendor_model.py: providers/vendors/test_turns.py
what one refusal has taught makes the next one final
- if refused <= before:
+ if refused <= self.refused:
a refusal of two messages in a row is final
- if refuses_turns(error) and self._takes_turns:
+ if False:

providers/vendors/turns.py: providers/vendors/test_turns.py
a user speaks twice around a call
- if role == "user" and spoke == "user":
+ if False:
it is lost whose words are merged
- if not is_one_name and "name" in one:
+ if False:

agent/asking.py: agent/test_cut_prompt.py
the tokens of an answer that is void are not counted
- self.void.append(self.response.usage)
+ pass
a cut prompt is not asked again
- if cut is not None:
+ if False:
a window that the instructions alone fill ends every later turn
- structs.replace(self._progress.state, learned=known)
+ self._progress.state

agent/reducer.py: agent/test_by_hand.py
one large message is refused again
- if isinstance(call.overrides, AfterRefusal) and not verdict.folds:
+ if False:

agent/reduced.py: agent/test_by_hand.py
what cannot be shortened after a refusal is not sent
- if requested > budget.ceiling and verdict
+ if requested > call.aim.limit and verdict

agent/folding.py: agent/test_by_hand.py
a fold after a refusal keeps one large message whole
- history, budget, given = call.items.history, call.aim, means.given
+ history, budget, given = call.items.history, call.budget, means.given

agent/asking.py: agent/crashes/test_handles.py::test_a_fold_in_the_background_hides_nobody
a model is asked where its turn has lost the thread
-             self._progress.check()

agent/asking.py: agent/crashes/test_kills.py::test_an_end_breaks_no_promise
a fold is stored behind the call of the model
-             if fold is not None:
-                 learned = UNSET if refusal is None else self._progress.state
-                 await self._keep(fold, reduced.termination_reason, learned)
-                 if not self._progress.state.is_open:
-                     return
-             elif refusal is not None:
-                 raise refusal
-             # A background fold may have loaded messages of another writer.
-             self._progress.check()
-             try:
-                 await self._ask(window.history, reduced)
+             if fold is not None and reduced.termination_reason is not None:
+                 await self._keep(fold, reduced.termination_reason, UNSET)
+                 return
+             try:
+                 await self._ask(window.history, reduced)
+                 if fold is not None:
+                     await self._keep(fold, None, UNSET)

agent/admission.py: agent/once/test_turn_ids.py::test_a_known_turn_is_not_run_again
a known turn id runs again
-         known = await self._thread.stored_turn(self._turn_id)
-         if known is not None and not known.is_finished and not self._has_seen(known):
+         known = None
+         if known is not None and not known.is_finished and not self._has_seen(known):

agent/admission.py: agent/once/test_turn_ids.py::test_a_turn_that_was_left_is_run_again
a turn that was left is answered with nothing
-         if known is not None and await was_left(self._thread, known):
+         if False:

agent/admission.py: agent/once/test_turn_ids.py::test_an_id_alone_needs_a_message
an id alone answers an answer
-         if not await is_passed(thread, turn):
+         if True:

agent/admission.py: agent/once/test_turn_ids.py::test_one_answer_serves_two_ids
the answer to a message is not found by its id
-         self._result = None if turn.origin else await turn_that_answered(thread, turn.id)
+         self._result = None

agent/admission.py: agent/once/test_turn_ids.py::test_an_open_run_without_an_id_is_finished_first
an earlier run is finished under the id of a later message
- self._turn if self._is_last else None
+ self._turn

agent/admission.py: conversation/once/test_other_turns.py::test_a_message_is_stored_after_the_one_that_is_finished_first
a message begins while an earlier one is finished
- self._turn if self._is_last else None
+ self._turn

agent/admission.py: conversation/once/test_other_turns.py::test_who_was_taken_over_gets_the_answer
a conversation that was taken over does not look for the answer
- if self._has_begun and not await self._is_elsewhere():
+ if self._has_begun:

conversation/sending.py: conversation/once/test_other_turns.py::test_who_waits_gets_the_answer_of_the_last_agent
a message has ended when its first agent has
-             turn = structs.replace(turn, goes_on=True)
+             pass

agent/turn.py: conversation/once/test_other_turns.py::test_a_closed_tab_keeps_its_own_answer
what an agent of several ends is not noted
-         turn_id = self._hold.outer_turn_id if resumed is None else resumed.turn_id
+         turn_id = "" if resumed is None else resumed.turn_id

agent/admission.py: agent/once/test_leases.py::test_another_message_waits_for_its_turn
a second worker pays for a model call before it waits
-             return thread.is_in_turn or thread.lease is not None or not is_first
+             return thread.is_in_turn or not is_first

agent/admission.py: agent/once/test_leases.py::test_a_lease_without_a_run_counts
a plain turn does not look for a lease
-         is_free = thread.lease is None and not thread.has_open_run
+         is_free = not thread.has_open_run

agent/admission.py: agent/once/test_lines.py::test_who_comes_late_does_not_push_in
who waits does not look who is before him
-             is_first = self._place is None or self._place.is_first
+             is_first = True

agent/admission.py: agent/once/test_lines.py::test_a_tool_that_waits_for_its_own_turn_gets_an_error
a wait has no end
-             if left <= 0:
+             if left is None:

agent/progress.py: agent/once/test_leases.py::test_a_worker_that_was_taken_over_writes_nothing
a turn is taken over without a fence
-         is_lost = lease is not None and lease.holder != self.hold.lease.holder
+         is_lost = False

agent/turn.py: agent/once/test_leases.py::test_a_worker_that_was_taken_over_writes_nothing
who resumes a turn does not take it
-         await at.commit(Change(messages=given, execution=at.state, source="input"))
+         if resumed is None:
+             await at.commit(Change(messages=given, execution=at.state, source="input"))

agent/turn.py: agent/once/test_partial.py::test_a_closed_tab_leaves_what_it_has_read
what a reader has seen is lost when he leaves
-             await self._keep_partial()
-             raise
+             raise

agent/hold.py: agent/once/test_renewals.py::test_a_slow_model_keeps_its_lease
a lease runs out while a model is slow
-             self._beat = asyncio.create_task(self._renew(pause))
+             pass

agent/hold.py: agent/once/test_renewals.py
a lease that has run out is not taken again
-                     await self._thread.commit(again)
+                     pass
a lease that has run out is taken from others
- again = Change(lease=self.lease, expected=self._revision)
+ again = Change(lease=self.lease)

agent/admission.py: agent/once/test_leases.py::test_who_took_over_may_end_while_it_is_looked_for
a turn that ends while it is looked for is not found
- # If it ended after the refresh, its messages are newer than the object of the thread.
-             await self._thread.refresh()
+ # If it ended after the refresh, its messages are newer than the object of the thread.

agent/admission.py: agent/once/test_leases.py::test_a_second_message_may_be_refused
who has not heard of a turn gets another error
- if Hold.around(self._thread) is not None:
+ if conflict:

agent/hold.py: agent/once/test_leases.py::test_a_failed_turn_is_free_at_once
a turn that fails keeps its lease
-         if self._outer is None and self.is_taken:
+         if self._outer is None and not self.is_taken:

agent/bounded.py: agent/test_cancellation.py::test_a_cancelled_turn_is_resumed
a cancelled turn leaves its tool behind
-     except asyncio.CancelledError:
-         task.cancel()
+     except asyncio.CancelledError:

agent/event_stream.py: agent/test_cancellation.py::test_a_cancelled_turn_is_resumed
a second cancellation leaves tools behind
-     while not all(one.done() for one in work):
-         try:
+     if not all(one.done() for one in work):
+         try:

agent/event_stream.py: agent/test_cancellation.py::test_a_stream_is_closed_while_somebody_reads_it
a stream is closed behind its reader
-         if self._state.work is not None:
-             await ended([self._state.work])

agent/event_stream.py: agent/test_cancellation.py::test_a_stream_is_left
a stream that is left does not wait for its turn
-         await ended([work])
+         work.cancel()

agent/model_call.py: agent/test_service_history.py::test_rewritten_call_ids_end_the_tracking
a vendor gets results of calls that it does not know
-             service = service if own is one else None
+             pass

agent/progress.py: agent/crashes/test_handles.py::test_a_turn_goes_on_where_somebody_notes_something
every conflict ends the turn
- await self.thread.retry(_decide)
+ await self.thread.commit(_decide(self.thread))

agent/progress.py: agent/crashes/test_handles.py::test_two_do_not_go_on_with_one_run
a conflict is tried again blindly
-             self.check()
-             decided
+             decided

agent/progress.py: agent/test_turn.py::test_a_message_through_the_same_object_ends_the_turn
a step overtakes what is being stored through the same object
-             change, expected=expected, lease=lease, turn=turn, fold_rule=self._rule
+             change, lease=lease, turn=turn, fold_rule=self._rule

agent/tool_batch.py: agent/crashes/test_handles.py
a handle that has lost writes to a run that goes on
- if state is None or len(state.current_messages) == thread.count or not runs:
+ if state is None or not runs:

agent/tool_batch.py: agent/crashes/test_kills.py::test_an_end_breaks_no_promise
the intent of a later tool is stored with its result
- intents = [] if following.is_stored else [following.run]
+ intents = []
results of parallel tools are stored in the end
-         if self._waiting:
+         if False:
an interrupted tool runs again
- (job.tool is None or job.run.policy == "at_most_once")
+ job.tool is None
an interrupted tool runs again without a decision
- if job.is_stored and job.run.policy == "manual" and job.run.result is None
+ if False
a stored result is not used
-         if job.run.result is not None:
+         if job.run.result is not None and job.run.is_error:
a tool that runs again gets another key
- idempotency_key=job.run.key,
+ idempotency_key=f"{job.run.key}{job.attempt}",

agent/tool_batch.py: agent/crashes/test_kills.py::test_the_same_call_has_another_key_in_each_iteration
the key does not name the iteration
- run_id = f"{state.run_id}:{state.iteration}"
+ run_id = state.run_id

agent/tool_batch.py: agent/test_cancellation.py::test_a_cancelled_turn_is_resumed
tools are not waited for when a turn is cancelled
-             await ended([*tasks])
+             [task.cancel() for task in tasks]

agent/tool_batch.py: agent/test_interrupted_tools.py
a result that nobody waits for is stored all the same
- if state is None or len(state.current_messages) == thread.count or not runs:
+ if state is None or len(state.current_messages) == thread.count:

agent/turn.py: agent/crashes/test_kills.py::test_an_end_breaks_no_promise
a response is stored without its intents
- await self._at.commit(Change(messages=said, execution=state, tools=batch.intents()))
+ batch.intents()
+         await self._at.commit(Change(messages=said, execution=state))
answers are stored before their state
-             await self._at.commit(change)
+             await self._at.commit(Change(messages=change.messages))
+             await self._at.commit(Change(execution=change.execution))
a turn goes on without what it has said
- at.messages = await thread.get_messages(last=thread.count - resumed.turn_start)
+ at.messages = []
an earlier answer is taken for a later one
-         elif calls or message.role
+         elif message.role

agent/turn.py: agent/test_interrupted_tools.py
what tools have done is lost where somebody speaks
-                 await batch.keep(conflict)
+                 pass

threads/thread.py: agent/test_cancellation.py::test_a_cancelled_turn_is_resumed
a cancelled turn keeps its thread
-         finally:
-             if self._turn_loop is loop:
-                 self._turn_loop = None
+         except Exception:
+             self._turn_loop = None
+             raise
+         else:
+             self._turn_loop = None

agent/tool_batch.py: agent/test_interrupted_tools.py
a tool that a deploy has removed is said to be unknown
- if job.is_stored and (job.tool is None or job.run.policy == "at_most_once"):
+ if job.is_stored and job.run.policy == "at_most_once":

agent/unanswered.py: agent/once/test_turn_ids.py
a left turn answers a later question
- any(map(is_answer, since)) or (
+ (
""")
