"""
Who answers, and where: `foldline worker --app answering:workers` runs it.

The model is a script that says which process it runs in, word by word. Name another one with the
environment variable MODEL, such as `openai:gpt-5-mini`.
"""

import os

from foldline import Agent, PostgresStore
from foldline.messages import Message
from foldline.models import ChatRequest
from foldline.testing.model import ScriptedModel
from foldline.workers import Workers


def say(request: ChatRequest) -> Message:
    """Answer the last question."""
    asked = [one.text for one in request.messages if one.role == "user"][-1]
    told = "Everything that is said here is kept, and each question is answered once. " * 3
    return Message.assistant(f"Process {os.getpid()} answers '{asked}'. {told}That is all.")


agent = Agent(os.environ.get("MODEL") or ScriptedModel(repeat=say, delay=0.08))
workers = Workers(agent, PostgresStore(os.environ["FOLDLINE_STORE"], turn_lease=3.0))
