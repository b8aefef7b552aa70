"""Bugs of the reduction room."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
reduction/fitting.py: reduction/test_fitting.py
an image leaves a request in which it fits
- _SHAPES[:1] if media else _SHAPES
+ _SHAPES[:2] if media else _SHAPES

reduction/fold.py: agent/test_alternating.py
another configuration takes its reductions away
- known = known_of(task.history, given) if active is None
+ known = [] if active is None

reduction/draft.py: properties/test_valid_requests.py
the last user message is not pinned
- return user if user is not None and user < self.cut else None
+ return None

reduction/fold.py: agent/test_view_size.py
quotes of users have room whatever leaves the view
- most = view_tokens(history, task.active) - 1 if task.cut > task.above else budget.fitted
+ most = budget.fitted

reduction/stride.py: reduction/test_carried.py
only the newest reductions are carried
- if number % stride or not number:
+ if number:

reduction/carried.py: reduction/test_carried.py
the newest reduction of another configuration is forgotten
- firsts.setdefault(one.kind, at)
+ firsts.setdefault(0, at)
what is carried has no bound
- if at == 0 or size <= room:
+ if size:
a line that is there twice is read once
- if len(places) == seen[item]:
+ if not places:
a text is read as often as a file asks
- if len({*places}.intersection(range(len(table)))) < len(places):
+ if {*places} - {*range(len(table))}:
each earlier reduction has its own shortened messages
- {"summary_content": "", "quotes": (), "shortened": (), "previous": None}
+ {"summary_content": "", "quotes": (), "previous": None}
those that earlier versions stored are lost
- {"shortened": tuple(shortened)} if shortened else {}
+ {"shortened": tuple(shortened)}

reduction/series.py: reduction/test_series.py
each link has all that is carried
- if name not in places:
+ if name:

reduction/draft.py: reduction/test_fold.py
the summary before is forgotten
- before = (earlier.text,) if earlier.text else ()
+ before = ()

reduction/draft.py: scenarios/test_call_counts.py
the whole prefix is read again at each fold
- history, total = task.history, Writing()
+ history, total, start = task.history, Writing(), 0

reduction/draft.py: reduction/test_long.py
a fold that is late begins from the start
- return replace(draft, writing=replace(total, summarizer=draft.writing.summarizer))
+ return unchanged(task.base)
the stopgap is a layer like any other
- stopgap = _layer(task, draft.end, task.cut, writing.text, writing.tokens, is_stopgap=True)
+ stopgap = _layer(task, draft.end, task.cut, writing.text, writing.tokens)
a chunk leaves no room for the summary before it
- room = max(task.room - earlier.tokens, task.room // 2)
+ room = task.room
a summary may fill the window
- most = min(self.options.summary_budget, self.room // _SUMMARY_PART)
+ most = self.options.summary_budget
code merges what models have written
- places = range(task.options.summarizers) if is_full else None
+ places = range(task.options.summarizers)
a merge is larger than the window
- while len(group) > _LEAST_GROUP and sum(layer.tokens for layer in group) > readable:
+ while False:

reduction/fold.py: reduction/test_long.py
what was read is thrown away with the rest
- if draft.end > task.above and (
+ if draft.end < task.above and (
the next call reads everything again
- base = active.read_part
+ base = None
a batch asks summarizers
- reads = how.strategy == "summarizing" and not verdict.is_batch
+ reads = how.strategy == "summarizing"

reduction/spans.py: reduction/test_spans.py
what was dropped before the first layer is in no span
- if start > end:
+ if False:
a shortened message before the cut is in two spans
- for at in shortened if at >= cut]
+ for at in shortened]

reduction/pieces.py: reduction/test_long.py
a PDF is divided as text
- if isinstance(part, GenericPart) and media_inside(part.data)[1]:
+ if False:
a chunk tears a group of calls apart
- end = next(history.whole_indexes(within, start), start)
+ end = within
half of a secret is given to read
- for one in slices(clean(text), max(_LEAST_SLICE, room - rest), counter):
+ for one in slices(text, max(_LEAST_SLICE, room - rest), counter):
a slice is longer than its room
- size = max(1, (end - start) * 3 // 4)
+ break
the end of a chunk is a text of its own
- if history.tokens(min(end, cut), cut) > least:
+ if cut:

reduction/verdict.py: reduction/test_long.py
the next call does not go on
- if is_loaded and case.config.strategy == "summarizing":
+ if False:

reduction/active.py: agent/test_alternating.py
an earlier reduction forgets those of others
- found.carrying(others)
+ found
what no longer stands is carried along
- or _fits(history, one)
+ or one

reduction/active.py: properties/test_edits.py
a hit without looking at the digest
- and state.message_hash.partition(":")[2] == history.digest(index).hex()
no earlier reduction is looked for
- found = next((one for one in longest_first if _is_usable(history, one, made)), None)
+ found = None

reduction/active.py: properties/test_valid_requests.py
nothing is pinned where a history was rewound
- return msgspec.structs.replace(state, pinned_index=user).sealed()
+ return state

reduction/active.py: reduction/test_verdict.py
a reduction of another configuration is used
- (one.counting_unit, one.config_fingerprint) != made
+ one.counting_unit != made[0]
a changed summary is served
-         and state.is_whole

reduction/verdict.py: reduction/test_verdict.py
the stored threshold decides
- units > limits.ceiling
+ units > (active.target_count + active.reduction_threshold if active else limits.ceiling)
the trigger is not strict
- units > limits.ceiling
+ units >= limits.ceiling

reduction/view.py: properties/test_valid_requests.py
system messages are lost
- return [*older, *state.front_messages(history), *rest]
+ return [*state.front_messages(history), *rest]
damage is sent as it is
- rest = repair(rest)
+ rest = list(rest)

reduction/writing.py: reduction/test_fold.py
a failing summarizer is asked for ever
- attempt, calls = attempt + 1, calls +
+ attempt, calls = attempt + (calls > 40), calls +
a summarizer that was not asked costs an attempt
- attempt = (summarizer + 1) * ATTEMPTS
+ attempt += 1

reduction/config.py: reduction/test_run_overrides.py
a target in another unit is refused
- changes |= {name: _DEFAULTS[name] for name in _LIMIT_FIELDS} | {"counting_unit": unit}
+ changes |= {"counting_unit": unit}
a fold that was asked for keeps the threshold too
- 0 if is_forced else threshold
+ threshold

reduction/draft.py: reduction/test_fold.py
a full share is always made free by the newest layers
- several = (run for run in reversed(levels) if len(run) >= _LEAST_GROUP)
+ several = (run for run in levels[-1:] if len(run) >= _LEAST_GROUP)
layers may fill the request
- is_full = sum(layer.tokens for layer in layers) > task.options.budget.beside
+ is_full = False
quotes make the view longer
- return max(room - self.quoted, min(room, LEAST_BUDGET))
+ return max(room, min(room, LEAST_BUDGET))

reduction/fold.py: reduction/test_run_overrides.py
dropping once forgets the summary
- active, draft = verdict.state, unchanged(verdict.state)
+ active, draft = verdict.state, Draft()
the strategy of a run is ignored by its fold
- if how.strategy == "summarizing"
+ if config.strategy == "summarizing"
the prompt of a run is ignored
- prompt=how.custom_summarization_prompt or DEFAULT_PROMPT
+ prompt=DEFAULT_PROMPT

reduction/verdict.py: reduction/test_run_overrides.py
a fold with another unit is not active afterwards
- history, state, unit=config.unit, config_fingerprint
+ history, state, unit=config_of_run(config, overrides).unit, config_fingerprint
nothing is folded below the target
- cut = _worthwhile(case, "exchanges", 1)
+ cut = None
a target of a run is not obeyed
- "forced" in facts and run.history_reduction_target_override is None
+ "forced" in facts

reduction/fold.py: agent/test_vendor_rules.py
the fold after it loses a sealed compaction
- return (None, None) if base is None else (base.sealed_item, base.sealed_index)
+ return None, None
an older compaction is kept instead of the newest
- for at in reversed(task.history.marked(task.start)):
+ for at in task.history.marked(task.start):

reduction/fold.py: reduction/test_fold_fits.py
the event loop waits while users' messages are weighed
- yield from aside(partial(_quoting, task, config))
+ _quoting(task, config)
what gives way among quotes is lost
- gone=tuple(text for text in before if text not in shown),
+ gone=(),
the sealed compaction before the newest is forgotten
- and active.sealed_index == made.sealed_index
+ and active

reduction/state.py: reduction/test_fold_fits.py
an edit before a sealed compaction leaves it in front
- if one.sealed_index in range(end)
+ if one.sealed_index is not None

reduction/active.py: agent/test_vendor_rules.py
an older reduction sends thinking of a newer view
- if (active is given and is_noted) or not
+ if is_noted or not
a record without a length sends thinking of any view
- if (active is given and is_noted) or not
+ if active is given or not

reduction/view.py: agent/test_vendor_rules.py
thinking that was made before a reduction stays after it
- left = without_signed(said) if index < bound_until else said
+ left: Message | None = said

reduction/budget.py: reduction/test_budget.py
the answer has no room
- most = max(1, min(most, size - reserve))
+ most = max(1, most)
the vendor's count corrects nothing
- limit = int(most / ratio)
+ limit = int(most)
tools are not counted
- full=int(limit * FULL) - instructions - tools,
+ full=int(limit * FULL) - instructions,

reduction/shortening.py: reduction/test_shortening.py
clipped arguments are no object
- shorter = encode_json({"shortened": shorter}).decode()
+ pass
a call loses its id in an outline
- found.append(replace(part, arguments="{}"))
+ found.append(replace(part, id="", arguments="{}"))
thinking stays in a message without media
- case ReasoningPart() | GenericPart(opaque=True):
-                 pass
+ case ReasoningPart() | GenericPart(opaque=True):
+                 yield part
what only a vendor can read is shortened
- return only_sealed(message) is not None or is_of_program(message)
+ return is_of_program(message)
a vendor's item still holds what was clipped
- return still_reasoned(message, replace(message, parts=parts, native=None))
+ return still_reasoned(message, replace(message, parts=parts))
a note loses the identifiers
- kept = f" Identifiers in it: {found}." if found else ""
+ kept = ""
a note names a tool that is not there
- return f"recall(message={index}) returns it" if recall else
+ return f"recall(message={index}) returns it" if True else
an edited message is shown as the old one
- if last is not None and last.index != pinned and last.digest != _digest(history, last.index):
+ if False:
images are never left out
- parts = message.parts if entry.media else tuple(_plain(message.parts))
+ parts = message.parts if True else tuple(_plain(message.parts))

reduction/fitting.py: reduction/test_fitting.py
a tool's rule is ignored
- if rules & {"keep", "never_summarize"} or not (is_old or "clear" in rules):
+ if not is_old:
the newest exchange is cleared too
- if not is_earlier:
+ if False:
results that no model has seen are cleared
- while at > history.start and history[at - 1].role == "tool":
+ while False:
repeated reads stay
- found.add(last[key])
+ last[key] = at
many short texts are never one
- else _SHAPES):
+ else _SHAPES[:2]):
many short calls are never outlined
- less.shorten(partial(bare, history), [*rest, *sorted(words)], fitting)
+ pass
a paste that fits is cut
- least = wanted - (budget.full - budget.relieved) if goes_on else fitting
+ least = fitting = wanted
the newest question is cut with the older ones
- if at not in newest], newest):
+ ], []):
calls of an open tool loop are clipped with its results
- return (user is None or at > user) and bool(history[at].tool_calls)
+ return False
results are cleared one by one
- shorter = clear(history, at, name=name, recall=budget.recall)
+ shorter = None if known else clear(history, at, name=name, recall=budget.recall)

reduction/case.py: reduction/test_near_ceiling.py
a pasted log takes the room of its question
- if own <= _MOST_OF_KEPT * keep or shown - own > keep // 4:
+ if True:
the question for a log stays above the ceiling
- keep // 4, free)
+ keep // 4)
a count keeps more for a log
- if self.config.limits is not None or user is None or user <= self.cut:
+ if user is None or user <= self.cut:

reduction/verdict.py: reduction/test_near_ceiling.py
a fold that pays keeps no more for a log
- unit, keep = case.unit, case.paying_keep
+ unit, keep = case.unit, case.target
a quarter of a request is counted in another unit
- case.keep if limits is None else case.budget.keep
+ case.keep
a count folds an open loop of signed thinking
- facts.add("looping")
+ pass
a fold for the ceiling keeps the whole target
- if not is_full or case.view - left + case.budget.summary <= case.budget.full:
+ if True:
quotes may be larger than the ceiling
- or (case.active is not None and view > budget.room):
+ or False:
large messages are looked at in every call
- seen = case.cut if case.active is None else max(case.cut, case.active.history_length)
+ seen = case.cut

reduction/case.py: reduction/test_near_ceiling.py
what was cleared counts as if it left with the cut
- return history.tokens(above, cut) - stays - saved(history, gone)
+ return history.tokens(above, cut) - stays

reduction/active.py: reduction/test_near_ceiling.py
a batch fits every history
- and bool(state.shortened)
+ and bool(state)

reduction/fold.py: reduction/test_fold_fits.py
a question that was in front is forgotten
- passed = None if task.active is None else task.active.pinned_index
+ passed = None
a record lists every quote that did not fit
- if one.text or one.kind in {"pin", "first"})
+ if one)
the summary never gives way
- return made if excess <= 0 else _with_less(made, excess, history.counter)
+ return made

reduction/state.py: reduction/test_state.py
the hash covers the summary alone
- if any(kept) or self.history_length:
+ if False:
a record of format 1 is not whole
- if any(kept) or self.history_length:
+ if True:

reduction/text_calls.py: reduction/test_text_calls.py
what the user says beside a result is the tool's
- return not _BY_USER(text)
+ return True
words below a tag are a tool's
- return bool(_TAG_ENDS(text, max(0, len(text) - _LONGEST_END)))
+ return True
a user's own prompt is a tool's
- and text.find(prompt[1]) == text.rfind(prompt[1])
+ and bool(prompt[1])
one observation of three is a result
- or 2 * len(found) > sum(
+ or 99 * len(found) > sum(
what was silent outvotes an observation
- not _SILENT(messages[at].text) for at in replies
+ True for at in replies
a call that was folded before its result is lost
- if at == len(lead) else results
+ if False else results
all that a known harness says is the user's
- return bool(_COMPLAINS(text) or (at in replies and _SILENT(text)))
+ return False
a task that ends with a prompt is a result
- at for at in range(is_first, len(messages))
+ at for at in range(len(messages))
a label that two replies of three have is enough
- is_alike = all(
+ is_alike = any(

reduction/request.py: reduction/test_text_calls.py
a task that was folded before votes on what is a result
- is_first = bool(self.lead) or not self.earlier
+ is_first = not (self.lead or self.earlier)
a request that is asked otherwise is parsed again
-         vars(made).update(vars(self))

reduction/written_calls.py: reduction/test_written_calls.py
only the last of several blocks is a call
- end, known = start, opening[1]
+ end, known = start, ""
an example in another language is a call
- if opening is None or opening[1] != (known or opening[1]):
+ if opening is None:
what JSON cannot say breaks the fold
- return decode_json(encode_json(ast.literal_eval(text.strip())))
+ return ast.literal_eval(text.strip())

reduction/quotes.py: reduction/test_quotes.py
a superscript is no figure
- or (not text.isascii() and any(map(str.isdigit, text)))
+ or False
a quote can be ended by its text
- for one in tags if one not in taken)
+ for one in tags)
quotes give way newest first
- key=lambda one: (one.weight, one.index), reverse=True):
+ key=lambda one: (one.weight, one.index)):
a rule gives way like any request
- key=lambda one: (one.weight, one.index), reverse=True):
+ key=lambda one: one.index, reverse=True):
questions take the room of older statements
- for less in range(weight + 1):
+ for less in range(len(Weight)):
what was clipped stays so
- return not self.text or (self.kind == "user" and not self.is_whole)
+ return not self.text
a paste is no paste
- if not self.is_whole or len(self.text) > TYPED:
+ if False:
every paste is read at every fold
- if quote.tokens <= self._left[weight] or weight is Weight.PASTE:
+ if quote.tokens <= self._left[weight]:
a long user message is not quoted at all
- text = clip_text(whole, limit=limit, counter=counter, note=note)
+ text = whole if counter.count(whole) <= limit else ""
a message that is quoted already cannot be pinned
- if kind == "pin" or at not in known or at in again}
+ if at not in known or at in again}

reduction/fitting.py: agent/test_pins.py
a pinned result is cleared
- if at not in whole and at < unread)
+ if at < unread)

reduction/verdict.py: agent/test_pins.py
a pin shows in the next fold only
- return pinned != quoted or case.base != case.entries
+ return False

reduction/fold.py: agent/test_vendor_rules.py
every batch leaves out all thinking
- if _front(base) != _front(made):
+ if made:
a batch keeps the thinking after what it changes
- if any(is_signed(history[at]) for at in range(changed, len(history))):
+ if changed < 0:

reduction/active.py: agent/test_bound_thinking.py
a fold in a tool loop takes the thinking of the call that is answered
- return first if is_called and not is_told else len(history)
+ return len(history)

reduction/thoughts.py: reduction/test_thoughts.py
an example of a thought ends one
- return _OPENED(before) is not None or len(_FENCES(before)) % 2 > 0
+ return False
""")
