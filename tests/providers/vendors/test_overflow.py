"""The words with which vendors say that a request is too long."""

import pytest

from foldline.providers.vendors.failure import read_overflow


MOST = "maximum context length is"

NUMBERED = [
    (f"This model's {MOST} 4096 tokens. However, your messages resulted in 5000 tokens.", 5000),
    (f"{MOST} 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000", 5000),
    (f"This endpoint's {MOST} 4096 tokens. However, you requested about 5000 tokens", 5000),
    (f"This model's {MOST} 4096 tokens and your request has 3500 input tokens", 3500),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 5000),
    ("request (5000 tokens) exceeds the available context size (4096 tokens), try", 5000),
    ("prompt is too long: 5000 tokens > 4096 maximum", 5000),
    ("input length and `max_tokens` exceed context limit: 4000 + 1000 > 4096, decrease", 5000),
    ("input token count (5,000) exceeds the maximum number of tokens allowed (4,096).", 5000),
    ("Too many input tokens. Max input tokens: 4096, request input token count: 5000", 5000),
    ("Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum", 5000),
    ("Current length is 5000 while limit is 4096", 5000),
    ("This model's maximum prompt length is 4096 but the request contains 5000 tokens.", 5000),
    ("too many tokens: the prompt cannot exceed 4096 - received 5000.", 5000),
    ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 5000),
    ("The prompt is too long: 5000, model maximum context length: 4096", 5000),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 5000),
    ("Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens).", 5000),
    ("maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tok", 5000),
    ("Requested tokens (5000) exceed context window of 4096", 5000),
    ("Prompt tokens (5000) exceeds context size (4096)", 5000),
    ("Prompt too long: 5000 tokens exceeds max context window of 4096 tokens", 5000),
    ("prompt token count of 5000 exceeds the limit of 4096", 5000),
    (
        "to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096)",
        5000,
    ),
    ("Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)", 5000),
    ("exceed the configured limit of 4096 tokens. Your messages resulted in 5000 tokens.", 5000),
    ("Your request exceeded model token limit: 4096 (requested: 5000)", 5000),
    ("on tokens per minute (TPM): Limit 4096, Requested 5000, please reduce your", 5000),
    ("`inputs` must have less than 4096 tokens. Given: 5000", 5000),
    ("This model's maximum context length is 4096 tokens. Please reduce the prompt", None),
    ("Reached context length of 4096 tokens with model (arch: qwen3) that does not", None),
    ("The input token count exceeds the maximum number of tokens allowed (4096).", None),
    ("Your request exceeded model token limit: 4096", None),
    ("Range of input length should be [1, 4096]", None),
    (f"{MOST} 5096 tokens. However, you requested 1000 output tokens and your prompt con", None),
]
NUMBERLESS = [
    "Your input exceeds the context window of this model. Please adjust your input",
    "Input is too long for requested model.",
    "the request exceeds the available context size, try increasing it",
    "prompt too long; exceeded max context length by 4 tokens",
    "the input length exceeds the context length",
    "Context size has been exceeded.",
    "is greater than the context length. Try to load the model with",
    "Prompt exceeds max length",
    "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
    "litellm.ContextWindowExceededError: Hosted_vllmException",
    "Please reduce the length of the messages or completion.",
    "no user query found in messages",
]


@pytest.mark.parametrize(("text", "tokens"), NUMBERED)
def test_numbers_are_read(text: str, tokens: int | None) -> None:
    """The window, without the answer, and the size of the request are read if the text has them."""
    found = read_overflow(status=400, codes=(), error={"message": text})

    assert found == (4096, tokens)


@pytest.mark.parametrize("text", NUMBERLESS)
def test_texts_without_numbers_are_read(text: str) -> None:
    """A text may say it without numbers."""
    assert read_overflow(status=400, codes=(), error={"message": text}) == (None, None)


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (400, ("context_length_exceeded",)),
        (None, ("context_length_exceeded",)),
        (400, ("context_exceeded",)),
        (400, ("model_max_prompt_tokens_exceeded",)),
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


def test_what_a_gateway_passes_on_is_read() -> None:
    """OpenRouter's own text says nothing; the words of the vendor behind it are beside it."""
    passed = '{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}'
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": passed}}

    assert read_overflow(status=400, codes=(), error=error) == (4096, None)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "Request too large: the maximum context length is 5 tokens"),
        (401, "prompt is too long"),
        (400, "max_tokens is too large"),
        (400, "max_tokens 9000 exceeds the maximum output length of 8192"),
        (400, "The number of images 20 exceeds the limit of 10"),
        (500, "The server had an error"),
        (400, ""),
    ],
)
def test_other_failures_are_none(status: int, text: str) -> None:
    """A rate limit, a missing right or another bad request is no overflow."""
    assert read_overflow(status=status, codes=("x",), error={"message": text}) is None
