"""What an agent is described by."""

from typing import Any

import pytest

from foldline.agent.config import agent_config_from_json, agent_config_from_toml
from foldline.errors import ConfigError
from foldline.reduction.config_reader import config_from_json, config_from_toml


@pytest.mark.parametrize(
    ("read", "allowed"),
    [
        (config_from_json, r"str \| bytes"),
        (agent_config_from_json, r"str \| bytes"),
        (config_from_toml, "str"),
        (agent_config_from_toml, "str"),
    ],
)
@pytest.mark.parametrize("given", [None, 5, {"enabled": True}], ids=repr)
def test_what_is_no_text_is_refused(read: Any, allowed: str, given: object) -> None:
    """What is given in the place of a text is named by its kind, with what is allowed."""
    with pytest.raises(
        ConfigError, match=f"^text is a {type(given).__name__}: allowed is {allowed}$"
    ):
        read(given)


def test_toml_is_no_bytes() -> None:
    """Bytes are refused where TOML is read as text; as JSON they are read."""
    with pytest.raises(ConfigError, match=r"^text is a bytes: allowed is str$"):
        config_from_toml(b"enabled = true")  # type: ignore[arg-type]  # what is refused
    assert config_from_json(b'{"enabled": true}').enabled
