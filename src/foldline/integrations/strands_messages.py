"""The messages of Strands Agents, which are those of Amazon Bedrock's Converse API."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from foldline.integrations.bedrock_messages import ConverseCodec


class StrandsCodec(ConverseCodec):
    """Reads and writes messages, in which each result has a status."""

    new_status: ClassVar[Mapping[str, str]] = MappingProxyType({"status": "success"})
