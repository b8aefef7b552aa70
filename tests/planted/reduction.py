"""Bugs of the reduction room."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

BUGS = (
    Bug(
        "a hit without looking at the digest",
        "reduction/verdict.py",
        "and same_hash(state.message_hash, hash_of(history, index))",
        "",
        "properties/test_edits.py",
    ),
    Bug(
        "a reduction of another configuration is used",
        "reduction/verdict.py",
        "one.config_fingerprint == config_fingerprint\n            and ",
        "",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the trigger is not strict",
        "reduction/verdict.py",
        "> config.limits.ceiling",
        ">= config.limits.ceiling",
        "reduction/test_verdict.py",
    ),
    Bug(
        "no earlier reduction is looked for",
        "reduction/verdict.py",
        "found = next(filter(is_usable, longest_first), None)",
        "found = None",
        "properties/test_edits.py",
    ),
    Bug(
        "a changed summary is served",
        "reduction/verdict.py",
        "\n        and state.is_whole",
        "",
        "reduction/test_verdict.py",
    ),
    Bug(
        "only the newest reductions are carried",
        "reduction/state.py",
        "if number % stride or not number:",
        "if number:",
        "reduction/test_carried.py",
    ),
    Bug(
        "the whole prefix is read again at each fold",
        "reduction/strategies.py",
        "total, start = Writing(), task.start",
        "total, start = Writing(), 0",
        "scenarios/test_call_counts.py",
    ),
    Bug(
        "the summary before is forgotten",
        "reduction/strategies.py",
        "earlier=(earlier.text,) if earlier.text else (),",
        "earlier=(),",
        "reduction/test_fold.py",
    ),
    Bug(
        "an empty summary is accepted",
        "reduction/contract.py",
        "if not text.strip():",
        "if False:",
        "reduction/test_contract.py",
    ),
    Bug(
        "a summary longer than what it replaces is accepted",
        "reduction/contract.py",
        "if tokens >= room:",
        "if tokens >= 10 * room:",
        "reduction/test_fold.py",
    ),
    Bug(
        "a failing summarizer is asked for ever",
        "reduction/writing.py",
        "for attempt in range(task.summarizers * ATTEMPTS):",
        "for attempt in [0] * 50:",
        "reduction/test_fold.py",
    ),
    Bug(
        "the last user message is not pinned",
        "reduction/fold.py",
        "pinned_index=user if user is not None and user < verdict.cut else None,",
        "pinned_index=None,",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "nothing is pinned where a history was rewound",
        "reduction/verdict.py",
        "return msgspec.structs.replace(state, pinned_index=user).sealed()",
        "return state",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "system messages are lost",
        "reduction/view.py",
        "view = [*history.system, *state.summary_messages()]",
        "view = [*state.summary_messages()]",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "damage is sent as it is",
        "reduction/view.py",
        "rest = repair(rest)",
        "rest = list(rest)",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "another configuration takes its reductions away",
        "reduction/fold.py",
        "known_of(history, given) if base is None",
        "[] if base is None",
        "agent/test_alternating.py",
    ),
    Bug(
        "an earlier reduction forgets those of others",
        "reduction/verdict.py",
        "found.carrying(others)",
        "found",
        "agent/test_alternating.py",
    ),
    Bug(
        "what no longer stands is carried along",
        "reduction/verdict.py",
        "or _fits(history, one)",
        "or one",
        "agent/test_alternating.py",
    ),
    Bug(
        "a summary may be as long as it likes",
        "reduction/contract.py",
        "if tokens > request.budget * BUDGET_TOLERANCE:",
        "if False and tokens:",
        "reduction/test_contract.py",
    ),
)
