"""Which sentences of the user a digest keeps as rules."""

import pytest

from foldline.history.messages import Role
from foldline.providers.digest.rules import has_rule, offer_rules, rules_in
from foldline.providers.digest.span import Speech


def is_rule(sentence: str) -> bool:
    return [*rules_in([sentence])] == [sentence]


def said(*texts: str, role: Role = "user") -> list[Speech]:
    return [Speech(place, role, text) for place, text in enumerate(texts)]


def test_rules() -> None:
    """Sentences of the user that forbid, demand or prefer are rules, the strict ones first."""
    speeches = said(
        "Never touch the main branch. It is a nice day today.", "I prefer tabs over spaces."
    )
    items = offer_rules(
        speeches,
        prior=["Always run the tests first.", "You must not push on Fridays."],
        asked=["Hello. Do not call me at night.", "Avoid all the words that are …"],
    )

    assert [item.text for item in items] == [
        "Never touch the main branch.",
        "Do not call me at night.",
        "You must not push on Fridays.",
        "Always run the tests first.",
        "I prefer tabs over spaces.",
    ]
    assert [item.order for item in items] == [3, 0, 2, 1, 4]
    assert offer_rules(said("You must do it all now.", role="assistant"), prior=(), asked=()) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Don't push.",
        "Please never add comments, and keep the names.",
        "Rule: never use that column.",
        "You may look at all pods, but do NOT restart one.",
        "From now on, always answer in one line.",
        "When the tests are green, don't commit yet.",
        "Have a look at the log (don't read the whole file!)",
        "You must not use the network.",
        "You can only send one mail at a time.",
        "Only edit what is in src/.",
        "Use pnpm instead of npm.",
        "Instead of a list, return a tuple.",
        "I'd rather fly in the morning.",
        "It is only me, and I don't need a hotel.",
        "The list should be sorted by name.",
        "Everything must be typed.",
        "Keep the old code for now.",
        "Use pnpm, not npm.",
        "We don't use semicolons in this project.",
        "Mails of customers may under no circumstances be logged.",
        "I hate long explanations, be brief.",
        "I can't stand cilantro.",
        "From now on call me Max.",
        "Call me Max.",
        "I would like all reports as PDF.",
        "I want every function typed.",
        "Bitte niemals auf main pushen.",
        "Ne modifie pas les tests.",
        "Nunca borres los archivos.",
        "Não apague os arquivos.",
        "Non modificare i test.",
        "Пожалуйста, не меняй тесты.",
        "不要修改测试文件。",
        "必ずテストを実行してください。",
        "테스트를 수정하지 마세요.",
        "Rule for this whole session: never push to main, and always answer in English.",
        "Ground rules: no pushes.",
        "My rule for you: no emojis.",
        "1) Never push to main.",
        "2. Always run the tests.",
        "3. Antworte immer auf Deutsch.",
        "Use Decimal, no floats.",
        "Run the tests before each commit.",
        "Correction: set the deploy port to 7443.",
        "Change of plan: the port is another one.",
        "The retry limit is now 7.",
        "The deploy port is 9191 now.",
        "Remember that staging is in Tokyo.",
        "For future reference, this is one repository.",
        "Ask me before you delete anything.",
        "Whenever you edit a file, run the formatter.",
        "Pushing to main is forbidden.",
        "The old branch is off limits.",
        "The branch is frozen, so no pushes there.",
        "You are never to push there.",
        "Please answer me in British English.",
        "The total is in euros from here on.",
        "Work in metric units for the rest of this session.",
        "We use pnpm, not npm, in this repo.",
        "Answers must be short.",
        "Customer numbers must always be masked.",
        "I like short answers.",
        "I'd like you to answer in French.",
        "I'm allergic to peanuts.",
        "My name is Ottilie.",
        "I don't eat meat.",
        "I live in Graz.",
        "It is for me, so keep that in mind.",
        "Bitte antworte immer auf Deutsch.",
        "Schreib bitte keine Emojis mehr.",
        "No reserves nada sin preguntarme antes.",
        "Bitte pushe nicht auf main.",
        "Antworte mir auf Deutsch.",
        "Frag mich, bevor du etwas löschst.",
        "Ich heiße Otto.",
        "Regel: keine Emojis.",
        "Réponds toujours en français.",
        "Je m'appelle Anne.",
        "Responde siempre en español.",
        "Me llamo Ana.",
        "Responda em português.",
        "Rispondi in italiano.",
        "You can answer in English again.",
        "You may email the team now.",
        "The dates move one week: 19-21 May.",
        "We are 44 people now.",
        "We decided against Tivoli, we take Myriad.",
        "Bullet points are fine again.",
        "The ban on pushing no longer applies.",
        "You don't need to ask me before commits any more.",
        "You may now edit src/auth.",
        "Forget the limit of 60 lines, drop that rule.",
        "The meeting is moved to 3 June.",
        "The budget has been raised to 20,000 EUR.",
        "Use the schema `prod`, not `stage`.",
        "No bullet points anywhere else.",
        "No flights before 8.",
        "Strictly no peanuts.",
        "At most two retries.",
        "Not before the 24th, I am travelling.",
        "Only sources from 2021 on.",
        "Nothing over 5 MB.",
        "Nobody but you may push.",
        "Nothing gets ordered until we have the grant.",
        "Leave the production database alone.",
        "Hands off the window.",
        "We agreed on no new dependencies.",
        "Let's stick to Postgres 15.",
        "Every change needs a test.",
        "Without my consent nothing goes out.",
        "Post an update every time we learn something.",
        "Careful, drafts have to be left out as well.",
        "She hates that word, please avoid it.",
        "Requirements: no new packages, off by default.",
        "Bitte nicht klingeln, der Hund bellt.",
        "Nicht vor dem 24. November.",
        "Keine neuen Pakete bitte.",
        "Rufen Sie mich bitte nicht an.",
        "Höchstens zwei Versuche.",
        "Verwende nur UTF-8.",
        "Der Betrag darf 500 Euro nicht übersteigen.",
        "No me mandéis nada por SMS.",
        "Tiene que llegar antes del 20.",
        "Solo precios en euros.",
        "No puede superar los 300 euros.",
        "Como máximo dos intentos.",
        "Ne m'appelez pas avant 9 heures.",
        "Pas de nouvelles pages.",
        "Le total ne doit pas dépasser 300 euros.",
        "Non chiamatemi al telefono.",
        "Il totale non deve superare 300 euro.",
        "O total não pode passar de 300 euros.",
        "Только в рублях, пожалуйста.",
        "颜色用公司蓝,别用立体图。",
        "先别导出,等他们的数据。",
        "金额单位统一为万元。",
        "既存の公開APIは変えないこと。",
        "ただし 10 を超えないこと。",
        "昇順でロックすること。",
        "コメントは日本語で書いてください。",
        "テストのデータは消すな。",
        "고수는 빼 주세요.",
        "지하 주차장은 안 됩니다.",
        "10시를 넘기면 안 돼요.",
        "파란색은 싫어요.",
        "이름이 보이지 않게 해 주세요.",
        "لا تتصل بي قبل الظهر.",
        "شكرا، ولا ترفق الصور.",
        "لا نريد شحنا جويا.",
        "يجب أن يصل الطلب يوم الخميس.",
        "الدفع نقدا فقط.",
        "शाम को फ़ोन मत कीजिए।",
        "प्याज़ न डालें।",
        "मुझे प्लास्टिक नहीं चाहिए।",
        "रिपोर्ट हमेशा हिंदी में लिखें।",
        "We build with Bazel, don't call make.",
        "Keep it short and never mention the price.",
        "Count only full days.",
        "Attention : je ne veux surtout pas de fax.",
        "Y no quiero azúcar.",
        "Change POOL_SIZE from 4 to 50.",
        "And set the margin to 12.",
        "Mude o limite de 20 para 75.",
        "Setze den Puffer auf 8.",
        "Leave the answers as they are.",
        "At least three retries after a change.",
        "Give all files as one change.",
    ],
)
def test_a_rule(sentence: str) -> None:
    """An order, a prohibition or a preference is a rule, in the main languages."""
    assert is_rule(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "So it hangs if we don't wait, right?",
        "Sadly, I don't have the number with me.",
        "Don't worry about it.",
        "Never mind.",
        "No worries.",
        "I always get this error.",
        "It should work now.",
        "I think the box should be blue.",
        "I must have left it at home.",
        "I only want to make sure that I understand.",
        "every `open` block must have a `close` block;",
        "ValueError: x must be positive",
        "Cannot read properties of undefined",
        "132 isOpen = false, don't change",
        "if (done) { never(); }",
        "We don't use this function yet.",
        "I hate this error.",
        "Call me back later.",
        "Use it again, not sure what happens.",
        "Look at the log, no rush.",
        "Fix it in every file.",
        "I want all of these flights cancelled.",
        "I want everything to work.",
        "The report is brief, and all is fine now.",
        "Do not use all the words that are …",
        "The test is now failing.",
        "Is the retry limit now 7?",
        "What is the rule here?",
        "Here are the logs:",
        "Ask Bob for the key.",
        "Tell me when it is done.",
        "Every time you start it, it fails.",
        "My screen is frozen.",
        "I am here now.",
        "Reply in the thread.",
        "Write a short answer.",
        "I remember that it failed.",
        "Remember the bug of yesterday.",
        "My reservation is 1N99U6.",
        "Rename it to bar, and update the tests.",
        "I need you to answer the question.",
        "Your change must have broken it.",
        "I don't eat that.",
        "Do the same for the rest of the file.",
        "Look for the following messages in the log.",
        "Das ist immer noch kaputt.",
        "Ist immer noch kaputt.",
        "Bitte lies die Datei.",
        "Esto siempre falla.",
        "No tienes nada.",
        "It works again.",
        "The server is fine now.",
        "The test fails again after the change.",
        "CPU went from 20 to 90 %.",
        "No longer sure about this.",
        "The request is now at the server.",
        "No tests found in this folder.",
        "No fixes applied to the files.",
        "No errors this time.",
        "No names were given.",
        "Only two tests from yesterday have failed.",
        "Nothing over there works.",
        "Nunca llegó el libro.",
        "No tienes razones.",
        "Pas de problème, merci.",
        "動かないですね、それは。",
        "还没有确认,别的都可以。",
        "로그인이 안 돼요.",
        "비가 오지 않네요.",
        "الطابعة لا تعمل.",
        "هل يجب أن أدفع الآن؟",
        "मशीन नहीं चल रही है।",
        "बैठक पाँच बजे है।",
        "Well, never mind, it was late.",
        "The price was changed from 4 to 50.",
        "I set out at 9.",
    ],
)
def test_no_rule(sentence: str) -> None:
    """A report, a question, a line of code or of a log, or a part of a sentence is no rule."""
    assert not is_rule(sentence)


def test_a_wish_without_its_object_is_no_rule() -> None:
    """What "that" was is not known any more."""
    assert not is_rule("I don't want that.")
    assert is_rule("I don't want that column.")


def test_what_was_pasted_gives_no_wishes() -> None:
    """Quoted lines and code give no rules, and a long text only orders."""
    pasted = "> Never look back.\n```\nDo not run this.\n```\n" + "The hero should be brave.\n" * 90
    items = offer_rules(said(pasted + "Don't translate the names."), prior=(), asked=())

    assert [item.text for item in items] == ["Don't translate the names."]


def test_what_is_a_rule_stays_one() -> None:
    """A rule of a list is none by itself, and the next digest keeps it all the same."""
    (item,) = offer_rules(said("It is late."), prior=["pnpm in this repo"], asked=())

    assert item.text == "pnpm in this repo"


def test_what_a_list_of_rules_has() -> None:
    """Each line of a list that is called one of rules is a rule, once, and what stands after it is none."""
    text = "Here are my rules for you:\n\n1. pnpm in this repo. It is small.\n- tabs, please\n2. Never push.\n\nFix it now."
    items = offer_rules(said(text), prior=(), asked=())

    assert {item.text for item in items} == {
        "1. pnpm in this repo.",
        "It is small.",
        "tabs, please",
        "2. Never push.",
    }


def test_a_text_has_a_rule_if_a_person_may_have_typed_it() -> None:
    """A rule in a text of many pages is one of the pages."""
    rule = "Never look back."

    assert has_rule(f"Let us go. {rule}")
    assert has_rule("不要使用 npm。")
    assert not has_rule("Let us go.")
    assert not has_rule(f"{rule} " * 100)


def test_texts_that_are_read_together_are_sentences_of_their_own() -> None:
    """What one message ends with is no part of the next, whatever it is."""
    speeches = said("Use tabs, e.g.", "Never push to main", "```\ncode", "Always run the tests.")
    items = offer_rules(speeches, prior=(), asked=())

    assert {item.text for item in items} == {"Never push to main", "Always run the tests."}
