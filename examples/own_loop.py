"""
Your own loop on a vendor's client: two lines keep every request inside a budget.

`ask` stands in for `client.chat.completions.create(...)`, so that this runs without a key.
"""

from foldline import HistoryReducer, HistoryReductionConfig


def ask(messages: list[dict[str, str]]) -> str:
    """Answer the last message, as a vendor's client would."""
    return f"You asked: {messages[-1]['content']}"


def main() -> None:
    """Hold a conversation of 40 turns and print what was sent."""
    config = HistoryReductionConfig(
        enabled=True, strategy="summarizing", target_count=4, summarization_threshold=2
    )
    reducer = HistoryReducer(config)
    messages: list[dict[str, str]] = []
    state, longest = None, 0
    for turn in range(40):
        messages.append({"role": "user", "content": f"Where is order AB{turn:03}?"})
        reduced = reducer.reduce_sync(messages, state=state)
        state = reduced.state
        longest = max(longest, len(reduced.messages))
        messages.append({"role": "assistant", "content": ask(list(reduced.messages))})
    print(f"{len(messages)} messages kept, at most {longest} sent")


if __name__ == "__main__":
    main()
