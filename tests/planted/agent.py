"""Bugs of the agent room."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in(r"""
agent/bounded.py: agent/test_bounded.py
work that gives up by itself ends the turn
- except (Exception, asyncio.CancelledError, GeneratorExit, SystemExit) as error:
+ except Exception as error:
a turn waits for work that ignores being cancelled
-             await asyncio.wait([task], timeout=_GRACE)
-     except
+             await asyncio.wait([task])
+     except

agent/cache.py: agent/test_cache.py
tenants share a cache
- key = (scope, state.config_fingerprint, state.message_hash)
+ key = ("", state.config_fingerprint, state.message_hash)

agent/portal.py: agent/test_reducer.py
a new loop for each blocking call
- loop = self._loops.get(getpid())
+ loop = self._loops.pop(getpid(), None)

agent/reducer.py: agent/test_reducer.py
the same fold is made by everybody
- async with self._cache.folds.alone(place):
+ async with self._cache.folds.alone(object()):
a failed fold shows what was not in force
- result.state or call.verdict.state,
+ result.state or call.given,

the failure of a summarizer fails the turn
- return SummaryFailure(type(error).__name__, defect=defect)
+ raise error

agent/tools/signature.py: properties/test_linear.py::test_no_pattern_is_worse_than_linear
spaces in a docstring take quadratic time
- (\w+)(?:\s*\(.*?\))?\s*:(?:
+ (\w+)\s*(?:\(.*?\))?\s*:(?:

agent/wire.py: agent/test_wire.py
the first tool call changes the front
- writer = _detected_chat_messages if is_detected else _WRITERS[converter.format]
+ writer = _WRITERS[converter.format]
""")
