"""
LangChain's `trim_messages` on the same conversation: `python -m bench.peers.trim SIZE …`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and prints milliseconds as JSON.
"""

import json
import sys

from langchain_core.messages import (  # type: ignore[import-not-found]
    AIMessage,
    BaseMessage,
    HumanMessage,
    trim_messages,
)

from bench import measure, workload


def milliseconds(size: int) -> float:
    """Return the median processor milliseconds of one trim of *size* messages."""
    history: list[BaseMessage] = [
        HumanMessage(content=text) if role == "user" else AIMessage(content=text)
        for role, text in workload.texts(size)
    ]

    def trim() -> int:
        trim_messages(
            history,
            max_tokens=2_500,
            token_counter="approximate",
            strategy="last",
            start_on="human",
            include_system=True,
        )
        return 1

    return measure.rounds(trim) * 1e3


measure.pin()
print(json.dumps([milliseconds(int(size)) for size in sys.argv[1:]]))
