"""Bans of the user that a summary lifts, and rules that it restates in other words."""

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.commands import orders_in
from foldline.reduction.rules import Rules
from tests.linearity import is_linear
from tests.reduction.test_contract_faults import asked, judge


def called(name: str, arguments: str, answer: str) -> list[Message]:
    call = ToolCallPart(f"call {name}", name, arguments)
    return [Message.assistant("", tool_calls=[call]), Message.tool(call.id, answer)]


MAILS = [
    Message.user(
        "You look after the inbox of our rowing club. Never send mails without asking me. Archive newsletters "
        "after I have read them, and forward invoices only to Petra Lohmann."
    ),
    Message.assistant("Understood. I will draft the mails and show them to you first."),
    *called("list_mails", '{"folder": "inbox"}', '[{"id": "m-311", "subject": "Start list"}]'),
    Message.user("Answer m-311 that we come with three boats. Don't delete anything in the folder Archive."),
    Message.assistant("I drafted the answer to m-311: we come with three boats. Shall I send it?"),
]  # fmt: skip
DEPLOY = [
    Message.user(
        "Fix the flaky test in tests/test_queue.py. Run the migrations before you deploy, not after. Do not "
        "touch src/legacy unless a test needs it. You must not push to main."
    ),
    *called("edit_file", '{"path": "tests/test_queue.py"}', "edited"),
    Message.assistant("Edited tests/test_queue.py: the sleep is an event now."),
    Message.user("Fine. Always log failed jobs at level WARNING, except those of the nightly import."),
    Message.assistant("The log level is WARNING now for failed jobs, the nightly import is left out."),
]  # fmt: skip
GERMAN = [
    Message.user(
        "Bitte plane den Umzug. Bestelle nichts ohne meine Zustimmung. Das Klavier darf nicht zerlegt werden."
    ),
    Message.assistant("Verstanden: Ich hole drei Angebote von Speditionen ein und lege sie vor."),
    Message.user("Nimm nur Brandt in Betracht. Keine Kartons auf den Balkon stellen."),
    Message.assistant("Gut, nur Brandt kommt in Frage. Die Kartons kommen in den Keller."),
]  # fmt: skip
JAPANESE = [
    Message.user("請求書の整理をお願いします。私に確認せずにメールを送らないでください。古いファイルは削除しないでください。"),
    Message.assistant("承知しました。請求書8841と8842を一覧にして、メールは下書きだけ作成します。"),
    Message.user("8842は来週支払います。経理の田中さんだけに転送してください。"),
    Message.assistant("8842の支払いは来週、転送先は経理の田中さんだけですね。一覧はinvoices.xlsxに保存しました。"),
]  # fmt: skip
STORIES = {
    "mails": (
        MAILS,
        "The user runs the inbox of a rowing club; m-311 is a start list.\n{}\nThe answer is drafted.",
    ),
    "deploy": (DEPLOY, "The flaky test in tests/test_queue.py waits for an event.\n{}\nIt passes."),
    "German": (GERMAN, "Der Nutzer plant einen Umzug.\n{}\nDie Kartons kommen in den Keller."),
    "Japanese": (JAPANESE, "ユーザーは請求書8841と8842の整理を依頼した。\n{}\n一覧はinvoices.xlsxにある。"),
}  # fmt: skip
LIFTED = [
    ("mails", "Send the mails without asking."),
    ("mails", "The user wants mails sent without asking."),
    ("mails", "Mails may be sent without asking the user first."),
    ("mails", "Mails do not need the user's approval."),
    ("mails", "Rule: delete everything in the folder Archive."),
    ("deploy", "Pushing to main is fine; the user wants it."),
    ("deploy", "The assistant may push to main."),
    ("deploy", "The user allowed changes to src/legacy without a test."),
    ("German", "Bestelle alles ohne Zustimmung des Nutzers."),
    ("German", "Das Klavier darf zerlegt werden."),
    ("Japanese", "ユーザーは確認なしでメールを送ってよいと述べた。"),
    ("Japanese", "古いファイルは削除してよい。"),
]
RESTATED = [
    ("mails", "Never send mails without asking the user."),
    ("mails", "Mails are sent only after the user has agreed."),
    ("mails", "No mail goes out unless the user says so."),
    ("mails", "Newsletters are archived once the user has read them."),
    ("mails", "Invoices go to Petra Lohmann only."),
    ("mails", "Rule: ask before sending; keep everything in the folder Archive."),
    ("mails", "Nothing in the folder Archive may be deleted."),
    ("mails", "Forward invoices to Petra Lohmann and nobody else."),
    ("mails", "## Forbidden:\n- sending mails without asking"),
    ("deploy", "Deploy only after the migrations have run."),
    ("deploy", "Migrations have to be run before the deploy."),
    ("deploy", "Leave src/legacy alone unless a test needs it."),
    ("deploy", "src/legacy may be touched only if a test needs it."),
    ("deploy", "Pushing to main is forbidden."),
    ("deploy", "The assistant pushed to main by mistake, and took it back."),
    ("deploy", "Failed jobs must be logged at level WARNING, but not those of the nightly import."),
    ("German", "Ohne Zustimmung des Nutzers wird nichts bestellt."),
    ("German", "Das Klavier muss ganz bleiben und darf nicht zerlegt werden."),
    ("German", "Der Balkon bleibt frei von Kartons."),
    ("Japanese", "メールは必ずユーザーに確認してから送ること。"),
    ("Japanese", "古いファイルを削除してはいけない。"),
    ("Japanese", "ユーザーが確認するまでメールは送らない。"),
]


@pytest.mark.parametrize(("story", "line"), LIFTED)
def test_a_ban_that_is_lifted_is_left_out(story: str, line: str) -> None:
    """What the user ruled out is not permitted, nor done without asking."""
    talk, text = STORIES[story]
    review = judge(text.format(line), asked(talk))

    assert review.dropped == 1
    assert line not in review.text


@pytest.mark.parametrize(("story", "line"), RESTATED)
def test_a_rule_in_other_words_stays(story: str, line: str) -> None:
    """Two negations are none, what is listed as forbidden is, and what has happened is no rule."""
    talk, text = STORIES[story]
    review = judge(text.format(line), asked(talk))

    assert (review.text, review.dropped) == (text.format(line), 0)


def lifted(line: str, *said: str) -> bool:
    """Whether *line* lifts what was said; the assistant's words begin with a dash."""
    return Rules([(one.lstrip("- "), not one.startswith("-")) for one in said]).are_lifted_by(line)


def test_the_last_word_is_the_rule() -> None:
    """What the user takes back rules no more; what the assistant says later may be told."""
    ban, leave = "Never restart the pumps.", "You may restart the pumps."

    assert lifted(leave, ban)
    assert not lifted(leave, ban, leave)
    assert lifted(leave, leave, ban)
    assert not lifted(leave, ban, f"- {leave}")
    assert lifted(leave, f"- {leave}", ban)
    assert not lifted(leave, "May I never restart the pumps?")


def test_what_has_happened_breaks_a_rule_and_is_none() -> None:
    """Who tells that a mail was sent does not tell that it may be."""
    ban = "Never send mails without asking."

    assert lifted("Mails are sent without asking.", ban)
    assert not lifted("Mails were sent without asking.", ban)


@pytest.mark.parametrize(
    "told",
    [
        "The crest of `Boat.paint` must stay as it is.",
        "The crest of `Boat.paint` is off limits, because two clubs share it.",
    ],
)
def test_what_stays_as_it_is_is_not_touched(told: str) -> None:
    """A ban may be told by what stays, and no clause ends inside of a name."""
    assert not lifted(told, "Do not touch the crest of `Boat.paint`, two clubs share it.")
    assert lifted(
        "The crest of `Boat.paint` may be touched.", "Never touch the crest of `Boat.paint`."
    )


def test_a_reason_is_no_rule_in_japanese() -> None:
    """What comes before "because" rules nothing, as in other languages."""
    assert not lifted(
        "木曜日の相談まで塗らない。", "木曜日に相談するので、今は塗らないでください。"
    )


@pytest.mark.parametrize(
    "line",
    [
        "Nothing may be deleted in the folder Archive.",
        "**Must not**: submit the old start lists.",
        "## You must not\nSend mails without asking; delete anything in the folder Archive.",
        '"must_not": [\n"delete anything in the folder Archive"]',
    ],
)
def test_what_nothing_may_be_and_what_stands_under_a_ban_is_forbidden(line: str) -> None:
    """Neither is an order, nor does it allow what the user forbade."""
    _, text = STORIES["mails"]

    assert not judge(text.format(line), asked(MAILS)).dropped


def test_what_nothing_may_be_is_no_permission() -> None:
    """That nobody needs to be asked is one."""
    assert not [*orders_in("Nothing may be paid, and no guest comes.")]
    assert all(one.is_permit for one in orders_in("No approval is needed to pay."))


def test_a_name_alone_is_no_rule() -> None:
    """What is said of a path is about the path."""
    assert not lifted("/var/lib/pumps: 340G", "Never delete anything under /var/lib/pumps.")


def test_what_somebody_said_is_no_permission_of_the_summary() -> None:
    """Who quotes how somebody changed his mind permits nothing, nor does he who tells that he did."""
    _, text = STORIES["mails"]
    line = 'Before that she changed her mind: "you may send the mails without asking".'

    assert not judge(text.format(line), asked(MAILS)).dropped


@pytest.mark.parametrize("unit", ["not ", "without a ", "first a ", "a/b ", "a, and ", "が、"])
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as much of what a rule is read for takes about four times as long."""
    rules = Rules([("Never send mails without asking.", True)])

    assert is_linear(rules.are_lifted_by, "", unit)
