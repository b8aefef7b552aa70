"""
How near the estimates are.

The samples are written here or made from a seed; the numbers beside them are what the o200k
vocabulary makes of them, recorded once with `rs-bpe` 0.1.0.
"""

# ruff: noqa: RUF001 - the samples are text in many scripts

import base64
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldline.history.tokens import TokenEstimator


ESTIMATOR = TokenEstimator()

ENGLISH = """\
The customer wrote twice yesterday, once before lunch and once late at night, because the parcel \
that was promised for Monday had still not arrived. I looked up the order, saw that the warehouse \
had printed the label but never handed the box to the carrier, and asked them to send it again \
today. She would rather have her money back if it cannot be there before the weekend, so please \
do not close the ticket until the new tracking number shows that somebody has scanned it.
"""
PYTHON = '''\
def merge(left: list[int], right: list[int]) -> list[int]:
    """Return one sorted list of both."""
    merged: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]
'''
CHINESE = (
    "客户昨天写了两封信，因为答应星期一送到的包裹还没有收到。我查了订单，仓库已经打印了标签，但是没有把箱子交给快递公司，所以我请他们今天重新发货。"
    * 2
)
RUSSIAN = (
    "Клиент писал вчера дважды, потому что посылка, обещанная на понедельник, всё ещё не пришла. Я проверил заказ: склад напечатал этикетку, но не передал коробку перевозчику, и я попросил отправить её снова. "
    * 2
)
ARABIC = (
    "كتب العميل أمس مرتين لأن الطرد الذي وعدناه به يوم الاثنين لم يصل بعد. راجعت الطلب ووجدت أن المستودع طبع الملصق لكنه لم يسلم الصندوق إلى شركة الشحن، فطلبت منهم إرساله مرة أخرى اليوم. "
    * 2
)
EMOJI = (
    "Great news, the parcel is on its way! 🎉📦\nThanks so much 🙏😊 you saved my weekend\n✅ label printed\n✅ box handed over\n❌ invoice missing 🤔\nSee you soon 👋🔥🚀\n"
    * 2
)


def _json() -> str:
    rng = random.Random(1)
    rows = [
        {
            "order_id": rng.getrandbits(30),
            "status": ("shipped", "delivered", "returned")[rng.getrandbits(8) % 3],
            "amount": round(rng.random() * 200, 2),
            "paid": rng.random() < 0.5,
            "updated_at": f"2026-05-{rng.getrandbits(4) + 10}T12:{rng.getrandbits(5) + 10}:00Z",
        }
        for _ in range(12)
    ]
    return json.dumps(rows)


def _log() -> str:
    rng = random.Random(2)
    return "\n".join(
        f"2026-05-0{line % 9 + 1} 10:{line + 10}:07,{rng.getrandbits(9):03d} INFO request "
        f"id={uuid.UUID(int=rng.getrandbits(128))} commit {rng.getrandbits(160):040x} "
        f"took {rng.getrandbits(12)} ms"
        for line in range(12)
    )


SAMPLES = {
    "english": (ENGLISH * 2, 190),
    "python": (PYTHON * 2, 202),
    "json": (_json(), 575),
    "log": (_log(), 858),
    "hex": (random.Random(3).randbytes(600).hex(), 691),
    "base64": (base64.b64encode(random.Random(4).randbytes(900)).decode(), 813),
    "chinese": (CHINESE, 102),
    "russian": (RUSSIAN, 118),
    "arabic": (ARABIC, 113),
    "emoji": (EMOJI, 102),
}


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_each_kind_of_text_is_estimated(kind: str) -> None:
    """On some hundred characters an estimate is within 15 % of the vocabulary's own count."""
    text, exact = SAMPLES[kind]

    assert ESTIMATOR.count(text) == pytest.approx(exact, rel=0.15)


def test_the_mean_error_is_small() -> None:
    """The mean error over all kinds of text is below 6 %; that of characters / 4 is over 25 %."""
    errors = [abs(ESTIMATOR.count(text) / exact - 1) for text, exact in SAMPLES.values()]
    naive = [abs(len(text) / 4 / exact - 1) for text, exact in SAMPLES.values()]

    assert sum(errors) / len(errors) < 0.06
    assert sum(naive) / len(naive) > 0.25


@pytest.mark.parametrize(
    ("folder", "exact"), [("tau-airline", 184_597), ("pi-coding-agent", 375_727)]
)
def test_sums_over_recorded_sessions(shared_data: Path, folder: str, exact: int) -> None:
    """The estimates of single texts add up to a whole session's tokens within 3 %."""
    texts = {"tau-airline": _airline, "pi-coding-agent": _coding}[folder](shared_data)

    assert sum(map(ESTIMATOR.count, texts)) == pytest.approx(exact, rel=0.03)


def _airline(data: Path) -> Iterator[str]:
    for line in (data / "tau-airline/conversations.jsonl").read_text().splitlines():
        for message in json.loads(line)["traj"]:
            yield message.get("content") or ""
            for call in message.get("tool_calls") or ():
                yield call["function"]["arguments"]


def _coding(data: Path) -> Iterator[str]:
    for line in (data / "pi-coding-agent/before-compaction.jsonl").read_text().splitlines():
        content = json.loads(line).get("message", {}).get("content", ())
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield part.get("text", "")
            yield part.get("thinking", "")
            yield json.dumps(part["arguments"]) if "arguments" in part else ""
