"""AWS: clients of an account in memory, which also refuse what AWS's own description of its interface refuses."""

import re

import boto3
from botocore.config import Config

ACCOUNT = "111122223333"
CLIENTS = {}


class Refused(Exception):
    """A value that AWS does not take."""


class Aws:
    """The services of the account, in a region."""

    def __init__(self, region):
        self.region = region

    def __getattr__(self, service):
        return client(service.strip("_"), self.region)


def client(service, region):
    """A client, made once: its model takes a while to read."""
    if (service, region) not in CLIENTS:
        made = boto3.client(service, region_name=region, config=Config(retries={"max_attempts": 1}))
        made.meta.events.register("provide-client-params", described)
        CLIENTS[service, region] = made
    return CLIENTS[service, region]


def described(params, model, **_):
    """Holds a request against the description: botocore looks at types and least lengths, and not at these."""
    if model.input_shape:
        walk(params, model.input_shape, model.name)


def walk(value, shape, where):
    if shape.type_name == "structure":
        for name, inside in value.items():
            if name in shape.members:
                walk(inside, shape.members[name], f"{where}.{name}")
    elif shape.type_name == "list":
        for inside in value:
            walk(inside, shape.member, f"{where}[]")
    elif shape.type_name == "map":
        for inside in value.values():
            walk(inside, shape.value, f"{where}{{}}")
    elif shape.type_name == "string":
        text, bounds = str(value), shape.metadata
        if getattr(shape, "enum", None) and text not in shape.enum:
            raise Refused(f"{where} is {text!r}, which is none of {', '.join(shape.enum)}")
        if bounds.get("max") and len(text) > bounds["max"]:
            raise Refused(f"{where} has {len(text)} characters, allowed are {bounds['max']}")
        if bounds.get("pattern") and not matches(bounds["pattern"], text):
            raise Refused(f"{where} is {text!r}, which is not {bounds['pattern']}")
    elif shape.type_name in ("integer", "long", "float", "double"):
        if shape.metadata.get("max") is not None and value > shape.metadata["max"]:
            raise Refused(f"{where} is {value}, allowed are {shape.metadata['max']}")


def matches(pattern, text):
    """Patterns are Java's: what Python cannot read is not held against anybody."""
    try:
        return re.fullmatch(pattern.replace(r"\p{L}", "A-Za-z").replace(r"\p{Z}", " ").replace(r"\p{N}", "0-9"), text)
    except re.error:
        return True
