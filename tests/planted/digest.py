"""Bugs of the digest."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
providers/digest/identifiers.py: providers/test_digest_sections.py
a row of dots is a part of a word
- if "..." in word:
+ if False:
a duration is a code
-     r"|(?:\d+(?:\.\d+)?(?:[mun\u00b5]?s|secs?|mins?|[mh]))+)"
+     r")"

providers/digest/identifiers.py: providers/test_digest_ids.py
a line break of JSON is a part of the next id
- is_broken = "\\n" in text and text.startswith(("{", "["))
+ is_broken = False

reduction/sources.py: reduction/test_provenance.py
a color is a part of the name behind it
- if "\x1b" in text else text
+ if "\x1b" not in text else text

providers/digest/setters.py: providers/test_digest_setters.py
a reason after a value is what has it
- beside = labels[:at] or [one for one in labels if _is_scope(one)]
+ beside = labels
a word beside a key is what has its value
- return [one for one in labels if one in known or _is_scope(one)]
+ return labels

providers/digest/summarizer.py: agent/test_view_size.py
questions that had their answer come first
- return asked if self.budget > TIGHT else sorted(asked, key=_only_asks)
+ return asked

providers/digest/requests.py: providers/test_digest_requests.py
data beside words is shown whole
- if len(whole) <= _DETAIL or "\n" not in text:
+ if True:
data comes before what somebody wrote
-     best.sort(key=lambda place: is_data_line(texts[place][:_DETAIL]))

providers/digest/rules.py: providers/test_digest_rules.py
a rule that is no rule by itself is lost at the next fold
- texts = distinct([*rules_in(asked), *prior, *rules_in(new)])
+ texts = distinct([*rules_in(asked), *rules_in(prior), *rules_in(new)])
lists of rules are not read
- map(_LIST, (text
+ map(str.split, (text
what is called a rule is none
- or (signs & _LABELS and _LABELLED(said))
+ or ()
what takes a rule back is none
- or (signs & _BACKS and _TAKEN_BACK(said))
+ or False
a new value is no rule
- or (signs & _CHANGES and _CHANGED(said))

providers/digest/material.py: providers/test_digest.py
a digest leaves a quarter of a short source out
-         new += count(text)
+         new += count(text) * 3 // 4

providers/digest/summarizer.py: providers/test_digest_requests.py
a short talk loses what its user said
- return asked if cost
+ return first if cost

reduction/code_lines.py: providers/test_digest_prose.py
a note in a transcript is code
- and _NOTE(line) is None
+ and line

providers/digest/prose.py: providers/test_digest_prose.py
of equal sentences the oldest come first
-     order = [index * _GOLDEN % _TURN for index in range(len(texts))]
+     order = [*range(len(texts))]
speech without full stops is not read
- split_sentences(text, lengths=_ANY_LENGTH)
+ split_sentences(text)

reduction/quotes.py: reduction/test_quotes.py
a quote does not say which user spoke
- return f"{self.role} ({self.name})" if self.name else self.role
+ return self.role

reduction/quotes.py: reduction/test_quotes.py
what a second user says like a first one is not quoted
- said = quote.name, quote.text
+ said = "", quote.text

providers/digest/span.py: providers/test_speakers.py
a digest does not say which user spoke
- if message.role == "user" and message.name:
+ if False:

providers/digest/outline.py: providers/test_speakers.py
what a user with a name said is told beside its quote
- said = bare(text) if text.startswith(BY_USER) else text
+ said = text.removeprefix("user: ")
""")
