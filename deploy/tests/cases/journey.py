"""deploy/README.md, walked through: each of its commands, with the built command as the image and one machine as the cluster."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import cluster
from chart import TOP

TESTS = TOP / "deploy/tests"


class Journey(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.room = Path(self.place.name)
        (self.room / "bin").mkdir()
        for name in ("kubectl", "helm"):
            script = self.room / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {sys.executable} "$CLUSTER/bin/{name}.d/{name}" "$@"\n')
            script.chmod(0o755)
            folder = self.room / "bin" / f"{name}.d"
            folder.mkdir()
            (folder / name).write_text((TESTS / "cluster.py").read_text())
        # Other users reach it here.
        self.room.chmod(0o755)
        shutil.copy(os.environ["COPAL"], self.room / "bin/copal")
        (self.room / "deploy").symlink_to(TOP / "deploy")
        data = self.room / "claims/documents"
        data.mkdir(parents=True)
        (data / "letter").write_text("dear all\n" * 1000)
        self.server = None
        self.exported = {}

    def tearDown(self):
        self.stop()
        self.place.cleanup()

    def environment(self):
        path = f"{self.room}/bin:{os.environ['PATH']}"
        programs = {"COPAL": f"{self.room}/bin/copal", "HELM": os.environ["HELM"]}
        return programs | {"PATH": path, "CLUSTER": str(self.room), "HOME": str(self.room / "home"), "COPAL_PASSWORD": "a passphrase"} | self.exported

    def test_every_command_of_the_page_leads_from_nothing_to_a_restored_file(self):
        blocks = re.findall(r"^```sh\n(.*?)^```", (TOP / "deploy/README.md").read_text(), re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreater(len(lines), 12)
        for line in lines:
            if line.startswith("export "):
                self.exported |= dict(pair.split("=", 1) for pair in line.replace("$HOME", self.environment()["HOME"]).split()[1:])
                self.exported["COPAL_REPOSITORY"] = (self.room / "address").read_text()
                continue
            if line.startswith("copal client revoke"):
                shutil.rmtree(self.room / "claims/copal-documents-state")
            restored = line.replace("/tmp/restored", str(self.room / "restored"))
            self.shell(restored.removesuffix(" &"))
            if line.startswith("helm "):
                self.serve()
        restored = [path for path in (self.room / "restored").rglob("letter")]
        self.assertEqual([path.read_text() for path in restored], ["dear all\n" * 1000])

        if cluster.IS_ROOT:
            objects = [path.stat().st_uid for path in (self.room / "claims/copal-server/repository").rglob("*") if path.is_file()]
            self.assertEqual(set(objects), {65532})

        # The job joins with the line that has been used: as the same machine, it finds its keys.
        self.shell("kubectl -n backup create job --from=cronjob/copal-documents again")
        self.shell("kubectl -n backup wait job/again --timeout=24h")
        told = self.shell("copal snapshots --json")
        self.assertEqual([one["host"] for one in json.loads(told)], ["documents"] * 3, told)

        # Nobody makes a repository once the page is through, also if the volume were empty.
        self.stop()
        (self.room / "claims/copal-server/repository").rename(self.room / "gone")
        command, settings = self.command()
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, **settings)
        self.assertEqual(ran.returncode, 10, ran.stderr)

    def test_a_run_that_another_attempt_cannot_help_ends_at_once_and_one_that_may_pass_is_tried_again(self):
        self.shell("cp deploy/values/volume.yaml my.yaml")
        self.shell("helm -n backup install copal deploy/copal -f my.yaml")
        for name, line in (("copal-tls", "x"), ("copal-join-documents", "no line")):
            folder = self.room / "secrets" / name
            folder.mkdir(parents=True)
            for key in ("line", "ca.crt"):
                (folder / key).write_text(line)
        self.shell("kubectl -n backup create job --from=cronjob/copal-documents passing")
        self.assertEqual((self.room / "jobs/passing").read_text(), "[1, 1, 1]")
        installed = self.room / "installed.yaml"
        installed.write_text(installed.read_text().replace("[client, join, /secret/given]", "[client, joyn]"))
        self.shell("kubectl -n backup create job --from=cronjob/copal-documents final")
        self.assertEqual((self.room / "jobs/final").read_text(), "[2]")

    def shell(self, line):
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=self.room, env=self.environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0, f"{line}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def command(self):
        """The server's, as it was installed last: its command, its variables, and as whom it runs."""
        cluster.ROOM = self.room
        pod = cluster.objects("Deployment")["copal-server"]["spec"]["template"]["spec"]
        (_, *arguments), environment = cluster.process(pod, pod["containers"][0], "server")
        return [f"{self.room}/bin/copal", *arguments], {"env": environment} | cluster.user(pod)

    def serve(self):
        """Replaces the server by the one that was installed last."""
        self.stop()
        command, settings = self.command()
        log = self.room / "server.log"
        with log.open("w") as output:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **settings)
        deadline = time.monotonic() + 60
        while not (said := re.search(r"serving at (https://\S+)", log.read_text())):
            self.assertIsNone(self.server.poll(), log.read_text())
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.02)
        address = said[1].replace("127.0.0.1", "localhost")
        (self.room / "address").write_text(address)
        if self.exported:
            self.exported["COPAL_REPOSITORY"] = address

    def stop(self):
        if self.server:
            self.server.terminate()
            self.assertEqual(self.server.wait(30), 0)
            self.server = None
