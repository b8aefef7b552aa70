"""Snapshots made to harm: they are read as plain data, or refused, and nothing else happens."""

import asyncio
import json
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import FoldlineError, ThreadIdError
from foldline.history.messages import Message
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.depth import IS_DEEP
from tests.threads.canaries import NOW, found_in, reduction_of, secrets_at


SAID = [Message.user(secrets_at("user")), Message.assistant(secrets_at("answer"))]
STATE: dict[str, Any] = {
    "run_id": "run",
    "conversation_id": "chat",
    "started_at": "2026-01-01T00:00:00Z",
    "current_messages": {"count": 2, "digest": "00"},
    "metadata": {"note": secrets_at("state")},
}
REDUCTION: dict[str, Any] = json.loads(reduction_of(SAID, 2, secrets_at("summary")).to_json())
TOOL = {"call_id": "c", "name": "pay", "result": secrets_at("pending")}


class Trap:
    """What runs a program as soon as it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("open('harm', 'w').close()",)


def plain(role: str, *parts: object) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def text(content: object) -> dict[str, Any]:
    return {"type": "text", "content": content}


def snapshot(**fields: object) -> dict[str, Any]:
    known = {
        "Format": 1,
        "Id": "chat",
        "DisplayName": secrets_at("display_name"),
        "MessageStoreSnapshot": {
            "Messages": [
                plain("user", text(secrets_at("user"))),
                plain("assistant", text(secrets_at("answer"))),
            ]
        },
        "Metadata": {"note": secrets_at("metadata")},
    }
    return known | fields


def with_messages(*messages: object) -> dict[str, Any]:
    return snapshot(MessageStoreSnapshot={"Messages": list(messages)})


def with_state(**fields: object) -> dict[str, Any]:
    return snapshot(ExecutionStateJson=json.dumps(STATE | fields))


def with_reduction(**fields: object) -> dict[str, Any]:
    return snapshot(LastReduction=REDUCTION | fields)


def with_text(field: str, raw: str) -> str:
    """Return a snapshot in which the value of *field* is written as *raw*."""
    return json.dumps(snapshot(**{field: "@@"})).replace('"@@"', raw)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def hidden(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


DEEP = 100_000
GADGETS: dict[str, object] = {
    "python_object": {"py/object": "os.system", "py/reduce": [{"py/type": "os.system"}, ["id"]]},
    "python_class": {"__class__": "os._wrap_close", "__init__": {"__globals__": {}}},
    "python_reduce": {"__reduce__": ["os.system", ["touch harm"]]},
    "net_type": {"$type": "System.Diagnostics.Process, System", "StartInfo": {"FileName": "sh"}},
    "langchain": {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"x": "id"}},
    "langchain_secret": {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]},
    "java_type": {"@type": "com.sun.rowset.JdbcRowSetImpl", "dataSourceName": "ldap://x"},
    "yaml_tag": "!!python/object/apply:os.system ['touch harm']",
    "template": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "format_string": "{0.__class__.__init__.__globals__}",
    "sql": "'; DROP TABLE threads; --",
    "prototype": {"__proto__": {"polluted": True}, "constructor": {"prototype": {}}},
    "json_reference": {"$ref": "file:///etc/passwd"},
}

BAD_BYTES: dict[str, bytes | str] = {
    "pickle": pickle.dumps(Trap()),
    "pickle_of_a_snapshot": pickle.dumps(snapshot()),
    "pickle_protocol_0": pickle.dumps(Trap(), protocol=0),
    "msgpack_ext": b"\x82\xa2Id\xa4chat\xa6Format\xc7\x05\x2a12345",
    "msgpack_map": b"\x81\xa2Id\xa4chat",
    "nothing": b"",
    "spaces": b"  \n ",
    "not_utf_8": json.dumps(snapshot(), ensure_ascii=False).encode().replace(b"the", b"\xff\xfe"),
    "cut_off": json.dumps(snapshot())[:-1],
    "two_documents": json.dumps(snapshot()) * 2,
    "a_number": "1",
    "null": "null",
    "a_text": json.dumps(secrets_at("user")),
    "a_list": json.dumps([snapshot()]),
    "single_quotes": str(snapshot()),
    "javascript": "({Id:'chat'})",
    "xml": "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    "half_character_in_the_text": json.dumps(snapshot()) + "\ud800",
    "deep_list": nested(DEEP),
    "deep_object": hidden(DEEP),
    "deep_unknown_key": with_text("Colour", nested(DEEP)),
    "deep_metadata": with_text("Metadata", hidden(DEEP)),
    "deep_messages": with_text("MessageStoreSnapshot", nested(DEEP)),
    "deep_message": with_text("MessageStoreSnapshot", '{"Messages":[' + nested(DEEP) + "]}"),
    "deep_reduction": with_text("LastReduction", hidden(DEEP)),
    "deep_previous": with_text("LastReduction", '{"previous":' * DEEP + "null" + "}" * DEEP),
    "deep_state": with_text("ExecutionStateJson", json.dumps(nested(DEEP))),
    "deep_state_metadata": with_text(
        "ExecutionStateJson", json.dumps('{"metadata":' + hidden(DEEP) + "}")
    ),
    "deep_tools": with_text("PendingTools", nested(DEEP)),
    "deep_old": with_text("Metadata", hidden(DEEP)).replace('"Format": 1', '"Format": 0'),
    "deep_and_cut_off": "[" * DEEP,
    "many_digits": with_text("ArchivedCount", "9" * 5000),
    "many_digits_in_metadata": with_text("Metadata", '{"a":' + "9" * 5000 + "}"),
    "many_digits_in_the_format": with_text("Format", "9" * 5000),
    "large_exponent_of_the_format": with_text("Format", "1e999999"),
    "twice_with_a_newer_format": '{"Format":1,' + json.dumps(snapshot(Format=9))[1:],
}

_Values = dict[str, list[Any]]

_FIELDS: _Values = {
    "Format": ["1", -1, 1.5, True, None, [], {}, 2, 2**63, "1; DROP TABLE"],
    "Id": [None, 7, [], {}, "", " ", "a/b", "../../etc/passwd", "a\\b", "a\0b", "\ud800",
           "a\nb", "x" * 201, "x" * 1_000_000, "a b", "%2e%2e", "ä", "CON\u202e", "a'--"],
    "DisplayName": [7, None, [], {"lc": 1}, True],
    "MessageStoreSnapshot": [7, "x", [], {"Messages": None}, {"Messages": {}},
                             {"Messages": "x"}, {"messages": []}, {}],
    "Metadata": [7, "x", [], None],
    "CreatedAt": [7.5, "x", [], "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", {}],
    "LastActivity": ["yesterday", "9999-12-31T23:59:59-14:00", {}, "\ud800"],
    "ArchivedCount": ["1", None, 1.5, [], True, -1, 3, -(2**70), 2**70],
    "ExecutionStateJson": [7, {}, "", "[]", "null", "{", "1", "\0", "\ud800"],
    "LastReduction": [7, "x", [], {}, True],
    "Pins": [7, "x", {}, [-1], [2], ["1"], [None], [2**70], [0.5]],
    "PendingTools": [7, "x", {}, [7], [{}], [{"call_id": 1, "name": "x"}], None],
}  # fmt: skip

_MESSAGES: list[Any] = [
    None, 7, "x", [], {}, {"role": "root"}, {"role": None}, {"role": ["user"]},
    plain("user", text(7)), plain("user", text(None)), plain("user", "x"),
    plain("user", {"type": "text"}), plain("user", {"type": "eval", "content": "x"}),
    plain("user", {"content": "x"}), {"role": "user", "parts": {}},
    {"role": "user", "metadata": []}, {"role": "user", "id": 7},
    {"role": "user", "created_at": "now"}, {"role": "user", "native": {"format": "x"}},
    plain("assistant", {"type": "tool_call", "id": 1, "name": "x", "arguments": {}}),
    {"role": "user", "usage": {"input_tokens": "1"}},
    plain("tool", {"type": "tool_call_response", "id": "x", "response": 7}),
]  # fmt: skip

_STATES: _Values = {
    "iteration": [-1, "1", 1.5, None],
    "consecutive_failures": [-1, "1"],
    "current_messages": [
        None, 7, [], {}, {"count": -1, "digest": ""}, {"count": 3, "digest": ""},
        {"count": 2**70, "digest": ""}, {"count": 2, "digest": "xyz"},
        {"count": 2, "digest": 7}, {"count": "2", "digest": ""},
    ],
    "started_at": ["x", None], "metadata": [[], {"a": 1}], "format": [2, "1", 2**64],
    "active_reduction": [7, {}, []], "completed_functions": [7, [7]],
    "is_terminated": ["yes"], "run_id": [7], "last_signatures": [{"a": 1}],
}  # fmt: skip

_REDUCTIONS: _Values = {
    "summarized_up_to_index": [-1, "2", None, 1.5],
    "pinned_index": [-1, 2, 99, "1", 2**65],
    "counting_unit": ["lines", 7], "layers": [7, [7], [{}]], "summary_content": [7, None],
    "format": [3, "1", 2**64], "previous": [7, {}], "created_at": ["x"],
    "message_hash": [7, None],
}  # fmt: skip


def each(name: str, table: _Values, make: Callable[..., object]) -> dict[str, object]:
    """Return a snapshot for each value of each field."""
    return {
        f"{name}_{field}_{place}": make(**{field: value})
        for field, values in table.items()
        for place, value in enumerate(values)
    }


BAD_FIELDS: dict[str, object] = {
    **each("field", _FIELDS, snapshot),
    **{f"message_{place}": with_messages(one) for place, one in enumerate(_MESSAGES)},
    **each("state", _STATES, with_state),
    **each("reduction", _REDUCTIONS, with_reduction),
}

HARMLESS: dict[str, object] = {
    "byte_order_mark": b"\xef\xbb\xbf" + json.dumps(snapshot()).encode(),
    "utf_16": json.dumps(snapshot()).encode("utf-16"),
    "large_exponent": with_text("Metadata", '{"a":1e999999}'),
    **{f"key_{name}": snapshot(Colour=gadget) for name, gadget in GADGETS.items()},
    **{
        f"message_{name}": with_messages({**plain("user", text("x")), "metadata": {"a": gadget}})
        for name, gadget in GADGETS.items()
    },
    **{
        f"text_{name}": with_messages(plain("user", text(json.dumps(gadget))))
        for name, gadget in GADGETS.items()
    },
    **{
        f"more_keys_{name}": with_messages({**plain("user", text("x")), **gadget})
        for name, gadget in GADGETS.items()
        if isinstance(gadget, dict) and "id" not in gadget
    },
    "one_megabyte_of_text": with_messages(plain("user", text("x" * 1_000_000))),
    "one_megabyte_of_a_name": snapshot(DisplayName="x" * 1_000_000),
    "one_megabyte_of_a_call_id": snapshot(PendingTools=[TOOL | {"call_id": "x" * 1_000_000}]),
    "nul": snapshot(Metadata={"a\0b": "c\0d"}, DisplayName="a\0b"),
    "half_characters": snapshot(Metadata={"\ud800": "\udc00"}, DisplayName="\ud800"),
    "large_number": with_text("Metadata", '{"a":' + "9" * 4000 + "}"),
    "large_index": with_reduction(summarized_up_to_index=2**70),
    "large_iteration": with_state(iteration=2**70),
    "many_messages": with_messages(*[plain("user", text("x"))] * 2000),
    "half_a_character_in_a_call_id": snapshot(PendingTools=[TOOL | {"call_id": "\ud800"}]),
    "nul_in_a_call_id": snapshot(PendingTools=[TOOL | {"call_id": "a\0b"}]),
    "same_call_twice": snapshot(PendingTools=[TOOL, TOOL]),
    "year_1": snapshot(CreatedAt="0001-01-01T00:00:00Z"),
    "year_9999": snapshot(CreatedAt="9999-12-31T23:59:59Z"),
    "key_twice": '{"Id":"other",' + json.dumps(snapshot())[1:],
    "format_twice": '{"Format":9,' + json.dumps(snapshot())[1:],
    "id_like_a_flag": snapshot(Id="--help"),
    "id_of_dots": snapshot(Id=".."),
    "zero_format": snapshot(Format=0),
}


def data_of(value: object) -> bytes | str:
    return value if isinstance(value, bytes | str) else json.dumps(value)


def stores(tmp_path: Path, *, both: bool = True) -> list[ThreadStore]:
    # The flush of each commit would take most of the time of these tests.
    sqlite = SQLiteStore(tmp_path / "chat.db", clock=lambda: NOW, durability="relaxed")
    memory = MemoryStore(clock=lambda: NOW)
    return [memory, sqlite] if both else [memory]


def tell(tmp_path: Path, data: bytes | str, *, is_refused: bool | None) -> list[str]:
    """Restore *data* in memory, in depth in SQLite too; return what the refusals and their traces say."""
    said: list[str] = []

    async def run(store: ThreadStore) -> None:
        async with store:
            bystander = await store.thread("bystander")
            await bystander.add_messages(SAID)
            try:
                made = await store.restore(data)
            except FoldlineError as error:
                assert is_refused is not False
                assert [one.id async for one in store.threads()] == ["bystander"]
                said.append(str(error))
                said.append("".join(traceback.format_exception(error)))
            else:
                assert is_refused is not True
                found = await store.thread(made.id)

                assert await found.get_messages() == await made.get_messages()
                assert found.metadata == made.metadata

                await found.add_message(Message.user("on it goes"))
            assert await bystander.get_messages() == SAID

    for store in stores(tmp_path, both=IS_DEEP):
        asyncio.run(run(store))

    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} <= {"chat"}
    return said


@pytest.mark.parametrize("name", sorted(BAD_BYTES))
def test_what_is_no_snapshot_is_refused(tmp_path: Path, name: str) -> None:
    """Bytes and texts of every other kind give one error of ours and write nothing."""
    said = tell(tmp_path, BAD_BYTES[name], is_refused=True)

    assert found_in("".join(said).encode()) == []


@pytest.mark.parametrize("name", sorted(BAD_FIELDS))
def test_wrong_fields_are_refused(tmp_path: Path, name: str) -> None:
    """A field of a wrong type, size or shape gives one error of ours without any value."""
    said = tell(tmp_path, data_of(BAD_FIELDS[name]), is_refused=True)

    assert said
    assert found_in("".join(said).encode()) == []
    assert all(len(one) < 500 for one in said[::2])


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_odd_values_are_plain_data(tmp_path: Path, name: str) -> None:
    """Markers that other programs run, and values at the edge, are stored and read as they are."""
    assert tell(tmp_path, data_of(HARMLESS[name]), is_refused=False) == []


@pytest.mark.parametrize("name", sorted(GADGETS))
async def test_markers_stay_what_they_are(tmp_path: Path, name: str) -> None:
    """What could name a class or a program comes back as the same dictionaries and texts."""
    gadget = GADGETS[name]
    for store in stores(tmp_path):
        async with store:
            thread = await store.restore(json.dumps(snapshot(Metadata={"a": gadget})))
            again = await store.restore(await thread.to_snapshot(), thread_id="again")

            assert thread.metadata["a"] == again.metadata["a"] == gadget


@pytest.mark.parametrize("name", ["../x", "a/b", "a\0b", " ", ""])
async def test_a_snapshot_for_a_path_is_refused(tmp_path: Path, name: str) -> None:
    """An id given beside the snapshot is checked like the one within."""
    for store in stores(tmp_path):
        async with store:
            with pytest.raises(ThreadIdError):
                await store.restore(json.dumps(snapshot()), thread_id=name)
            with pytest.raises(ThreadIdError):
                await store.restore(json.dumps(snapshot()), tenant=name)

            assert await store.tenants() == []
