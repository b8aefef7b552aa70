"""Bugs of the history room."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

BUGS = (
    Bug(
        "cut inside a tool group",
        "history/history.py",
        "while whole[-1] > reach:",
        "while whole[-1] > position:",
        "history/test_boundaries.py",
    ),
    Bug(
        "cut counted over system messages",
        "history/history.py",
        "index = len(self) - size",
        "index = self.total - size",
        "history/test_boundaries.py",
    ),
    Bug(
        "digest without the role",
        "history/digest.py",
        "_encode((_VERSION, message.role, message.name, parts))",
        "_encode((_VERSION, message.name, parts))",
        "history/test_digest.py",
    ),
    Bug(
        "digest without the result",
        "history/digest.py",
        '(_VERSION, "tool", None, [projection])',
        '(_VERSION, "tool", None, [])',
        "history/test_digest.py",
    ),
    Bug(
        "repair drops a late result",
        "history/repair.py",
        "            if answer is None:",
        "            if answer is None or answer.message != block.stop:",
        "history/test_repair.py",
    ),
    Bug(
        "exchanges counted by bisect_right",
        "history/history.py",
        "bisect_left(self._users, start)",
        "bisect_right(self._users, start)",
        "history/test_history.py",
    ),
    Bug(
        "tokens of system messages counted in the tail",
        "history/history.py",
        "return self.tokens(start)",
        "return self.tokens(start) + self._system_tokens",
        "history/test_history.py",
    ),
    Bug(
        "arguments hashed as raw text",
        "history/digest.py",
        "        return _call(part, decoder)",
        "        return part",
        "history/test_digest.py",
    ),
    Bug(
        "no exchange asked for keeps them all",
        "history/history.py",
        'unit == "messages" or size == 0',
        'unit == "messages"',
        "history/test_history.py",
    ),
    Bug(
        "a call that was given up holds the cut",
        "history/history.py",
        "self._open.clear()",
        "self._open.copy()",
        "history/test_boundaries.py",
    ),
    Bug(
        "cut above a call that waits",
        "history/boundaries.py",
        "min(wished, history.first_open_call())",
        "wished",
        "history/test_boundaries.py",
    ),
    Bug(
        "an answer in pieces has a digest of its own",
        "history/digest.py",
        'elif said is None or role == "assistant":',
        "elif said is None:",
        "history/test_digest.py",
    ),
    Bug(
        "repair leaves the vendor's item as it was",
        "history/formats/converter.py",
        "[{**item, key: new}]",
        "[item]",
        "history/test_repair.py",
    ),
    Bug(
        "pieces of an item are written apart",
        "history/formats/converter.py",
        "if continues and items and own",
        "if False and items and own",
        "history/formats/test_converter.py",
    ),
    Bug(
        "an index of items is taken for one of messages",
        "reduction/version_1.py",
        "behind if place == len(items) else before",
        "behind",
        "reduction/test_version_1.py",
    ),
    Bug(
        "a call of a user takes an answer",
        "history/history.py",
        'if message.role == "assistant":',
        "if message.role:",
        "history/test_repair.py",
    ),
    Bug(
        "NaN in metadata is lost",
        "history/codec.py",
        'message.metadata is not None and b"null" in data',
        "False",
        "history/test_codec.py",
    ),
    Bug(
        "an error quotes the value",
        "history/codec.py",
        "            return text[:start] + text[end + 1 :]",
        "            return text",
        "history/test_codec.py",
    ),
)
