"""Compute: functions, who may start them, their logs, roles, keys, schedules."""

import json

from aws import ACCOUNT
from kinds import Kind, given, gone, kind, one


def same(found, said):
    """A policy as it was said, unless somebody has said another one."""
    found = json.loads(found) if isinstance(found, str) else found
    return said if found == json.loads(said) else json.dumps(found)


@kind("aws_iam_role")
class Role(Kind):
    replaced = ("name",)

    def create(self, aws, want):
        description = given(want, "description")
        aws.iam.create_role(RoleName=want["name"], AssumeRolePolicyDocument=want["assume_role_policy"], Path="/", **description)
        return self.read(aws, want)

    def update(self, aws, want):
        aws.iam.update_assume_role_policy(RoleName=want["name"], PolicyDocument=want["assume_role_policy"])
        return self.read(aws, want)

    def read(self, aws, state):
        found = gone(lambda: aws.iam.get_role(RoleName=state["name"])["Role"])
        return found and {
            "arn": found["Arn"], "unique_id": found["RoleId"], "create_date": found["CreateDate"].isoformat(),
            "assume_role_policy": same(found["AssumeRolePolicyDocument"], state["assume_role_policy"]),
        }

    def delete(self, aws, state):
        aws.iam.delete_role(RoleName=state["name"])


@kind("aws_iam_role_policy")
class RolePolicy(Kind):
    replaced = ("name", "role")

    def id(self, state):
        return f"{state['role']}:{state['name']}"

    def create(self, aws, want):
        aws.iam.put_role_policy(RoleName=want["role"], PolicyName=want["name"], PolicyDocument=want["policy"])

    def read(self, aws, state):
        found = gone(lambda: aws.iam.get_role_policy(RoleName=state["role"], PolicyName=state["name"]))
        return found and {"policy": same(found["PolicyDocument"], state["policy"])}

    def delete(self, aws, state):
        aws.iam.delete_role_policy(RoleName=state["role"], PolicyName=state["name"])


@kind("aws_kms_key")
class Key(Kind):
    named = "key_id"

    def create(self, aws, want):
        made = aws.kms.create_key(Policy=want["policy"], Description=want["description"])["KeyMetadata"]
        aws.kms.enable_key_rotation(KeyId=made["KeyId"])
        return {"arn": made["Arn"], "key_id": made["KeyId"], "id": made["KeyId"]}

    def update(self, aws, want):
        aws.kms.put_key_policy(KeyId=want["key_id"], PolicyName="default", Policy=want["policy"])

    def read(self, aws, state):
        found = gone(lambda: aws.kms.describe_key(KeyId=state["key_id"])["KeyMetadata"])
        if found is None or found["KeyState"] == "PendingDeletion":
            return None
        policy = aws.kms.get_key_policy(KeyId=state["key_id"], PolicyName="default")["Policy"]
        turns = aws.kms.get_key_rotation_status(KeyId=state["key_id"])["KeyRotationEnabled"]
        return {"policy": same(policy, state["policy"]), "enable_key_rotation": turns}

    def delete(self, aws, state):
        aws.kms.schedule_key_deletion(KeyId=state["key_id"], PendingWindowInDays=state["deletion_window_in_days"])


@kind("aws_kms_alias")
class Alias(Kind):
    replaced = ("name",)

    def create(self, aws, want):
        aws.kms.create_alias(AliasName=want["name"], TargetKeyId=want["target_key_id"])
        return {"arn": f"arn:aws:kms:{aws.region}:{ACCOUNT}:{want['name']}"}

    def read(self, aws, state):
        found = [of for of in aws.kms.list_aliases()["Aliases"] if of["AliasName"] == state["name"]]
        return {"target_key_id": found[0]["TargetKeyId"]} if found else None

    def delete(self, aws, state):
        aws.kms.delete_alias(AliasName=state["name"])


@kind("aws_cloudwatch_log_group")
class LogGroup(Kind):
    replaced = ("name",)

    def create(self, aws, want):
        if not self.found(aws, want):
            aws.logs.create_log_group(logGroupName=want["name"], kmsKeyId=want["kms_key_id"])
        aws.logs.put_retention_policy(logGroupName=want["name"], retentionInDays=want["retention_in_days"])
        return self.read(aws, want)

    def found(self, aws, state):
        groups = aws.logs.describe_log_groups(logGroupNamePrefix=state["name"])["logGroups"]
        return next((group for group in groups if group["logGroupName"] == state["name"]), None)

    def read(self, aws, state):
        found = self.found(aws, state)
        return found and {"arn": found["arn"].removesuffix(":*"), "retention_in_days": found["retentionInDays"]}

    def delete(self, aws, state):
        aws.logs.delete_log_group(logGroupName=state["name"])


@kind("aws_lambda_function")
class Function(Kind):
    named = "function_name"
    replaced = ("function_name",)
    anew = ("version", "qualified_arn", "last_modified", "code_sha256", "source_code_size")

    def settings(self, want):
        made = given(want, "function_name", "description", "handler", "role", "memory_size", "timeout", "runtime")
        log = one(want["logging_config"])
        return made | {
            "Environment": {"Variables": one(want["environment"])["variables"]},
            "EphemeralStorage": {"Size": one(want["ephemeral_storage"])["size"]},
            "TracingConfig": {"Mode": one(want["tracing_config"])["mode"]},
            "LoggingConfig": {"LogFormat": log["log_format"], "LogGroup": log["log_group"]},
            "KMSKeyArn": want["kms_key_arn"],
        }

    def zip(self, want):
        with open(want["filename"], "rb") as source:
            return source.read()

    def create(self, aws, want):
        code = {"ZipFile": self.zip(want)}
        aws.lambda_.create_function(Code=code, Publish=False, Architectures=want["architectures"], **self.settings(want))
        return self.published(aws, want)

    def update(self, aws, want):
        aws.lambda_.update_function_code(FunctionName=want["function_name"], ZipFile=self.zip(want), Publish=False)
        aws.lambda_.update_function_configuration(**self.settings(want))
        return self.published(aws, want)

    def published(self, aws, want):
        name, most = want["function_name"], want["reserved_concurrent_executions"]
        if most not in (None, -1):
            aws.lambda_.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=most)
        # A version keeps what it was made with, so each change is one.
        version = aws.lambda_.publish_version(FunctionName=name)["Version"]
        return self.read(aws, want) | {"version": version}

    def read(self, aws, state):
        name = state["function_name"]
        found = gone(lambda: aws.lambda_.get_function(FunctionName=name)["Configuration"])
        if found is None:
            return None
        arn = f"arn:aws:lambda:{aws.region}:{ACCOUNT}:function:{name}"
        return {
            "arn": arn, "invoke_arn": invoked(aws, arn), "code_sha256": found["CodeSha256"], "last_modified": found["LastModified"],
            "source_code_size": found["CodeSize"], "handler": found["Handler"], "memory_size": found["MemorySize"],
            "environment": [{"variables": found["Environment"]["Variables"]}], "role": found["Role"], "timeout": found["Timeout"],
        }

    def delete(self, aws, state):
        aws.lambda_.delete_function(FunctionName=state["function_name"])


def invoked(aws, arn):
    return f"arn:aws:apigateway:{aws.region}:lambda:path/2015-03-31/functions/{arn}/invocations"


@kind("aws_lambda_alias")
class Live(Kind):
    def id(self, state):
        return state["arn"]

    def create(self, aws, want, act="create_alias"):
        told = getattr(aws.lambda_, act)(**given(want, "function_name", "name", "function_version", "description"))
        return {"arn": told["AliasArn"], "invoke_arn": invoked(aws, told["AliasArn"])}

    def update(self, aws, want):
        return self.create(aws, want, "update_alias")

    def read(self, aws, state):
        found = gone(lambda: aws.lambda_.get_alias(FunctionName=state["function_name"], Name=state["name"]))
        return found and {"function_version": found["FunctionVersion"]}

    def delete(self, aws, state):
        aws.lambda_.delete_alias(FunctionName=state["function_name"], Name=state["name"])


@kind("aws_lambda_function_event_invoke_config")
class Asynchronous(Kind):
    def id(self, state):
        return f"{state['function_name']}:{state['qualifier']}"

    def create(self, aws, want):
        made = given(want, "function_name", "maximum_event_age_in_seconds", "maximum_retry_attempts", "qualifier")
        to = one(one(want["destination_config"])["on_failure"])["destination"]
        aws.lambda_.put_function_event_invoke_config(DestinationConfig={"OnFailure": {"Destination": to}}, **made)

    def read(self, aws, state):
        asked = given(state, "function_name", "qualifier")
        found = gone(lambda: aws.lambda_.get_function_event_invoke_config(**asked))
        return found and {"maximum_retry_attempts": found["MaximumRetryAttempts"]}

    def delete(self, aws, state):
        aws.lambda_.delete_function_event_invoke_config(**given(state, "function_name", "qualifier"))


@kind("aws_lambda_permission")
class Permission(Kind):
    named = "statement_id"
    each = ("action", "function_name", "principal", "qualifier", "source_arn", "statement_id")
    replaced = each

    def create(self, aws, want):
        aws.lambda_.add_permission(**given(want, *self.each))

    def read(self, aws, state):
        return gone(lambda: aws.lambda_.get_policy(FunctionName=state["function_name"])) and {}

    def delete(self, aws, state):
        aws.lambda_.remove_permission(FunctionName=state["function_name"], StatementId=state["statement_id"])


@kind("aws_lambda_event_source_mapping")
class Mapping(Kind):
    named = "uuid"
    replaced = ("event_source_arn",)

    def settings(self, want):
        made = given(want, "function_name", "batch_size", "maximum_batching_window_in_seconds", "function_response_types")
        most = one(want["scaling_config"])["maximum_concurrency"]
        return made | {"Enabled": want["enabled"], "ScalingConfig": {"MaximumConcurrency": most}}

    def create(self, aws, want):
        made = aws.lambda_.create_event_source_mapping(EventSourceArn=want["event_source_arn"], **self.settings(want))
        return {"uuid": made["UUID"], "id": made["UUID"], "function_arn": made["FunctionArn"], "state": "Enabled"}

    def update(self, aws, want):
        aws.lambda_.update_event_source_mapping(UUID=want["uuid"], **self.settings(want))

    def read(self, aws, state):
        found = gone(lambda: aws.lambda_.get_event_source_mapping(UUID=state["uuid"]))
        return found and {"batch_size": found["BatchSize"]}

    def delete(self, aws, state):
        aws.lambda_.delete_event_source_mapping(UUID=state["uuid"])


@kind("aws_scheduler_schedule_group")
class Group(Kind):
    def create(self, aws, want):
        return {"arn": aws.scheduler.create_schedule_group(Name=want["name"])["ScheduleGroupArn"], "state": "ACTIVE"}

    def read(self, aws, state):
        found = gone(lambda: aws.scheduler.get_schedule_group(Name=state["name"]))
        return found and {"arn": found["Arn"]}

    def delete(self, aws, state):
        aws.scheduler.delete_schedule_group(Name=state["name"])


@kind("aws_scheduler_schedule")
class Schedule(Kind):
    each = ("name", "group_name", "description", "schedule_expression", "schedule_expression_timezone", "state", "kms_key_arn")

    def id(self, state):
        return f"{state['group_name']}/{state['name']}"

    def create(self, aws, want, act="create_schedule"):
        window, to = one(want["flexible_time_window"]), one(want["target"])
        told = getattr(aws.scheduler, act)(
            FlexibleTimeWindow=given(window, "mode", "maximum_window_in_minutes"),
            Target=given(to, "arn", "role_arn", "input") | {
                "RetryPolicy": given(one(to["retry_policy"]), "maximum_event_age_in_seconds", "maximum_retry_attempts"),
                "DeadLetterConfig": given(one(to["dead_letter_config"]), "arn"),
            }, **given(want, *self.each))
        return {"arn": told["ScheduleArn"]}

    def update(self, aws, want):
        return self.create(aws, want, "update_schedule")

    def read(self, aws, state):
        found = gone(lambda: aws.scheduler.get_schedule(GroupName=state["group_name"], Name=state["name"]))
        return found and {"state": found["State"], "schedule_expression": found["ScheduleExpression"]}

    def delete(self, aws, state):
        aws.scheduler.delete_schedule(GroupName=state["group_name"], Name=state["name"])
