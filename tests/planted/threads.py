"""Bugs of the threads room."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
threads/checkpointer.py: threads/test_checkpointer.py
pruning needs nothing of the kept moments
- keeps=sorted(keeps)
+ keeps=[]

threads/cipher.py: threads/test_cipher.py
a document is taken at any place
- if stored[:_HEADER] != _PLAIN + sha256(checked).digest()[:_CHECK_SIZE]:
+ if not stored.startswith(_PLAIN):

threads/commit.py: threads/crashes/test_errors.py
an unknown outcome is taken for success
-             await _settle(context, planned, error, adopt)
-         except asyncio
+             pass
+         except asyncio
a lost commit is taken for a made one
- if record is not None and planned.change.id in record.head.recent:
+ if record is not None:

threads/commit.py: threads/crashes/test_kills.py::test_kills_break_no_promise
an intent is stored behind the call
- if run.call_id not in settled:
+ if run.is_finished and run.call_id not in settled:
a state is of the history before its commit
- CurrentMessages(head.count, head.digest)
+ CurrentMessages(record.head.count, record.head.digest)

threads/commit.py: threads/test_archived.py
a reduction stays behind a younger one that goes
-         if is_kept(number, fold - 1) and not is_kept(number, fold):
+         if age == FOLD_STRIDE and not is_kept(number, fold):

threads/change.py: threads/test_arguments.py
a reduction is stored that is read as another one
- .from_json(alone.to_json()) == alone:
+ .from_json(alone.to_json()):

threads/commit.py: threads/test_arguments.py
a commit takes a number that no snapshot may hold
-                 execution.validate_consistency(head.count)
+                 pass

threads/commit.py: threads/test_due.py
a saved fold leaves one due
- mark = mark.based(change.fold_base or FoldBase())
+ pass
a fold becomes due with each commit
- return head if mark == (known or USUAL_MARK) else replace(head, due=mark)
+ return head if mark.since is None else replace(head, due=replace(mark, since=head.last_activity))

threads/head.py: threads/test_due.py
a view is taken to hide nothing
- self.tokens + self.system_tokens - mark.hidden > view
+ self.tokens + self.system_tokens > view

threads/search.py: threads/test_search_threads.py
a page begins again in the middle of a thread
- place = (thread.id, found[-1].match.number)
+ place = (thread.id, 0)

threads/commit.py: threads/test_checkpointer.py
pruning counts as activity
- is_upkeep = change.keeps is not None or (
+ is_upkeep = (

threads/head.py: threads/test_pins.py
a pin counts system messages
- pins = (*pins, position)
+ pins = (*pins, count)

threads/original.py: threads/test_original.py
a tool of the original runs a second time
- waiting.update((call.id, call.name) for call in message.tool_calls)
+ waiting.clear()
a message in an unknown shape is empty
-         raise FormatError(f"not a snapshot of a thread: message {index} must have {wanted}")
-     blocks
+         contents = []
+     blocks

threads/reader.py: threads/test_pins.py
a fork pins what it does not have
- pins=tuple([index for index in self._head.pins if index < seq - len(system)]),
+ pins=self._head.pins,

threads/start.py: threads/test_pins.py
an edit pins what was unpinned
- return base, replace(change, pins=pins)
+ return base, change

threads/reader.py: threads/test_window.py
a reminder is the last that the user said
-                 if known.message.is_from_user:
+                 if known.message.role == "user":

threads/read_only.py: threads/test_pins.py
a window has the pins before its cut only
- for index in pinned]) if pinned else ()
+ for index in pinned if index < history.start]) if pinned else ()

threads/commit.py: threads/test_commit.py
a forgotten id is told to be given again
- is_named = planned.change.commit_id is not None and not is_forgotten
+ is_named = planned.change.commit_id is not None
a commit cancelled in the second look is taken for made
-         raise cancelled from error
+         raise
an empty commit leaves its object behind
-         adopt(fence.record, None)

threads/commit.py: threads/test_restore.py
an earlier answer settles a call that takes its id again
-         answered -= begun.intersection(call.id for call in message.tool_calls)
a restore settles calls by earlier answers
-     if not record.head.revision:
+     if not change:

threads/commit.py: threads/test_thread.py::test_tool_runs_are_kept_in_order_until_they_are_answered
answered calls are remembered for ever
- if run.call_id in settled:
+ if not run.call_id:

threads/commit.py: threads/test_two_loops.py
a thread object blocks in a second event loop
- if self._users and self._loop is not None and not self._loop.is_closed():
+ if self._users is None:
a task that gave up waiting keeps other loops out
-         except asyncio.CancelledError:
-             with self._guard:
-                 self._users -= 1
-             raise
+         except asyncio.CancelledError:
+             raise

threads/head.py: threads/test_fork.py
a rewound thread forgets who wrote its rows
- (*(one for one in runs or () if one[0] < self.count), (self.count, epoch))
+ ((0, epoch),)

threads/head.py: threads/test_head.py
an epoch keeps the origin of rows that it replaces
- if one[0] < self.count), (self.count, epoch))
+ if one[0] <= self.count), (self.count, epoch))
a newer head is read as one of today
- if found > HEAD_FORMAT:
+ if found < 0:

threads/head.py: threads/test_thread.py::test_undoing_gives_the_archived_messages_back
undoing leaves messages archived
- archived = archives[-1][1] if archives else 0
+ archived = self.archived

threads/read_only.py: threads/test_moments.py
a moment shows a reduction of what came behind it
- known = await fitting_reductions(self._reader(), known)
+ pass

threads/read_only.py: threads/test_read_only.py
a thread that was made again is taken for the old one, damaged
- head.epoch == seen.epoch
+ head.revision == seen.revision
the run of an earlier moment is restored as an open one
- if self._seen is not None and state
+ if state is None and state

threads/reader.py: threads/test_damage.py
a search checks no seal
- bad = check_chain(rows, before, self._head.runs)
+ bad = check_chain(rows[:0], None)

threads/reader.py: threads/test_window.py::test_a_moved_system_flag_is_found
a digest is read at a wrong place
- if known.counts.position != position:
+ if False:

threads/reader.py: threads/test_window.py::test_another_last_row_is_refused
the last row is not compared with the head
- if stop == self._head.count and rows and rows[-1].seal != self._head.seal:
+ if False:

threads/rescue.py: threads/test_verify.py
a rescue believes a row that does not fit
- is_damaged = bool(before) and is_proven and not is_right
+ is_damaged = False

threads/recent.py: threads/test_recent.py
a row is known by its number alone
- or rows[: len(same)] != same:
+ or not same:
a row is known for any origin
- if checked.runs == runs else []
+ if checked.runs or True else []
two callers share a window
- return checked.window[2].copy()
+ return checked.window[2]
two callers share the metadata of a message
- return any(one.metadata is not None for one in messages)
+ return False
a document is known by its name alone
- if known is not None and known[0] == stored:
+ if known is not None and known[0][0] == stored[0]:
a document is known by its bytes alone
- if known is not None and known[0] == stored:
+ if known is not None and known[0][1] == stored[1]:
a document of any size is remembered
- is_fixed and len(stored[1]) <= MOST_BYTES:
+ is_fixed:
every thread is remembered
- self._threads.clear()
+ pass

threads/row.py: threads/test_row.py
a seal without its origin
- return sha256(before + origin + seq
+ return sha256(before + seq
a seal without the one before
- return sha256(before + origin + seq
+ return sha256(origin + seq

threads/row.py: threads/test_damage.py
messages are read past a broken chain
- if data[:_HEADER] != origin + before:
+ if not data:

threads/row.py: threads/test_row.py::test_a_row_of_another_origin_is_found
rows of another origin are taken
- if not data.startswith(origin):
+ if not data:

threads/snapshot.py: threads/stores/test_recordings.py::test_a_new_reduction_of_old_rows_is_moved
a snapshot has digests that continue those of version 1
-         reduction = msgspec.structs.replace(reduction, message_hash=known)
+         pass

threads/start.py: threads/test_shortening.py
a replace appends behind what differs
- if same == count:
+ if True:

threads/key.py: threads/test_key.py
a text that looks like a hashed id is its own id
- if _ALLOWED.fullmatch(text) and not _MADE.fullmatch(text.rpartition(":")[2]):
+ if _ALLOWED.fullmatch(text):

threads/start.py: threads/test_archived.py
what a dropped fold archived stays archived
-     head = head.with_folds({int(one.name): one.reach for one in kept})

threads/start.py: threads/test_decisions.py
a rewind keeps the open run
- drop=[*_RUN_KINDS, *(("reduction", one.name) for one in gone)],
+ drop=[("reduction", one.name) for one in gone],

threads/start.py: threads/test_expiry.py
an expired thread is found
- return expires_at is not None and expires_at <= context.clock()
+ return False

threads/start.py: threads/test_fork.py
a fork takes over a summary of other messages
- kept = await fitting_reductions(reader, [one for one in known if one.reach <= at])
+ kept = [one for one in known if one.reach <= at]

threads/start.py: threads/test_restore.py
an overtaken run is restored as an open one
-     if expected == count:
+     if expected <= count:
a restored thread continues at the vendor
- state.with_service(None), conversation_id
+ state, conversation_id

threads/start.py: threads/test_fork.py::test_a_fork_of_an_older_view_has_what_was_folded_since
a fork has no reductions
-             for one in kept
-         ],
+             for one in kept[:0]
+         ],

threads/start.py: threads/test_shortening.py::test_a_rewind_counts_messages_of_any_role
a rewind keeps reductions behind its cut
- [one for one in known if one.reach > head.length]
+ []

threads/store.py: threads/test_paging.py
a listing that repeats never ends
- if stored.key.id <= after:
+ if stored.key.id < after:

threads/thread.py: threads/test_thread.py::test_a_list_of_rows_of_an_earlier_version_can_be_reduced
a list of rows of an earlier version can never be reduced
- if index > len(said) or not reduction.validate_integrity(said):
+ if True:

threads/thread.py: threads/test_commit.py
each attempt of an append is another commit
- messages=given, source="input", commit_id=name)
+ messages=given, source="input")

threads/thread.py: threads/test_decisions.py
a commit ignores the revision that it was decided on
- if change.expected is not None and change.expected != head.revision:
+ if change.expected == -1:

threads/thread.py: threads/test_expiry.py::test_nothing_is_written_to_an_expired_thread
an expired thread is written to
-         if is_expired(self.context, self._record):
+         if False:

threads/thread.py: threads/test_gone_threads.py
what was said to a deleted thread enters the new one of its name
- if created_at not in {None, record.head.created_at}:
+ if False:
an attempt continues on the thread that was made again
- await self._reload(created_at=created_at)
+ await self._reload()

threads/thread.py: threads/test_thread.py
a conflict is not tried again
- if self.head.revision == revision or attempt == _ATTEMPTS:
+ if self.head.revision >= revision:

threads/thread.py: threads/test_thread.py::test_a_commit_is_made_once
a commit that is sent again is made again
- if change.commit_id is not None and change.commit_id in head.recent:
+ if change.commit_id == b'':

threads/thread.py: threads/test_thread.py::test_a_reduction_of_an_earlier_epoch_is_refused
a background fold lands after a rewind
- is_same = self.head.epoch == began and
+ is_same = True and

threads/thread.py: threads/test_thread.py::test_a_reduction_of_other_messages_is_refused
a reduction of other messages is stored
- if index and not same_hash(known, reduction.message_hash):
+ if index < 0:

threads/thread.py: threads/test_thread.py::test_a_reduction_decided_before_another_is_refused
a background fold replaces a reduction that it did not know
- began and newest == known
+ began
reductions are compared by number alone
- newest = self._record.reduction_name, self._record.reduction
+ newest = self._record.reduction_name, known[1]

threads/verify.py: threads/test_verify.py::test_a_row_after_the_last_is_named
a row after the end is not noticed
- if await self._rows(head.epoch, head.count, head.count + 1):
+ if False:

threads/commit.py: threads/test_latest.py
a fold at night is activity
- or (is_fold and not change.messages)
+ or False

threads/cipher.py: threads/test_encryption.py
a message of an old key is not read
-         for cipher in self._ciphers:
+         for cipher in self._ciphers[:1]:
""")
