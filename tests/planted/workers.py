"""Bugs of workers."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
workers/queue.py: workers/test_takeover.py::test_one_sweeps_at_a_time
two workers sweep at once
-         if await found.fetchone() != (True,):
+         if await found.fetchone() is None:

workers/queue.py: workers/test_takeover.py::test_a_job_that_got_lost_on_the_way_is_given_back
a job whose delivery was lost stays with a worker that lives
-             self._may_have_lost = True
+             self._may_have_lost = False

workers/news.py: workers/test_news.py::test_closing_ends_the_listening
a program that is woken while it closes its workers goes on listening
-         while listening is not None and not listening.done():
+         if listening is not None:

workers/workers.py: workers/test_takeover.py::test_a_dead_worker_is_followed_by_another
nobody takes over from the dead
-                     await self.sweep()
+                     pass

workers/tasks.py: workers/test_workers.py::test_a_mistake_is_given_up
nobody is told that a turn was given up
-             if is_last and give_up is not None:
+             if not is_last and give_up is not None:

workers/queue.py: workers/test_takeover.py::test_a_worker_that_stops_tells_no_longer
a worker that stops waits for a server without an end
-             elif was_stopped:
+             elif was_stopped is None:

workers/workers.py: workers/test_takeover.py::test_a_worker_starts_again_where_another_part_fails
a worker whose periodic task cannot be queued ends as if it were told to
-         return not stopped.is_set()
+         return False

workers/queue.py: workers/test_workers.py::test_a_queue_is_drained_to_its_last_turn
a worker that drains a queue ends while a turn runs that others wait for
-             is_idle = not self._mine
+             is_idle = True

workers/tasks.py: workers/test_workers.py::test_the_tasks_join_an_app
each look for dead workers leaves a row in the table
-         self._swept = [context.job.id or 0]
+         self._swept = []

workers/turns.py: workers/test_turns.py::test_a_turn_may_end_while_its_post_is_read
a second worker fails at the moment in which the first ends
-     except ThreadNotFoundError:
-         return None
+     except TurnIdError:
+         return None

workers/post.py: workers/test_turns.py::test_the_same_id_with_another_message_is_refused
a turn is posted with two messages
-         if list(map(message_digest, kept)) != list(map(message_digest, messages)):
+         if len(kept) != len(messages):

workers/turns.py: workers/test_turns.py::test_a_turn_that_was_left_can_be_posted_again
who posts a turn again is told why it had failed
-     if turn is not None and turn.is_finished and not await was_left(thread, turn):
+     if turn is not None and turn.is_finished:

agent/turn.py: workers/test_turns.py::test_a_worker_that_stops_leaves_no_half_answer
a worker that stops ends its turns in the middle
-         if text and self.keeps_partial and self._at.is_current and self._at.state.is_open:
+         if text and self._at.is_current and self._at.state.is_open:

workers/retries.py: workers/test_retries.py
a request that is too large is sent eight times
-     if isinstance(error, _LASTING):
+     if isinstance(error, StoreKeyError):
""")
