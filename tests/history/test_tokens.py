"""
Tokens without a tokenizer.

The samples are written here or made from a seed; the numbers beside them are what the o200k
vocabulary makes of them, recorded once with `rs-bpe` 0.1.0.
"""

# ruff: noqa: RUF001 - the samples are text in many scripts

import base64
import json
import math
import random
import string
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import ConfigError
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.token_weights import LEVELS, PATTERNS, START, UNITS
from foldline.history.tokens import (
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    REASONING_TOKENS,
    TOOL_CALL_TOKENS,
    TOOL_RESPONSE_TOKENS,
    TokenCounter,
    TokenEstimator,
    count_message,
)


DATA = Path(__file__).resolve().parents[2] / "../shared/data"
ESTIMATOR = TokenEstimator()
TEXTS = st.text(st.characters())
PLAIN = st.text(st.sampled_from("aeXQ07 \t\n.,(=-_"), max_size=60)
REPORTS = st.integers(-(10**400), 10**400)

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
JAVASCRIPT = """\
export async function fetchOrders(customerId, { limit = 20, signal } = {}) {
  const response = await fetch(`/api/customers/${customerId}/orders?limit=${limit}`, { signal });
  if (!response.ok) {
    throw new Error(`Request failed with status ${response.status}`);
  }
  const { orders } = await response.json();
  return orders.filter((order) => !order.cancelled).map((order) => order.id);
}
"""
MARKDOWN = """\
## Installation

Run `pip install example` and then **restart** the shell.

- The first start takes a minute, see [the notes](https://example.org/notes.html).
- Settings live in `~/.config/example/settings.toml`.

| option | default | meaning |
|---|---|---|
| `timeout` | 30 | seconds before a call is given up |
| `retries` | 3 | how often it is tried again |
"""
DIFF = """\
diff --git a/src/app/client.py b/src/app/client.py
index 3f1c2ab..9d04e77 100644
--- a/src/app/client.py
+++ b/src/app/client.py
@@ -41,9 +41,10 @@ class Client:
     def send(self, request: Request) -> Response:
-        response = self.transport.handle(request)
-        return response
+        with self.timer.measure("send"):
+            response = self.transport.handle(request)
+            return response
"""
CHINESE = (
    "客户昨天写了两封信，因为答应星期一送到的包裹还没有收到。我查了订单，仓库已经打印了标签，但是没有把箱子交给快递公司，所以我请他们今天重新发货。"
    * 2
)
JAPANESE = (
    "お客様から昨日二度ご連絡があり、月曜日に届くはずの荷物がまだ届いていないとのことです。注文を確認したところ、倉庫でラベルは印刷されていましたが、配送会社には渡されていませんでした。"
    * 2
)
KOREAN = (
    "고객이 어제 두 번 편지를 보냈는데, 월요일에 도착하기로 한 소포가 아직 오지 않았기 때문입니다. 주문을 확인해 보니 창고에서 라벨은 인쇄했지만 상자를 택배 회사에 넘기지 않았습니다. "
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
HINDI = (
    "ग्राहक ने कल दो बार लिखा क्योंकि सोमवार को आने वाला पार्सल अभी तक नहीं पहुंचा है। मैंने ऑर्डर देखा, गोदाम ने लेबल छाप दिया था लेकिन डिब्बा कूरियर को नहीं दिया, इसलिए मैंने उनसे आज फिर भेजने को कहा। "
    * 2
)
GERMAN = (
    "Die Kundin hat gestern zweimal geschrieben, weil das Paket, das für Montag versprochen war, noch immer nicht da ist. Ich habe die Bestellung geprüft: Das Lager hat den Aufkleber gedruckt, die Schachtel aber nie übergeben. "
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
    "german": (GERMAN, 103),
    "python": (PYTHON * 2, 202),
    "javascript": (JAVASCRIPT * 2, 192),
    "markdown": (MARKDOWN * 2, 194),
    "diff": (DIFF * 2, 216),
    "json": (_json(), 575),
    "json, indented": (json.dumps(json.loads(_json()), indent=2), 683),
    "log": (_log(), 858),
    "hex": (random.Random(3).randbytes(600).hex(), 691),
    "base64": (base64.b64encode(random.Random(4).randbytes(900)).decode(), 813),
    "chinese": (CHINESE, 102),
    "japanese": (JAPANESE, 124),
    "korean": (KOREAN, 122),
    "russian": (RUSSIAN, 118),
    "arabic": (ARABIC, 113),
    "hindi": (HINDI, 121),
    "emoji": (EMOJI, 102),
}


class Letters:
    """
    A counter whose counts say what was counted.
    """

    def count(self, text: str) -> int:
        """
        Return the length of *text*.
        """
        return len(text)


def test_no_text_is_no_token() -> None:
    """
    The empty text costs nothing, whatever the scale.
    """
    assert ESTIMATOR.count("") == 0
    assert TokenEstimator(scale=4).count("") == 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a", 1),
        (" ", 1),
        ("\n", 1),
        ("\0", 1),
        ("\ud800", 1),
        ("hello", 1),
        ("Hello, world!", 4),
        ("to be or not to be", 4),
        ("def f(x):\n    return x + 1\n", 8),
        ("2026-11-21", 7),
        ("0" * 60, 21),
        ("HTTP", 1),
        ("=" * 80, 2),
        ("\n" * 640, 10),
        ("сжатие", 2),
        ("压缩历史", 3),
        ("🎉", 2),
        ("naïve café", 4),
    ],
)
def test_small_texts_keep_their_estimates(text: str, tokens: int) -> None:
    """
    The weights are frozen: a change of one estimate is a decision, since stores keep the sums.
    """
    assert ESTIMATOR.count(text) == tokens


@given(TEXTS)
def test_any_text_has_a_count(text: str) -> None:
    """
    Every text, lone surrogates and NUL included, has a count that is 0 only for no text.
    """
    counted = ESTIMATOR.count(text)

    assert (counted == 0) == (text == "")
    assert counted >= 0
    assert counted == TokenEstimator().count(text)


@given(TEXTS)
def test_a_text_is_never_dearer_than_its_bytes(text: str) -> None:
    """
    An estimate stays below four tokens a byte of UTF-8.
    """
    assert ESTIMATOR.count(text) <= 4 * len(text.encode("utf-8", "surrogatepass"))


@given(PLAIN | TEXTS, PLAIN | TEXTS)
def test_a_longer_text_is_never_cheaper(before: str, after: str) -> None:
    """
    Appending text does not lower a count.
    """
    assert ESTIMATOR.count(before + after) >= ESTIMATOR.count(before)


def test_no_byte_takes_away() -> None:
    """
    What a byte adds outweighs the patterns that it may complete, all at once.
    """
    digits, letters, rulers = (
        min(LEVELS[byte] for byte in members.encode())
        for members in (string.digits, string.ascii_letters, "-=*#~")
    )

    assert digits + PATTERNS.two_digits >= 0
    assert letters + PATTERNS.three_letters >= 0
    assert rulers + PATTERNS.two_rulers >= 0
    assert min(PATTERNS.blank_digit, PATTERNS.blank_sign, PATTERNS.word_two_blanks) >= 0
    assert PATTERNS.mixed_case >= 0


@given(PLAIN)
def test_the_integer_says_what_a_loop_says(text: str) -> None:
    """
    Shifts and bit counts find the same levels and patterns as reading byte after byte.
    """
    assert ESTIMATOR.count(text) == max(1, int(_slowly(text) / UNITS + 0.5)) * bool(text)


def _slowly(text: str) -> int:
    units = START + sum(LEVELS[byte] for byte in text.encode())
    kinds = "".join(map(_kind, text))
    for at in range(len(kinds)):
        two, three = kinds[at : at + 2], kinds[at : at + 3]
        units += PATTERNS.two_digits * (two == "00")
        units += PATTERNS.blank_digit * (two == " 0")
        units += PATTERNS.blank_sign * (two in (" .", " ="))
        units += PATTERNS.two_rulers * (two == "==")
        units += PATTERNS.three_letters * (len(three) == 3 and three.isalpha())
        units += PATTERNS.word_two_blanks * (three in ("a  ", "A  "))
        units += PATTERNS.mixed_case * (three == "AaA")
    return units


def _kind(sign: str) -> str:
    members = (
        (string.ascii_lowercase, "a"),
        (string.ascii_uppercase, "A"),
        (string.digits, "0"),
        (" \t", " "),
        ("-=*#~", "="),
        (string.punctuation, "."),
    )
    return next((kind for signs, kind in members if sign in signs), "?")


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_counts_add_up(kind: str) -> None:
    """
    A text said a hundred times, also over many pieces, costs what it costs once that many times.
    """
    text = SAMPLES[kind][0] + "\n"

    assert ESTIMATOR.count(text * 100) == pytest.approx(100 * ESTIMATOR.count(text), rel=0.02)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_each_kind_of_text_is_estimated(kind: str) -> None:
    """
    On some hundred characters an estimate is within 15 % of the vocabulary's own count.
    """
    text, exact = SAMPLES[kind]

    assert ESTIMATOR.count(text) == pytest.approx(exact, rel=0.15)


def test_the_mean_error_is_small() -> None:
    """
    Over all kinds of text the mean error is below 6 %; a quarter of the characters has over 25 %.
    """
    errors = [abs(ESTIMATOR.count(text) / exact - 1) for text, exact in SAMPLES.values()]
    naive = [abs(len(text) / 4 / exact - 1) for text, exact in SAMPLES.values()]

    assert sum(errors) / len(errors) < 0.06
    assert sum(naive) / len(naive) > 0.25


@pytest.mark.parametrize(
    ("folder", "exact"), [("tau-airline", 184_597), ("pi-coding-agent", 375_727)]
)
def test_sums_over_recorded_sessions(folder: str, exact: int) -> None:
    """
    The estimates of single texts add up to a whole session's tokens within 3 %.
    """
    if not DATA.exists():
        pytest.skip("the shared data is not beside the repository")
    texts = {"tau-airline": _airline, "pi-coding-agent": _coding}[folder]()

    assert sum(map(ESTIMATOR.count, texts)) == pytest.approx(exact, rel=0.03)


def _airline() -> Iterator[str]:
    for line in (DATA / "tau-airline/conversations.jsonl").read_text().splitlines():
        for message in json.loads(line)["traj"]:
            yield message.get("content") or ""
            for call in message.get("tool_calls") or ():
                yield call["function"]["arguments"]


def _coding() -> Iterator[str]:
    for line in (DATA / "pi-coding-agent/before-compaction.jsonl").read_text().splitlines():
        content = json.loads(line).get("message", {}).get("content", ())
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield part.get("text", "")
            yield part.get("thinking", "")
            yield json.dumps(part["arguments"]) if "arguments" in part else ""


def test_the_scale_multiplies() -> None:
    """
    An estimator with a scale says that many times what one without says.
    """
    assert TokenEstimator(scale=1.5).count(ENGLISH) == pytest.approx(
        1.5 * ESTIMATOR.count(ENGLISH), abs=1
    )


@pytest.mark.parametrize("scale", [0, -1, 0.2, 4.1, math.nan, math.inf])
def test_absurd_scales_are_refused(scale: float) -> None:
    """
    A scale outside 0.25 to 4 is an error that names it.
    """
    with pytest.raises(ConfigError, match="scale is"):
        TokenEstimator(scale=scale)


def test_usage_corrects_the_estimate() -> None:
    """
    A model that reports 30 % more than was estimated is counted 30 % higher from then on.
    """
    corrected = ESTIMATOR.calibrated(reported=130_000, estimated=100_000)

    assert corrected.scale == pytest.approx(1.3, rel=0.01)
    assert ESTIMATOR.scale == 1


def test_corrections_settle() -> None:
    """
    Estimating and correcting over and over ends at the vendor's count, and stays there.
    """
    estimator, exact = ESTIMATOR, 260
    for _ in range(100):
        estimator = estimator.calibrated(reported=exact, estimated=estimator.count(ENGLISH))

    assert estimator.count(ENGLISH) == pytest.approx(exact, abs=2)


def test_a_short_request_corrects_little() -> None:
    """
    Fixed costs of a request with ten tokens do not pass for a property of the model.
    """
    assert ESTIMATOR.calibrated(reported=30, estimated=10).scale == pytest.approx(1.02, abs=0.001)


@pytest.mark.parametrize(("reported", "estimated"), [(0, 100), (100, 0), (-5, 100), (100, -5)])
def test_figures_without_sense_correct_nothing(reported: int, estimated: int) -> None:
    """
    Where one side is missing there is nothing to learn.
    """
    assert ESTIMATOR.calibrated(reported=reported, estimated=estimated) is ESTIMATOR


@given(st.floats(0.25, 4), REPORTS, REPORTS)
def test_no_report_breaks_the_estimator(scale: float, reported: int, estimated: int) -> None:
    """
    Whatever a vendor reports, the scale stays between 0.25 and 4.
    """
    corrected = TokenEstimator(scale=scale).calibrated(reported=reported, estimated=estimated)

    assert 0.25 <= corrected.scale <= 4


def test_estimators_are_counters() -> None:
    """
    The estimator and any object with a `count` stand in for each other.
    """
    assert isinstance(ESTIMATOR, TokenCounter)
    assert isinstance(Letters(), TokenCounter)


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (TextPart("12345"), 5),
        (CompactionPart("12345"), 5),
        (CompactionPart(""), 0),
        (ReasoningPart("12345"), REASONING_TOKENS + 5),
        (ToolCallPart("an id is free", "name", "{}"), TOOL_CALL_TOKENS + 6),
        (ToolCallResponsePart("an id is free", "12345"), TOOL_RESPONSE_TOKENS + 5),
        (ToolCallResponsePart("1", ()), TOOL_RESPONSE_TOKENS),
        (
            ToolCallResponsePart("1", (TextPart("12345"), UriPart("image", "https://x"))),
            TOOL_RESPONSE_TOKENS + 5 + MEDIA_TOKENS["image"],
        ),
        (GenericPart("kind", '{"a":1}'), 7),
        (BlobPart("image", "image/png", "A" * 90_000), MEDIA_TOKENS["image"]),
        (BlobPart("audio", "audio/wav", "A" * 90_000), MEDIA_TOKENS["audio"]),
        (UriPart("video", "https://x"), MEDIA_TOKENS["video"]),
        (FilePart("document", "file-1"), MEDIA_TOKENS["document"]),
        (FilePart("hologram", "file-1"), MEDIA_TOKENS["document"]),
    ],
)
def test_each_part_has_its_price(part: Part, tokens: int) -> None:
    """
    Texts are counted, ids are free, and content that is not text has a fixed price.
    """
    message = Message(role="user", parts=(part,))

    assert count_message(message, Letters()) == MESSAGE_TOKENS + tokens


def test_a_message_is_the_sum_of_its_parts() -> None:
    """
    The format's own tokens are paid once a message, and a name is text.
    """
    message = Message(role="user", name="ann", parts=(TextPart("12"), TextPart("345")))

    assert count_message(message, Letters()) == MESSAGE_TOKENS + 5 + 3
    assert count_message(Message(role="user"), Letters()) == MESSAGE_TOKENS


def test_what_is_not_sent_costs_nothing() -> None:
    """
    Metadata, ids and the vendor's own item do not change a count.
    """
    bare = Message.user("hello")
    native = Native(NativeFormat.OPENAI_CHAT, "{}" * 500)
    laden = Message(
        role="user", parts=bare.parts, id="m" * 500, metadata={"k": "v" * 500}, native=native
    )

    assert count_message(laden, ESTIMATOR) == count_message(bare, ESTIMATOR)
