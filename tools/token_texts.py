"""
The texts that the token estimator is fitted to: some are found, some are made.

What no folder holds (logs, hexadecimal, base64, JSON, tool output, diffs, emoji) is generated
from chances that repeat.
"""

import base64
import difflib
import gettext
import gzip
import json
import random
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias


KINDS = {
    "python": (".py",),
    "javascript": (".js", ".ts", ".mjs"),
    "c": (".h", ".c", ".hpp", ".cpp"),
    "other code": (".sh", ".pl", ".pm", ".rs", ".go", ".java", ".sql", ".cs", ".php"),
    "web": (".css", ".html"),
    "configuration": (".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf"),
    "xml": (".xml",),
    "markdown": (".md",),
    "documents": (".rst", ".txt", ".txt.gz", "METADATA", "README", "README.gz", "NEWS.gz"),
    "json": (".json",),
}
LANGUAGES = (
    *("zh_CN", "zh_TW", "ja", "ko", "ru", "uk", "bg", "ar", "fa", "he", "hi", "bn", "ta", "th"),
    *("el", "ka", "hy", "de", "fr", "es", "it", "pl", "pt_BR", "nl", "sv", "cs", "hu", "tr", "vi"),
)
LATIN = frozenset(LANGUAGES[17:])
SESSIONS = {
    "tau-airline": "*.jsonl",
    "pi-coding-agent": "*.jsonl",
    "aider-pair": "*.jsonl",
    "openhands": "*.jsonl",
    "swe-agent": "*.json",
    "qmsum-meetings": "*.jsonl",
}
TEXT_KEYS = frozenset(
    ("content", "text", "thinking", "arguments", "action", "thought", "observation", "summary")
)
SHORTEST = 400
DOCUMENT = 30_000
PER_KIND = 400_000

Documents: TypeAlias = dict[str, list[str]]
"""The documents of each kind of text."""


def files(roots: Iterable[Path], endings: tuple[str, ...], rng: random.Random) -> Iterator[str]:
    """Yield documents with one of *endings*, in a shuffled order that repeats."""
    found = sorted(
        path
        for root in roots
        for path in root.rglob("*")
        if path.name.endswith(endings) and ".min." not in path.name and not path.is_symlink()
    )
    rng.shuffle(found)
    for path in found:
        text = read(path)
        if len(text) > SHORTEST:
            yield text[:DOCUMENT]


def read(path: Path) -> str:
    """Return the text of *path*; nothing where it is not UTF-8 or cannot be read."""
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, UnicodeDecodeError, EOFError):
        return ""


def enough(documents: Iterable[str]) -> list[str]:
    """Return the first of *documents* that make enough text, each one once."""
    taken: dict[str, str] = {}
    size = 0
    for text in documents:
        size += 0 if text[:300] in taken else len(text)
        taken.setdefault(text[:300], text)
        if size > PER_KIND:
            break
    return list(taken.values())


def prose(document: str) -> str:
    """Return the paragraphs of *document* that are running text, each on one line."""
    kept = [
        " ".join(paragraph.split())
        for paragraph in re.split(r"\n\s*\n", document)
        if len(paragraph) > 200
        and sum(sign.isalpha() or sign == " " for sign in paragraph) > 0.9 * len(paragraph)
    ]
    return "\n\n".join(kept)


def catalogues(root: Path, language: str, rng: random.Random) -> Iterator[str]:
    """Yield what the gettext catalogues below *root* say in *language*, one document each."""
    found = sorted(root.glob(f"{language}/LC_MESSAGES/*.mo"))
    rng.shuffle(found)
    for path in found:
        try:
            with path.open("rb") as file:
                entries: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # noqa: SLF001 - the only way to all entries
        except (OSError, UnicodeDecodeError):
            continue
        said = [
            text
            for key, text in entries.items()
            if isinstance(key, str) and key not in ("", text) and len(text) > 30
        ]
        if language not in LATIN:
            said = [text for text in said if sum(map(str.isascii, text)) < len(text) / 2]
        yield "\n".join(said[:400])[:DOCUMENT]


def sessions(data: Path, name: str) -> list[list[str]]:
    """Return the texts of the messages in each recorded session of the set *name*."""
    found: list[list[str]] = []
    for path in sorted((data / name).glob(SESSIONS[name])):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        found.extend(list(said(json.loads(line))) for line in lines)
    return found


def said(value: Any) -> Iterator[str]:
    """Yield the texts in a message or a session, in whatever format it is."""
    if isinstance(value, list):
        for item in value:
            yield from said(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                yield from (item,) if item and key in TEXT_KEYS else ()
            elif key == "arguments":
                yield json.dumps(item)
            else:
                yield from said(item)


class Maker:
    """Texts of the kinds that no folder holds, made of *words* and chance."""

    def __init__(self, documents: Documents, rng: random.Random) -> None:
        self.rng = rng
        self.code = documents["python"]
        text = " ".join(documents["prose"])
        self.vocabulary = re.findall(r"[a-z]{2,}", text)
        self.prose = [text[at : at + 1_500] for at in range(0, min(len(text), 90_000), 1_500)]

    def words(self, count: int) -> list[str]:
        return [self.rng.choice(self.vocabulary) for _ in range(count)]

    def stamp(self) -> str:
        pick = self.rng.randint
        clock = f"{pick(0, 23):02d}:{pick(0, 59):02d}:{pick(0, 59):02d}"
        return f"2026-{pick(1, 12):02d}-{pick(1, 28):02d}T{clock}.{pick(0, 999):03d}Z"

    def json(self) -> str:
        rows = [
            {
                "id": self.rng.randrange(10 ** self.rng.randint(3, 9)),
                "path": f"/srv/{'/'.join(self.words(2))}.py",
                "score": round(self.rng.random() * 100, self.rng.randint(1, 6)),
                "ok": self.rng.random() < 0.5,
                "note": " ".join(self.words(self.rng.randint(2, 20))),
                "created_at": self.stamp(),
                "tags": self.words(3),
                "price": {"amount": self.rng.randrange(9_999), "currency": "EUR"},
            }
            for _ in range(30)
        ]
        return json.dumps(rows, indent=self.rng.choice((None, 1, 2, 4)))

    def log(self) -> str:
        style = self.rng.randrange(3)
        lines: list[str] = []
        for _ in range(80):
            identity = uuid.UUID(int=self.rng.getrandbits(128))
            address = f"0x{self.rng.getrandbits(64):016x}"
            first, second, third = self.words(3)
            spent = self.rng.randrange(5_000)
            lines.append(
                (
                    f"{self.stamp()} INFO [{first}.{second}] id={identity} {third} {spent}ms",
                    f"{self.rng.getrandbits(160):040x} {first} {second} {third}",
                    f'10.0.{spent % 256}.7 "GET /{first}/{identity}" 200 {spent} {address}',
                )[style]
            )
        return "\n".join(lines)

    def hex(self) -> str:
        return self.rng.randbytes(2_000).hex()

    def base64(self) -> str:
        text = base64.b64encode(self.rng.randbytes(3_000)).decode()
        return "\n".join(re.findall(".{1,76}", text)) if self.rng.random() < 0.5 else text

    def lock(self) -> str:
        def integrity() -> str:
            sri = "sha512-" + base64.b64encode(self.rng.randbytes(64)).decode()
            return self.rng.choice((f"sha256:{self.rng.getrandbits(256):064x}", sri))

        return "\n".join(
            f'    "{name}": {{\n      "version": "{self.rng.randrange(9)}.{self.rng.randrange(30)}.1"'
            f',\n      "integrity": "{integrity()}"\n    }},'
            for name in self.words(40)
        )

    def numbers(self) -> str:
        def number() -> str:
            size = self.rng.randint(1, 6)
            whole = str(self.rng.randrange(10**size))
            return self.rng.choice((whole, f"{self.rng.random() * 1_000:.{size}f}"))

        return "\n".join(",".join(number() for _ in range(8)) for _ in range(60))

    def listing(self) -> str:
        return "\n".join(
            f"-rw-r--r-- 1 root root {self.rng.randrange(10 ** self.rng.randint(2, 7)):8d} "
            f"Mar {self.rng.randint(1, 28):2d} 12:{self.rng.randint(10, 59)} {'_'.join(words)}.py"
            for words in (self.words(2) for _ in range(60))
        )

    def numbered(self) -> str:
        lines = self.rng.choice(self.code).splitlines()
        sep = self.rng.choice(("\t", ":", " | "))
        return "\n".join(f"{at:6d}{sep}{line}" for at, line in enumerate(lines[:200], 1))

    def run(self) -> str:
        lines = [
            f"tests/{name}/test_{name}.py::test_{'_'.join(self.words(3))} PASSED [{at * 2:3d}%]"
            for at, name in enumerate(self.words(40), 1)
        ]
        for name, other in zip(self.words(4), self.words(4), strict=True):
            at = self.rng.randrange(900)
            lines.append(f'  File "/srv/app/{name}.py", line {at}, in {other}\n    {other}({name})')
        return "\n".join((*lines, "=" * 20 + " 40 passed in 0.12s " + "=" * 20))

    def diff(self) -> str:
        old = self.rng.choice(self.code).splitlines()[:400]
        new = list(old)
        for _ in range(12):
            at = self.rng.randrange(len(new))
            new[at : at + self.rng.randint(0, 2)] = self.rng.sample(old, min(2, len(old)))
        head = f"index {self.rng.getrandbits(28):07x}..{self.rng.getrandbits(28):07x} 100644"
        return "\n".join((head, *difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm="")))

    def emoji(self) -> str:
        common = "😀😂🤣😊😍🙏👍🔥🎉💯🚀😭🤔👀💪🙌✅✨⚠❌⭐➡❤"
        rare = [chr(code) for code in (*range(0x1F300, 0x1F650), *range(0x1F680, 0x1F6C6))]
        return "\n".join(
            f"{' '.join(self.words(self.rng.randint(3, 10)))} "
            f"{''.join(self.rng.choice((*common, *common, *rare)) for _ in range(3))}"
            for _ in range(50)
        )

    def dense_emoji(self) -> str:
        return "".join(chr(self.rng.randrange(0x1F300, 0x1F650)) for _ in range(500))

    def frame(self) -> str:
        first, second, third = (" ".join(self.words(4)) for _ in range(3))
        return f"│ {first:<40} │\n├{'─' * 30}┤\n• {second} — “{third}” … → ✓\n└── {first}" * 8

    def signs(self) -> str:
        blocks = ((0x250, 0x370), (0xA1, 0x100), (0xFF01, 0xFFEF), (0x1E00, 0x1EFF), (0x400, 0x530))
        low, high = self.rng.choice(blocks)
        rare = [chr(self.rng.randrange(low, high)) for _ in range(30)]
        return " ".join(word + self.rng.choice(rare) for word in self.words(60))

    def odd(self) -> str:
        words = self.words(60)
        styles: tuple[Callable[[], str], ...] = (
            lambda: self.rng.choice(self.prose).upper(),
            lambda: self.rng.choice(self.prose).title(),
            lambda: "".join(chr(self.rng.randrange(33, 127)) for _ in range(500)),
            lambda: "".join(self.rng.choice("(){}[]<>;:,.+-*/=!&|") for _ in range(500)),
            lambda: "".join(self.rng.choice("acgt") for _ in range(500)),
            lambda: str(self.rng.getrandbits(1_500)),
            lambda: "\n".join(words),
            lambda: "\n".join("_".join(words[at : at + 3]) for at in range(0, 60, 3)),
            lambda: " ".join("".join(map(str.title, words[at : at + 3])) for at in range(0, 60, 3)),
            lambda: "\n".join(f"| {word:<12} | {len(word)} |" for word in words),
            lambda: json.dumps(dict.fromkeys(words, 1), separators=(",", ":")),
        )
        return self.rng.choice(styles)()


def collect(texts: list[Path], locale: Path, data: Path, rng: random.Random) -> Documents:
    """
    Return the documents of every kind: those below *texts* and *locale*, *data*'s and made ones.
    """
    documents: Documents = {}
    for kind, endings in KINDS.items():
        documents[kind] = enough(files(texts, endings, rng))
    running = map(prose, files(texts, (*KINDS["documents"], "copyright"), rng))
    documents["prose"] = enough(text for text in running if len(text) > SHORTEST)
    for language in LANGUAGES:
        documents[language] = enough(catalogues(locale, language, rng))
    for name in SESSIONS:
        documents[name] = ["\n".join(messages) for messages in sessions(data, name)]
    maker = Maker(documents, rng)
    made: dict[str, tuple[Callable[[], str], ...]] = {
        "json results": (maker.json,),
        "logs": (maker.log,),
        "hex": (maker.hex,),
        "base64": (maker.base64,),
        "lock files": (maker.lock,),
        "numbers": (maker.numbers,),
        "tool output": (maker.listing, maker.numbered, maker.run),
        "diffs": (maker.diff,),
        "emoji": (maker.emoji,),
        "dense emoji": (maker.dense_emoji,),
        "frames": (maker.frame,),
        "signs": (maker.signs,),
        "odd": (maker.odd,),
    }
    for kind, makers in made.items():
        documents[kind] = [make() for make in makers for _ in range(200 // len(makers))]
    foreign = [text for language in LANGUAGES for text in documents[language][:8]]
    documents["mixed"] = [
        f"{text[:600]}\n{rng.choice(maker.prose)[:600]}" for text in foreign if len(text) > 600
    ]
    return documents
