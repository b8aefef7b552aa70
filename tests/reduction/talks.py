"""Conversations of a real size, made up, and good summaries of them."""

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart


__all__ = ["CODING", "GERMAN", "GERMAN_SUMMARY", "GOOD", "OLDER", "TRAVEL"]


TRAVEL = (
    Message.user(
        "Hello, I would like to change my trip from Lisbon to Warsaw. My user id is mara_quint_4718 "
        "and the reservation is KBUT8V. The outbound flight leaves on May 20 and I would rather "
        "travel two days later because my daughter has her violin recital that evening."
    ),
    Message.assistant(
        "Let me look at the reservation first.",
        tool_calls=[ToolCallPart("c1", "get_reservation", '{"reservation_id": "KBUT8V"}')],
    ),
    Message.tool(
        "c1",
        '{"reservation_id": "KBUT8V", "user_id": "mara_quint_4718", "cabin": "economy", "flights": '
        '[{"number": "HAT271", "origin": "LIS", "destination": "WAW", "date": "2024-05-20", "price": '
        '1347}], "payment": [{"source": "credit_card_5521908", "amount": 1347}], "insurance": "no"}',
    ),
    Message.assistant(
        "Your booking is an economy ticket without insurance, paid with the card that ends in 5521908. "
        "Changing the date of this fare is possible for a difference in price. Which departure suits "
        "you, morning or afternoon?"
    ),
    Message.user(
        "Morning please, before nine if there is one. I also need a second checked suitcase, since I "
        "carry a folding music stand and a box of old letters for my grandmother."
    ),
    Message.assistant(
        "",
        tool_calls=[
            ToolCallPart(
                "c2",
                "search_direct_flight",
                '{"origin": "LIS", "destination": "WAW", "date": "2024-05-22"}',
            )
        ],
    ),
    Message.tool(
        "c2",
        '[{"number": "HAT094", "departs": "07:35", "arrives": "12:50", "economy": 1422, "seats": 11}, '
        '{"number": "HAT318", "departs": "15:10", "arrives": "20:25", "economy": 1290, "seats": 3}]',
    ),
    Message.assistant(
        "There are two direct flights on that Wednesday: HAT094 in the early morning for 1,422 dollars, "
        "and HAT318 in the afternoon, which is cheaper but nearly sold out. The additional suitcase "
        "costs fifty dollars. Shall I book the morning connection and charge the same card?"
    ),
    Message.user(
        "Yes, the morning one, but please use the gift certificate_8830027 for the difference instead of "
        "the card. And confirm everything by mail to mara.quint@example.org, my husband prints it. The "
        "receipt goes into the folder /home/mara/travel/receipts.pdf as always."
    ),
    Message.assistant(
        "",
        tool_calls=[
            ToolCallPart(
                "c3",
                "update_reservation",
                '{"reservation_id": "KBUT8V", "flight": "HAT094", "payment": "certificate_8830027"}',
            )
        ],
    ),
    Message.tool("c3", '{"error": "certificates cannot be used for changes of a booked fare"}'),
    Message.assistant(
        "The airline refuses certificates for changes, so the update failed. A travel voucher or the "
        "original card would work. The certificate stays valid until the end of November for a new "
        "booking. How would you like to continue?"
    ),
    Message.user(
        "What a pity. Then charge the card, but only if the window seat near the wing stays mine. I get "
        "dizzy on the aisle. My grandmother turns ninety on Saturday, so I must not miss that."
    ),
)

GOOD = (
    "The user (mara_quint_4718) wants reservation KBUT8V, an economy ticket from Lisbon to Warsaw, moved "
    "from May 20 to 22 May 2024 because of a violin recital. The assistant found two direct flights: "
    "HAT094 in the morning for $1,422 and HAT318 in the afternoon for 1290. The user chose the morning "
    "flight and a second checked suitcase, to be confirmed to mara.quint@example.org.\n\n"
    "- Paying with certificate_8830027 failed: certificates cannot be used for changes.\n"
    "- The user agreed to charge credit_card_5521908 if the window seat near the wing stays.\n"
    "- Receipts go to /home/mara/travel/receipts.pdf."
)

OLDER = (
    "The user runs a bakery in Porto and asked the assistant for a weekly plan of deliveries. They "
    "agreed on rye loaves for the school kitchen every Monday, cinnamon rolls for the rowing club, and a "
    "wedding cake with marzipan roses for the Ferreira family. The oven thermostat was repaired by a "
    "technician; flour comes from a mill near Coimbra. Open: whether the apprentice may drive the "
    "delivery van, which needs a permit from the town hall, and who waters the herbs in the yard."
)

CODING = (
    Message.user(
        "The importer in src/ledger/importer.py drops rows whose currency column is empty. Please find "
        "out why, write a failing test under tests/ledger/test_importer.py and repair it. Never touch "
        "the migrations folder."
    ),
    Message.assistant(
        "I will read the importer.",
        tool_calls=[ToolCallPart("r1", "read_file", '{"path": "src/ledger/importer.py"}')],
    ),
    Message.tool(
        "r1",
        "def parse_row(row, default_currency='EUR'):\n    amount = Decimal(row['amount'])\n    currency = "
        "row['currency']\n    if not currency:\n        return None\n    return Entry(amount=amount, "
        "currency=currency, booked=parse_date(row['booked']))\n\nclass LedgerImporter:\n    batch_size = "
        "500\n    def import_all(self, rows):\n        return [one for one in map(parse_row, rows) if one]",
    ),
    Message.assistant(
        "parse_row returns None for an empty currency, and import_all filters such entries silently. The "
        "parameter default_currency is never used. I will add a test with three rows, one of them without "
        "currency, and expect three entries.",
        tool_calls=[
            ToolCallPart(
                "r2", "run", '{"command": "pytest tests/ledger/test_importer.py -k currency"}'
            )
        ],
    ),
    Message.tool(
        "r2",
        "FAILED tests/ledger/test_importer.py::test_empty_currency - AssertionError: assert 2 == 3\n"
        "1 failed, 17 passed in 4.21s",
    ),
    Message.assistant(
        "The test fails as expected. Replacing the early return by `currency = row['currency'] or "
        "default_currency` keeps the row.",
        tool_calls=[ToolCallPart("r3", "run", '{"command": "git commit -am fix && pytest"}')],
    ),
    Message.tool(
        "r3", "[main 9c41f7e] fix\n 2 files changed, 14 insertions(+)\n312 passed in 38.60s"
    ),
    Message.user(
        "Good. Next, the report generator prints totals with a comma in the German locale although the "
        "accountant needs points. Look at format_total in src/ledger/report.py before changing anything, "
        "and tell me which callers depend on the present behaviour."
    ),
)

GERMAN = (
    Message.user(
        "Guten Tag, ich möchte meinen Handwerkertermin verschieben. Die Heizung im Keller verliert Wasser, "
        "der Druck fällt jeden Morgen unter ein Bar und der Vermieter antwortet nicht auf meine Briefe."
    ),
    Message.assistant(
        "Das klingt dringend. Ich sehe den Auftrag A77310 für eine Wartung der Gastherme. Soll daraus eine "
        "Reparatur werden? Dann kommt ein Monteur mit Ersatzteilen, und die Anfahrt kostet etwas mehr."
    ),
    Message.user(
        "Ja, bitte als Reparatur. Der Ausgleichsbehälter ist vermutlich undicht, am Ventil sind Kalkspuren "
        "zu sehen. Donnerstag wäre mir am liebsten, denn freitags arbeite ich im Krankenhaus. Der Schlüssel "
        "liegt bei meiner Nachbarin, Frau Oberhuber, im zweiten Stock links."
    ),
    Message.assistant(
        "Donnerstag zwischen zehn und zwölf ist noch ein Fenster frei. Der Monteur bringt einen neuen "
        "Ausgleichsbehälter und Dichtungen mit und klingelt bei der Nachbarin. Bitte stellen Sie bis dahin "
        "einen Eimer unter das Ventil und drehen Sie den Zulauf am Abend zu. Die Rechnung geht an die "
        "Hausverwaltung, sobald der Vermieter den Schaden bestätigt hat."
    ),
    Message.user(
        "Einverstanden. Falls die Hausverwaltung nicht bezahlt, brauche ich eine Kopie der Rechnung für "
        "meine Versicherung, am besten mit Fotos vom Schaden und einer kurzen Begründung des Monteurs."
    ),
    Message.assistant(
        "Ich habe vermerkt, dass der Monteur Fotos macht und den Schaden schriftlich begründet. Die Kopie "
        "schicken wir zusammen mit dem Protokoll der Druckprüfung per Post an Ihre Anschrift."
    ),
)

GERMAN_SUMMARY = (
    "Der Kunde meldete, dass die Heizung im Keller Wasser verliert und der Druck fällt. Der Auftrag A77310 "
    "wurde von einer Wartung der Gastherme in eine Reparatur geändert; der Monteur kommt am Donnerstag "
    "zwischen zehn und zwölf mit einem neuen Ausgleichsbehälter. Der Schlüssel liegt bei der Nachbarin, "
    "Frau Oberhuber. Die Rechnung geht an die Hausverwaltung, eine Kopie mit Fotos an die Versicherung."
)
