"""The schema of an answer, which a request has beside those of the tools."""

from collections.abc import Mapping
from typing import get_args


def output_schemas(given: object) -> list[object]:
    """Return the schemas of *given*: a mapping that is one, a model of Pydantic, or a list of such."""
    make = getattr(given, "model_json_schema", None) if isinstance(given, type) else None
    schema: object = given if make is None else make()
    if isinstance(schema, Mapping):
        return [schema]
    return [one for part in get_args(given) for one in output_schemas(part)]
