"""A stand-in for Anthropic that signs thinking and refuses what is bound to another conversation."""

import json
from dataclasses import dataclass, field
from typing import Any

from foldline.testing.grammars import check_anthropic
from tests.servers.thinking import check_thinking, sign_thinking
from tests.servers.vendor import Answer, Asked, VendorServer


_BOUND = (
    "messages.{}: Invalid `signature` in `thinking` block. The block is bound to a different "
    "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
    '"drop_block".'
)

_UNDEFINED = "Requests which include `tool_use` or `tool_result` blocks must define tools."


@dataclass
class ClaudeServer(VendorServer):
    """
    Thinks before each answer, and again before each call: two to a question that ends in "look".

    It never drops a block, whatever a request asks for: one that is bound elsewhere is refused.
    """

    model: str = "claude-opus-5-5"
    """The name with which it answers."""

    refusals: list[str] = field(default_factory=list[str])
    """What it has refused, and why."""

    thoughts: int = 0
    """How many thinking blocks it was sent back."""

    def answer(self, asked: Asked) -> Answer:
        """Refuse *asked*, or answer it."""
        body = asked.body
        wrong = check_anthropic(body.get("system"), body["messages"])
        bound = check_thinking(body)
        if wrong or bound or (_has_tool(body) and not body.get("tools")):
            text = _BOUND.format(bound[0]) if bound else _UNDEFINED
            text = f"messages: {wrong[0].text}" if wrong and not bound else text
            self.refusals.append(text)
            error = {"type": "invalid_request_error", "message": text}
            return Answer.of({"type": "error", "error": error}, status=400)
        self.thoughts += sum(
            block["type"] == "thinking"
            for item in body["messages"]
            if isinstance(item["content"], list)
            for block in item["content"]
        )
        number = len(self.asked)
        content = self._said(body, number)
        return Answer.of(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": content,
                "stop_reason": "tool_use" if content[-1]["type"] == "tool_use" else "end_turn",
                "usage": {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 5},
            }
        )

    def _said(self, body: dict[str, Any], number: int) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = []
        last = body["messages"][-1]["content"]
        question = last if isinstance(last, str) else last[-1].get("text", "")
        if question.rstrip(".]").endswith("look"):
            for place in range(2):
                call = {"type": "tool_use", "id": f"t{number}_{place}", "name": "look", "input": {}}
                said += [_thought(body, said), call]
            return said
        return [_thought(body, said), {"type": "text", "text": f"Answer {number}."}]


def _thought(body: dict[str, Any], said: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "", "signature": sign_thinking(body, said)}


def _has_tool(body: dict[str, Any]) -> bool:
    return any(
        block.get("type") in {"tool_use", "tool_result"}
        for item in body["messages"]
        for block in item["content"]
        if isinstance(block, dict)
    )
