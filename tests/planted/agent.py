"""Bugs of the agent room."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

BUGS = (
    Bug(
        "the failure of a summarizer fails the turn",
        "agent/reducer.py",
        "return SummaryFailure(type(error).__name__, defect=defect)",
        "raise error",
        "agent/test_reducer.py",
    ),
    Bug(
        "a new loop for each blocking call",
        "agent/portal.py",
        "if self._loop is None:",
        "if True:",
        "agent/test_folding.py",
    ),
    Bug(
        "work that gives up by itself ends the turn",
        "agent/bounded.py",
        "except (Exception, asyncio.CancelledError, GeneratorExit, SystemExit) as error:",
        "except Exception as error:",
        "agent/test_bounded.py",
    ),
    Bug(
        "a turn waits for work that ignores being cancelled",
        "agent/bounded.py",
        "            await asyncio.wait([task], timeout=_GRACE)\n    except",
        "            await asyncio.wait([task])\n    except",
        "agent/test_bounded.py",
    ),
    Bug(
        "spaces in a docstring take quadratic time",
        "agent/tools/signature.py",
        r"(\w+)(?:\s*\(.*?\))?\s*:(?:",
        r"(\w+)\s*(?:\(.*?\))?\s*:(?:",
        "agent/test_linear.py",
    ),
    Bug(
        "the same fold is made by everybody",
        "agent/reducer.py",
        "async with self._cache.folds.alone(place):",
        "async with self._cache.folds.alone(object()):",
        "agent/test_folding.py",
    ),
    Bug(
        "a failed fold shows what was not in force",
        "agent/reducer.py",
        "active = result.state or call.verdict.state",
        "active = result.state or call.given",
        "agent/test_folding.py",
    ),
    Bug(
        "the first tool call changes the front",
        "agent/wire.py",
        "writer = _detected_chat_messages if is_detected else _WRITERS[wire]",
        "writer = _WRITERS[wire]",
        "agent/test_wire.py",
    ),
    Bug(
        "tenants share a cache",
        "agent/cache.py",
        "key = (scope, state.config_fingerprint, state.message_hash)",
        'key = ("", state.config_fingerprint, state.message_hash)',
        "agent/test_cache.py",
    ),
)
