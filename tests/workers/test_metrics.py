"""How a queue stands and what becomes of its jobs, as numbers for a dashboard."""

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from foldline.errors import ModelError
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.metrics import WorkerMetrics
from foldline.workers.retries import Retries
from foldline.workers.workers import Workers
from tests.workers.scenes import agent_of, working


def numbers(reader: InMemoryMetricReader) -> dict[tuple[str, ...], float]:
    """Return each number by its name and the values of its attributes."""
    found: dict[tuple[str, ...], float] = {}
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data is not None else ():
        for metric in (one for scope in resource.scope_metrics for one in scope.metrics):
            for point in metric.data.data_points:
                said = sorted((point.attributes or {}).items())
                value = getattr(point, "value", None)
                count = getattr(point, "count", 0)
                key = (metric.name, *(str(one) for _, one in said))
                found[key] = count if value is None else value
    return found


async def test_jobs_are_counted_by_their_outcome(postgres_dsn: str) -> None:
    """What is done, tried again and given up is counted, with the kind of the error."""
    reader = InMemoryMetricReader()
    metrics = WorkerMetrics(meter_provider=MeterProvider([reader]))
    agent, _ = agent_of(
        ModelError("busy", status=429), "hello", ModelError("no such model", status=404), "hello"
    )
    workers = Workers(
        agent, PostgresStore(postgres_dsn), retries=Retries(first=0.01), metrics=metrics
    )
    async with working(workers):
        await (await workers.answer("t", "one")).result(timeout=20)
        bad = await workers.answer("t", "two")
        # It begins when the job before it has failed.
        await (await workers.answer("t", "three")).result(timeout=20)
        metrics.stood(await workers.status())
        # The worker, too, looks at its queue, also when it has ended.
        stood = numbers(reader)
    found = numbers(reader)

    assert bad.turn_id
    assert found["foldline.jobs.ended", "done", "answer"] == 2
    assert found["foldline.jobs.ended", "model", "tried_again", "answer"] == 1
    assert found["foldline.jobs.ended", "model", "given_up", "answer"] == 1
    assert found["foldline.job.duration", "answer"] == 4
    assert stood["foldline.queue.jobs", "failed"] == 1
    assert stood["foldline.queue.jobs", "waiting"] == 0
    assert stood["foldline.queue.workers",] == 1
    assert stood["foldline.queue.oldest",] == 0


def test_an_idle_queue_reports_nothing_yet() -> None:
    """Before the first look there are no numbers, and no zeros that nobody has counted."""
    reader = InMemoryMetricReader()
    metrics = WorkerMetrics(meter_provider=MeterProvider([reader]))

    assert numbers(reader) == {}
    metrics.took_over(2)
    assert numbers(reader)["foldline.jobs.taken_over",] == 2
