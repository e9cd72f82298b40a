"""Running: functions and the distribution of the account as they were deployed: the program with the variables that AWS gives
it, behind a Runtime API, and before that what CloudFront and the HTTP API do with a request."""

import base64
import json
import queue
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from aws import ACCOUNT, client
from moto.s3.models import s3_backends


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A function that is ended breaks off its request."""


def listen(handler):
    server = Listener(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "127.0.0.1:%d" % server.server_address[1]


class Function:
    """A function, by what its alias points at."""

    def __init__(self, name, region, program, elsewhere):
        aws = client("lambda", region)
        version = aws.get_alias(FunctionName=name, Name="live")["FunctionVersion"]
        made = aws.get_function_configuration(FunctionName=name, Qualifier=version)
        self.waiting, self.answers = queue.Queue(), {}
        self.variables = made["Environment"]["Variables"]
        variables = self.variables | {
            "_HANDLER": made["Handler"], "AWS_LAMBDA_RUNTIME_API": listen(self.runtime()), "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": version, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(made["MemorySize"]),
        } | elsewhere
        self.process = subprocess.Popen([program], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        # A pipe that nobody reads would stop it.
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True).start()

    def runtime(function):
        class Runtime(Handler):
            def do_GET(self):
                id, payload = function.waiting.get()
                deadline = str(int((time.time() + PATIENCE) * 1000))
                arn = f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:copal"
                self.answer(200, {
                    "content-type": "application/json", "lambda-runtime-aws-request-id": id,
                    "lambda-runtime-deadline-ms": deadline, "lambda-runtime-invoked-function-arn": arn,
                }, json.dumps(payload).encode())

            def do_POST(self):
                said, (id, what) = self.body(), self.path.split("/")[-2:]
                self.answer(202, {}, b"")
                if id in function.answers:
                    function.answers[id].put((what, json.loads(said)))

        return Runtime

    def invoke(self, payload):
        id = str(uuid.uuid4())
        self.answers[id] = queue.Queue()
        self.waiting.put((id, payload))
        try:
            what, told = self.answers[id].get(timeout=PATIENCE)
        except queue.Empty:
            what, told = None, "no answer"
        assert what == "response", f"{told}: {''.join(self.said)}"
        return told

    def end(self):
        self.process.kill()
        self.process.wait()


class Distribution:
    """CloudFront before the page's bucket and the API, by its own configuration."""

    def __init__(self, region):
        aws = client("cloudfront", region)
        id = aws.list_distributions()["DistributionList"]["Items"][0]["Id"]
        config = aws.get_distribution_config(Id=id)["DistributionConfig"]
        self.origins = {origin["Id"]: origin for origin in config["Origins"]["Items"]}
        self.paths = [(of["PathPattern"], of["TargetOriginId"]) for of in config["CacheBehaviors"]["Items"]]
        self.default = config["DefaultCacheBehavior"]["TargetOriginId"]
        self.root, self.gateway = config["DefaultRootObject"], None
        self.address = listen(self.handler())

    def said(self, origin):
        """What it says to an origin besides what the client says."""
        headers = self.origins[origin].get("CustomHeaders", {}).get("Items", [])
        return {of["HeaderName"].lower(): of["HeaderValue"] for of in headers}

    def handler(distribution):
        class Front(Handler):
            def any(self):
                path = urlsplit(self.path).path
                to = next((to for of, to in distribution.paths if path.startswith(of.rstrip("*"))), distribution.default)
                if to == distribution.default:
                    found = distribution.objects(to).get(path.lstrip("/") or distribution.root)
                    return self.answer(403 if found is None else 200, {}, found or b"")
                headers = dict(self.headers.items())
                told = distribution.gateway.invoke(event(self.command, self.path, headers, self.body(), distribution.said(to)))
                text = told.get("body") or ""
                body = base64.b64decode(text) if told.get("isBase64Encoded") else text.encode()
                self.answer(told["statusCode"], told.get("headers") or {}, body)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = any

        return Front

    def objects(self, origin):
        """What lies in the bucket of an origin. Moto would refuse CloudFront: it looks at no condition of a policy."""
        bucket = self.origins[origin]["DomainName"].split(".")[0]
        held = s3_backends[ACCOUNT]["aws"].buckets[bucket].keys
        return {name: held[name].value for name in held}


def event(method, path, headers, body, more):
    """A request as an HTTP API tells it to a function; `more` is what CloudFront says."""
    parts, route = urlsplit(path), "ANY /v1/{rest+}"
    headers = {name.lower(): value for name, value in headers.items()} | more
    http = {"method": method, "path": parts.path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "test"}
    return {
        "version": "2.0", "routeKey": route, "rawPath": parts.path, "rawQueryString": parts.query, "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT, "apiId": "api", "domainName": headers.get("host", ""), "domainPrefix": "api", "http": http,
            "requestId": "1", "routeKey": route, "stage": "$default", "time": "26/Nov/2026:00:00:00 +0000", "timeEpoch": 0,
        },
        "body": base64.b64encode(body).decode(), "isBase64Encoded": True,
    }


# Seconds.
PATIENCE = 60
