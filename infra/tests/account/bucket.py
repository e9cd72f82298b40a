"""Bucket: a real S3 server, in which the repository lies: moto keeps what it is given, and promises nothing of it."""

import socket
import subprocess
import time

import boto3


# That of the account: a server refuses requests that are signed for another one.
REGION = "eu-central-1"


class Server:
    """versitygw over a folder."""

    def __init__(self, place, tools):
        (place / "objects").mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.name, self.secret = "copal-tests", "a secret of the account's test"
        keys = {"ROOT_ACCESS_KEY": self.name, "ROOT_SECRET_KEY": self.secret, "VGW_REGION": REGION, "HOME": str(place)}
        arguments = ["--quiet", "--keep-alive", "--port", self.address, "posix", "objects"]
        self.process = subprocess.Popen([tools / "versitygw", *arguments], cwd=place, env=keys, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < deadline, "versitygw does not start"
            time.sleep(0.02)

    def answers(self):
        try:
            socket.create_connection(self.address.split(":"), 1).close()
            return True
        except OSError:
            return False

    def environment(self):
        """What copal and the functions need to reach it."""
        return {"AWS_ACCESS_KEY_ID": self.name, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_REGION": REGION,
                "AWS_ENDPOINT_URL_S3": f"http://{self.address}"}

    def make(self, name):
        """Makes a bucket that the account has made, too."""
        keys = {"aws_access_key_id": self.name, "aws_secret_access_key": self.secret}
        s3 = boto3.client("s3", endpoint_url=f"http://{self.address}", region_name=REGION, **keys)
        if name not in [made["Name"] for made in s3.list_buckets()["Buckets"]]:
            s3.create_bucket(Bucket=name)

    def stop(self):
        self.process.kill()
        self.process.wait()
