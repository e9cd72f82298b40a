"""Provider: stands in for hashicorp/aws between Terraform and an account in memory.

Terraform does everything as it does with the real provider: it plans, orders, creates, refreshes and destroys. The schema is
that of the real provider. What each kind of resource asks of AWS stands in the modules beside this one.
"""

import json
import os
import threading
from concurrent import futures

import grpc
import msgpack
from tf.gen import tfplugin_pb2 as pb
from tf.gen import tfplugin_pb2_grpc

NAME = "registry.terraform.io/hashicorp/aws"
UNKNOWN = msgpack.ExtType(0, b"\0")
NESTED = pb.Schema.NestedBlock
NESTING = {"single": NESTED.SINGLE, "list": NESTED.LIST, "set": NESTED.SET, "map": NESTED.MAP}


def decoded(value):
    """What Terraform sent: JSON or MessagePack, in which an extension stands for what is unknown."""
    if value.json:
        return json.loads(value.json)
    return msgpack.unpackb(value.msgpack, strict_map_key=False, ext_hook=lambda code, data: UNKNOWN)


def encoded(value):
    return pb.DynamicValue(msgpack=msgpack.packb(value))


def is_unknown(value):
    return isinstance(value, msgpack.ExtType)


def is_gap(error):
    """Whether the account in memory cannot do what AWS can: moto knows no such address, or says so."""
    told = getattr(error, "response", {}).get("Error", {})
    return isinstance(error, NotImplementedError) or (told.get("Code"), told.get("Message")) == ("404", "Not Found")


def block(told):
    """A block of `terraform providers schema -json`, as the protocol has it."""
    made = pb.Schema.Block()
    for name, one in told.get("attributes", {}).items():
        flags = {flag: one.get(flag, False) for flag in ("required", "optional", "computed", "sensitive")}
        # Attributes with attributes in them are objects to whoever only carries them.
        kind = one.get("type") or nested(one["nested_type"])
        made.attributes.add(name=name, type=json.dumps(kind).encode(), **flags)
    for name, one in told.get("block_types", {}).items():
        counts = {"min_items": one.get("min_items", 0), "max_items": one.get("max_items", 0)}
        made.block_types.add(type_name=name, nesting=NESTING[one["nesting_mode"]], block=block(one["block"]), **counts)
    return made


def nested(told):
    inside = {name: one.get("type") or nested(one["nested_type"]) for name, one in told["attributes"].items()}
    return ["object", inside] if told["nesting_mode"] == "single" else [told["nesting_mode"], ["object", inside]]


class Provider(tfplugin_pb2_grpc.ProviderServicer):
    """Answers Terraform. The account is asked one question at a time."""

    def __init__(self, schema, kinds, data):
        self.schema, self.kinds, self.data = schema, kinds, data
        self.lock = threading.Lock()
        self.region, self.tags = None, {}
        # What was done, so that a test can tell that a second apply does nothing.
        self.acts = []
        # Kinds that the account does not know.
        self.gaps = set()

    def GetMetadata(self, request, context):
        answer = pb.GetMetadata.Response()
        for name in self.schema["resource_schemas"]:
            answer.resources.add(type_name=name)
        for name in self.schema["data_source_schemas"]:
            answer.data_sources.add(type_name=name)
        return answer

    def GetProviderSchema(self, request, context):
        answer = pb.GetProviderSchema.Response(provider=pb.Schema(block=block(self.schema["provider"]["block"])))
        # Of the real provider's thousand kinds those that somebody answers for.
        for name in self.kinds:
            one = self.schema["resource_schemas"][name]
            answer.resource_schemas[name].CopyFrom(pb.Schema(version=one["version"], block=block(one["block"])))
        for name in self.data:
            one = self.schema["data_source_schemas"][name]
            answer.data_source_schemas[name].CopyFrom(pb.Schema(block=block(one["block"])))
        return answer

    def ValidateProviderConfig(self, request, context):
        return pb.ValidateProviderConfig.Response()

    def ValidateResourceConfig(self, request, context):
        return pb.ValidateResourceConfig.Response()

    def ValidateDataResourceConfig(self, request, context):
        return pb.ValidateDataResourceConfig.Response()

    def ConfigureProvider(self, request, context):
        config = decoded(request.config)
        tags = config.get("default_tags") or [{}]
        self.region, self.tags = config["region"], dict(tags[0].get("tags") or {})
        return pb.ConfigureProvider.Response()

    def StopProvider(self, request, context):
        return pb.StopProvider.Response()

    def UpgradeResourceState(self, request, context):
        return pb.UpgradeResourceState.Response(upgraded_state=pb.DynamicValue(json=request.raw_state.json))

    def ReadDataSource(self, request, context):
        config = decoded(request.config)
        return pb.ReadDataSource.Response(state=encoded(config | self.data[request.type_name](config)))

    def PlanResourceChange(self, request, context):
        answer = pb.PlanResourceChange.Response(legacy_type_system=True)
        planned, prior = decoded(request.proposed_new_state), decoded(request.prior_state)
        if planned is not None:
            kind = self.kinds[request.type_name]
            if prior is not None and planned != prior:
                planned |= {name: UNKNOWN for name in kind.anew}
                for name in kind.replaced:
                    if planned.get(name) != prior.get(name):
                        step = pb.AttributePath.Step(attribute_name=name)
                        answer.requires_replace.append(pb.AttributePath(steps=[step]))
            attributes = self.schema["resource_schemas"][request.type_name]["block"]["attributes"]
            for name, one in attributes.items():
                if one.get("computed") and prior is None and planned[name] is None:
                    planned[name] = UNKNOWN
        answer.planned_state.CopyFrom(encoded(planned))
        return answer

    def ApplyResourceChange(self, request, context):
        planned, prior = decoded(request.planned_state), decoded(request.prior_state)
        answer = pb.ApplyResourceChange.Response(legacy_type_system=True)
        try:
            with self.lock:
                answer.new_state.CopyFrom(encoded(self.change(request.type_name, prior, planned)))
        except Exception as error:
            # What is half made counts as not made: the test has failed anyway.
            answer.new_state.CopyFrom(request.prior_state)
            answer.diagnostics.add(severity=pb.Diagnostic.ERROR, summary=f"{request.type_name}: {error!r}")
        return answer

    def change(self, name, prior, planned):
        kind = self.kinds[name]
        self.acts.append("create" if prior is None else "delete" if planned is None else "update")
        region = (planned or prior).get("region")
        aws = kind.aws(self, None if is_unknown(region) else region)
        if planned is None:
            if name not in self.gaps:
                kind.delete(aws, prior)
            return None
        # An update sees what it was, and nothing unknown.
        known = {key: (prior or {}).get(key) if is_unknown(value) else value for key, value in planned.items()}
        try:
            told = kind.create(aws, known) if prior is None else kind.update(aws, known)
        except Exception as error:
            if not is_gap(error):
                raise
            # The request was sound as far as AWS's description says; what it would have made is made up.
            self.gaps.add(name)
            told = {key: f"made-up-{key}" for key in ("id", "arn", "etag") if is_unknown(planned.get(key))}
        state = known | (told or {})
        for key, value in (("region", aws.region), ("tags_all", self.tags | (known.get("tags") or {}))):
            if key in state:
                state[key] = value
        if "id" in state and state["id"] is None:
            state["id"] = kind.id(state)
        return state

    def ReadResource(self, request, context):
        state = decoded(request.current_state)
        kind = self.kinds[request.type_name]
        if request.type_name in self.gaps:
            return pb.ReadResource.Response(new_state=request.current_state)
        with self.lock:
            found = kind.read(kind.aws(self, state.get("region")), state)
        return pb.ReadResource.Response(new_state=encoded(None if found is None else state | found))


def serve(provider):
    """Starts it; gives the server, which ends when nobody holds it any more, and what tells Terraform where it is."""
    sizes = [(f"grpc.max_{way}_message_length", 1 << 28) for way in ("receive", "send")]
    server = grpc.server(futures.ThreadPoolExecutor(16), options=sizes)
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    where = {"Network": "tcp", "String": f"127.0.0.1:{port}"}
    told = {NAME: {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.getpid(), "Test": True, "Addr": where}}
    return server, {"TF_REATTACH_PROVIDERS": json.dumps(told)}
