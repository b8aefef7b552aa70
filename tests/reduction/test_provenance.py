"""Names, numbers and days of a text, and whether its source has them."""

import re
from random import Random
from time import process_time

import pytest

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.reduction.contract import reviewed
from foldline.reduction.provenance import Source
from foldline.reduction.request import SummaryRequest
from foldline.reduction.statements import statements
from tests.reduction.talks import CODING, GOOD, TRAVEL


MUTATIONS = 1_000
SAID = (
    "They paid 12,345.60 for 1 200 boxes on May 20th, 2024, and 3.500 more of the 339 between 3 and 5 June or on "
    "7/8/2025, 09.11.2026, 12-25-24, 2026年3月4日. Look into C:\\new\\plan.txt, ~/notes/todo.md, "
    "/srv/app and data/rows.csv; the code is DE12 AB34 CD, tickets WP16 and WP20, 150000 rows of version 1.2.24. "
    "See /home/mara/maps/berlin, plan.ts, map.ts, WP3, WP5-7, and the password swordfish7. Call 655 71 30 26; the "
    "score was 0.8346, on 12.3481 units in 243.8 ms."
)


def lacking(statement: str, said: str = SAID) -> bool:
    request = SummaryRequest(messages=(Message.user(said),), prompt="", budget=9)
    return bool(Source(request).lacking([statement]))


@pytest.mark.parametrize(
    "statement",
    [
        "paid 12345.6", "paid 12.345,60", "paid 12 345.60", "1200 boxes", "1,200", "3500", "3,500", "3.500",
        "on 2024-05-20", "on 20.05.2024", "on 20 May", "el 20 de mayo de 2024", "am 20. Mai 2024", "5/20/24",
        "3 June", "June 5", "on June 3-5", "8 July 2025", "7 August 2025", "2026-11-09", "25 December 2024",
        "4 March 2026", "3月4日", "२० 20th of May", "C:\\new\\plan.txt", "notes/todo.md", "todo.md",
        "/srv/app/data/rows.csv", "DE12AB34CD", "DE12-AB34-CD", "WP16-WP20", "150k rows", "150000rows",
        "boxes/rows/code", "٣٥٠٠ more", "WP16-20", "WP3-7", "rows.csv#L3500", "at L3500", "~/maps/berlin", "plan.ts/map.ts", "v1.2.24",
        "0.835", "12.35", "244 ms", "型号1200,3500", "12.348", "0,835", "655713026", "655-71-30-26",
        "+34 655 71 30 26", "655 713 026", "<ruled_out>rows</ruled_out>", "scores of 10 20 30",
        "The password was `swordfish7`.", "The key is well-known.", "At 09:58 339 boxes.", "key: value",
    ],
)  # fmt: skip
def test_what_means_the_same_was_said(statement: str) -> None:
    """Marks between digits, the form of a day, the folder of a path, groups of a code may differ."""
    assert not lacking(statement)


@pytest.mark.parametrize("escape", ["\x1b", "\\u001b"])
def test_what_a_terminal_colors_was_said(escape: str) -> None:
    """A color is no part of the name behind it, in the output of a command and in JSON around it."""
    said = (
        f"{escape}[38;5;244m1b2c3d4{escape}[m src/{escape}[36mcart.ts{escape}[0m {escape}[33mWP16"
    )

    assert not lacking("1b2c3d4 changes src/cart.ts for WP16", said)
    assert lacking("1b2c3d4 changes src/cart.ts for WP17", said)


SPOKEN = (
    "It was twelve fifty, or maybe three hundred and forty units of the 339 here, due on July twenty - fifth, in the call "
    "toolu_019tYDrb."
)


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("about 350 units", False), ("about 400 units", True), ("at 350 units", True),
        ("It costs €12.50.", False), ("340 units", False), ("on 25 July", False), ("call toolu_019…", False),
        ("It costs €12.60.", True), ("341 units", True), ("on 26 July", True), ("call toolu_018…", True),
    ],
)  # fmt: skip
def test_what_is_said_in_words_or_cut_short_was_said(statement: str, *, missing: bool) -> None:
    """A number may be said in English words, and a long name written without its end."""
    assert lacking(statement, SPOKEN) is missing


@pytest.mark.parametrize(
    "statement",
    [
        "paid 12,345.70", "paid 12435", "1,201 boxes", "350 more", "on 2024-05-21", "on May 21", "21 May 2024",
        "May 20, 2023", "June 4", "June 3-6", "12 September 2026", "2026年3月5日", "4/3/2025", "C:\\old\\plan.txt",
        "notes/todo.txt", "/srv/data/rows.csv", "/app/data/rows.csv", "app/rows.csv", "DE12AB34CE",
        "E12AB34CD", "WP16-WP21", "WP17", "151k rows", "15000rows", "boxes/rows/coat", "plan_b", "planTxt", "otes/todo.md", "January 2, 2024", "a1" * 40,
        "ZX98-YW76", "a@example.org", "https://example.org/x", "٣٦٠٠ more", "WP16-21", "WP20-16", "WP16-3", f"WP16-{'9' * 5_000}",
        "rows.csv#L3501", "~/maps/paris", "plan.ts/maps.ts", "v2.3", "The key is sk-live-abcdef.",
        "printed the password: hunter2", "Token: **abc-12**", "655 71 88 26", "655-71-30-27", "0.834", "0.847", "12.36",
        "12.347", "245 ms", "型号1200,3501",
    ],
)  # fmt: skip
def test_what_means_something_else_was_not(statement: str) -> None:
    """Another amount, day, path or code is an invention, and so is half of a code."""
    assert lacking(statement)


NAMED = (
    "Region us-east-2, bucket acme-exports-eu, v2.3.1, PR #87 of feature/big-batches, commit "
    "9f3c2ab41d7788990011aabbccddeeff00112233, container 41f5e6d7c8b9a0b1c2d3e4f5a6b7c8d9, image 4155678aa1. It has 4.2 million rows, "
    "480万円, 3 Mio. Euro, 12,5 тыс. мест. Due 30.10. at night; keys am 2. Oktober 15 Uhr."
)


@pytest.mark.parametrize(
    "statement",
    [
        "us-east-2", "acme-exports-eu", "version 2.3.1", "PR #87", "step #1", "feature/big-batches",
        "commit 9f3c2ab", "image 4155678", "commit 9f3c2ab41d77", "container 41f5e6d7c8b9", "4,200,000 rows", "4200000", "4.2M",
        "4,800,000 yen", "3.000.000 Euro", "12500", "by 30.10.", "October 30", "Schlüssel 2. Oktober 15 Uhr",
        "100 % of it", "100% done", "<state>over</state>", '"next_steps": none', "<open_tasks>none</open_tasks>",
        "a day-to-day thing, state-of-the-art", "x86_64, SHA-256, ISO-8601", "fix/test or release/deploy", "facade",
    ],
)  # fmt: skip
def test_what_is_shortened_or_counted_otherwise_was_said(statement: str) -> None:
    """The first digits of a hash, a number in words and a short day stand for what was said."""
    assert not lacking(statement, NAMED)


@pytest.mark.parametrize(
    "statement",
    [
        "us-east-1", "us-west-2", "acme-exports-us", "v2.3.2", "version 2.4.1", "PR #88", "feature/small-batches",
        "fix/issue-12", "commit 9f3c2ac", "commit 9f3c2a", "commit f3c2ab41d", "container 41f5e6d7c8b8", "4,300,000 rows",
        "42000000", "4,900,000 yen", "by 31.10.", "October 31", "150 % of it", "deadbeef", "image 4155679", "next_steps are open",
        "batch_size: 5", "Schlüssel 3. Oktober 15 Uhr",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_was_not(statement: str) -> None:
    """A neighbour of a region, a version, a branch or a hash is another one."""
    assert lacking(statement, NAMED)


_IDENTIFIER = re.compile(r"[A-Za-z0-9_][\w./@-]*[A-Za-z0-9]", re.ASCII)


def identifiers(text: str) -> set[str]:
    """Return what has a digit and a letter, a digit four times, or the marks of a path, mail or name."""
    return {
        one
        for one in _IDENTIFIER.findall(text)
        if (re.search(r"\d", one) and (re.search("[A-Za-z]", one) or len(one) > 3))
        or re.search(r"\w[/@_]\w", one)
    }


def mutated(random: Random, text: str) -> str:
    """Change, swap, drop or add one character of one identifier of *text*."""
    at = random.choice(sorted(identifiers(text)))
    place = random.randrange(len(at))
    other = random.choice("0123456789" if at[place].isdigit() else "abcdefghkmnpqrstuvwxyz")
    new = random.choice(
        (
            at[:place] + (other.upper() if at[place].isupper() else other) + at[place + 1 :],
            at[: place - 1] + at[place : place + 1] + at[place - 1 : place] + at[place + 1 :],
            at[:place] + at[place + 1 :],
            at[:place] + other + at[place:],
        )
    )
    return text.replace(at, new)


@pytest.mark.slow
def test_no_mutated_identifier_is_accepted() -> None:
    """After a thousand changes no text that may be used names what the conversation does not."""
    random = Random(13)
    kept, invented = 0, set[str]()
    texts = (
        (GOOD, TRAVEL),
        (
            (
                "The user asked to repair src/ledger/importer.py. `parse_row` now uses default_currency (commit "
                "9c41f7e, 312 passed). The test is tests/ledger/test_importer.py. Keep the migrations. "
                "Next: format_total in src/ledger/report.py. The accountant needs points."
            ),
            CODING,
        ),
    )
    for number in range(MUTATIONS):
        text, messages = texts[number % 2]
        request = SummaryRequest(messages=messages, prompt="", budget=9_999)
        source = " ".join(
            f"{one.text} {[call.arguments for call in one.tool_calls]} "
            f"{[part.response for part in one.tool_call_responses]}"
            for one in messages
        )
        known = {*identifiers(source), *identifiers(text)}
        changed = mutated(random, text)
        review = reviewed(changed, request, count=TokenEstimator().count, room=9_999)
        if not review.defects:
            kept += 1
            new = identifiers(review.text) - known
            invented |= {one for one in new if one.casefold() not in source.casefold()}

    assert invented == set()
    assert kept > MUTATIONS / 2


@pytest.mark.slow
def test_time_for_a_long_source() -> None:
    """A text of 1,500 tokens is judged against a source four times as long in no more than that time."""
    text = (GOOD + "\n") * 10
    taken: list[float] = []
    for repeated in (40, 160):
        request = SummaryRequest(messages=TRAVEL * repeated, prompt="", budget=9_999)
        rounds: list[float] = []
        for _ in range(3):
            started = process_time()
            assert not Source(request).lacking(statements(text))
            reviewed(text, request, count=len, room=10**9)
            rounds.append(process_time() - started)
        taken.append(min(rounds))

    assert taken[1] < 8 * taken[0]
