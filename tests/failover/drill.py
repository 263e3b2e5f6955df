"""A cluster, two musterd on it, a load, and failovers one after the other; after each it is checked that nothing is lost."""
import argparse
import glob
import os
import random
import statistics
import sys
import time

import cluster
import faults
import network
import replicas

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def arguments(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--failovers", type=int, default=100, help="how many (%(default)s)")
    parser.add_argument("--kinds", default=",".join(faults.KINDS), help="of these, in turn (%(default)s)")
    parser.add_argument("--build", default="build/release", help="whose bin/ and stubs/ are used (%(default)s)")
    parser.add_argument("--bin", help="folder of musterd and musterctl instead")
    parser.add_argument("--wheel", help="the Python stubs instead")
    parser.add_argument("--hold", type=float, default=24,
                        help="seconds that what is frozen or cut stays so, up to half more; musterd waits 18 for an answer (%(default)s)")
    parser.add_argument("--asynchronous", action="store_true", help="without synchronous_mode: what is lost then must be seen (kind lag)")
    parser.add_argument("--conninfo", default="", help="words behind --db_conninfo")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", action="store_true", help="leaves the folder with the logs; so does what goes wrong")
    args = parser.parse_args()
    args.kinds = args.kinds.split(",")
    unknown = set(args.kinds) - set(faults.KINDS)
    if unknown:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(faults.KINDS)}")
    args.bin = os.path.realpath(args.bin or f"{TREE}/{args.build}/bin")
    wheels = [args.wheel] if args.wheel else glob.glob(f"{TREE}/{args.build}/stubs/python/*.whl")
    if not wheels or not os.path.exists(f"{args.bin}/musterd"):
        parser.error(f"{args.build} has no bin/musterd or no stubs/python: build musterd, musterctl and stubs")
    sys.path.insert(0, os.path.realpath(wheels[0]))
    return args


class Drill:
    def __init__(self, args, folder):
        import load  # needs the wheel
        self.args, self.folder = args, folder
        self.chance = random.Random(args.seed)
        self.postgres = cluster.Cluster(folder, network.Namespaces(), args.asynchronous)
        say(f"three PostgreSQL under Patroni: {folder}, seed {args.seed}")
        self.postgres.start()
        self.postgres.sql("CREATE DATABASE muster", "postgres")
        migrations = f"{TREE}/migrations"
        conninfo = f"{self.postgres.conninfo()} {args.conninfo}"
        replicas.migrate(args.bin, migrations, conninfo)
        self.replicas = [replicas.Replica(f"replica{i}", args.bin, migrations, folder, conninfo) for i in (0, 1)]
        for replica in self.replicas:
            replica.start()
        self.load = load.Load([replica.ports["grpc"] for replica in self.replicas], seed=args.seed)
        self.stubs = [load.QuotaServiceStub(self.load._channel(replica.ports["grpc"], 400)) for replica in self.replicas]
        self.load.start()
        self.rows = []
        self.wrong = []

    def fail_over(self, kind):
        load = self.load
        fault = faults.KINDS[kind](self.postgres, self.replicas, self.chance, self.args.hold)
        time.sleep(self.chance.uniform(0.5, 2))
        acked, failed, missing, replaced = load.acked, load.failed, len(load.missing), load.history_replaced
        wrong = len(self.wrong) + len(load.violations)
        began, started, health = time.monotonic(), time.time(), len(load.health)
        for what in fault.run():
            say(f"{len(self.rows) + 1}: {what}")
        mended = time.monotonic()
        # Patroni needs a round to notice what was done to it.
        time.sleep(cluster.DCS["loop_wait"] + 1)
        self.postgres.await_whole(180)
        whole = time.monotonic()
        for number, times in enumerate(load.by_replica):
            cluster.await_that(lambda: times.since(whole) > 0, 120, lambda: f"replica {number} commits nothing any more")
        end = time.monotonic()
        pauses = [load.any.pause(began, end), *(times.pause(began, end) for times in load.by_replica)]
        lost, stale = self.check(f"{len(self.rows) + 1}"), len(load.missing) - missing
        # What a read lacked is lost where the history is another, however much was written on top of it since.
        if load.history_replaced > replaced:
            lost, stale = lost + stale, 0
        for times in (load.any, *load.by_replica):
            times.forget(end)
        for at, number, ready in load.health[health:]:
            say(f"   replica {number} was {'ready' if ready else 'not ready'} from {at - started:.1f} s on")
        self.rows.append((kind, pauses[0], max(pauses[1:]), load.acked - acked, lost, stale))
        say(f"   no commit for {pauses[0]:.1f} s (replicas {pauses[1]:.1f}, {pauses[2]:.1f}), mended after {mended - began:.1f}, whole after "
            f"{whole - began:.1f}; acknowledged {load.acked - acked}, failed {load.failed - failed}, lost {lost}, missed by reads {stale}")
        if len(self.wrong) + len(load.violations) > wrong:
            say(f"   {len(self.wrong) + len(load.violations) - wrong} things are wrong, see the end")

    def check(self, number):
        """Nobody writes: all that was acknowledged must be there, in the tables and by each replica. Says how much is lost."""
        if not self.load.pause():
            self.wrong.append(f"{number}: calls do not end")
        faults_seen = []
        rows = self.postgres.sql("SELECT name, generation, nodes FROM quota.holding")
        shown = {name: (int(generation), int(nodes)) for name, generation, nodes in rows}
        faults_seen += self.load.faults_of("tables", shown)
        lost = sum("lost:" in fault for fault in faults_seen)
        for replica, stub in zip(self.replicas, self.stubs):
            faults_seen += self.load.faults_of(replica.name, self.load.list(stub)[0])
            fine, said = replica.debug("compare")
            if not fine:
                faults_seen.append(f"{replica.name}: musterctl debug compare: {said}")
        self.wrong += [f"{number}: {fault}" for fault in faults_seen]
        self.load.go_on()
        return lost

    def end(self):
        self.load.stop()
        for replica in self.replicas:
            if replica.ended():
                self.wrong.append(f"{replica.name} ended by itself")
                continue
            self.wrong += [f"{replica.name}: AuditQuotas: {said}" for said in replica.audit_quotas()]
            for line in replica.log_lines(["audit found", "memory is loaded anew"]):
                self.wrong.append(f"{replica.name}: {line}")

    def stop(self):
        for replica in getattr(self, "replicas", []):
            said = replica.stop()
            if said:
                self.wrong.append(said)
        self.postgres.kill()


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


def print_table(rows):
    line = "{:<12}{:>6}{:>10}{:>9}{:>24}{:>9}{:>14}{:>6}{:>17}"
    print(line.format("kind", "count", "median s", "worst s", "one replica: median s", "worst s", "acknowledged", "lost", "missed by reads"))
    for kind in [kind for kind in faults.KINDS if any(row[0] == kind for row in rows)] + ["all"]:
        some = [row for row in rows if kind in ("all", row[0])]
        pauses, alone = [row[1] for row in some], [row[2] for row in some]
        print(line.format(kind, len(some), f"{statistics.median(pauses):.1f}", f"{max(pauses):.1f}", f"{statistics.median(alone):.1f}",
                          f"{max(alone):.1f}", *(sum(row[i] for row in some) for i in (3, 4, 5))))
