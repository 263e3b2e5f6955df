#!/usr/bin/python3
"""upgrade.py: two releases of musterd at one database; started by `run`, README.md says what is checked."""
import argparse
import os
import subprocess
import sys
import threading
import time
import uuid

sys.dont_write_bytecode = True
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, f"{TREE}/tests/failover")
import packing
import replicas

QUOTAS = [f"organizations/upgrade-{i}/quotas/RNO2A~gd-8xh100ib-i128~default" for i in range(10)]
BY_EACH = "organizations/upgrade-by-each/quotas/RNO2A~gd-8xh100ib-i128~default"
CALL_SECONDS = 10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("old", "new"):
        parser.add_argument(f"--{name}", required=True, help=f"tree of the {name} release, built")
    parser.add_argument("--preset", required=True, help="which build of the two")
    parser.add_argument("--wheel", required=True, help="Python stubs of the new one")
    parser.add_argument("--postgres", required=True, help="folder of its socket")
    parser.add_argument("--folder", required=True, help="for logs")
    parser.add_argument("--seconds", type=float, default=5, help="of load after each step (%(default)s)")
    args = parser.parse_args()
    sys.path.insert(0, args.wheel)
    return args


class Release:
    def __init__(self, name, tree, preset):
        self.name, self.bin, self.migrations = name, f"{tree}/build/{preset}/bin", f"{tree}/migrations"


def update(stub, name, field, value, **how):
    """Of the Quota that field alone."""
    from muster.quota.v1 import quota_service_pb2
    return stub.UpdateQuota(quota_service_pb2.UpdateQuotaRequest(
        quota={"name": name, field: value}, update_mask={"paths": [field]}, allow_missing=True, request_id=str(uuid.uuid4())),
                            timeout=CALL_SECONDS, **how)


def quota_of(stub, name):
    """Of one replica, whose channel may not know yet that it is back."""
    from muster.quota.v1 import quota_service_pb2
    return stub.GetQuota(quota_service_pb2.GetQuotaRequest(name=name), timeout=CALL_SECONDS, wait_for_ready=True)


class Limits:
    """Writes limits by a channel over both replicas, whatever releases they are of; each call must be answered."""

    def __init__(self, stub):
        self.stub = stub
        self.acked = {name: 0 for name in QUOTAS}
        self.failed = []
        self.calls = 0
        self.running = True
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while self.running:
            for name in QUOTAS:
                self._write(name, self.acked[name] % 1000 + 1)
                time.sleep(0.01)

    def _write(self, name, limit):
        import grpc
        try:
            update(self.stub, name, "limit", limit)
            self.acked[name] = limit
            self.calls += 1
        except grpc.RpcError as error:
            self.failed.append(f"UpdateQuota: {error.code().name}: {error.details()}")

    def stop(self):
        self.running = False
        self.thread.join(2 * CALL_SECONDS)


class Upgrade:
    def __init__(self, args):
        self.args = args
        self.old, self.new = Release("old", args.old, args.preset), Release("new", args.new, args.preset)
        self.sql("CREATE DATABASE muster", "postgres")
        self.conninfo = f"host={args.postgres} dbname=muster"
        self.wrong = []
        self.notes, self.noted = {}, 0
        self.packing = packing.Packing(args.new)
        self.limit_by_each = 0
        self.running, self.started = [], 0

    def sql(self, command, database="muster"):
        return subprocess.run(["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", f"--host={self.args.postgres}",
                               "--username=postgres", f"--dbname={database}", f"--command={command}"],
                              check=True, capture_output=True, text=True).stdout.strip()

    def rows(self, query):
        return [line.split("|") for line in self.sql(query).splitlines()]

    def replica(self, release, ports=None):
        """Not started yet; where another one was, if ports are given."""
        self.started += 1
        replica = replicas.Replica(f"{self.started}-{release.name}", release.bin, release.migrations, self.args.folder, self.conninfo,
                                   # As in production: calls are taken until clients see that it goes.
                                   ["--drain_delay=5s"])
        replica.release, replica.ports = release, dict(ports or {})
        return replica

    def migrate(self, release):
        replicas.migrate(release.bin, release.migrations, self.conninfo)

    def stub(self, address, number):
        from muster.quota.v1.quota_service_pb2_grpc import QuotaServiceStub
        return QuotaServiceStub(self.load._channel(address, number))

    def begin(self):
        import load  # needs the wheel
        self.migrate(self.old)
        self.running = [self.replica(self.old), self.replica(self.old)]
        for replica in self.running:
            replica.start()
        addresses = [replica.ports["grpc"] for replica in self.running]
        self.load = load.Load(addresses, alone=False)
        self.stubs = [self.stub(address, 400 + i) for i, address in enumerate(addresses)]
        self.load.start()
        self.limits = Limits(self.stub("ipv4:" + ",".join(addresses), 410))
        self.go_on("two old servers on the old schema")

    def go_on(self, what):
        """Some seconds of load; each replica must commit by itself; then every note that was acknowledged must be there."""
        say(what)
        acked, limits = self.load.acked, self.limits.calls
        self.write_by_each(what)
        self.write_notes()
        time.sleep(self.args.seconds)
        if self.load.acked == acked or self.limits.calls == limits:
            self.wrong.append(f"{what}: nothing is committed")
        for replica in self.running:
            if replica.ended():
                self.wrong.append(f"{what}: {replica.name} ended")
        self.check_notes(what)

    def write_by_each(self, what):
        """Over a channel to both, one that commits nothing is not noticed: the other takes its calls."""
        import grpc
        for stub, replica in zip(self.stubs, self.running):
            self.limit_by_each += 1
            try:
                update(stub, BY_EACH, "limit", self.limit_by_each, wait_for_ready=True)
            except grpc.RpcError as error:
                self.wrong.append(f"{what}: {replica.name} does not commit: {error.code().name}: {error.details()}")

    def write_notes(self):
        """What only the new release knows, in turn with what both know, by each to itself."""
        news = [stub for stub, replica in zip(self.stubs, self.running) if replica.release is self.new]
        for round_ in range(20 if news else 0):
            for name in QUOTAS:
                note = f"{uuid.uuid4()}"
                answer = update(news[round_ % len(news)], name, "note", note, wait_for_ready=True)
                self.notes[name] = note
                self.noted += 1
                if answer.note != note:
                    self.wrong.append(f"the note {note} was taken, and {answer.note} answered")

    def check_notes(self, what):
        rows = self.rows("SELECT name, coalesce(encode(later, 'hex'), '') FROM quota.quota")
        stored = {name: self.packing.unpack(bytes.fromhex(later)) for name, later in rows}
        for name, note in self.notes.items():
            if note.encode() not in stored.get(name, b""):
                self.wrong.append(f"{what}: the note of {name} is lost: {note} was taken, its row has {stored.get(name)}")
            for stub, replica in zip(self.stubs, self.running):
                shown = quota_of(stub, name).note
                # An old server hands on what it does not know, or leaves it out, but tells nothing else.
                if shown != note and (replica.release is self.new or shown):
                    self.wrong.append(f"{what}: {replica.name} shows the note {shown!r} of {name}, {note} was taken")

    def replace(self, number, release):
        """One step of a rolling restart, at the same address."""
        before = self.running[number]
        failed = len(self.limits.failed) + self.load.failed
        said = before.stop()
        if said:
            self.wrong.append(said)
        after = self.replica(release, before.ports)
        after.start()
        self.running[number] = after
        until = time.monotonic() + 60
        while not self.load.is_ready(number):
            if time.monotonic() > until:
                raise RuntimeError(f"{after.name} does not become ready")
            time.sleep(0.1)
        step = f"{before.release.name} -> {release.name}"
        if len(self.limits.failed) + self.load.failed > failed:
            self.wrong.append(f"{step}: calls failed")
        self.go_on(f"{step}: now {' and '.join(replica.release.name for replica in self.running)}")

    def refuse_old_schema(self):
        """The new release on what the old one's migrations made."""
        replica = self.replica(self.new)
        try:
            replica.start()
            replica.stop()
            self.wrong.append("a new server starts on the old schema")
        except RuntimeError:
            with open(replica.log + ".stderr") as file:
                said = file.read() + "\n".join(replica.log_lines(["SCHEMA_TOO_OLD", "musterd migrate"]))
            if "musterd migrate" not in said:
                self.wrong.append(f"a new server on the old schema ends otherwise than by SCHEMA_TOO_OLD: {said}")
        say("a new server refuses the old schema")

    def run(self):
        old, new = self.old, self.new
        self.begin()
        self.refuse_old_schema()
        self.migrate(new)
        self.go_on("migrated by the new release under the old servers")
        for number, release in ((0, old), (1, new), (0, new), (1, old), (0, old), (1, new), (0, new)):
            self.replace(number, release)
        self.end()

    def end(self):
        from muster.debug.v1 import debug_service_pb2, debug_service_pb2_grpc
        import grpc
        self.limits.stop()
        if not self.load.pause():
            self.wrong.append("calls do not end")
        rows = self.rows("SELECT name, generation, nodes FROM quota.holding")
        self.wrong += self.load.faults_of("tables", {name: (int(generation), int(nodes)) for name, generation, nodes in rows})
        for replica, stub in zip(self.running, self.stubs):
            self.wrong += self.load.faults_of(replica.name, self.load.list(stub)[0])
            for name, limit in self.limits.acked.items():
                shown = quota_of(stub, name).limit
                if shown != limit:
                    self.wrong.append(f"{replica.name} shows the limit {shown} of {name}, {limit} was taken")
            self.wrong += [f"{replica.name}: AuditQuotas: {said}" for said in replica.audit_quotas()]
            with grpc.insecure_channel(replica.ports["operator"]) as channel:
                debug = debug_service_pb2_grpc.DebugServiceStub(channel)
                for comparison in debug.CompareState(debug_service_pb2.CompareStateRequest(), timeout=120, wait_for_ready=True).comparisons:
                    self.wrong += [f"{replica.name}: {comparison.service}: {said}" for said in comparison.differences]
        self.load.go_on()
        self.load.stop()
        self.wrong += self.load.violations + self.limits.failed
        if self.load.failed:
            self.wrong.append(f"{self.load.failed} calls failed: {self.load.codes}")
        for file in sorted(os.listdir(self.args.folder)):
            if file.endswith(".log") and file != "build.log":
                with open(f"{self.args.folder}/{file}") as log:
                    self.wrong += [f"{file}: {line.rstrip()}" for line in log
                                   if "audit found" in line or "memory is loaded anew" in line]

    def stop(self):
        for replica in self.running:
            replica.process.kill()
            replica.process.wait()


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


def main():
    upgrade = Upgrade(arguments())
    try:
        upgrade.run()
        say(f"acknowledged: {upgrade.load.acked} Holdings, {upgrade.limits.calls} limits, {upgrade.noted} notes")
    except Exception as error:  # pylint: disable=broad-except
        upgrade.wrong.append(f"{type(error).__name__}: {error}")
    finally:
        upgrade.stop()
    for line in upgrade.wrong:
        print(f"WRONG: {line}")
    sys.exit(1 if upgrade.wrong else 0)


main()
