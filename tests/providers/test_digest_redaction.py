"""Which secrets are taken out, and what is left alone."""

import json

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.summarizer import write_digest
from foldline.providers.digest.text import PIECE, clean, pieces, redact
from foldline.reduction.request import SummaryRequest


LONG = "A1b2C3d4E5f6G7h8J9k0L1m2N3p4Q5r6S7t8"

SECRETS = {
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    "open private key": "-----BEGIN " + "PRIVATE KEY-----\nMIIEabc",
    "json web token": "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0." + "c2lnbmF0dXJl",
    "anthropic": "sk-ant-" + "api03-" + LONG,
    "openai": "sk-" + "proj-" + LONG,
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + LONG,
    "github fine": "github_pat_" + LONG,
    "gitlab": "glpat-" + LONG[:20],
    "slack": "xoxb-" + "123456789012-" + LONG,
    "slack webhook": "https://hooks.slack.com/services/" + "T000/B000/" + LONG,
    "google": "AIza" + LONG[:35],
    "google token": "ya29." + LONG,
    "stripe": "sk_live_" + LONG,
    "huggingface": "hf_" + LONG,
    "npm": "npm_" + LONG,
    "pypi": "pypi-" + LONG + LONG,
    "sendgrid": "SG." + LONG[:20] + "." + LONG,
    "telegram": "123456789:AA" + LONG,
    "bearer": "Authorization: Bearer " + LONG,
    "basic": "authorization: basic " + LONG,
    "assignment": 'API_KEY = "' + LONG + '"',
    "environment": "DB_PASSWORD=" + LONG,
    "json": '{"client_secret": "' + LONG + '"}',
    "spoken": "my password is " + LONG,
    "spoken of": "the password for the server is " + LONG,
    "German": "Das Passwort lautet " + LONG,
    "French": "Mon mot de passe est " + LONG,
    "French colon": "mot de passe : " + LONG,
    "Spanish": "La contraseña del servidor es " + LONG,
    "groq": "gsk_" + LONG,
    "xai": "xai-" + LONG,
    "digitalocean": "dop_v1_" + "0123456789abcdef" * 4,
    "vault": "hvs." + LONG,
    "linear": "lin_api_" + LONG,
    "figma": "figd_" + LONG[:18] + "-" + LONG,
    "shopify": "shpat_" + "0123456789abcdef" * 2,
    "twilio": "SK" + "0123456789abcdef" * 2,
    "age": "AGE-SECRET-KEY-1" + LONG.upper(),
    "notion": "ntn_" + LONG,
    "atlassian": "ATATT3" + LONG,
    "databricks": "dapi" + "0123456789abcdef" * 2,
    "cookie": "Cookie: theme=dark; sid=" + LONG + "; lang=en",
    "set-cookie": "Set-Cookie: sid=" + LONG + "; Path=/",
    "cookie json": '{"Cookie": "sid=' + LONG + '"}',
    "curl": "curl -s -X POST \\\n  -u admin:" + LONG + " https://example.com",
    "curl quoted": 'curl --user "admin:' + LONG + '" https://example.com',
    "dashed": "backup --db-pass " + LONG,
    "sshpass": "sshpass -p " + LONG + " ssh root@example.com",
    "mysql": "mysql -h db -u root -p" + LONG + " shop",
    "redis": "redis-cli -h cache -a " + LONG + " ping",
    "docker": "docker login -u ann -p " + LONG + " example.com",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_redacts(text: str) -> None:
    """A secret of a known shape is replaced by a marker."""
    redacted = redact(f"before {text} after")

    assert redacted.startswith("before ")
    assert "[redacted " in redacted
    assert LONG[:20] not in redacted.replace(LONG.upper(), LONG)
    assert "0123456789abcdef" not in redacted
    assert "MIIE" not in redacted
    assert "IOSFODNN7EXAMPLE" not in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pay with 4111 1111 1111 1111.", "pay with [redacted card number]."),
        ("pay with 5500-0000-0000-0004.", "pay with [redacted card number]."),
        ("pay with 378282246310005.", "pay with [redacted card number]."),
        (
            "postgres://ann:s3cr3tword@db.example.com/app",
            "postgres://ann:[redacted password]@db.example.com/app",
        ),
    ],
)
def test_redacts_inside_a_text(text: str, said: str) -> None:
    """Card numbers with the right check digit go, and passwords in addresses; the rest stays."""
    assert redact(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "credit_card_4421486 and 4111 1111 1111 1112",
        "reservation HAT136 on 2024-05-20",
        "the token count is 4096, max_tokens: 4096",
        "https://example.com:8080/a@b",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "task-sk-short, a bearer of bad news",
        "toolu_01A09q90qw90lq917835lq9 and chunk-9f8e7d6c5b4a39281706",
        "curl -u $USER:$TOKEN https://example.com && git push -u origin main:dev",
        "docker run --name mysql -p3306:3306 -u 1000:1000 mysql",
        "the passwords for all users are stored, and the password is wrong",
        "all 12 tests passed in 3.21s, and he passed 123456",
        "self.cookie = cookies.get(name)",
        "SKU 0123456789abcdef0123456789abcdef",
    ],
)
def test_leaves_other_text_alone(text: str) -> None:
    """What only resembles a secret stays as it was."""
    assert redact(text) == text


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_redacts_in_json_inside_of_json(depth: int) -> None:
    """A secret beside its name goes, however often its JSON was written into other JSON."""
    text = json.dumps({"api_key": 'abc"d1234efgh', "password": "s3cr3tword", "user": "ann"})
    for _ in range(depth):
        text = json.dumps({"body": text})
    redacted = redact(text)
    for _ in range(depth):
        redacted = json.loads(redacted)["body"]

    assert json.loads(redacted) == {
        "api_key": "[redacted secret]",
        "password": "[redacted secret]",
        "user": "ann",
    }


def test_no_secret_reaches_a_digest() -> None:
    """Secrets in speech, arguments, results and earlier summaries stay out of a digest."""
    arguments = '{"password": "hunter22x", "user": "ann_1", "note": "\\u0067hp_' + LONG + '"}'
    messages = (
        Message.user("Log in with " + SECRETS["github"]),
        Message.assistant("ok", tool_calls=[ToolCallPart("c", "login", arguments)]),
        Message.tool("c", "Error: " + SECRETS["openai"] + " was refused by the server ann_1"),
    )
    request = SummaryRequest(
        messages=messages, earlier=(SECRETS["bearer"] + " is used.",), prompt="", budget=800
    )
    text = write_digest(request)

    assert "ann_1" in text
    assert LONG[:16] not in text
    assert "hunter22x" not in text


@pytest.mark.slow
@pytest.mark.parametrize("separator", [" ", "\n"])
@pytest.mark.parametrize("name", SECRETS)
def test_no_cut_goes_through_a_secret(name: str, separator: str) -> None:
    """A long text is searched in pieces, and a secret is found wherever a piece could end."""
    secret = SECRETS[name]
    for before in range(0, len(secret) + 40, 3):
        text = ("word" + separator) * (PIECE // 5) + separator * (5 - before % 5)
        text = text[: PIECE - before - 1] + separator + secret + (separator + "word") * PIECE

        redacted = redact(text)

        assert "[redacted " in redacted
        assert LONG[:20] not in redacted
        assert "MIIE" not in redacted


def test_pieces_of_a_text() -> None:
    """No piece of a text with white space is longer than the limit, and none is lost."""
    text = "so many words,\tand\n12 numbers " * 5_000

    assert "".join(pieces(text)) == text
    assert max(map(len, pieces(text))) <= PIECE
    assert list(pieces("x" * 3 * PIECE)) == ["x" * 3 * PIECE]
    assert "".join(pieces("token " * PIECE)) == "token " * PIECE


@pytest.mark.parametrize("name", SECRETS)
def test_a_finder_cleans_as_code_without_one_does(name: str) -> None:
    """What is known of words from other texts changes nothing."""
    finder = Finder()
    for text in (
        f"say {SECRETS[name]} twice",
        "say it twice",
        f"{SECRETS[name]} 4111 1111 1111 1111",
    ):
        assert finder.clean([text]) == finder.clean([text]) == [clean(text)]


@pytest.mark.parametrize("sign", [" ", "\n", "=", ": ", '": "', "': '", '\\": \\"', ' = "'])
def test_a_finder_knows_names_by_what_follows_them(sign: str) -> None:
    """The word that names a secret is one with each sign that may stand between them."""
    for name in ("token", "apiKey", "API_KEY", "api-key", "ACCESS_KEY", "AccountKey", "DB_PASS"):
        text = f"say {name}{sign}{LONG}"

        assert Finder().clean([text]) == [clean(text)] == [f"say {name}{sign}[redacted secret]"]


def test_texts_that_are_read_together_keep_apart() -> None:
    """Many texts are cleaned as each alone: nothing goes over from one to the next."""
    texts = [
        "pay 4111 1111",
        "1111 1111 now",
        "a\0b \ud800 c",
        "",
        *SECRETS.values(),
        "api_key:",
        "abc12345 said 4111 1111 1111 1111",
        "plain words",
    ]

    assert Finder().clean(texts) == [clean(text) for text in texts]


@pytest.mark.parametrize(
    "line",
    [
        "SECRET_KEY=django-insecure-8f7d6s5a4g3h",
        "api_key: 9f8e7d6c5b4a39281706",
        '{"accessToken":"abc123def456ghi789"}',
        "X-Api-Key: 9a8b7c6d5e4f3322",
        "password = hunter22x",
        "export DB_PASS=hunter22x",
        "mysql --password hunter22x",
        "AccountKey=Zm9vYmFyYmF6cXV4Zm9vYmFy1==",
    ],
)
def test_secrets_of_settings_are_hidden(line: str) -> None:
    """What a line of settings, a header or an option gives as a secret is not sent."""
    assert "[redacted secret]" in redact(line)


@pytest.mark.parametrize(
    "line",
    [
        "token: Optional[str]",
        "password = form.password",
        "max_tokens: 12345678",
        "the secret of 2024",
    ],
)
def test_what_only_names_a_secret_stays(line: str) -> None:
    """A type, a variable and a count are no secrets."""
    assert redact(line) == line
