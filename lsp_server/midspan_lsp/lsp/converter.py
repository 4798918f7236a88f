"""Between JSON and the protocol's classes."""

from __future__ import annotations

from typing import Any

from cattrs import Converter
from lsprotocol.converters import get_converter
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage


def build_converter() -> Converter:
    """Between JSON and the protocol's classes.

    The first fault ends the reading of a message: cattrs would keep an exception, with its traceback, for each item of
    a list that is none (55 MB for a string of 10,000 characters). What is in no specification stays as it is: pygls
    makes a class for each object in it.
    """
    converter = get_converter(Converter(detailed_validation=False))
    for shape in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        converter.register_structure_hook(shape, _from_fields)
    return converter


def _from_fields(fields: dict[str, Any], shape: type[Any]) -> Any:
    return shape(**fields)
