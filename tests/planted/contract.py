"""Bugs of what judges a summary, and of the record beside it."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
reduction/contract.py: reduction/test_contract.py
an empty summary is accepted
- if not _HAS_WORD(text):
+ if False:
a summary may be as long as it likes
- elif tokens > request.budget * BUDGET_TOLERANCE:
+ elif False and tokens:

reduction/contract.py: reduction/test_contract_faults.py
a bad statement stays
- left = kept(lines, bad.__contains__)
+ left = kept(lines, lambda _: False)
the shape is not judged
- shape_defects(text, request, has_code=source.has_code_of(text), merges=merges)
+ ()

reduction/shape.py: reduction/test_contract_faults.py
a text about something else is accepted
- return len(own) >= _LEAST_CONTENT and shared < max(1, growth * _LEAST_TOLD, least * len(own))
+ return False
a copy is accepted
- if (size >= _LEAST_JUDGED or len(found) >= _LEAST_COPIED) and _is_copy(found, said):
+ if False:
a cut text is accepted
- if _is_cut(text, is_sparse=size < _LEAST_COMPARED):
+ if False:
a summary before is handed in again
- yield from _missing_parts(own, meant, request, merges=merges)
+ yield from ()
a log has to be told
- texts_of(one for one in request.parsed if one.role != "tool")
+ texts_of(request.parsed)

reduction/sparse.py: reduction/test_sparse.py
a text that says nothing stands for a few words
- elif is_elsewhere or _REFUSES(text):
+ elif _REFUSES(text):
a few words may be refused
- elif is_elsewhere or _REFUSES(text):
+ elif is_elsewhere:
a label stands for a few words
- if is_void or _IS_TEMPLATE(text.strip()):
+ if _IS_TEMPLATE(text.strip()):
a few words are summed up in any language
- return is_strange(found, *known)
+ return False
a few words without a language are in that of the instruction
- if has_most and not any(source.languages.values()):
+ if False:
a few words are summed up in their language alone
- is_free = not _TELLING.isdisjoint(found) or is_strange(said, profile(found))
+ is_free = not _TELLING.isdisjoint(found)
a plural is another word
- return one.startswith(other) or other.startswith(one)
+ return one == other
a stretch of a few words is a summary
- return len(copied) >= _LEAST_COPIED and any(stretch in f" {said} " for said in sources)
+ return False
one statement again and again stands for a few words
- return len(found) >= _LEAST_REPEATED and len(set(found)) < _MOST_DIFFERENT * len(found)
+ return False

reduction/shape.py: reduction/test_sparse.py
a refusal stands for some words
- if is_hollow or _is_elsewhere(own, meant, size, share):
+ if _is_elsewhere(own, meant, size, share):
a word again and again has to end
- is_short = is_sparse and len({*words(text)}) < _LEAST_OF_SENTENCE
+ is_short = False

reduction/shape.py: reduction/test_contract_answers.py
an answer that names nobody is told from a summary like a record
- share = _LEAST_OVERLAP if is_told else _LEAST_OVERLAP_UNTOLD
+ share = _LEAST_OVERLAP

reduction/speech.py: reduction/test_contract_answers.py
who has told may advise
- return spoken >= _LEAST_SPOKEN and spoken > _MOST_ADDRESSED * len(said)
+ return False
who speaks to nobody has to tell more
- least = 1 if is_to_nobody else _LEAST_RETOLD
+ least = _LEAST_RETOLD

reduction/contract.py: reduction/test_contract_answers.py
advice that is left out tells nothing of the rest
- if begins_turn(text) or any(is_turn(one, prompt) for one in {text, left}):
+ if begins_turn(text) or is_turn(left, prompt):

reduction/numerals.py: reduction/test_numerals.py
a number is read without what stands around it
- _AROUND = 64
+ _AROUND = 4

reduction/numerals.py: reduction/test_siblings.py
a number is read without its noun
- _AROUND = 64
+ _AROUND = 16

reduction/language.py: reduction/test_language.py
a run of letters and digits is a word
- _words_in(run) for run in different.difference(whole)
+ [run] for run in different.difference(whole)

reduction/siblings.py: reduction/test_siblings.py
a code of letters may be misspelled
- if any(map(partial(_is_near, code), self._locators - {code})):
+ if False:

reduction/contract.py: reduction/test_contract_kinds.py
JSON in one line is one statement
- lines = _laid_out(text)
+ lines = text

reduction/speech.py: reduction/test_contract_kinds.py
what a model thought first is its summary
- text = text[found.end() :]
+ pass
who praises first may tell on
- praises = bool(_EXCLAIMED(said[0])) and _addresses(said[-1], others)
+ praises = False

reduction/delta.py: reduction/test_delta.py
the list of an agent ends the tasks of a model
- listed = with_list(tasks_of(before), own_list(record))
+ listed = with_list(tasks_of(() if any(own_list(record).values()) else before), own_list(record))

reduction/writing.py: reduction/test_writing.py
a delta that is not merged need not carry anything
- return reviewed(reply.text, asked, count=count, room=room)
+ return review

reduction/evidence.py: reduction/test_evidence.py
a search shows that a task is done
- if shows(call) if call else len(text) > _SHORT:
+ if not call and len(text) > _SHORT:
a request closes what it asks for
- return bool(_IS_OPEN(statement) or _IS_ASKED(statement))
+ return bool(_IS_OPEN(statement))

reduction/commands.py: reduction/test_unsaid.py
a permission is no order
- found = command or _PERMIT(clause)
+ found = command
what a page ordered may not be told
- if found and (not is_reported(told) or _SIDE(_IN_QUOTE.sub("", told))):
+ if found:
a false agreement stays
- elif not found and (claim := _CLAIM(clause)):
+ elif not found and (claim := _CLAIM("")):
the user may be said to have ordered anything
- if found and (not is_reported(told) or _SIDE(_IN_QUOTE.sub("", told))):
+ if found and not is_reported(told):

reduction/said.py: reduction/test_wishes.py
the assistant's word makes a wish the user's
- users = texts_of(one for one in request.parsed if one.is_from_user)
+ users = texts_of(one for one in request.parsed if one.role != "tool")
what a view shows cannot have been ordered
- (request.focus, *request.quoted, *map(_told, request.earlier))
+ (request.focus, *map(_told, request.earlier))

reduction/speech.py: reduction/test_contract.py
who names the customer once may go on working
- if _asks(said[-1]) or (_GOES_ON(said[-1]) and told < _LEAST_TOLD):
+ if _asks(said[-1]):
an opening that announces a summary stays
- return text[found.end() :] if (found := _ANNOUNCES(text)) else text
+ return text
what is open has no label
- said = [one for one in found if not (is_listed(one) or _IS_AHEAD(one))]
+ said = [one for one in found if not is_listed(one)]

reduction/contract.py: reduction/test_unsaid.py
what the user typed cannot hold from now on
- or (is_standing(line) and not (said.has_lasting or said.is_of_user(line)))
+ or (is_standing(line) and not said.has_lasting)
a text in another language may not be quoted
- and not said.is_in_words(unit)
+ and True

reduction/said.py: reduction/test_unsaid.py
what a tool said is an order of the user
- if one.role in {"user", "assistant", "system"}:
+ if True:
a file that was written was said
- replace(one, arguments=_NEXT_LINES.sub("", one.arguments))
+ one
an order may be said with another verb
- if self.verb in left and (self.has_effect or self._most == 0):
+ if False:

reduction/provenance.py: reduction/test_provenance.py
half a name is as good as the whole
- return is_word and inside.isascii()
+ return False and inside.isascii()

reduction/contract.py: reduction/test_contract_faults.py
an answer is accepted
- if begins_turn(text) or any(is_turn(one, prompt) for one in {text, left}):
+ if False:
an instruction cannot ask for a person
- if begins_turn(text) or any(is_turn(one, prompt) for one in {text, left}):
+ if begins_turn(text) or any(map(is_turn, {text, left})):

reduction/contract.py: reduction/test_contract_faults.py
what is left out hides how a text begins
- if begins_turn(text) or any(is_turn(one, prompt) for one in {text, left}):
+ if any(is_turn(one, prompt) for one in {text, left}):

reduction/contract.py: reduction/test_unsaid.py
what is to hold from now on needs nobody who said so
- or (is_standing(line) and not (said.has_lasting or said.is_of_user(line)))
+ or False

reduction/speech.py: reduction/test_contract_faults.py
who is asked for the user's id is told about
- found = {*_words(sentence)}
+ found = {*words(sentence)}
who tells what both did answers
- return len(retold) >= least and spoken <= _MOST_OTHER * len(retold)
+ return False
a program is a summary
- return (code is not None and len(words(code[1])) < _WORDS_BEFORE_CALL) or any(
+ return any(

reduction/shape.py: reduction/test_contract_faults.py
a hollow text is accepted
- own = content(one for one in found if one not in TELLING) - HOLLOW
+ own = content(one for one in found if one not in TELLING)

reduction/provenance.py: reduction/test_provenance.py
a number in words was not said
- return not (self._numbers.isdisjoint(found) and self._spoken[0].isdisjoint(found))
+ return not self._numbers.isdisjoint(found)
a password needs nobody who said it
- self._take(_SECRET, lambda written: self._is_known(re.split(r"[\\s\\"'`*]", written)[-1]))
+ pass
a version was said
- self._take(_VERSION, lambda written: any(map(self._is_known, (written, written[1:]))))
+ pass
half of a cut name is enough
- return is_cut and all(piece in self._text for piece in pieces)
+ return is_cut

reduction/contract.py: reduction/test_fold.py
a summary longer than what it replaces is accepted
- elif tokens >= room:
+ elif tokens >= 10 * room:

reduction/said.py: reduction/test_unsaid.py
a reminder was typed
- (without_reminders(one.text) for one in self._request.parsed if one.is_from_user)
+ (one.text for one in self._request.parsed if one.role == "user")

reduction/evidence.py: reduction/test_evidence.py
a reminder says that a task is done
- if message.is_from_user and len(text := without_reminders(message.text)) <= TYPED:
+ if message.role == "user" and len(text := message.text) <= TYPED:

reduction/undone.py: reduction/test_left_open.py
what was left open counts as done
- wishes, left = [*_wishes(messages)], _left(messages)
+ wishes, left = [*_wishes(messages)], []
what is reported later closes nothing
- left = [each for each in left if len(each.new & stems) <= len(each.new) / 2]
+ pass
an approval is given by any call
- if new and (is_ahead or _WAITS(part)):
+ if new and is_ahead:
a file is what is done in it
- plain = _JOINED.sub(" ", _NAMED.sub(" ", text))
+ plain = text

reduction/contract.py: reduction/test_permissions.py
a note to the next reader stays
- (speaks_to_reader(line) and not said.is_in_words(line.partition(":")[2] or line))
+ False

reduction/said.py: reduction/test_permissions.py
who quotes an order gives it
- yield _without_told_orders("\\n".join(texts_of([_spoken(one)])))
+ yield "\\n".join(texts_of([_spoken(one)]))
a check may be left out
- if order.is_permit and skips_check(order.text) and not self._may_skip:
+ if False:
what was forbidden was said
- yield " ".join(part for part in _CLAUSES(one) if not self._is_banned(part))
+ yield one

reduction/speech.py: reduction/test_contract_kinds.py
what begins as a summary may end as an answer
- if _asks(said[-1]) or (_GOES_ON(said[-1]) and told < _LEAST_TOLD):
+ if False:

reduction/said.py: reduction/test_unsaid.py
what was said apart was not said
- if wanted.is_vague or (not order.is_permit and self._is_about(wanted)):
+ if wanted.is_vague:

reduction/contract.py: reduction/test_rules.py
a ban may be lifted
- or (not (is_banned or is_told) and said.rules.are_lifted_by(unquoted(unit)))
+ or False
what is quoted lifts a ban
- or (not (is_banned or is_told) and said.rules.are_lifted_by(unquoted(unit)))
+ or (not (is_banned or is_told) and said.rules.are_lifted_by(unit))
what stands under a ban is an order
- is_banned = said.rules.are_listed_under(unit)
+ is_banned = False
a ban may not have a label
- elif not (is_banned or said.rules.are_labelled_in(unit)):
+ elif not is_banned:

reduction/rules.py: reduction/test_rules.py
who told it later is not heard
- if agrees or (rules and agrees is False):
+ if rules and agrees is not None:
two negations are one
- demands=(denied + without) % 2 == 0,
+ demands=denied + without == 0,
what happened is a rule
- if len(found.stems) >= _LEAST and (wish or not _HAPPENED(_main_part(part))):
+ if len(found.stems) >= _LEAST:

reduction/contract.py: reduction/test_planted.py
what a tool tells a model is a fact
- or said.planted.is_in(unit)
+ or False

reduction/planted.py: reduction/test_planted.py
what a page says may not be told
- if tells_of_text(text):
+ if False:
who denies it tells it
- lines = [one for one, denies in self._lines if denies or not negations(text)]
+ lines = [one for one, _ in self._lines]
what is quoted is told
- text = folded(unquoted(statement))
+ text = folded(statement)
what somebody said was planted
- new = shared - self._said
+ new = shared

reduction/commands.py: reduction/test_rules.py
what nothing may be is an order
- if not (_INQUIRES(clause, start) or _BARRED(clause[: found.start()])):
+ if not _INQUIRES(clause, start):

reduction/corrected.py: reduction/test_corrected.py
two values of one sentence correct each other
- before = (one for one in reversed(earlier) if one.about is not value.about)
+ before = reversed(earlier)
what was corrected may not be told
- if new - {each.written for each in _values(text) if new}:
+ if new:
what is said again stays wrong
- found.pop(value.written, None)
+ pass
two sums are of one thing
- (self.unit not in _COMMON and self.unit == other.unit) or
+ self.unit == other.unit or

reduction/shape.py: reduction/test_contract_ends.py
a blank form is a summary
- if len(own) + _figures(text, request, own) < least or is_blank(text):
+ if len(own) + _figures(text, request, own) < least:
a label announces nothing
- is_label = _IS_BARE_LABEL(last) or (len(lines) > 1 and _IS_HEADING(last))
+ is_label = False

reduction/speech.py: reduction/test_contract_ends.py
a call after a summary is nothing
- len(words(text[: call.start()])) < _WORDS_BEFORE_CALL or _ENDS_CALL(text, call.start())
+ len(words(text[: call.start()])) < _WORDS_BEFORE_CALL

reduction/provenance.py: reduction/test_contract_ends.py
millions need no source
- self._take(_SCALED, self._is_known_scaled)
+ pass
""")
