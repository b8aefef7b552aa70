"""Which calls change something, as their name and their arguments say."""

import json

import pytest

from foldline.history.parts import ToolCallPart
from foldline.reduction.tools import changes


CHANGES: list[tuple[str, dict[str, str]]] = [
    ("set_list_price", {}),
    ("crm_update", {}),
    ("create_task", {}),
    ("complete_task", {}),
    ("deleteLog", {}),
    ("refund_order", {}),
    ("send_email", {}),
    ("search_replace", {"pattern": "a"}),
    ("bash", {"command": "make test"}),
    ("execute", {"sql": "update orders set state = 'paid'"}),
    ("db", {"query": "DELETE FROM orders"}),
]
SHOWS: list[tuple[str, dict[str, str]]] = [
    ("get_update", {}),
    ("list_new_orders", {}),
    ("fetch_logs", {}),
    ("lookup_order", {}),
    ("think", {}),
    ("bash", {"command": "cd src && cat a.py"}),
    ("ask", {"query": "update of the law"}),
    ("execute", {"sql": "select * from orders"}),
]


@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_calls_that_change_something(name: str, arguments: dict[str, str]) -> None:
    """A verb that changes, a tool of which nothing else is known, a command and a statement do."""
    assert changes(ToolCallPart("c", name, json.dumps(arguments)))


@pytest.mark.parametrize(("name", "arguments"), SHOWS)
def test_calls_that_only_show_something(name: str, arguments: dict[str, str]) -> None:
    """A verb that reads, if none that changes comes before it, a question and a listing do not."""
    assert not changes(ToolCallPart("c", name, json.dumps(arguments)))
