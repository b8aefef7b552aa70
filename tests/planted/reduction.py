"""Bugs of the reduction room."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

BUGS = (
    Bug(
        "a hit without looking at the digest",
        "reduction/standing.py",
        "and state.message_hash == hash_of(history, index)",
        "",
        "properties/test_edits.py",
    ),
    Bug(
        "a reduction of another configuration is used",
        "reduction/standing.py",
        "state.config_fingerprint == config_fingerprint\n        and ",
        "",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the trigger is not strict",
        "reduction/verdict.py",
        "if units > limits.ceiling:",
        "if units >= limits.ceiling:",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the stored threshold decides",
        "reduction/verdict.py",
        "if units > limits.ceiling:",
        "stored = standing or limits\n    if units > (limits.ceiling if stored is limits "
        "else stored.target_count + stored.reduction_threshold):",
        "reduction/test_verdict.py",
    ),
    Bug(
        "no earlier reduction is looked for",
        "reduction/standing.py",
        "for candidate in _longest_first(state):",
        "for candidate in ():",
        "properties/test_edits.py",
    ),
    Bug(
        "failed attempts have no end",
        "reduction/verdict.py",
        "state.failed_attempts >= MAX_ATTEMPTS",
        "state.failed_attempts < 0",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the whole prefix is read again at each fold",
        "reduction/strategies/summarizing.py",
        "total, start = Writing(), task.start",
        "total, start = Writing(), 0",
        "scenarios/test_call_counts.py",
    ),
    Bug(
        "the summary before is forgotten",
        "reduction/strategies/summarizing.py",
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
        "reduction/strategies/writing.py",
        "for summarizer in range(task.summarizers):",
        "for summarizer in [0] * 50:",
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
        "reduction/standing.py",
        "return msgspec.structs.replace(state, pinned_index=user)",
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
        "before = known_of(history, given)",
        "before = None",
        "agent/test_alternating.py",
    ),
    Bug(
        "an earlier reduction forgets those of others",
        "reduction/standing.py",
        "candidate.behind(others)",
        "candidate",
        "agent/test_alternating.py",
    ),
    Bug(
        "what no longer stands is carried along",
        "reduction/standing.py",
        "or _fits(history, one))",
        "or one)",
        "agent/test_alternating.py",
    ),
    Bug(
        "a summary may be as long as it likes",
        "reduction/contract.py",
        "elif tokens > request.budget * BUDGET_TOLERANCE:",
        "elif False:",
        "reduction/test_contract.py",
    ),
)
