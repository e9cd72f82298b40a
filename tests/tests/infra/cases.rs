//! Cases: what each principal and each service of AWS may do in the deployment and in the recovery account.

use serde_json::{Value, json};

use super::about::{About, Case, role};
use super::rights::ACCOUNT;

/// What holds of the deployment.
pub(crate) fn of_prod() -> Vec<Case> {
    let mine = json!({ "aws:SourceAccount": ACCOUNT });
    let others = json!({ "aws:SourceAccount": "999988887777" });
    let from = |arn: &str| json!({ "aws:SourceAccount": ACCOUNT, "aws:SourceArn": arn });
    let tls = |context: &Value, is_tls: bool| {
        let mut context = context.clone();
        context["aws:SecureTransport"] = is_tls.to_string().into();
        context
    };
    let assume: &[&str] = &["sts:AssumeRole"];
    let some = role("some");
    let mut all = Vec::new();

    for function in ["ingest", "compact", "prune", "check", "gateway"] {
        let place = format!("module.function[\"{function}\"]");
        let mut trust = About::new(format!("{place}.aws_iam_role.this"))
            .service(true, "lambda", assume, &role(&format!("copal-{function}")), json!({}))
            .service(false, "ec2", assume, &role(&format!("copal-{function}")), json!({}))
            .service(false, "lambda", &["sts:TagSession"], &role(&format!("copal-{function}")), json!({}))
            .role(false, &role("administrator"), assume, &role(&format!("copal-{function}")), true)
            .role(function == "prune", &role("backup-operator"), assume, &role(&format!("copal-{function}")), true);
        if function == "prune" {
            trust = trust
                .role(false, "arn:aws:iam::999988887777:role/backup-operator", assume, &role("copal-prune"), true)
                .role(false, &role("backup-operator"), &["sts:TagSession"], &role("copal-prune"), true);
        }
        all.extend(trust.cases);
        let queue = format!("arn:aws:sqs:eu-central-1:{ACCOUNT}:copal-events");
        let reads: &[&str] = &["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
        all.extend(
            About::new(format!("{place}.aws_iam_role_policy.this"))
                .own(true, &["logs:CreateLogStream", "logs:PutLogEvents"], &format!("{LOG}:log-stream:one"))
                .own(false, &["logs:CreateLogStream"], &format!("{LOG}-other:log-stream:one"))
                .own(false, &["logs:DeleteLogStream"], &format!("{LOG}:log-stream:one"))
                .own(true, &["xray:PutTraceSegments", "xray:PutTelemetryRecords"], "*")
                .own(false, &["xray:GetSamplingRules"], "*")
                .own(true, &["sqs:SendMessage"], FAILED)
                .own(false, &["sqs:PurgeQueue"], FAILED)
                .own(false, &["sqs:SendMessage"], &queue)
                .own(function == "ingest", reads, &queue)
                .own(function == "ingest", reads, &format!("{queue}-singly"))
                .own(false, &["sqs:PurgeQueue"], &queue)
                .own(false, reads, &format!("arn:aws:sqs:eu-central-1:{ACCOUNT}:other"))
                .own(true, &["kms:Decrypt", "kms:GenerateDataKey"], KEY)
                .own(false, &["kms:Decrypt", "kms:GenerateDataKey"], FAR_KEY)
                .own(false, &["kms:ScheduleKeyDeletion"], KEY)
                .cases,
        );
    }

    let group = format!("arn:aws:scheduler:eu-central-1:{ACCOUNT}:schedule-group/copal");
    all.extend(
        About::new("module.schedules.aws_iam_role.this")
            .service(true, "scheduler", assume, &some, from(&group))
            .service(false, "scheduler", &["sts:TagSession"], &some, from(&group))
            .service(false, "scheduler", assume, &some, from(&format!("{group}-other")))
            .service(
                false,
                "scheduler",
                assume,
                &some,
                json!({ "aws:SourceAccount": "999988887777", "aws:SourceArn": group }),
            )
            .service(false, "lambda", assume, &some, from(&group))
            .cases,
    );
    let alias = |function: &str| format!("arn:aws:lambda:eu-central-1:{ACCOUNT}:function:copal-{function}:live");
    let mut started = About::new("module.schedules.aws_iam_role_policy.this");
    for function in ["ingest", "compact", "prune", "check"] {
        started = started.own(true, &["lambda:InvokeFunction"], &alias(function));
    }
    all.extend(
        started
            .own(false, &["lambda:InvokeFunction"], &alias("gateway"))
            .own(false, &["lambda:DeleteFunction"], &alias("prune"))
            .own(true, &["sqs:SendMessage"], FAILED)
            .own(false, &["sqs:PurgeQueue"], FAILED)
            .own(false, &["sqs:SendMessage"], &format!("arn:aws:sqs:eu-central-1:{ACCOUNT}:copal-events"))
            .own(true, &["kms:Decrypt"], KEY)
            .own(false, &["kms:GenerateDataKey"], KEY)
            .own(false, &["kms:Decrypt"], FAR_KEY)
            .cases,
    );

    all.extend(
        About::new("module.replication[0].aws_iam_role.this")
            .service(true, "s3", assume, &some, json!({}))
            .service(false, "s3", &["sts:TagSession"], &some, json!({}))
            .service(false, "lambda", assume, &some, json!({}))
            .cases,
    );
    all.extend(
        About::new("module.replication[0].aws_iam_role_policy.this")
            .own(true, &["s3:GetReplicationConfiguration", "s3:ListBucket"], BUCKET)
            .own(false, &["s3:GetReplicationConfiguration", "s3:ListBucket"], "arn:aws:s3:::other")
            .own(false, &["s3:DeleteBucketPolicy"], BUCKET)
            .own(true, &VERSIONS, "arn:aws:s3:::example-copal/packs/some")
            .own(false, &VERSIONS, "arn:aws:s3:::other/packs/some")
            .own(false, &["s3:DeleteObject", "s3:ReplicateObject"], "arn:aws:s3:::example-copal/packs/some")
            .own(true, &["kms:Decrypt"], KEY)
            .own(false, &["kms:GenerateDataKey", "kms:Encrypt"], KEY)
            .own(false, &["kms:Decrypt"], FAR_KEY)
            .own(true, &COPIES, "arn:aws:s3:::example-copal-replica/packs/some")
            .own(true, &COPIES, "arn:aws:s3:::example-copal-recovery/packs/some")
            .own(false, &["s3:DeleteObjectVersion"], "arn:aws:s3:::example-copal-replica/packs/some")
            .own(true, &SEALS, FAR_KEY)
            .own(true, &SEALS, RECOVERY_KEY)
            .own(false, &["kms:Decrypt"], RECOVERY_KEY)
            .cases,
    );

    all.extend(
        About::new("module.observation.aws_iam_role.changes[0]")
            .service(true, "events", assume, &some, mine.clone())
            .service(false, "events", &["sts:TagSession"], &some, mine.clone())
            .service(false, "events", assume, &some, others.clone())
            .service(false, "lambda", assume, &some, mine.clone())
            .cases,
    );
    let bus = format!("arn:aws:events:eu-central-1:{ACCOUNT}:event-bus");
    all.extend(
        About::new("module.observation.aws_iam_role_policy.changes[0]")
            .own(true, &["events:PutEvents"], &format!("{bus}/default"))
            .own(false, &["events:PutEvents"], &format!("{bus}/other"))
            .own(false, &["events:DeleteEventBus"], &format!("{bus}/default"))
            .cases,
    );

    let events = format!("arn:aws:sqs:eu-central-1:{ACCOUNT}:copal-events");
    let of_bucket = from(BUCKET);
    all.extend(
        About::new("module.events.aws_sqs_queue_policy.this")
            .service(true, "s3", &["sqs:SendMessage"], &events, tls(&of_bucket, true))
            .service(false, "s3", &["sqs:SendMessage"], &events, tls(&of_bucket, false))
            .service(false, "s3", &["sqs:PurgeQueue"], &events, tls(&of_bucket, true))
            .service(false, "s3", &["sqs:SendMessage"], &events, tls(&from("arn:aws:s3:::other"), true))
            .service(
                false,
                "s3",
                &["sqs:SendMessage"],
                &events,
                json!({ "aws:SourceAccount": "999988887777", "aws:SourceArn": BUCKET, "aws:SecureTransport": "true" }),
            )
            .service(false, "sns", &["sqs:SendMessage"], &events, tls(&of_bucket, true))
            .role(false, &some, &["sqs:ReceiveMessage"], &events, false)
            .role(true, &some, &["sqs:ReceiveMessage"], &events, true)
            .cases,
    );
    for (address, queue) in [
        ("module.events.aws_sqs_queue_policy.singly", "copal-events-singly"),
        ("module.events.aws_sqs_queue_policy.dead_letters", "copal-dead-letters"),
        ("module.dead_letters.aws_sqs_queue_policy.this", "copal-failed-runs"),
    ] {
        let queue = format!("arn:aws:sqs:eu-central-1:{ACCOUNT}:{queue}");
        let about = About::new(address).role(false, &some, &["sqs:SendMessage", "sqs:ReceiveMessage"], &queue, false);
        all.extend(about.role(true, &some, &["sqs:SendMessage", "sqs:ReceiveMessage"], &queue, true).cases);
    }

    let topic = format!("arn:aws:sns:eu-central-1:{ACCOUNT}:alarms");
    let publish: &[&str] = &["sns:Publish"];
    let mut told = About::new("module.observation.aws_sns_topic_policy.this")
        .service(true, "events", publish, &topic, tls(&json!({}), true))
        .service(false, "events", publish, &topic, tls(&json!({}), false))
        .service(false, "events", &["sns:DeleteTopic"], &topic, tls(&json!({}), true))
        .service(false, "s3", publish, &topic, tls(&mine, true))
        .role(true, &some, publish, &topic, true)
        .role(false, &some, publish, &topic, false);
    for service in ["cloudwatch", "budgets"] {
        told = told
            .service(true, service, publish, &topic, tls(&mine, true))
            .service(false, service, publish, &topic, tls(&mine, false))
            .service(false, service, publish, &topic, tls(&others, true))
            .service(false, service, &["sns:DeleteTopic"], &topic, tls(&mine, true));
    }
    all.extend(told.cases);

    let log = |name: &str| json!({ "kms:EncryptionContext:aws:logs:arn": format!("arn:aws:logs:eu-central-1:{ACCOUNT}:log-group:{name}") });
    let administers: &[&str] = &["kms:ScheduleKeyDeletion", "kms:PutKeyPolicy"];
    let mut key = About::new("module.key.aws_kms_key.this")
        .role(true, &some, administers, KEY, true)
        .role(false, "arn:aws:iam::999988887777:role/some", administers, KEY, true)
        .service(true, "logs.eu-central-1", &LOGGED, KEY, log("/copal/copal/ingest"))
        .service(false, "logs.eu-central-1", &LOGGED, KEY, log("/other/copal"))
        .service(false, "logs.eu-central-1", &["kms:CreateGrant"], KEY, log("/copal/copal/ingest"))
        .service(false, "logs.eu-west-1", &["kms:Decrypt"], KEY, log("/copal/copal/ingest"))
        .service(true, "events", &["kms:GenerateDataKey", "kms:Decrypt"], KEY, json!({}))
        .service(false, "events", &["kms:CreateGrant"], KEY, json!({}));
    for service in ["cloudwatch", "budgets"] {
        key = key
            .service(true, service, &["kms:GenerateDataKey", "kms:Decrypt"], KEY, mine.clone())
            .service(false, service, &["kms:GenerateDataKey", "kms:Decrypt"], KEY, others.clone())
            .service(false, service, &["kms:CreateGrant"], KEY, mine.clone());
    }
    all.extend(key.service(false, "sns", &["kms:Decrypt"], KEY, mine.clone()).cases);
    all.extend(
        About::new("module.replica[\"region\"].aws_kms_key.this")
            .role(true, &some, administers, FAR_KEY, true)
            .role(false, "arn:aws:iam::999988887777:role/some", administers, FAR_KEY, true)
            .service(false, "s3", &["kms:Decrypt"], FAR_KEY, mine.clone())
            .cases,
    );

    let written = "arn:aws:s3:::example-copal-logs/access/some";
    let put: &[&str] = &["s3:PutObject"];
    let mut logs = bucket("module.logs.module.bucket.aws_s3_bucket_policy.this", "arn:aws:s3:::example-copal-logs");
    for service in ["logging.s3", "s3"] {
        logs = logs
            .service(true, service, put, written, tls(&of_bucket, true))
            .service(false, service, put, written, tls(&from("arn:aws:s3:::other"), true))
            .service(
                false,
                service,
                put,
                written,
                tls(&json!({ "aws:SourceArn": BUCKET, "aws:SourceAccount": "999988887777" }), true),
            )
            .service(false, service, &["s3:GetObject"], written, tls(&of_bucket, true));
    }
    all.extend(logs.service(false, "cloudfront", put, written, tls(&of_bucket, true)).cases);

    let page = "arn:aws:s3:::example-copal-page/index.html";
    let distribution = format!("arn:aws:cloudfront::{ACCOUNT}:distribution/E1");
    let shown: &[&str] = &["s3:GetObject"];
    all.extend(
        bucket("module.page[0].module.bucket.aws_s3_bucket_policy.this", "arn:aws:s3:::example-copal-page")
            .service(true, "cloudfront", shown, page, tls(&from(&distribution), true))
            .service(false, "cloudfront", shown, page, tls(&from(&format!("{distribution}2")), true))
            .service(false, "cloudfront", &["s3:PutObject"], page, tls(&from(&distribution), true))
            .service(false, "s3", shown, page, tls(&from(&distribution), true))
            .cases,
    );
    let replica = "module.replica[\"region\"].module.bucket.aws_s3_bucket_policy.this";
    all.extend(copies(replica, "arn:aws:s3:::example-copal-replica", &some).cases);
    all
}

/// What holds of the recovery account.
pub(crate) fn of_recovery() -> Vec<Case> {
    let object = "arn:aws:s3:::example-copal-recovery/packs/some";
    let replication = role("copal-replication");
    let (theirs, third) = ("arn:aws:iam::444455556666:role/some", "arn:aws:iam::999988887777:role/copal-replication");
    let mut bucket =
        copies("module.replica.module.bucket.aws_s3_bucket_policy.this", "arn:aws:s3:::example-copal-recovery", theirs);
    bucket = bucket
        .role(true, &replication, &COPIES, object, true)
        .role(false, &replication, &["s3:GetObject", "s3:PutObject"], object, true)
        .role(false, &role("administrator"), &COPIES, object, true)
        .role(false, third, &COPIES, object, true);
    let mut key = About::new("module.replica.aws_kms_key.this")
        .role(true, theirs, &["kms:ScheduleKeyDeletion", "kms:PutKeyPolicy"], RECOVERY_KEY, true)
        .role(true, &replication, &SEALS, RECOVERY_KEY, true)
        .role(false, &replication, &["kms:Decrypt", "kms:ScheduleKeyDeletion"], RECOVERY_KEY, true)
        .role(false, &role("administrator"), &SEALS, RECOVERY_KEY, true)
        .role(false, third, &SEALS, RECOVERY_KEY, true);
    // What is in another account belongs to it.
    for case in &mut bucket.cases {
        case.request["account"] = "444455556666".into();
    }
    key.cases.append(&mut bucket.cases);
    key.cases
}

/// What holds of every bucket: nothing in the clear.
fn bucket(policy: &str, arn: &str) -> About {
    let (some, object) = (role("some"), format!("{arn}/some"));
    let about = About::new(policy).role(true, &some, &["s3:GetObject"], &object, true);
    let about = about.role(false, &some, &["s3:GetObject", "s3:PutObject"], &object, false);
    about.role(true, &some, &["s3:ListBucket"], arn, true).role(false, &some, &["s3:ListBucket"], arn, false)
}

/// What holds of every bucket of copies, for a role of its account.
fn copies(policy: &str, arn: &str, some: &str) -> About {
    let object = format!("{arn}/packs/some");
    About::new(policy)
        .role(true, some, &["s3:GetObject"], &object, true)
        .role(false, some, &["s3:GetObject", "s3:PutObject"], &object, false)
        .role(true, some, &["s3:ListBucket"], arn, true)
        .role(false, some, &["s3:ListBucket"], arn, false)
        .role(
            false,
            some,
            &["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutObject", "s3:BypassGovernanceRetention"],
            &object,
            true,
        )
}

const BUCKET: &str = "arn:aws:s3:::example-copal";
const KEY: &str = "arn:aws:kms:eu-central-1:111122223333:key/0a0a0a0a-0000-4000-8000-000000000000";
const FAR_KEY: &str = "arn:aws:kms:eu-west-1:111122223333:key/0b0b0b0b-0000-4000-8000-000000000000";
const RECOVERY_KEY: &str = "arn:aws:kms:eu-central-1:444455556666:key/00000000-0000-0000-0000-000000000000";
const LOG: &str = "arn:aws:logs:eu-central-1:111122223333:log-group:/copal/log";
const FAILED: &str = "arn:aws:sqs:eu-central-1:111122223333:copal-failed-runs";
const COPIES: [&str; 2] = ["s3:ReplicateObject", "s3:ReplicateDelete"];
const SEALS: [&str; 2] = ["kms:GenerateDataKey", "kms:Encrypt"];
const VERSIONS: [&str; 5] = [
    "s3:GetObjectVersionForReplication",
    "s3:GetObjectVersionAcl",
    "s3:GetObjectVersionTagging",
    "s3:GetObjectRetention",
    "s3:GetObjectLegalHold",
];
const LOGGED: [&str; 6] =
    ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"];
