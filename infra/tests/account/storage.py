"""Storage: buckets, their settings, and the objects of the page."""

import json

from aws import ACCOUNT
from compute import same
from kinds import Kind, gone, kind, one
from moto.s3.models import FakeBucket, s3_backends

# Who is told of each bucket that is made.
MADE = []


@kind("aws_s3_bucket")
class Bucket(Kind):
    named = "bucket"
    replaced = ("bucket", "object_lock_enabled")

    def create(self, aws, want):
        name = want["bucket"]
        place = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
        aws.s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=bool(want["object_lock_enabled"]), **place)
        for told in MADE:
            told(name)
        return self.read(aws, want)

    def update(self, aws, want):
        return {}

    def read(self, aws, state):
        name = state["bucket"]
        if gone(lambda: aws.s3.head_bucket(Bucket=name), "404") is None:
            return None
        host = f"{name}.s3.{aws.region}.amazonaws.com"
        return {"arn": f"arn:aws:s3:::{name}", "bucket_domain_name": f"{name}.s3.amazonaws.com", "bucket_region": aws.region,
                "bucket_regional_domain_name": host, "hosted_zone_id": "Z21DNDUVLTQW6Q"}

    def delete(self, aws, state):
        name = state["bucket"]
        if state["force_destroy"]:
            told = aws.s3.list_object_versions(Bucket=name)
            for found in told.get("Versions", []) + told.get("DeleteMarkers", []):
                aws.s3.delete_object(Bucket=name, Key=found["Key"], VersionId=found["VersionId"])
        aws.s3.delete_bucket(Bucket=name)


class Setting(Kind):
    """A setting of a bucket: put as a whole, and taken away as a whole where AWS can do that."""

    named = "bucket"
    replaced = ("bucket",)
    name, wrap = None, None

    def told(self, want):
        raise NotImplementedError

    def create(self, aws, want):
        getattr(aws.s3, f"put_{self.name}")(Bucket=want["bucket"], **{self.wrap: self.told(want)})

    def read(self, aws, state):
        found = gone(lambda: getattr(aws.s3, f"get_{self.name}")(Bucket=state["bucket"]))
        return None if found is None else {}

    def delete(self, aws, state):
        getattr(aws.s3, f"delete_{self.name}")(Bucket=state["bucket"])


@kind("aws_s3_bucket_public_access_block")
class Block(Setting):
    name, wrap = "public_access_block", "PublicAccessBlockConfiguration"
    each = {"block_public_acls": "BlockPublicAcls", "block_public_policy": "BlockPublicPolicy",
            "ignore_public_acls": "IgnorePublicAcls", "restrict_public_buckets": "RestrictPublicBuckets"}

    def told(self, want):
        return {name: bool(want[own]) for own, name in self.each.items()}

    def read(self, aws, state):
        found = gone(lambda: aws.s3.get_public_access_block(Bucket=state["bucket"]))
        return found and {own: found[self.wrap][name] for own, name in self.each.items()}


@kind("aws_s3_bucket_ownership_controls")
class Ownership(Setting):
    name, wrap = "bucket_ownership_controls", "OwnershipControls"

    def told(self, want):
        return {"Rules": [{"ObjectOwnership": rule["object_ownership"]} for rule in want["rule"]]}


@kind("aws_s3_bucket_server_side_encryption_configuration")
class Encryption(Setting):
    name, wrap = "bucket_encryption", "ServerSideEncryptionConfiguration"

    def told(self, want):
        rule = one(want["rule"])
        by = one(rule["apply_server_side_encryption_by_default"])
        default = {"SSEAlgorithm": by["sse_algorithm"]}
        if by["kms_master_key_id"]:
            default["KMSMasterKeyID"] = by["kms_master_key_id"]
        return {"Rules": [{"ApplyServerSideEncryptionByDefault": default, "BucketKeyEnabled": bool(rule["bucket_key_enabled"])}]}


@kind("aws_s3_bucket_versioning")
class Versioning(Setting):
    name, wrap = "bucket_versioning", "VersioningConfiguration"

    def create(self, aws, want):
        if one(want["versioning_configuration"])["status"] != "Disabled":
            super().create(aws, want)

    def told(self, want):
        return {"Status": one(want["versioning_configuration"])["status"]}

    def delete(self, aws, state):
        pass


@kind("aws_s3_bucket_policy")
class Policy(Setting):
    name, wrap = "bucket_policy", "Policy"

    def told(self, want):
        return want["policy"]

    def read(self, aws, state):
        found = gone(lambda: aws.s3.get_bucket_policy(Bucket=state["bucket"]))
        return found and {"policy": same(found["Policy"], state["policy"])}


@kind("aws_s3_bucket_lifecycle_configuration")
class Lifecycle(Setting):
    name, wrap = "bucket_lifecycle_configuration", "LifecycleConfiguration"

    def delete(self, aws, state):
        aws.s3.delete_bucket_lifecycle(Bucket=state["bucket"])

    def told(self, want):
        return {"Rules": [self.rule(rule) for rule in want["rule"]]}

    def rule(self, rule):
        made, within = {"ID": rule["id"], "Status": rule["status"], "Filter": {"Prefix": ""}}, one(rule["filter"]) or {}
        if both := one(within.get("and")):
            made["Filter"] = {"And": {"Prefix": both["prefix"], "ObjectSizeGreaterThan": both["object_size_greater_than"]}}
        if said := one(rule["abort_incomplete_multipart_upload"]):
            made["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": said["days_after_initiation"]}
        if said := one(rule["noncurrent_version_expiration"]):
            made["NoncurrentVersionExpiration"] = {"NoncurrentDays": said["noncurrent_days"]}
        if said := one(rule["expiration"]):
            days, marker = said.get("days"), said.get("expired_object_delete_marker")
            made["Expiration"] = {"Days": days} if days else {"ExpiredObjectDeleteMarker": bool(marker)}
        if rule["transition"]:
            made["Transitions"] = [{"Days": to["days"], "StorageClass": to["storage_class"]} for to in rule["transition"]]
        return made


@kind("aws_s3_bucket_cors_configuration")
class Cors(Setting):
    name, wrap = "bucket_cors", "CORSConfiguration"

    def told(self, want):
        return {"CORSRules": [{
            "AllowedOrigins": rule["allowed_origins"], "AllowedMethods": rule["allowed_methods"],
            "AllowedHeaders": rule["allowed_headers"], "ExposeHeaders": rule["expose_headers"],
            "MaxAgeSeconds": rule["max_age_seconds"],
        } for rule in want["cors_rule"]]}


def lets_logs_in(target_bucket, target_prefix):
    """Whether the policy of a bucket lets S3 log into it. Moto's own judgement fails at a principal `*` and at lists."""
    policy = json.loads(target_bucket.policy or '{"Statement": []}')
    allowed = [of["Principal"].get("Service", []) for of in policy["Statement"] if of["Effect"] == "Allow"]
    return any("logging.s3.amazonaws.com" in services for services in allowed)


FakeBucket._log_permissions_enabled_policy = staticmethod(lets_logs_in)


@kind("aws_s3_bucket_logging")
class Logging(Setting):
    name, wrap = "bucket_logging", "BucketLoggingStatus"

    def told(self, want):
        return {"LoggingEnabled": {"TargetBucket": want["target_bucket"], "TargetPrefix": want["target_prefix"]}}

    def delete(self, aws, state):
        # Moto cannot read that nothing is logged any more, and the bucket goes with it.
        pass


@kind("aws_s3_bucket_object_lock_configuration")
class Lock(Setting):
    name, wrap = "object_lock_configuration", "ObjectLockConfiguration"

    def told(self, want):
        by = one(one(want["rule"])["default_retention"])
        return {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": by["mode"], "Days": by["days"]}}}

    def delete(self, aws, state):
        aws.s3.put_object_lock_configuration(Bucket=state["bucket"], ObjectLockConfiguration={"ObjectLockEnabled": "Enabled"})


@kind("aws_s3_bucket_inventory")
class Inventory(Setting):
    def id(self, state):
        return f"{state['bucket']}:{state['name']}"

    def create(self, aws, want):
        to = one(one(want["destination"])["bucket"])
        place = {"Bucket": to["bucket_arn"], "Format": to["format"], "Prefix": to["prefix"], "AccountId": ACCOUNT}
        aws.s3.put_bucket_inventory_configuration(Bucket=want["bucket"], Id=want["name"], InventoryConfiguration={
            "Id": want["name"], "IsEnabled": True, "IncludedObjectVersions": want["included_object_versions"],
            "OptionalFields": want["optional_fields"], "Schedule": {"Frequency": one(want["schedule"])["frequency"]},
            "Destination": {"S3BucketDestination": place},
        })

    def read(self, aws, state):
        return gone(lambda: aws.s3.get_bucket_inventory_configuration(Bucket=state["bucket"], Id=state["name"])) and {}

    def delete(self, aws, state):
        # Moto would delete the bucket. It goes with it.
        pass


@kind("aws_s3_bucket_notification")
class Notification(Setting):
    name, wrap = "bucket_notification_configuration", "NotificationConfiguration"

    def told(self, want):
        return {"QueueConfigurations": [{
            "Id": to["id"], "QueueArn": to["queue_arn"], "Events": to["events"],
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": to["filter_prefix"]}]}},
        } for to in want["queue"]]}

    def delete(self, aws, state):
        aws.s3.put_bucket_notification_configuration(Bucket=state["bucket"], NotificationConfiguration={})


@kind("aws_s3_bucket_replication_configuration")
class Replication(Setting):
    name, wrap = "bucket_replication", "ReplicationConfiguration"

    def told(self, want):
        return {"Role": want["role"], "Rules": [self.rule(rule) for rule in want["rule"]]}

    def rule(self, rule):
        to = one(rule["destination"])
        return {
            "ID": rule["id"], "Priority": rule["priority"], "Status": rule["status"], "Filter": {"Prefix": ""},
            "DeleteMarkerReplication": {"Status": one(rule["delete_marker_replication"])["status"]},
            "SourceSelectionCriteria": {"SseKmsEncryptedObjects": {"Status": "Enabled"}},
            "Destination": {
                "Bucket": to["bucket"], "Account": to["account"], "StorageClass": to["storage_class"],
                "EncryptionConfiguration": {"ReplicaKmsKeyID": one(to["encryption_configuration"])["replica_kms_key_id"]},
                "Metrics": {"Status": one(to["metrics"])["status"]},
            },
        }


@kind("aws_s3_object")
class Object(Kind):
    named = "key"
    replaced = ("bucket", "key")

    def create(self, aws, want):
        with open(want["source"], "rb") as source:
            told = aws.s3.put_object(Bucket=want["bucket"], Key=want["key"], Body=source.read(),
                                     ContentType=want["content_type"], CacheControl=want["cache_control"])
        return {"etag": told["ETag"].strip('"'), "arn": f"arn:aws:s3:::{want['bucket']}/{want['key']}"}

    def read(self, aws, state):
        # Moto refuses to read it: it takes the refusal of what is not TLS for one of everything.
        found = aws.s3.list_objects_v2(Bucket=state["bucket"], Prefix=state["key"]).get("Contents", [])
        return {} if any(of["Key"] == state["key"] for of in found) else None

    def delete(self, aws, state):
        # For the same reason past its interface.
        s3_backends[ACCOUNT]["aws"].delete_object(state["bucket"], state["key"])
