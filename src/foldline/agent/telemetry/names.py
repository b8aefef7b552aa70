"""
The names of what spans and metrics say.

Source of `gen_ai.*`: the OpenTelemetry GenAI semantic conventions, repository
`open-telemetry/semantic-conventions-genai`, pages `client-inference`, `gen-ai-agent-spans`,
`execute-tool`, `gen-ai-metrics` and the attribute registry, as of September 2026 (all in status
Development). The package of constants lacks the newest of them and marks the others as moved. What
the conventions have no name for stands under `foldline.`.
"""

__all__ = [
    "AGENT_NAME",
    "CACHE_READ_TOKENS",
    "CACHE_WRITE_TOKENS",
    "CANCELLED",
    "COMPACTED",
    "CONVERSATION_ID",
    "ERROR_TYPE",
    "FINISH_REASONS",
    "FOLD_REASON",
    "FOLD_STATUS",
    "FOLD_STRATEGY",
    "INPUT_MESSAGES",
    "INPUT_TOKENS",
    "OPERATION_NAME",
    "OUTPUT_MESSAGES",
    "OUTPUT_TOKENS",
    "PROVIDER_NAME",
    "REASONING_TOKENS",
    "REQUEST_MODEL",
    "REQUEST_STREAM",
    "RESPONSE_ID",
    "RESPONSE_MODEL",
    "TIME_TO_FIRST_CHUNK",
    "TOKEN_TYPE",
    "TOOL_ARGUMENTS",
    "TOOL_CALL_ID",
    "TOOL_DESCRIPTION",
    "TOOL_NAME",
    "TOOL_RESULT",
    "TOOL_TYPE",
]


AGENT_NAME = "gen_ai.agent.name"
"""The agent of a turn."""

CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
"""Of the tokens read, those from the vendor's cache."""

CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
"""Of the tokens read, those written to the vendor's cache; `cache_creation` until 2026."""

CANCELLED = "foldline.cancelled"
"""Whether the work was cancelled; only ever true."""

COMPACTED = "gen_ai.conversation.compacted"
"""Whether the model was sent a view that stands for more; only ever true."""

CONVERSATION_ID = "gen_ai.conversation.id"
"""The thread."""

ERROR_TYPE = "error.type"
"""The kind of an error; of the general conventions."""

FINISH_REASONS = "gen_ai.response.finish_reasons"
"""Why the model stopped, once for each answer."""

FOLD_REASON = "foldline.fold.reason"
"""Why there was a fold, or why it came to nothing."""

FOLD_STATUS = "foldline.fold.status"
"""Whether a fold was performed or failed."""

FOLD_STRATEGY = "foldline.fold.strategy"
"""How folds are made."""

INPUT_MESSAGES = "gen_ai.input.messages"
"""What the model was sent; opt-in."""

INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""The tokens read."""

OPERATION_NAME = "gen_ai.operation.name"
"""The kind of work."""

OUTPUT_MESSAGES = "gen_ai.output.messages"
"""What the model said; opt-in."""

OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
"""The tokens written."""

PROVIDER_NAME = "gen_ai.provider.name"
"""The vendor, by the name that the conventions give it."""

REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
"""Of the tokens written, those spent on reasoning."""

REQUEST_MODEL = "gen_ai.request.model"
"""The model that was asked."""

REQUEST_STREAM = "gen_ai.request.stream"
"""Whether the answer was asked for in pieces; only ever true."""

RESPONSE_ID = "gen_ai.response.id"
"""The vendor's id of the response."""

RESPONSE_MODEL = "gen_ai.response.model"
"""The model that answered."""

TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
"""The seconds until the first piece of a stream."""

TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - the name of an attribute
"""Of a metric: whether tokens were read or written."""

TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
"""The arguments of a call; opt-in."""

TOOL_CALL_ID = "gen_ai.tool.call.id"
"""The call that a tool runs for."""

TOOL_DESCRIPTION = "gen_ai.tool.description"
"""What the tool does."""

TOOL_NAME = "gen_ai.tool.name"
"""The tool."""

TOOL_RESULT = "gen_ai.tool.call.result"
"""What the tool answered; opt-in."""

TOOL_TYPE = "gen_ai.tool.type"
"""What kind of tool it is."""
