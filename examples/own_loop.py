"""
Your own loop on a vendor's client: two lines keep every request inside a budget.

`ask` stands in for `client.chat.completions.create(...)`, so that this runs without a key.
"""

from foldline import HistoryReducer


def ask(messages: list[dict[str, str]]) -> str:
    """Answer the last message, as a vendor's client would."""
    return f"You asked: {messages[-1]['content']}"


def main() -> None:
    """Hold a conversation of 100 turns and print what was sent."""
    reducer = HistoryReducer(window=4_000)  # or model="openai:gpt-5-mini"
    messages: list[dict[str, str]] = []
    state, largest, ceiling = None, 0, 0
    for turn in range(100):
        messages.append({"role": "user", "content": f"Where is order AB{turn:03}?"})
        reduced = reducer.reduce_sync(messages, state=state)
        state = reduced.state
        largest, ceiling = max(largest, reduced.event.request_tokens), reduced.event.ceiling
        messages.append({"role": "assistant", "content": ask(list(reduced.messages))})
    print(f"{len(messages)} messages kept, at most {largest:,} of {ceiling:,} tokens sent")


if __name__ == "__main__":
    main()
