"""Which sentences of the user a digest keeps as rules."""

from foldline.history.messages import Role
from foldline.providers.digest.rules import offer_rules
from foldline.providers.digest.span import Speech


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
