"""Threads by their last activity, and what a tenant leaves behind."""

from datetime import timedelta

import pytest

from foldline.errors import ConfigError, ThreadConflictError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from tests.threads.canaries import reduction_of
from tests.threads.clock import Clock


async def listed(store: ThreadStore, *, limit: int = 2) -> list[str]:
    """Return the ids of the threads of a tenant, read page by page."""
    seen: list[str] = []
    after = ""
    while True:
        page = await store.latest(tenant="acme", limit=limit, after=after)
        seen += [one.id for one in page.threads]
        after = page.next
        if not after:
            return seen


async def test_threads_are_listed_by_their_last_activity(
    any_store: ThreadStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that was written to last comes first, and every thread once."""
    monkeypatch.setattr("foldline.threads.stores.redis.store._PAGE", 2)
    for number in range(5):
        thread = await any_store.thread(f"t{number}", tenant="acme")
        await thread.set_metadata(display_name=f"Talk {number}")
        clock.now += timedelta(seconds=number % 2)
    await any_store.thread("other")
    assert await listed(any_store) == ["t4", "t3", "t2", "t1", "t0"]

    oldest = await any_store.thread("t0", tenant="acme")
    clock.now += timedelta(seconds=1)
    await oldest.add_message(Message.user("Are you still there?"))
    assert await listed(any_store) == ["t0", "t4", "t3", "t2", "t1"]
    page = await any_store.latest(tenant="acme", limit=1)
    assert [one.display_name for one in page.threads] == ["Talk 0"]


async def test_a_name_is_set_whatever_others_write(store: ThreadStore) -> None:
    """A title that is made while a turn runs meets no conflict; values, which are replaced, do."""
    mine, yours = await store.thread("t"), await store.thread("t")
    await yours.set_metadata({"theme": "dark"})
    await mine.set_metadata(display_name="A trip in May")
    assert (mine.display_name, mine.metadata) == ("A trip in May", {"theme": "dark"})
    with pytest.raises(ThreadConflictError):
        await yours.set_metadata({"theme": "light"})


async def test_a_fold_is_no_activity(store: ThreadStore, clock: Clock) -> None:
    """A thread that somebody folds at night stays where it was, and as old as it was."""
    thread = await store.thread("folded", tenant="acme")
    await thread.add_messages([Message.user("Hello"), Message.assistant("Hi"), Message.user("So?")])
    clock.now += timedelta(seconds=1)
    await store.thread("newer", tenant="acme")
    clock.now += timedelta(days=1)
    await thread.save_reduction(reduction_of(await thread.get_messages(), 2, "a greeting"))

    assert await listed(store) == ["newer", "folded"]
    assert await store.delete_inactive(timedelta(hours=1), tenant="acme", dry_run=True) == 2


async def test_what_has_expired_is_not_listed(store: ThreadStore, clock: Clock) -> None:
    """A page may have fewer threads than asked for, or none, and another one follows all the same."""
    await store.thread("kept", tenant="acme")
    clock.now += timedelta(seconds=1)
    for name in ("a", "b"):
        await store.thread(name, tenant="acme", ttl=timedelta(hours=1))
    clock.now += timedelta(hours=2)
    page = await store.latest(tenant="acme", limit=2)
    assert (page.threads, bool(page.next)) == ((), True)
    assert await listed(store) == ["kept"]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"after": "x"}, {"after": "WzEsMl0"}])
async def test_a_page_needs_a_limit_and_a_place(wrong: dict[str, object]) -> None:
    """A limit below one and a text that is not the end of a page are errors."""
    async with MemoryStore() as store:
        with pytest.raises(ConfigError):
            await store.latest(**wrong)  # type: ignore[arg-type]


async def test_a_tenant_is_deleted_with_all_its_threads(
    any_store: ThreadStore, clock: Clock
) -> None:
    """Threads that have expired or are damaged, which no list shows, go too; those of others stay."""
    for number in range(3):
        await any_store.thread(f"t{number}", tenant="acme")
    await any_store.thread("old", tenant="acme", ttl=timedelta(hours=1))
    await any_store.thread("t0")
    torn = await any_store.thread("torn", tenant="acme")
    head = torn.head
    damage = Change(id=b"12345678", revision=head.revision, epoch=head.epoch, head=b"torn")
    await any_store.context.storage.commit(torn.key, damage)
    any_store.context.recent.forget(torn.key)
    clock.now += timedelta(hours=2)

    assert await listed(any_store) == ["t2", "t1", "t0"]
    assert await any_store.delete_tenant("acme") == 5
    assert await any_store.tenants() == ["default"]
    assert await any_store.delete_tenant("acme") == 0
