"""The words with which vendors say that a request is too long."""

import pytest

from foldline.providers.vendors.failure import read_overflow


CHAT = "This model's maximum context length is 128000 tokens. However, "

TEXTS = [
    (f"{CHAT}your messages resulted in 130001 tokens. Please reduce them.", 128000, 130001),
    (f"{CHAT}you requested 140000 tokens (136000 in the messages, 4000 more).", 128000, 140000),
    (
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about "
            "200000 tokens (199000 of text input, 1000 in the output)."
        ),
        131072,
        200000,
    ),
    (
        (
            "'max_tokens' is too large: 900. This model's maximum context length is 4096 tokens and "
            "your request has 3500 input tokens"
        ),
        4096,
        3500,
    ),
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        4096,
        5000,
    ),
    ("request (5000 tokens) exceeds the available context size (4096 tokens), try", 4096, 5000),
    ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (
        "input length and `max_tokens` exceed context limit: 195000 + 20000 > 200000, decrease",
        200000,
        215000,
    ),
    (
        "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
        1048576,
        1200000,
    ),
    ("Too many input tokens. Max input tokens: 8192, request input token count: 9000", 8192, 9000),
    (
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length"
        ),
        32768,
        40000,
    ),
    ("Current length is 9000 while limit is 8192", 8192, 9000),
    (
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        131072,
        150000,
    ),
    ("too many tokens: the prompt cannot exceed 4081 - received 4500.", 4081, 4500),
    ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens", 8193, 9000),
    ("The prompt is too long: 10000, model maximum context length: 8192", 8192, 10000),
    ("Your input exceeds the context window of this model. Please adjust your input", None, None),
    ("Input is too long for requested model.", None, None),
    ("the request exceeds the available context size, try increasing it", None, None),
    ("prompt too long; exceeded max context length by 4 tokens", None, None),
    ("the input length exceeds the context length", None, None),
]


@pytest.mark.parametrize(("text", "window", "tokens"), TEXTS)
def test_texts_are_read(text: str, window: int | None, tokens: int | None) -> None:
    """The window and the size of the request are read where the text holds them."""
    found = read_overflow(status=400, codes=(), error={"message": text})

    assert found == (window, tokens)


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (400, ("context_length_exceeded",)),
        (None, ("context_length_exceeded",)),
        (413, ("request_too_large",)),
        (413, ()),
    ],
)
def test_codes_are_read(status: int | None, codes: tuple[str, ...]) -> None:
    """A code or the status alone says it too."""
    assert read_overflow(status=status, codes=codes, error={}) == (None, None)


def test_numbers_beside_the_text_are_read() -> None:
    """The numbers that llama.cpp gives in fields of their own are read there."""
    error = {"message": "too big", "n_prompt_tokens": 5000, "n_ctx": 4096}

    found = read_overflow(status=400, codes=("exceed_context_size_error",), error=error)

    assert found == (4096, 5000)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "Request too large: the maximum context length is 5 tokens"),
        (401, "prompt is too long"),
        (400, "max_tokens is too large"),
        (500, "The server had an error"),
        (400, ""),
    ],
)
def test_other_failures_are_none(status: int, text: str) -> None:
    """A rate limit, a missing right or another bad request is no overflow."""
    assert read_overflow(status=status, codes=("x",), error={"message": text}) is None
