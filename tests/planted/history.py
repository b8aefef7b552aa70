"""Bugs of the history room."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
history/boundaries.py: history/test_boundaries.py
cut above a call that waits
- min(wished, history.first_open_call())
+ wished

history/boundaries.py: history/test_reminders.py
a cut stops at a reminder
- history[index].is_from_user
+ history[index].role == "user"

history/codec.py: history/test_codec.py
NaN in metadata is lost
- message.metadata is not None and b"null" in data
+ False
an error quotes the value
-             return text[:start] + text[end + 1 :]
+             return text

history/digest.py: history/test_digest.py
digest without the role
- _encode((_VERSION, role, name, said))
+ _encode((_VERSION, name, said))
digest without the result
- (_VERSION, "tool", None, [projection])
+ (_VERSION, "tool", None, [])
arguments hashed as raw text
-         return _call(part, decoder)
+         return part
an answer in pieces has a digest of its own
- elif said is None or role == "assistant":
+ elif said is None:
a null of a vendor's tool is a part of the digest
- if "null" not in text:
+ if True:
a value of a program loses its nulls
- type(part) is GenericPart and not part.opaque
+ type(part) is GenericPart

history/formats/converter.py: history/formats/test_converter.py
pieces of an item are written apart
- if continues and items and own
+ if False and items and own

history/formats/converter.py: history/test_repair.py
repair leaves the vendor's item as it was
- [{**item, key: new}]
+ [item]

history/formats/renderings/anthropic.py: history/formats/test_anthropic_rendering.py
a system message comes after an answer
- if last is None or not (last.role == "user" or _ends_in_result(last)):
+ if last is None:
a summary is by itself beside an answer
- return not message.is_summary and isinstance(
+ return isinstance(
a text joins the one before it
- last.role != turn.role or (last.is_alone and turn.is_alone):
+ last.role != turn.role:
what is joined counts as the caller's own
- last.is_alone = False
+ pass
a signed compaction stays where it was
- turns = _from_compaction(turns)
+ turns = list(turns)

history/pairing.py: history/test_served.py
a cut tears a program from what it calls
- if is_answer:
+ if not call_id:

history/served.py: history/test_served.py
what a program calls is shortened
- return called != answered or
+ return

history/history.py: history/test_boundaries.py
cut inside a tool group
- while whole[-1] > reach:
+ while whole[-1] > position:
cut counted over system messages
- index = len(self) - size
+ index = self.total - size
one answer is cut in two
- reach -= not message.begins_after(before)
+ pass
a call that was given up holds the cut
- pairing.open.clear()
+ pairing.open.copy()

history/history.py: history/test_history.py
exchanges counted by bisect_right
- len(self._users) - bisect_left(self._users, start)
+ len(self._users) - bisect_right(self._users, start)
tokens of system messages counted in the tail
- else self.tokens(start)
+ else self.tokens(start) + self._system_tokens
each copy hashes all of it again
-         self.digest(max(self._first, self._length // _HASHED * _HASHED))
+         pass
what is known is held before what came is hashed
-         self.digest()
-         known = [*rows]
+         known = [*rows]
no exchange asked for keeps them all
- unit == "messages" or size == 0
+ unit == "messages"

history/pairing.py: history/test_repair.py
a call of a user takes an answer
-         if message.role == "assistant":
-             self._waiting
+         if message.role:
+             self._waiting
a second call under an id is no damage
- {*calls} - self._ids
+ {*calls}

history/history.py: history/test_repair.py
a call without a result at the end is no damage
- return bool(self._pairing.asked) or self._pairing.last_damage >= start
+ return self._pairing.last_damage >= start
a text between a call and its result is no damage
- is_free = text is not None and not pairing.asked
+ is_free = text is not None

history/media.py: history/test_media.py
a picture that the model has made is text
- return (_INSIDE.sub("", text) if found else text), found
+ return text, []
the preview of a photo is taken for it
-         at += 2 + _big(data[at + 2 : at + 4])
+         at += 1
a photo is counted by a rule of another vendor
-     return max(openai, _anthropic(width, height), _google(width, height))
+     return _anthropic(width, height)

history/repair.py: history/test_repair.py
repair drops a late result
-             if answer is None:
+             if answer is None or answer.message != block.stop:

history/signed.py: history/test_signed.py
hidden thinking counts as free
- if kind == "redacted_thinking":
+ if not kind:
the item keeps what the parts lost
- if len(left) < len(blocks):
+ if not blocks:
models that do not bind lose their thinking
- if re.search(_FREE, model) is not None:
+ if not model:
thinking without a note of its request is sent
- and (message.metadata or {}).get(PREFIX_KEY) != digest.hex():
+ and (message.metadata or {}).get(PREFIX_KEY, digest.hex()) != digest.hex():
what is left of an answer counts as before
- digest = _after(digest, left)
+ digest = _after(digest, message)
thinking is not bound to system messages
-             digest = chain_digest(digest, message)
-     return digest
+             pass
+     return digest
a readable compaction counts as sealed
- and any(map(block.get, seals))
+ and block

reduction/earlier_digests.py: reduction/test_earlier_digests.py
an index of items is taken for one of messages
- behind if place == len(items) else before
+ behind
a reduction from when nulls counted fits nothing
- return _carried(carried, _reading_with_nulls(history))
+ return carried

agent/reducer.py: reduction/test_earlier_digests.py
what an older reduction fits is not carried over
- not (found is not None and found.is_like(state))
+ found is None

history/tokens.py: history/test_tokens.py
a sealed compaction costs nothing
- case CompactionPart(content="") if native is not None:
+ case CompactionPart(content="") if False:

history/tokens.py: history/test_history.py
a name of another type is held
- type(message.role) is not str or type(name) not in _NAMES
+ False

history/tokens.py: history/test_messages.py
what is opaque is counted
- return 0 if is_opaque(part) else _count_generic(part, counter, native)
+ return _count_generic(part, counter, native)

history/meter.py: history/test_meter.py
a mark is continued where the request broke off
- digest, system = EMPTY_DIGEST if broke else prior.digest, prior.system
+ digest, system = prior.digest, prior.system
a request that is unknown keeps the system messages of another
-             if _chained(known) != mark.system:
+             if False:

history/history.py: history/test_prefix.py
what is forgotten has no users
- users=self._prefix.users + before,
+ users=before,

logs/stream.py: logs/test_stream.py
a damaged line in the middle is left out
- if self.damaged:
+ if False:
a late sign of a vendor is not seen
- if found is CHAT_JSONL and self.vendor is not None:
+ if False:

logs/sessions.py: logs/test_sessions.py
a list of conversations is one message
- if len(document.records) == 1 and (items := maybe_list(document.first)):
+ if False:

lines of two programs are read as those of one
- elif importer in _BY_LINES:
+ elif False:

logs/importer.py: logs/test_sessions.py
logs behind each other are one session
- if id and is_open and id not in known:
+ if False:

logs/wire_logs.py: logs/test_wire_logs.py
every request is the first one's vendor's
- native = record_format(value) or native
+ pass

logs/importer.py: logs/test_chat_jsonl.py
rows of several chats in a list are one
- if held is record.value or not records or not mixed:
+ if True:

logs/bodies.py: logs/test_ai_sdk.py
a chat is the rest of another
- if not are_requests(document, key):
+ if False:
what comes after a result is said before it
- if not (made or answered) or (results and not is_call):
+ if not (made or answered):

logs/gemini.py: logs/test_pydantic_ai.py
any parts are those of Gemini
- return any(_field(part, kind) is not None for part in parts for kind in _KINDS)
+ return True

logs/copilot.py: logs/test_copilot.py
what an agent of the model said is said by the model
- said = [] if event.get("agentId") or data.get("parentToolCallId") else [*_messages(kind, data)]
+ said = [*_messages(kind, data)]

logs/langsmith.py: logs/test_langsmith.py
runs are read in the order of the file
- calls.sort(key=lambda one: first_text(maybe_object(one.value), "start_time"))
+ pass
the project of a run is its conversation
- id=first_text(metadata, *CONVERSATION) or first_text(run, "trace_id", "id"),
+ id=first_text(run, *CONVERSATION),
what a graph repeats is said twice
- answer = answer[len(sent) :]
+ pass

logs/pydantic_ai.py: logs/test_pydantic_ai.py
a history that goes on as another conversation is divided
- rules=_rules, read=_messages, mixed=False),
+ rules=_rules, read=_messages),

history/formats/responses.py: history/formats/test_responses.py
the name of a tool that a stream repeats is doubled
- name = "" if name in call["name"] else name
+ pass

history/formats/openai_responses.py: agent/test_wire.py
what changes the settings is folded away
- "system" if kind in _SETTINGS else "assistant"
+ "assistant"

history/formats/openai_responses.py: history/formats/test_wire_forms.py
what a shell says is no output
- if kind in _FUNCTIONS or isinstance(block.get("type"), str):
+ if block:

history/formats/openai_responses.py: history/formats/test_openai_responses.py
a search for tools that the client answered gets an invented output
- return _is_own_search(fields)
+ return False

history/formats/renderings/openai_responses.py: history/formats/test_openai_responses.py
a call of another tool than a function has the output of a function
- return _followed(_paired(items))
+ return _followed(items)

history/formats/renderings/openai_chat.py: history/formats/test_openai_chat.py
arguments that are no JSON are sent as they are
- object_text(given if isinstance(given, str) else json_text(given))
+ (given if isinstance(given, str) else json_text(given))

history/formats/renderings/openai_responses.py: history/formats/test_openai_responses.py
arguments that were cut off are sent as they are
- changed["arguments"] = object_text(item["arguments"])
+ pass

history/served.py: history/test_served.py
a cut comes between a request for approval and what the user said to it
- "mcp_approval_request": "id",
+ "approval_request": "id",

logs/langchain.py: logs/test_langchain.py
redacted thinking of LangChain is no reasoning, so it stays behind a fold
- frozenset({"thinking", "redacted_thinking", "reasoning"})
+ frozenset({"thinking", "reasoning"})

history/formats/renderings/openai_chat.py: history/formats/test_openai_chat.py
an answer of nothing is sent as it is
- items.append(item if _says_something(item) else {**item, "content": EMPTY_NOTE})
+ items.append(item)
""")
