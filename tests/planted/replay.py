"""Bugs of what a session costs."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
replay/validity.py: replay/test_validity.py
a piece that was judged is not reported again
- pieces.append((end, self._judged[key][1]))
+ pieces.append((end, self._judged[key][1] if piece is self._judged[key][0] else ()))
a message counts as known whatever its vendor sent
- old if old is new or old == new else new
+ old if old.parts == new.parts else new
what stands in front is not judged
- pairwise((start, *ends, len(request)))
+ pairwise((*ends, len(request)))

replay/bill.py: replay/test_bill.py
instructions and tools are never read from the cache
- cached = 0 if is_cold else self.overhead + kept
+ cached = 0 if is_cold else kept
a ride writes what the cache has
- ride = cached * same.read + (fresh * same.input + written * same.output) / MILLION
+ ride = cached * same.write + (fresh * same.input + written * same.output) / MILLION
a long summary request has the prices of short ones
- asked = writer.at(read // calls + INSTRUCTION_TOKENS)
+ asked = writer.at(0)
a long ride has the prices of short ones
- same = self.prices.at(whole + INSTRUCTION_TOKENS)
+ same = self.prices.at(0)
a prefix that is too short to be cached is ridden
- cached = whole if whole >= same.minimum_prefix else 0
+ cached = whole
what the summarizer reads is free
- own = (read + calls * INSTRUCTION_TOKENS) * asked.input + written * asked.output
+ own = calls * INSTRUCTION_TOKENS * asked.input + written * asked.output
a ride is taken even if it is dearer
- return min(own / MILLION, ride)
+ return ride
several requests ride as if they were one
- if self.rides and prior and calls == 1:
+ if self.rides and prior:
the first call of a session is warm
- return number == 1 or (idle is not None and idle > self.prices.lifetime)
+ return idle is not None and idle > self.prices.lifetime
an answer has the price of a prompt
- self.prices.at(self.overhead + call.view_tokens).output
+ self.prices.at(self.overhead + call.view_tokens).input
a fold has a price that no call pays
- replace(fold, cost=spent), cost + spent
+ replace(fold, cost=spent), cost
a summary rides on a cache that has expired
- prior=0 if is_cold else call.prior_tokens,
+ prior=call.prior_tokens,

replay/bill.py: replay/test_baselines.py
what the vendor reported is charged as if its cache were ours
- charge = _reported if report.kind == "recorded" else _priced
+ charge = _priced
a reported write has the price of plain input
- cache_write_tokens=call.written_tokens,
+ cache_write_tokens=0,

replay/tape.py: replay/test_tape.py
the usage of an answer is looked for in its first message
- next((one for one in self._answer(at) if one.usage is not None), None)
+ next((one for one in [*self._answer(at)][:1] if one.usage is not None), None)
an answer that nobody counted is free
- return self._estimates[number] if usage is None else usage.output_tokens
+ return 0 if usage is None else usage.output_tokens

replay/tape.py: apps/test_replay.py
times that a log lacks are not told
- untimed_calls=self.idle[1:].count(None),
+

replay/optimum.py: replay/test_bill.py
the optimum leaves the last call out
- spent = list(self._spent(-1))
+ spent = list(self._spent(-1))[:-1]
the optimum keeps a prefix whose system messages have changed
- kept = before if call.system == system else min(system, before)
+ kept = before
the optimum keeps the prefix before a fold
- before = system = calls[first - 1].system if first else 0
+ before = system = self._view(-1, first - 1) if first else 0
the optimum leaves out what costs as much as the bill that was found first
- takewhile(lambda amount: so_far + amount <= most, near)
+ takewhile(lambda amount: so_far + amount <= most / 2, near)
the optimum does not read the summary before
- before = self._summary if fold >= 0 else 0
+ before = 0
the optimum rides on a cold cache
- is_warm = at > 0 and not self._calls[at].is_cold
+ is_warm = at > 0
the optimum forgets the pinned question
- return call.system + self._summary + made.pinned + call.said - made.dropped
+ return call.system + self._summary + call.said - made.dropped
the optimum pays for a summary that is not written
- return _Search(calls, terms, summary_tokens if summarizes else 0).result(near)
+ return _Search(calls, terms, summary_tokens).result(near)
the optimum takes no plan without folds
- never = ended = spent[-1] if spent else 0.0
+ never, ended = (spent[-1], float("inf")) if spent else (0.0, 0.0)
the optimum pays the call of a fold twice
- bill = so_far + (spent[at - first - 1] if at > first else 0.0)
+ bill = so_far + spent[at - first]

replay/advice.py: replay/test_advice.py
the dearest is named as the best of a session
- return min(self.bills, key=self._rank)
+ return max(self.bills, key=self._rank)
what no vendor takes is the best of a session
- return name in self.too_large, name in self.drops, self.bills[name]
+ return False, name in self.drops, self.bills[name]
what forgets is the best of a session
- return name in self.too_large, name in self.drops, self.bills[name]
+ return name in self.too_large, False, self.bills[name]
what forgets is recommended
- whole = [name for name in sendable if name not in drops] or sendable
+ whole = sendable
what only clears results is called forgetting
- if given.strategy != "summarizing" and state and state.summarized_up_to_index:
+ if given.strategy != "summarizing" and state:
what no vendor takes is recommended
- sendable = [name for name in candidates if name not in refused] or list(candidates)
+ sendable = list(candidates)
the dearest is recommended
- least, cheapest = (min(names, key=sums.__getitem__) for names in (sendable, whole))
+ least, cheapest = (max(names, key=sums.__getitem__) for names in (sendable, whole))
the default yields to a saving of a hair
- most = sums[cheapest] * _NEGLIGIBLE
+ most = sums[cheapest]
one session counts for all
- sums = {name: sum(one.bills[name] for one in sessions) for name in candidates}
+ sums = {name: sessions[0].bills[name] for name in candidates}
a session that loses nothing is named
- lost = [one for one in self.sessions if one.loss(self.recommended) > _NOTABLE]
+ lost = [one for one in self.sessions if one.loss(self.recommended) >= 0]
the worst session is named last
- return tuple(sorted(lost, key=lambda one: -one.loss(self.recommended)))
+ return tuple(sorted(lost, key=lambda one: one.loss(self.recommended)))
candidates are played without prices
- config = replace(given, prices=terms.prices, context_window_size=window)
+ config = replace(given, context_window_size=window)

replay/comparison.py: replay/test_baselines.py
requests that no vendor takes are the way out
- bills = {one.kind: one.totals.cost for one in reports if not one.totals.too_large}
+ bills = {one.kind: one.totals.cost for one in reports}
the reported writes are lost
- yield replace(made, written_tokens=usage.cache_write_tokens)
+ yield made
the best bill leaves the answers out
- optimum = None if best is None else best + answers
+ optimum = None if best is None else best
replay/quality/identifiers.py: replay/quality/test_identifiers.py
a value inside a longer word counts
- if (at == 0 or text[at - 1] not in _WORD) and (after >= end or text[after] not in _WORD):
+ if at >= 0:
what a call writes into a file is needed
- found = (value for text in texts if len(text) <= _LONGEST for value in pattern(text))
+ found = (value for text in texts for value in pattern(text))
replay/quality/ways.py: replay/quality/test_needed.py
what stands in the retained messages is old
- is_old=at < moment.cut,
+ is_old=at < moment.index,
the age counts the message that has the value
- age=transcript.tokens[moment.index] - transcript.tokens[at + 1],
+ age=transcript.tokens[moment.index] - transcript.tokens[at],
replay/quality/ways.py: replay/quality/test_needed.py
more of the newest text than the view has tokens
- start = bisect_left(said.tokens, said.tokens[end] - room, 0, end)
+ start = 0
replay/quality/accounting.py: replay/quality/test_accounting.py
a message between two layers is taken as covered
- accounted=size * (covers == 1)
+ accounted=size
a path of three parts may begin anywhere
- has(end) and has(f"/{root}") for root, end in _halves(start)
+ has(end) and has(root) for root, end in _halves(start)
two summaries of one message are taken as one
- twice=size * (covers > 1)
+ twice=0
replay/quality/report.py: replay/quality/test_report.py
what a view has is searched for too
- (one for one in needs if DIGEST not in one.kept)
+ needs
chance is a summary of the same conversation
- other = found[-1].summary if found else ""
+ other = found[-1].summary if found else text_of_all(list(moments(tape, config))[-1].front)
as much as foldline keeps is a loss
- if self.shares[way].kept > ours)
+ if self.shares[way].kept >= ours)
replay/quality/trail.py: replay/quality/test_trail.py
a file that was only read is edited
- return bool(_EDITS.search(call.name)) and call_arguments(call).get("command") not in _READS
+ return True
a name that two files have names both
- return sum(f"/{other}".endswith(f"/{short}") for other in edited) <= 1
+ return True
a file that is named is marked
- return {path for path in edited if any(map(_EDITED.search, _items(path, edited, text)))}
+ return {path for path in edited if any(_items(path, edited, text))}
a file that a record lists as read is marked
- changed = [one.path for one in record.artefacts if one.action != "read"]
+ changed = [one.path for one in record.artefacts]
replay/quality/figures.py: replay/quality/test_figures.py
values of one call are drawn one by one
- groups = [one for one in self.groups if one[1]]
+ groups = [(n < kept, 1) for kept, total in self.groups for n in range(total)]
replay/inspection.py: replay/test_inspection.py
an identifier that the rest of the view has is lost
- folded, seen = self._messages[:cut], text_of_all(view)
+ folded, seen = self._messages[:cut], text_of_all(state.front_messages())
the oldest messages of a line are shown
- messages=whole[-_MOST_MESSAGES:]
+ messages=whole[:_MOST_MESSAGES]
replay/numbers.py: replay/test_inspection.py
a page obeys the markup of a conversation
- return escape("".join(sign if sign.isprintable() or sign in kept else " " for sign in text))
+ return "".join(sign if sign.isprintable() or sign in kept else " " for sign in text)

replay/telling.py: replay/test_telling.py
the oldest summaries win the room
- for stretch in reversed(replay.stretches):
+ for stretch in replay.stretches:
a message has all of its text on a page
- return plain_text(text[:most], keeps_lines=True) + more
+ return plain_text(text, keeps_lines=True) + more

replay/conclusion.py: replay/test_conclusion.py
what hardly saves anything is recommended
- if not never.too_large and never.cost <= cost * _NEGLIGIBLE:
+ if not never.too_large and never.cost <= cost:
folds at better times are denied
- if better is not None:
+ if False:
what cannot be sent needs no folding
- if not never.too_large and never.cost <= cost * _NEGLIGIBLE:
+ if never.cost <= cost * _NEGLIGIBLE:
what cannot be sent is the measure
- if never.too_large
-         else (never.cost, "for sending all of it")
+ if False
+         else (never.cost, "for sending all of it")
a cheaper recording is nowhere
- if recorded is not None and recorded < cost:
+ if False:

replay/player.py: replay/test_player.py
a summary is free, and nobody has read for it
- summarizer=self.log if summarizer is None else summarizer,
+ summarizer=summarizer or (),

replay/picture.py: replay/test_telling.py
a slider does not stop at the last call
- stops = [call.number for call in calls[::-width]][::-1]
+ stops = [call.number for call in calls[::width]]
a fold counts from the next call on
- bisect_right(cuts, (number, maxsize))
+ bisect_right(cuts, (number, -1))

replay/player.py: replay/test_telling.py
a fold does not end a stretch
- return one.summary_hash == other.summary_hash
+ return True
""")
