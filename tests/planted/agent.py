"""Bugs of the agent room."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
agent/riding.py: agent/test_riding.py
a model of another name rides
- return summarizer.model_name == model
+ return True
a fork goes out where all is redacted
- if not config.use_single_summary or config.redact == "always":
+ if not config.use_single_summary:

providers/summarizer.py: providers/test_model_summarizer.py
what a summary in its own form says before the name of a tag is lost
- .*?</(?:think|thinking|analysis)>[ \t]*+(?=\n|\Z))?
+ .*</(?:think|thinking|analysis)>)?

providers/summarizer.py: agent/test_riding.py
a part of the span rides
- if len(request.messages) != self._span:
+ if False:

agent/asking.py: agent/test_riding.py
the first request of a thread rides
-         if last is None or prices is None or last.at is None or state.service_thread_id:
-             return None
+         if prices is None or state.service_thread_id:
+             return None
+         if last is None or last.at is None:
+             return setup.fixed.front

agent/refold.py: agent/test_refold.py::test_each_thread_is_folded_once
a refold forgets its progress
-         await thread.save_reduction(reduced.state, archive=archives)
+         pass

agent/refold.py: agent/test_refold.py::test_what_a_failing_model_left_to_the_digest_is_not_stored
a refold stores what the digest wrote for a model that failed
- if names and event.summarizer == DIGEST and DIGEST not in names:
+ if False:

agent/refold.py: agent/test_refold.py::test_a_run_begins_behind_the_threads_that_fail
a refold begins with the same threads again
-             next="" if is_complete else self._place,
+             next="",

agent/refold.py: agent/test_refold.py::test_threads_that_cannot_be_folded_are_passed_by
a thread that is too large ends a refold
-             outcome, reason = "failed", type(error).__name__
+             outcome, reason = "failed", type(error).__name__
+             self._failures += 1

agent/pace.py: agent/test_refold.py::test_a_minute_is_any_minute
a minute begins when it is asked for
- while spent and spent[0].at <= now - _MINUTE:
+ while spent and spent[0].at < now:

agent/bounded.py: agent/test_bounded.py
work that gives up by itself ends the turn
- except (Exception, asyncio.CancelledError, GeneratorExit, SystemExit) as error:
+ except Exception as error:
a turn waits for work that ignores being cancelled
-             await asyncio.wait([task], timeout=_GRACE)
-     except
+             await asyncio.wait([task])
+     except

agent/fold_calls.py: agent/test_unfinished.py
a cancelled fold loses what was read
- if not is_whole:
+ if is_whole:
a reading is begun that cannot end
- return 0 if is_next and left < self._longest else left
+ return left
a text that was refused comes back
- if last is not None and not is_refused:
+ if last is not None:
a summarizer that answered before a timeout rests
- seconds * 2 >= self._seconds and not self._texts
+ seconds * 2 >= self._seconds

agent/unfinished.py: agent/test_unfinished.py
a tenant gets what another one read
- asked = (scope, request.summarizer,
+ asked = (request.summarizer,
what was read is remembered for ever
- for key in [*self._texts][:-_MOST_TEXTS]:
+ for key in [*self._texts][:0]:

agent/fold_calls.py: agent/test_breaker.py
the failure of a summarizer fails the turn
- failure = SummaryFailure(_told(error), defect=defect)
+ raise error
each summarizer has the whole time for itself
- left = self._end - now
+ left = self._seconds
a timeout does not end the time of the fold
- self._end, self._is_late = self._timer(), True
+ self._end, self._is_late = self._timer() + self._seconds, True
a summarizer that hangs is asked at every fold
- breaker.failed(is_slow=is_slow)
+ breaker.failed()
a fold with little time left begins a rest
- is_slow = seconds is not None and seconds * 2 >= self._seconds
+ is_slow = True
a text that is refused is no failure
- if breaker is not None and is_refused:
+ if breaker is not None and self._seconds < 0:

agent/breaker.py: agent/test_breaker.py
a rest has no end in folds
- self._folds += 1
+ self._folds += 0
a rest has no end in time
- if is_resting and self._now() - self._since < REST:
+ if is_resting:
folds end the rest of a summarizer that hangs
- is_resting = self._is_slow or self._folds < REST_FOLDS
+ is_resting = self._folds < REST_FOLDS
who was slow once rests for ten minutes ever after
- self._is_slow = is_slow
+ self._is_slow |= is_slow
many folds ask at the end of a rest
- self._begin_rest()
-         return True
+ return True
each failure is logged
- if not was_open:
+ if was_open or self.is_open:

agent/arguments.py: agent/test_by_hand.py
a fold by hand ends the turn
- behavior_override="continue",
-         history_reduction_unit_override=unit,
+ behavior_override=given.history_reduction_behavior_override,
+         history_reduction_unit_override=unit,
what a vendor refuses is folded by counts
- history_reduction_unit_override="tokens",
+ history_reduction_unit_override=None,
a view without room for its tools is shortened to the bone
- structs.replace(budget, instructions=0, tools=0, limit=limit, full=full)
+ structs.replace(budget, limit=limit, full=full)

agent/asking.py: agent/test_by_hand.py
a fold by hand is not stored
-         if fold is not None:
-             await thread.save_reduction(
+         if False and fold is not None:
+             await thread.save_reduction(
a fold by hand does not wait for the one in the background
- window, thread = await self._window(waits=True), self._progress.thread
+ window, thread = await self._window(), self._progress.thread

agent/sent.py: agent/test_sent.py
the meter forgets the tools
- if before.tools != sent.tools:
+ if not sent.tools:
the meter does not know when a cache expires
-     return "expired"
+     return None
the meter continues after a request of another process without looking at it
- meter.follow(before, view)
+ meter.mark = before
an edit is called a fold
-         return "edit"
+         pass
each request takes the vendor to have no cache
- return missed if missed >= _BLOCK else 0
+ return 0

agent/service.py: agent/test_sent.py
the last request is forgotten between turns
- last_request=before.last_request,
+ last_request=None,

agent/telemetry/spans.py: agent/test_sent.py
tokens that are sent again are not counted
- elif event.resent_because is not None:
+ elif event.resent_because == "unexplained":

agent/service.py: agent/test_overflow.py
what was learned of the models is forgotten between turns
- learned=before.learned,
+ learned={},

agent/cache.py: agent/test_cache.py
tenants share a cache
- key = (scope, _made(state.config_fingerprint, recall=recall), digest)
+ key = ("", _made(state.config_fingerprint, recall=recall), digest)

agent/files.py: agent/test_files.py
a large file is sent
- if size > MAX_FILE_BYTES:
+ if size > 2 * MAX_FILE_BYTES:
a vendor's own item is changed
- if last.role == "user" and last.native is None:
+ if last.role == "user":

agent/own_reducer.py: agent/test_own_reducer.py
the view of an own reducer is sent as it is
- return replace(reduced, state=None, event=event)
+ return replace(reduced, messages=list(made), state=None, event=event)

agent/recall.py: agent/test_recall.py
a page begins after the first character of its text
- yield text[start:stop]
+ yield text[start + (start > 0) : stop]
a page is as long as its text
- while tokens > most and length > 1:
+ while tokens > 2 * most and length > 1:
a span reads the whole thread
- first + _MOST_READ - 1) + 1
+ first + 10 * _MOST_READ - 1) + 1
what follows a long message in a span is lost
- (message={number + 1}, last
+ (message={number + 2}, last
every page of what was found is the first
- first = (page - 1) * size
+ first = 0
a search finds its own results
- return (message.role == "tool" and message.name == RECALL) or any((*answers, *calls))
+ return any((*answers, *calls))

agent/recall.py: agent/test_recall_search.py
a search of a list reads all of it
- found = list(islice(fits, _SEARCHED))
+ found = list(fits)
a match has the room of all of its page
- share = max(_LEAST_TOKENS, room // len(of_page)) - 1
+ share = max(_LEAST_TOKENS, room) - 1

agent/portal.py: agent/test_reducer.py
a new loop for each blocking call
- loop = self._loops.get(getpid())
+ loop = self._loops.pop(getpid(), None)

agent/folding.py: agent/test_reducer.py
a failed fold shows what was not in force
- state or call.verdict.state,
+ result.state or call.given,

agent/reducer.py: agent/test_reducer.py
the same fold is made by everybody
- async with cache.folds.alone(place):
+ async with cache.folds.alone(object()):

agent/tools/signature.py: properties/test_linear.py::test_no_pattern_is_worse_than_linear
spaces in a docstring take quadratic time
- (\w+)(?:\s*\(.*?\))?\s*:(?:
+ (\w+)\s*(?:\(.*?\))?\s*:(?:

agent/writers.py: agent/test_wire.py
the first tool call changes the front
- if is_detected and wire is NativeFormat.OPENAI_CHAT:
+ if False:

agent/config.py: agent/test_agent.py
edits of the vendor give no warning
- return value == "auto"
+ return False

providers/vendors/cache_marks.py: providers/vendors/test_requests.py
the summary is not marked for the cache
- {early, _asked(messages)}
+ {_asked(messages)}
the end of the request before is not marked
- {early, _asked(messages)}
+ {early}
marks of the caller are not seen
- or _has_marks(items, _OPENAI)
+ or False

agent/background.py: agent/test_prewarm.py
the cache is read ahead unasked
- if self._prewarms and self._loop is not None:
+ if self._loop is not None:

agent/sent.py: agent/test_cache_miss.py
the id of the last response is forgotten
- , response_id=response.id)
+ )

providers/vendors/wire_formats.py: providers/vendors/test_requests.py
the date of a snapshot makes a model check thinking
- (\d{1,2}))?(?!\d)
+ (\d{1,2}))?
a model that checks thinking refuses what is bound elsewhere
- if is_checked and thinking
+ if False and thinking

providers/vendors/pydantic_model.py: providers/vendors/test_pydantic_model.py
the signatures of an answer are lost
- metadata=metadata | _signatures(response) or None
+ metadata=metadata or None
a changed part keeps the signature of the first one
- maybe_object(by_part.get(_hash(part)))
+ maybe_object(next(iter(by_part.values())))

agent/model_call.py: agent/test_bound_thinking.py
thinking that is bound to another request is sent
- if any(map(is_signed, request.messages)):
+ if False:
thinking is not bound to the tools
- canonical_json([model.name, request.lacks_tools or tools, given])
+ canonical_json([model.name, given])

agent/blocks.py: agent/test_known.py
lists are compared by the identity of their items
-         _ENCODER.encode_into(items, buffer)
+         buffer[:] = repr([id(item) for item in items]).encode()
lists are compared without the types of numbers
-             has_numbers = True
+             has_numbers = False
a copy shares what is inside of its items
-             made[key], are_numbers = _copied(inner, containers)
+             _, are_numbers = _copied(inner, containers)

agent/blocks.py: agent/test_blocks.py
a list to which numbers come is not known
-     if len(places) > len(known.places):
+     if not known.places:

agent/known.py: agent/test_known.py
only the first items are compared
-         return are_blocks(self.blocks, items, size)
+         return are_blocks(self.blocks[:1], items, size)
what was edited while it was read is remembered
-         if not is_read and not are_blocks(blocks, rest, len(rest)):
+         if False:
the list that was used last is taken for another format
-     if newest.kind != kind:
+     if False:

agent/written_view.py: agent/test_known.py
a view of another reduction is taken for the last one
- return len(view) >= len(self.view) and all(map(is_, self.view, view))
+ return True
a caller is given what another one may have changed
-             found.append(fresh(one))
+             found.append(one)

agent/written_view.py: agent/test_writing.py
a call with the id of an earlier one keeps it
-         for block in _listed(item, "tool_calls"):
-             yield "call", str(block.get("id"))
a mark of the cache is one too many
- block.get(_MARK) is not None or block.get("type") == "compaction"
+ block.get("type") == "compaction"
a compaction has something before it
- block.get(_MARK) is not None or block.get("type") == "compaction"
+ block.get(_MARK) is not None
a system message in between stays there
- any(message.role == "system" for message in view) or any(
+ any(

agent/writing.py: agent/test_writing.py
a system message that waits is left out of what goes on
- and not _is_rule(found[place - 1])
+ and False
a user's text comes after a system message as it is
- speaker = "user" if last.get("role") == "system" else last.get("role")
+ speaker = last.get("role")
an object that is said again is where it was said last
- held.pop() if len(held) > 1 else held[0]
+ held[0]
a step is written with all before it
- messages, items = sources.last_turn(rest, found)
+ messages, items = 0, 0

agent/writing.py: agent/test_known_views.py
what comes after the first call is written for either vendor
- writer=made.writer if messages < made.front else made.later,
+ writer=made.writer,

agent/known.py: agent/test_known_bounds.py
a list that goes on is another conversation
-         if line is not None and grown_from in line:
+         if False:
the list that was taken back is forgotten
-             self._put(_Line(known, grown_from))
+             self._put(_Line(known))
what has gone on is looked for where it was before
-         with self._lock:
-             self._mark_all()
+         pass
what has gone on is known by what it was before
-         if self.size not in self.marks:
+         if False:

agent/writing.py: agent/test_known_views.py
a new item that the view shortens is given whole
- if not all(map(is_, view[start:], self.made.history[-len(new) :])):
+ if False:
neighbors of one speaker are written as they are
- if text is None or item["role"] == before or
+ if text is None or

history/formats/renderings/sending.py: agent/test_writing.py
a block with a mark is a mere text
- is_text = keys == _TEXT_KEYS or (
+ is_text = "text" in keys or (
a text that no request can hold is sent in a block
- return said if type(said) is str and _is_sendable(said) else None
+ return said

agent/writers.py: agent/test_turn_taking.py
what was written for either vendor ends with a summary and no note
- if note := turn_note(head[-1], rest[0]):
+ if note := "":

history/formats/renderings/sending.py: agent/test_turn_taking.py
a summary speaks first
- return OPENING_NOTE if message.is_summary else ""
+ return ""
a summary and an answer are two turns of the assistant
- return CONTINUES_NOTE if last.is_summary and message.role == "assistant" else ""
+ return ""

agent/wire.py: agent/test_known.py
a longer call changes the history of a shorter one
- history, grown = old.history.copy(), array("q", old.places)
+ history, grown = old.history, array("q", old.places)
an answer that goes on is another message
- if read[0].role == "assistant" and _is_of(read[0], old.history):
+ if False:

agent/folding.py: agent/test_rules.py
folds do not know what a rule is
-         has_rule=has_rule,

agent/reducer.py: agent/test_arguments.py
a count is compared with the whole history
- budget = request.budget(self._budget_of, self.window, history, given, self.model)
+ budget = request.budget(self._budget_of, self.window, history, state, self.model)

agent/request.py: agent/test_pins.py
system messages count in the indexes of pins
- yield place - before
+ yield place
what an item is read as is pinned in part
- for place in range(min(first, end - 1), end):
+ for place in range(first, first + 1):

agent/request.py: agent/test_arguments.py
a count is compared with a view that was folded since
- estimated = instructions + tools + sent if sent else 0
+ estimated = instructions + tools + sent
the usage of a whole answer is not found
- counts = _said(usage, "usage", _said(usage, "usage_metadata", usage))
+ counts = usage

providers/vendors/vendor_model.py: providers/vendors/test_client_of_ones_own.py
a client does not send again without the reasoning that cannot be read
- if refused <= before:
+ if True:

providers/vendors/vendor_model.py: providers/vendors/test_failures.py
reasoning that the vendor cannot read is refused at every call
- self.refused = known | refused
+ self.refused = known

providers/vendors/wire_formats.py: providers/vendors/test_failures.py
what was made of reasoning that is left out keeps the id that names it
- yield _without_reasoning(one)
+ yield one

providers/vendors/failure.py: providers/vendors/test_failures.py
reasoning that cannot be read is known by the code alone
- if _UNREADABLE_TEXT(text):
+ if False:

providers/vendors/wire_formats.py: providers/vendors/test_failures.py
thinking that Claude has not signed stays after it was refused
- view = replace(view, messages=[*self._readable(view.messages)])
+ pass

providers/vendors/failure.py: providers/vendors/test_preserved_thinking.py
a request is sent again without thinking that is bound to another conversation
- (?!.{0,40}bound to)
+ (?!.{0,40}bound elsewhere)

providers/vendors/wire_formats.py: providers/vendors/test_failures.py
reasoning behind OpenRouter is sent again as it is
- items = [*map(self._readable, items)]
+ pass

agent/agent.py: agent/telemetry/test_watched_agent.py
the calls of a summarizer of its own are not measured
- chain = chain if observer is None else _observed(chain, observer)
+ chain = chain or ()
""")
