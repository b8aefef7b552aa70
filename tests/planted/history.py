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
        "return (_VERSION, message.role, message.name, parts)",
        "return (_VERSION, message.name, parts)",
        "history/test_digest.py",
    ),
    Bug(
        "digest without the result",
        "history/digest.py",
        "[_projection(part) for part in message.parts]",
        "[_projection(part) for part in message.parts if not hasattr(part, 'response')]",
        "history/test_digest.py",
    ),
    Bug(
        "repair drops a late result",
        "history/repair.py",
        "_response(messages, call, answer)",
        "_response(messages, call, answer if answer and answer[0] == block.stop else None)",
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
        "        return _call(part)",
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
        "min(top, history.first_open_call())",
        "top",
        "history/test_boundaries.py",
    ),
    Bug(
        "reasoning cut from what it led to",
        "history/boundaries.py",
        "if not _splits_reasoning(history, index):",
        "if index:",
        "history/test_boundaries.py",
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
        'return _QUOTED.sub("", str(error))',
        "return str(error)",
        "history/test_codec.py",
    ),
)
