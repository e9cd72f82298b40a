"""Messages: queues, topics, alarms, events, the budget."""

import json

from aws import ACCOUNT
from compute import same
from kinds import Kind, given, gone, kind, one

# What was set of each queue: moto forgets its policy when anything else is set.
SET = {}


@kind("aws_sqs_queue")
class Queue(Kind):
    named = "url"
    replaced = ("name",)
    each = {
        "message_retention_seconds": "MessageRetentionPeriod", "visibility_timeout_seconds": "VisibilityTimeout",
        "receive_wait_time_seconds": "ReceiveMessageWaitTimeSeconds", "sqs_managed_sse_enabled": "SqsManagedSseEnabled",
        "redrive_policy": "RedrivePolicy",
    }

    def settings(self, want):
        set = {name: want[own] for own, name in self.each.items() if want[own] is not None}
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in set.items()}

    def create(self, aws, want):
        url = aws.sqs.create_queue(QueueName=want["name"], Attributes=self.settings(want))["QueueUrl"]
        return self.read(aws, want | {"url": url})

    def update(self, aws, want):
        aws.sqs.set_queue_attributes(QueueUrl=want["url"], Attributes=self.settings(want) | SET.get(want["url"], {}))
        return self.read(aws, want)

    def read(self, aws, state):
        found = attributes(aws, state["url"])
        times = [own for own in self.each if own.endswith("_seconds") and state[own] is not None]
        own = found and {own: int(found[self.each[own]]) for own in times}
        return found and own | {"url": state["url"], "arn": found["QueueArn"]}

    def delete(self, aws, state):
        aws.sqs.delete_queue(QueueUrl=state["url"])


def attributes(aws, url):
    return gone(lambda: aws.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"])


class QueueSetting(Kind):
    named = "queue_url"
    own, name = None, None

    def create(self, aws, want):
        url = want["queue_url"]
        SET.setdefault(url, {})[self.name] = want[self.own]
        aws.sqs.set_queue_attributes(QueueUrl=url, Attributes=SET[url])

    def read(self, aws, state):
        found = attributes(aws, state["queue_url"])
        return found and found.get(self.name) and {self.own: same(found[self.name], state[self.own])}

    def delete(self, aws, state):
        SET[state["queue_url"]].pop(self.name)


@kind("aws_sqs_queue_policy")
class QueuePolicy(QueueSetting):
    own, name = "policy", "Policy"


@kind("aws_sqs_queue_redrive_allow_policy")
class RedriveAllow(QueueSetting):
    own, name = "redrive_allow_policy", "RedriveAllowPolicy"

    def read(self, aws, state):
        # Moto takes it, and does not tell it.
        return attributes(aws, state["queue_url"]) and {}


@kind("aws_sns_topic")
class Topic(Kind):
    named = "arn"
    replaced = ("name",)

    def create(self, aws, want):
        arn = aws.sns.create_topic(Name=want["name"], Attributes={"KmsMasterKeyId": want["kms_master_key_id"]})["TopicArn"]
        return {"arn": arn, "owner": ACCOUNT}

    def read(self, aws, state):
        found = gone(lambda: aws.sns.get_topic_attributes(TopicArn=state["arn"])["Attributes"])
        return found and {"kms_master_key_id": found["KmsMasterKeyId"]}

    def delete(self, aws, state):
        aws.sns.delete_topic(TopicArn=state["arn"])


@kind("aws_sns_topic_policy")
class TopicPolicy(Kind):
    named = "arn"

    def create(self, aws, want):
        aws.sns.set_topic_attributes(TopicArn=want["arn"], AttributeName="Policy", AttributeValue=want["policy"])
        return {"owner": ACCOUNT}

    def read(self, aws, state):
        found = gone(lambda: aws.sns.get_topic_attributes(TopicArn=state["arn"])["Attributes"])
        return found and {"policy": same(found["Policy"], state["policy"])}

    def delete(self, aws, state):
        # It goes with its topic.
        pass


@kind("aws_sns_topic_subscription")
class Subscription(Kind):
    named = "arn"

    def create(self, aws, want):
        asked = given(want, "topic_arn", "protocol", "endpoint")
        return {"arn": aws.sns.subscribe(ReturnSubscriptionArn=True, **asked)["SubscriptionArn"], "owner_id": ACCOUNT}

    def read(self, aws, state):
        return gone(lambda: aws.sns.get_subscription_attributes(SubscriptionArn=state["arn"])) and {}

    def delete(self, aws, state):
        aws.sns.unsubscribe(SubscriptionArn=state["arn"])


@kind("aws_cloudwatch_metric_alarm")
class Alarm(Kind):
    named = "alarm_name"
    each = ("alarm_name", "alarm_description", "namespace", "metric_name", "statistic", "period", "evaluation_periods",
            "datapoints_to_alarm", "comparison_operator", "treat_missing_data", "alarm_actions")

    def create(self, aws, want):
        dimensions = [{"Name": name, "Value": value} for name, value in want["dimensions"].items()]
        aws.cloudwatch.put_metric_alarm(Dimensions=dimensions, Threshold=want["threshold"], ActionsEnabled=want["actions_enabled"],
                                        OKActions=want["ok_actions"], **given(want, *self.each))
        return self.read(aws, want)

    def read(self, aws, state):
        found = one(aws.cloudwatch.describe_alarms(AlarmNames=[state["alarm_name"]])["MetricAlarms"])
        return found and {"arn": found["AlarmArn"], "threshold": found["Threshold"], "period": found["Period"]}

    def delete(self, aws, state):
        aws.cloudwatch.delete_alarms(AlarmNames=[state["alarm_name"]])


@kind("aws_cloudwatch_dashboard")
class Dashboard(Kind):
    named = "dashboard_name"

    def create(self, aws, want):
        aws.cloudwatch.put_dashboard(DashboardName=want["dashboard_name"], DashboardBody=want["dashboard_body"])
        return {"dashboard_arn": f"arn:aws:cloudwatch::{ACCOUNT}:dashboard/{want['dashboard_name']}"}

    def read(self, aws, state):
        found = gone(lambda: aws.cloudwatch.get_dashboard(DashboardName=state["dashboard_name"]))
        return found and {"dashboard_body": same(found["DashboardBody"], state["dashboard_body"])}

    def delete(self, aws, state):
        aws.cloudwatch.delete_dashboards(DashboardNames=[state["dashboard_name"]])


@kind("aws_cloudwatch_event_rule")
class Rule(Kind):
    def create(self, aws, want):
        return {"arn": aws.events.put_rule(**given(want, "name", "description", "event_pattern"))["RuleArn"]}

    def read(self, aws, state):
        found = gone(lambda: aws.events.describe_rule(Name=state["name"]))
        return found and {"event_pattern": same(found["EventPattern"], state["event_pattern"])}

    def delete(self, aws, state):
        aws.events.delete_rule(Name=state["name"])


@kind("aws_cloudwatch_event_target")
class Target(Kind):
    def id(self, state):
        return f"{state['rule']}-{state['target_id']}"

    def create(self, aws, want):
        target = want["target_id"] or f"terraform-{aws.region}"
        aws.events.put_targets(Rule=want["rule"], Targets=[{"Id": target} | given(want, "arn", "role_arn")])
        return {"target_id": target}

    def read(self, aws, state):
        found = gone(lambda: aws.events.list_targets_by_rule(Rule=state["rule"]))
        return {} if found and any(to["Id"] == state["target_id"] for to in found["Targets"]) else None

    def delete(self, aws, state):
        aws.events.remove_targets(Rule=state["rule"], Ids=[state["target_id"]])


@kind("aws_budgets_budget")
class Budget(Kind):
    def id(self, state):
        return f"{ACCOUNT}:{state['name']}"

    def create(self, aws, want):
        told = [{
            "Notification": given(to, "notification_type", "comparison_operator", "threshold", "threshold_type"),
            "Subscribers": [{"SubscriptionType": "SNS", "Address": arn} for arn in to["subscriber_sns_topic_arns"]],
        } for to in want["notification"]]
        aws.budgets.create_budget(AccountId=ACCOUNT, NotificationsWithSubscribers=told, Budget={
            "BudgetName": want["name"], "BudgetType": want["budget_type"], "TimeUnit": want["time_unit"],
            "BudgetLimit": {"Amount": want["limit_amount"], "Unit": want["limit_unit"]},
            "CostFilters": {of["name"]: of["values"] for of in want["cost_filter"]},
        })
        return {"arn": f"arn:aws:budgets::{ACCOUNT}:budget/{want['name']}", "account_id": ACCOUNT}

    def read(self, aws, state):
        return gone(lambda: aws.budgets.describe_budget(AccountId=ACCOUNT, BudgetName=state["name"])) and {}

    def delete(self, aws, state):
        aws.budgets.delete_budget(AccountId=ACCOUNT, BudgetName=state["name"])
