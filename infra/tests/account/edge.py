"""Edge: how clients reach the service: the API, the distribution, its firewall and names."""

import json

from aws import ACCOUNT
from kinds import Kind, given, gone, kind, one


@kind("aws_apigatewayv2_api")
class Api(Kind):
    def create(self, aws, want):
        id = aws.apigatewayv2.create_api(**given(want, "name", "description", "protocol_type"))["ApiId"]
        return self.read(aws, want | {"id": id})

    def read(self, aws, state):
        id = state["id"]
        found = gone(lambda: aws.apigatewayv2.get_api(ApiId=id))
        return found and {
            "id": id, "api_endpoint": found["ApiEndpoint"], "name": found["Name"],
            "arn": f"arn:aws:apigateway:{aws.region}::/apis/{id}", "execution_arn": f"arn:aws:execute-api:{aws.region}:{ACCOUNT}:{id}",
        }

    def delete(self, aws, state):
        aws.apigatewayv2.delete_api(ApiId=state["id"])


class OfApi(Kind):
    """What belongs to an API."""

    part, own, names = None, None, ()

    def create(self, aws, want):
        made = getattr(aws.apigatewayv2, f"create_{self.part}")(**self.settings(want))
        return {"id": made[self.own]}

    def settings(self, want):
        # AWS abbreviates milliseconds.
        made = given(want, "api_id", *self.names)
        return {name.replace("Milliseconds", "InMillis"): value for name, value in made.items()}

    def asked(self, state):
        return {"ApiId": state["api_id"], self.own: state["id"]}

    def read(self, aws, state):
        return gone(lambda: getattr(aws.apigatewayv2, f"get_{self.part}")(**self.asked(state))) and {}

    def delete(self, aws, state):
        getattr(aws.apigatewayv2, f"delete_{self.part}")(**self.asked(state))


@kind("aws_apigatewayv2_integration")
class Integration(OfApi):
    part, own = "integration", "IntegrationId"
    names = ("integration_type", "integration_uri", "payload_format_version", "timeout_milliseconds")


@kind("aws_apigatewayv2_route")
class Route(OfApi):
    part, own, names = "route", "RouteId", ("route_key", "target", "authorization_type")


@kind("aws_apigatewayv2_stage")
class Stage(OfApi):
    part, own = "stage", "StageName"

    def settings(self, want):
        limits = ("throttling_rate_limit", "throttling_burst_limit", "detailed_metrics_enabled")
        return {
            "ApiId": want["api_id"], "StageName": want["name"], "AutoDeploy": bool(want["auto_deploy"]),
            "DefaultRouteSettings": given(one(want["default_route_settings"]), *limits),
            "AccessLogSettings": given(one(want["access_log_settings"]), "destination_arn", "format"),
        }


@kind("aws_cloudfront_origin_access_control")
class AccessControl(Kind):
    each = ("name", "description", "signing_protocol", "signing_behavior", "origin_access_control_origin_type")

    def create(self, aws, want):
        made = aws.cloudfront.create_origin_access_control(OriginAccessControlConfig=given(want, *self.each))
        return {"id": made["OriginAccessControl"]["Id"], "etag": made.get("ETag")}

    def read(self, aws, state):
        return gone(lambda: aws.cloudfront.get_origin_access_control(Id=state["id"])) and {}

    def delete(self, aws, state):
        aws.cloudfront.delete_origin_access_control(Id=state["id"])


@kind("aws_cloudfront_response_headers_policy")
class Headers(Kind):
    def create(self, aws, want):
        told = one(want["security_headers_config"])
        content, transport = one(told["content_security_policy"]), one(told["strict_transport_security"])
        referrer, items = one(told["referrer_policy"]), one(want["custom_headers_config"])["items"]
        made = aws.cloudfront.create_response_headers_policy(ResponseHeadersPolicyConfig={
            "Name": want["name"], "Comment": want["comment"],
            "SecurityHeadersConfig": {
                "ContentSecurityPolicy": {"Override": True, "ContentSecurityPolicy": content["content_security_policy"]},
                "ContentTypeOptions": {"Override": True},
                "ReferrerPolicy": {"Override": True, "ReferrerPolicy": referrer["referrer_policy"]},
                "StrictTransportSecurity": {"Override": True, "AccessControlMaxAgeSec": transport["access_control_max_age_sec"]},
            },
            "CustomHeadersConfig": {"Quantity": len(items), "Items": [given(item, "header", "value", "override") for item in items]},
        })
        return {"id": made["ResponseHeadersPolicy"]["Id"], "etag": made.get("ETag")}

    def read(self, aws, state):
        return gone(lambda: aws.cloudfront.get_response_headers_policy(Id=state["id"])) and {}

    def delete(self, aws, state):
        aws.cloudfront.delete_response_headers_policy(Id=state["id"])


@kind("aws_cloudfront_distribution")
class Distribution(Kind):
    def settings(self, want, caller):
        origins = [self.origin(origin) for origin in want["origin"]]
        behaviors = [self.behavior(of) | {"PathPattern": of["path_pattern"]} for of in want["ordered_cache_behavior"]]
        by = one(want["viewer_certificate"])
        certificate = {"MinimumProtocolVersion": by["minimum_protocol_version"]}
        if by["cloudfront_default_certificate"]:
            certificate["CloudFrontDefaultCertificate"] = True
        else:
            certificate |= {"ACMCertificateArn": by["acm_certificate_arn"], "SSLSupportMethod": by["ssl_support_method"]}
        return {
            "CallerReference": caller, "Comment": want["comment"], "Enabled": want["enabled"], "PriceClass": want["price_class"],
            "DefaultRootObject": want["default_root_object"], "HttpVersion": want["http_version"],
            "IsIPV6Enabled": want["is_ipv6_enabled"], "WebACLId": want["web_acl_id"] or "", "ViewerCertificate": certificate,
            "Aliases": listed(want["aliases"] or []), "Origins": listed(origins), "CacheBehaviors": listed(behaviors),
            "DefaultCacheBehavior": self.behavior(one(want["default_cache_behavior"])),
            "Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Quantity": 0}},
        }

    def origin(self, origin):
        own = one(origin["custom_origin_config"])
        said = [{"HeaderName": header["name"], "HeaderValue": header["value"]} for header in origin["custom_header"] or []]
        made = {"Id": origin["origin_id"], "DomainName": origin["domain_name"], "CustomHeaders": listed(said)}
        if own is None:
            return made | {"OriginAccessControlId": origin["origin_access_control_id"], "S3OriginConfig": {"OriginAccessIdentity": ""}}
        return made | {"CustomOriginConfig": {
            "HTTPPort": own["http_port"], "HTTPSPort": own["https_port"], "OriginProtocolPolicy": own["origin_protocol_policy"],
            "OriginSslProtocols": listed(own["origin_ssl_protocols"]),
        }}

    def behavior(self, told):
        policies = ("cache_policy_id", "origin_request_policy_id", "response_headers_policy_id")
        made = given(told, "target_origin_id", "viewer_protocol_policy", *policies)
        cached = listed(told["cached_methods"])
        return made | {"AllowedMethods": listed(told["allowed_methods"]) | {"CachedMethods": cached}, "Compress": bool(told["compress"])}

    def create(self, aws, want):
        made = aws.cloudfront.create_distribution(DistributionConfig=self.settings(want, want["comment"]))
        return self.read(aws, want | {"id": made["Distribution"]["Id"]}) | {"caller_reference": want["comment"]}

    def update(self, aws, want):
        etag = aws.cloudfront.get_distribution(Id=want["id"])["ETag"]
        settings = self.settings(want, want["caller_reference"])
        aws.cloudfront.update_distribution(Id=want["id"], IfMatch=etag, DistributionConfig=settings)
        return self.read(aws, want)

    def read(self, aws, state):
        found = gone(lambda: aws.cloudfront.get_distribution(Id=state["id"]))
        made = found and found["Distribution"]
        return found and {
            "id": state["id"], "arn": made["ARN"], "domain_name": made["DomainName"], "etag": found["ETag"], "status": made["Status"],
            "hosted_zone_id": "Z2FDTNDATAQYW2", "web_acl_id": made["DistributionConfig"].get("WebACLId") or None,
        }

    def delete(self, aws, state):
        # AWS deletes what is disabled.
        found = aws.cloudfront.get_distribution(Id=state["id"])
        config = found["Distribution"]["DistributionConfig"] | {"Enabled": False}
        etag = aws.cloudfront.update_distribution(Id=state["id"], IfMatch=found["ETag"], DistributionConfig=config)["ETag"]
        aws.cloudfront.delete_distribution(Id=state["id"], IfMatch=etag)


def listed(items):
    return {"Quantity": len(items), "Items": list(items)} if items else {"Quantity": 0}


@kind("aws_wafv2_web_acl")
class Firewall(Kind):
    def create(self, aws, want):
        seen = one(want["visibility_config"])
        made = aws.wafv2.create_web_acl(
            DefaultAction={"Allow": {}}, Rules=json.loads(want["rule_json"]), **given(want, "name", "description", "scope"),
            VisibilityConfig={"SampledRequestsEnabled": seen["sampled_requests_enabled"], "MetricName": seen["metric_name"],
                              "CloudWatchMetricsEnabled": seen["cloudwatch_metrics_enabled"]})["Summary"]
        return {"id": made["Id"], "arn": made["ARN"], "lock_token": made["LockToken"]}

    def read(self, aws, state):
        found = gone(lambda: aws.wafv2.get_web_acl(**given(state, "name", "scope", "id")))
        return found and {"lock_token": found["LockToken"]}

    def delete(self, aws, state):
        which = given(state, "name", "scope", "id")
        aws.wafv2.delete_web_acl(LockToken=aws.wafv2.get_web_acl(**which)["LockToken"], **which)


@kind("aws_route53_record")
class Record(Kind):
    def id(self, state):
        return f"{state['zone_id']}_{state['name']}_{state['type']}"

    def create(self, aws, want, act="UPSERT"):
        to = one(want["alias"])
        record = {"Name": want["name"], "Type": want["type"], "AliasTarget": {
            "DNSName": to["name"], "HostedZoneId": to["zone_id"], "EvaluateTargetHealth": to["evaluate_target_health"]}}
        change = {"Changes": [{"Action": act, "ResourceRecordSet": record}]}
        aws.route53.change_resource_record_sets(HostedZoneId=want["zone_id"], ChangeBatch=change)
        return {"fqdn": want["name"]}

    def read(self, aws, state):
        found = gone(lambda: aws.route53.list_resource_record_sets(HostedZoneId=state["zone_id"]))
        return {} if found and any(of["Name"].rstrip(".") == state["name"] for of in found["ResourceRecordSets"]) else None

    def delete(self, aws, state):
        self.create(aws, state, "DELETE")
