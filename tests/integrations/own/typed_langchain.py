"""How the middleware is used, as type checkers see it: checked by `make guest-langchain`, never run."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware
from langchain_core.language_models import BaseChatModel

from foldline.integrations.langchain import FoldlineMiddleware


def beside_others(model: BaseChatModel, ours: FoldlineMiddleware) -> Any:
    """Make an agent with middleware of LangChain's, whose state is that of any agent."""
    return create_agent(
        model, middleware=[ModelRetryMiddleware(), HumanInTheLoopMiddleware({}), ours]
    )
