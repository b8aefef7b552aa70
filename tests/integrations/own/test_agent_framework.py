"""What is Agent Framework's alone."""

from typing import Any

import pytest

from foldline.errors import ConfigError
from foldline.integrations.agent_framework import FoldlineHistoryProvider


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineHistoryProvider(path)
