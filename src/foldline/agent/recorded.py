"""A summarizer whose text stands beside a record that code has read from the same request."""

from collections.abc import Iterable
from typing import cast

from foldline.agent.reduced import ReducerCall
from foldline.providers.digest.material import Material
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import Summarizer
from foldline.reduction.config import HistoryReductionConfig, config_of_run
from foldline.reduction.record import SummaryRecord
from foldline.reduction.request import Summary, SummaryRequest, Written


class RecordedSummarizer:
    """Asks a summarizer for its part of a summary, in one fold."""

    def __init__(self, summarizer: Summarizer, digest: DigestSummarizer) -> None:
        """Have *summarizer* write, and *digest* read what code can."""
        self._summarizer, self._digest = summarizer, digest
        self._read: tuple[Material, SummaryRecord] | None = None
        self.name = summarizer.name
        self.model_name: object = getattr(summarizer, "model_name", None)

    async def summarize(self, request: SummaryRequest) -> object:
        """Return what is written in what the record leaves of the budget, as `Written`."""
        material, record = await self._known(request)
        tokens = self._digest.counter.count(record.render()) if record.sections else 0
        budget = max(1, request.budget - tokens)
        given = request.but(budget=budget)
        said = cast("object", await self._summarizer.summarize(given))
        sealed = said.sealed if isinstance(said, Summary) else None
        text = said.text if isinstance(said, Summary) else said
        # A custom summarizer may return anything, whatever its annotation says.
        if not isinstance(text, str):
            return text
        # What the text leaves of its part is for what code has read.
        record = await self._digest.record(material, text=text)
        return Written(text=text, record=record, budget=budget, sealed=sealed)

    async def _known(self, request: SummaryRequest) -> tuple[Material, SummaryRecord]:
        # Another attempt reads the same messages.
        is_same = not (request.defects or request.summarizer)
        same = request if is_same else request.but(defects=(), summarizer=0)
        if self._read is None or self._read[0].request != same:
            material = await self._digest.material(same)
            self._read = material, await self._digest.record(material)
        return self._read


def recorded(summarizer: Summarizer, digest: DigestSummarizer) -> Summarizer | RecordedSummarizer:
    """Return *summarizer* beside the record of *digest*; what code writes is one itself."""
    return summarizer if _is_code(summarizer) else RecordedSummarizer(summarizer, digest)


def digest_of(given: Iterable[Summarizer]) -> DigestSummarizer:
    """Return the digest that ends a chain: with the extractors of the first one that was *given*."""
    own = next((one for one in given if isinstance(one, DigestSummarizer)), DigestSummarizer())
    return DigestSummarizer(extractors=own.extractors)


def written_by_code(chain: Iterable[object]) -> frozenset[int]:
    """Return the places of those in *chain* that are code."""
    return frozenset(at for at, one in enumerate(chain) if _is_code(one))


def asks(call: ReducerCall, config: HistoryReductionConfig) -> bool:
    """Whether the fold of *call* asks a summarizer; another one waits for nothing."""
    how = config_of_run(config, call.overrides)
    return how.strategy == "summarizing" and not call.verdict.is_batch


def waits(call: ReducerCall, config: HistoryReductionConfig, given: Iterable[Summarizer]) -> bool:
    """Whether the fold of *call* may have to wait for one of the summarizers that were *given*."""
    return asks(call, config) and not all(map(_is_code, given))


def _is_code(one: object) -> bool:
    # What only passes requests on to a digest says so.
    return isinstance(one, DigestSummarizer) or getattr(one, "is_code", False) is True
