"""What the middleware is called in a stack of others."""

from typing import Any

import pytest
from langchain.agents import create_agent

from foldline.integrations.langchain import FoldlineMiddleware
from tests.integrations.golden import make_reducer
from tests.integrations.players.langchain_script import Scripted


def test_a_middleware_may_have_the_name_of_another() -> None:
    """A stack, which has no two of one name, knows it by the name that it was given."""
    named = FoldlineMiddleware(make_reducer(), name="SummarizationMiddleware")
    model: Any = Scripted()

    create_agent(model, middleware=[FoldlineMiddleware(make_reducer()), named])

    assert named.name == "SummarizationMiddleware"
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(model, middleware=[named, named])
