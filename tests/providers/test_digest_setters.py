"""Which values tools set, and what becomes of those that were set before."""

from itertools import chain

import pytest

from foldline.history.messages import Message
from foldline.providers.digest.summarizer import write_digest
from foldline.providers.digest.trail import trail_of
from foldline.reduction.record import Artefact, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from tests.providers.test_digest_work import read, used


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        (
            [
                ("set_budget", {"event_id": "E-7", "budget": 500}),
                ("updateEvent", {"event_id": "E-7", "budget": 800}),
            ],
            {"budget (event E-7)": "800"},
        ),
        (
            [("set_seat", {"id": "A", "seat": "14C"}), ("set_seat", {"id": "B", "seat": "14D"})],
            {"seat (seat A)": "14C", "seat (seat B)": "14D"},
        ),
        (
            [("move_card", {"list": "done", "name": "Ship it", "key": 3})],
            {"list (card 3)": "done", "name (card 3)": "Ship it"},
        ),
        ([("update_trip", {"trip_id": "T", "stops": ["Ulm", "Bonn"], "note": "long " * 40})], {}),
        (
            [("set_size", {"size": 4}), ("show_settings", {"key": "size", "as": "text"})],
            {"size": "4"},
        ),
        (
            [
                ("set_price", {"product_id": "P1", "store_id": store, "price": price})
                for store, price in (("S1", 7), ("S2", 9), ("S1", 8))
            ],
            {"price (product P1, store S2)": "9", "price (product P1, store S1)": "8"},
        ),
        (
            [
                ("set_phone", {"booking": "ZX8", "phone": "+351 987"}),
                ("changeHotel", {"booking": "ZX8", "hotel_id": "H-5"}),
                ("set_email", {"new_email": "a@b.ch", "user_id": 7}),
                ("assign_seat", {"flight": "LX 8", "passenger": "Ann", "seat": "4A"}),
            ],
            {
                "phone (booking ZX8)": "+351 987",
                "hotel_id (booking ZX8)": "H-5",
                "new_email (user 7)": "a@b.ch",
                "seat (flight LX 8, passenger Ann)": "4A",
            },
        ),
        (
            [
                ("set_status", {"status": "away", "text": "on holiday"}),
                ("update_order", {"order": "O-1", "color": "red"}),
                ("update_order_status", {"order_id": "O-1", "status": "paid"}),
                ("change_order", {"order_id": "O-1", "color": "blue"}),
                ("set_budget", {"event_id": "E-7", "value": 5}),
                ("set_title", {"event_id": "E-7", "value": "Gala"}),
            ],
            {
                "status": "away",
                "status (order O-1)": "paid",
                "color (order O-1)": "blue",
                "budget (event E-7)": "5",
                "title (event E-7)": "Gala",
            },
        ),
        (
            [
                ("set_config", {"app_id": "web", "key": "timeout", "value": "30s"}),
                ("set_config", {"app_id": "web", "key": "retries", "value": 5}),
            ],
            {"timeout (app web)": "30s", "retries (app web)": "5"},
        ),
        (
            [("set_flag", {"env_name": "prod", "flag": flag, "enabled": True}) for flag in "ab"],
            {"a enabled (env prod)": "true", "b enabled (env prod)": "true"},
        ),
        (
            [("update_cell", {"sheet": "S", "sheet_id": 1, "row": 2, "column": "B", "value": 7})],
            {"2 B (sheet S, sheet 1)": "7"},
        ),
        (
            [
                ("crm_update", {"account": "ACC-7720", "fields": {"stage": one}})
                for one in ("new", "won")
            ],
            {"stage (account ACC-7720)": "won"},
        ),
        ([("rename_flag", {"id": 1, "flag": "dark"})], {"flag (flag 1)": "dark"}),
        (
            [
                ("set_feature_flag", {"flag": "lazy", "enabled": True, "environment": "staging"}),
                ("scale_deployment", {"deployment": "web", "replicas": 3}),
                ("scale_deployment", {"deployment": "web", "replicas": 4}),
                ("reschedule_meeting", {"meeting_id": "M-1", "start": "10:30"}),
            ],
            {
                "enabled (flag lazy, environment staging)": "true",
                "replicas (deployment web)": "4",
                "start (meeting M-1)": "10:30",
            },
        ),
        (
            [
                (name, {"id": 1, "value": name})
                for name in ("set_and_move", "get_update", "SETTINGS")
            ]
            + [("updateSettings", {"id": 1, "mode": "dark"})],
            {"value (1)": "set_and_move", "mode (settings 1)": "dark"},
        ),
    ],
)
def test_tools_that_set_values(
    calls: list[tuple[str, dict[str, object]]], values: dict[str, str]
) -> None:
    """The newest value of each field holds, apart for each thing that an id, key or name names."""
    failed = used(calls[0][0], {**calls[0][1], "budget": 7, "seat": "1A"}, "Error: not possible")

    assert trail_of((), read(*(used(*one) for one in calls), failed)).values == values


def test_a_change_that_was_refused_changes_nothing() -> None:
    """Neither a value nor a file is changed by a call that was refused, or not answered."""
    answers = {500: "ok", 9000: '{"success": false}', 700: "Queued; waiting for approval", 800: ""}
    limit = [used("set_limit", {"account_id": "A", "limit": one}, answers[one]) for one in answers]
    edit = used("edit", {"path": "a.py", "old": "x", "new": "y"}, '{"success": false}')
    trail = trail_of((), read(*limit, edit))

    assert trail.values == {"limit (account A)": "500"}
    assert list(trail.files.values()) == [Artefact(path="a.py", action="read", failed=True)]


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        (
            [
                ("set_config", {"host": host, "key": "pool.max", "value": value})
                for host, value in (("web-01", 80), ("web-02", 100), ("web-03", 60), ("web-02", 80))
            ],
            {
                "pool.max (host web-01)": "80",
                "pool.max (host web-03)": "60",
                "pool.max (host web-02)": "80",
            },
        ),
        (
            [
                ("set_variable", {"scope": scope, "name": "TIMEOUT", "newValue": value})
                for scope, value in (("dev", "30"), ("prod", "60"))
            ],
            {"TIMEOUT (scope dev)": "30", "TIMEOUT (scope prod)": "60"},
        ),
        (
            [
                ("update_record", {"table": "users", "id": 7, "fields": {"email": "a@x.org"}}),
                ("update_record", {"table": "orders", "id": 7, "fields": {"status": "open"}}),
                ("update_item", {"list_id": "L", "item_id": 1, "paid": True}),
                ("update_item", {"list_id": "L", "item_id": 2, "paid": False}),
                ("move_card", {"board_id": "B", "card_id": "C", "list_id": "done"}),
            ],
            {
                "email (table users, record 7)": "a@x.org",
                "status (table orders, record 7)": "open",
                "paid (list L, item 1)": "true",
                "paid (list L, item 2)": "false",
                "list_id (board B, card C)": "done",
            },
        ),
        (
            [
                ("set_limit", {"limit": limit, "region": region, "silent": True})
                for region, limit in (("eu", 10), ("us", 20))
            ],
            {"limit (region eu)": "10", "limit (region us)": "20", "silent (region us)": "true"}
            | {"silent (region eu)": "true"},
        ),
        (
            [
                ("set_price", {"name": "Lamp", "value": 7}),
                ("set_stock", {"name": "Lamp", "value": 3}),
                ("set_config", {"key": "retries", "value": 5}),
                ("set_header", {"key": "retries", "value": "on"}),
                ("set_header", {"key": "age", "value": 9, "host": "a", "why": "as asked", "n": 1}),
            ],
            {
                "price (price Lamp)": "7",
                "stock (stock Lamp)": "3",
                "config retries": "5",
                "header retries": "on",
                "age (host a)": "9",
            },
        ),
        (
            [("set_quota", {"teams": ["a", "b"], "quota": 5}), ("set_quota", {"quota": 1})],
            {"quota (teams a, b)": "5", "quota": "1"},
        ),
        (
            [("update_thing", {"id": 1}), ("set_user", {"username": "ann", "vip": 1})],
            {"vip (user ann)": "1"},
        ),
    ],
)
def test_what_has_a_value_is_all_that_is_none(
    calls: list[tuple[str, dict[str, object]]], values: dict[str, str]
) -> None:
    """A value of one thing is not replaced by that of another which shares an argument with it."""
    assert trail_of((), read(*(used(*one) for one in calls))).values == values


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        (
            [
                ("change_plan", {"plan": "pro", "billing": "monthly"}),
                ("change_plan", {"plan": "free", "billing": "yearly"}),
                ("set_status", {"status": "open", "reason": "sale"}),
                ("set_status", {"status": "closed", "reason": "fraud"}),
                ("set_temperature", {"temperature": 21, "unit": "celsius"}),
                ("set_temperature", {"temperature": 70, "unit": "fahrenheit"}),
                ("set_language", {"language": "de", "source": "user"}),
                ("set_language", {"language": "fr", "source": "browser"}),
            ],
            {"plan": "free", "status": "closed", "temperature": "70", "language": "fr"},
        ),
        (
            [
                ("set_config", {"key": "pool", "value": 5}),
                ("set_config", {"key": "pool", "value": 6, "reason": "load"}),
                ("set_config", {"key": "pool", "value": 7, "reason": "outage", "paid": True}),
            ],
            {"config pool": "7"},
        ),
        (
            [
                ("set_config", {"key": "pool", "value": value, where: "a"})
                for value, where in enumerate(("scope", "target_env", "hostname", "projectId"))
            ]
            + [("set_level", {"level": 5, "namespace": "web", "note": "hot"})]
            + [("set_mode", {"value": n, "sensor_id": n, "why": f"w{n}"}) for n in (1, 2)],
            {
                "pool (scope a)": "0",
                "pool (target_env a)": "1",
                "pool (host a)": "2",
                "pool (project a)": "3",
                "level (namespace web)": "5",
                "note (namespace web)": "hot",
                "mode (sensor 1)": "1",
                "mode (sensor 2)": "2",
            },
        ),
    ],
)
def test_after_a_value_only_an_id_or_a_place_says_what_has_it(
    calls: list[tuple[str, dict[str, object]]], values: dict[str, str]
) -> None:
    """A reason, a unit or a source is none: with another one the old value is not current."""
    assert trail_of((), read(*(used(*one) for one in calls))).values == values


NEW, OLD = "+351 987654321", "+351 912345678"
SEATS = (("A", "14-C"), ("A", "14-D"), ("B", "14-C"))


def _set_phone(number: str) -> list[Message]:
    return used("set_phone", {"booking": "ZX81QW", "phone": number})


def _digest(*messages: list[Message], earlier: tuple[str, ...] = ()) -> str:
    """Return a digest of *messages* after which the new number holds."""
    said = [Message.user("Please look after the booking ZX81QW for me, as we said. " * 20)]
    request = SummaryRequest(
        messages=(*said, *chain(*messages)), prompt="", budget=600, earlier=earlier
    )
    text = write_digest(request)
    assert "- phone (booking ZX81QW): +351 987654321" in text
    return text


def _ids(text: str) -> str:
    record = SummaryRecord.read(text)
    assert record is not None
    return "\n".join([*record.lines(Section.USED), *record.lines(Section.SEEN)])


def test_a_value_that_another_replaced_is_listed_no_more() -> None:
    """An identifier goes with the value it was in, unless it is named again after that."""
    calls = [_set_phone(OLD), _set_phone(NEW)]
    asked = [Message.user("Is 912345678 gone?")]

    assert "912345678" not in _ids(_digest(*calls))
    assert "912345678" in _ids(_digest(*calls, asked))


def test_a_value_of_an_earlier_record_is_replaced() -> None:
    """What an earlier record lists goes too, as soon as a call replaces the value it was in."""
    looked = used("find_number", {"number": OLD})
    before = _digest(looked, _set_phone(NEW)).replace(NEW, OLD)

    assert "912345678" in _ids(before)
    assert "912345678" not in _ids(_digest(_set_phone(NEW), earlier=(before,)))


def test_a_value_that_was_given_again_stays() -> None:
    """An identifier that has come to be a value after it was replaced is listed again."""
    calls = [_set_phone(NEW), _set_phone(OLD), _set_phone(NEW)]
    seats = [used("set_seat", {"user_id": who, "seat": seat}) for who, seat in SEATS]

    assert trail_of((), read(*calls, *seats)).replaced == {NEW: 1, OLD: 2, "14-C": 4}
    assert "14-C" in _ids(_digest(*calls, *seats))
