"""Three PostgreSQL under Debian's Patroni, with Patroni's own raft, in a folder that goes with them."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

# Patroni wants loop_wait + 2 * retry_timeout <= ttl. Its own defaults are three times as long.
DCS = {
    "ttl": 10, "loop_wait": 2, "retry_timeout": 4,
    # A primary that crashes is not waited for while a synchronous standby is there.
    "primary_start_timeout": 0,
    # A commit is acknowledged once a standby has it, always: where there is none, nothing is.
    "synchronous_mode": True, "synchronous_mode_strict": True,
    "postgresql": {
        "use_pg_rewind": True, "use_slots": True,
        "parameters": {
            "max_connections": 200, "shared_buffers": "32MB", "max_wal_size": "256MB", "wal_keep_size": "256MB",
            "wal_log_hints": "on", "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s", "wal_retrieve_retry_interval": "1s",
            "tcp_keepalives_idle": 2, "tcp_keepalives_interval": 1, "tcp_keepalives_count": 3, "tcp_user_timeout": 5000,
            "client_connection_check_interval": "1s",
        },
    },
}


def postgres_bin():
    return os.path.dirname(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1])


def as_postgres():
    """Postgres does not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]


class Member:
    def __init__(self, name, place, home):
        self.name, self.place, self.home = name, place, f"{home}/{name}"
        self.log = f"{self.home}.log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.place.enter(), *as_postgres(), "/usr/bin/patroni", f"{self.home}.json"], stdout=log, stderr=log, cwd="/",
                env={"PATH": f"{postgres_bin()}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"})

    def crash_postgres(self):
        """Its server ends in the midst of everything; Patroni lives."""
        with open(f"{self.home}/postmaster.pid") as file:
            os.kill(int(file.readline()), signal.SIGKILL)

    def __str__(self):
        return self.name


class Cluster:
    def __init__(self, folder, net, asynchronous=False):
        self.folder = folder
        self.dcs = DCS | ({"synchronous_mode": False, "synchronous_mode_strict": False} if asynchronous else {})
        self.members = [Member(f"m{i}", net.place(i), folder) for i in (1, 2, 3)]
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        for member in self.members:
            self._configure(member)
        with open(f"{folder}/ctl.json", "w") as file:
            json.dump({"scope": "muster", "raft": {"partner_addrs": [self._raft(member) for member in self.members]}}, file)

    @staticmethod
    def _raft(member):
        return f"{member.place.address}:{member.place.raft_port}"

    def _configure(self, member):
        place = member.place
        trusted = [f"host {database} all {net} trust" for database in ("all", "replication") for net in ("127.0.0.1/32", "10.77.0.0/24")]
        config = {
            "scope": "muster", "name": member.name,
            "restapi": {"listen": f"{place.address}:{place.rest_port}", "connect_address": f"{place.address}:{place.rest_port}"},
            "raft": {"data_dir": f"{member.home}.raft", "self_addr": self._raft(member),
                     "partner_addrs": [self._raft(other) for other in self.members if other is not member]},
            "bootstrap": {"dcs": self.dcs, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"]},
            "postgresql": {
                "listen": f"{place.address}:{place.port}", "connect_address": f"{place.address}:{place.port}",
                "data_dir": member.home, "bin_dir": postgres_bin(), "pgpass": f"{member.home}.pgpass",
                "pg_hba": trusted,
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator", "password": "r"}},
                "parameters": {"unix_socket_directories": ""},
            },
        }
        with open(f"{member.home}.json", "w") as file:
            json.dump(config, file)

    def conninfo(self):
        """Of all members: libpq takes the one that takes writes."""
        places = [member.place for member in self.members]
        return (f"host={','.join(place.address for place in places)} port={','.join(str(place.port) for place in places)} "
                "dbname=muster keepalives_interval=2 keepalives_count=2")

    def start(self):
        for member in self.members:
            member.start()
        self.await_whole(120)

    def stop(self):
        """Standbys first, or one of them would be made the primary."""
        leader = self.leader()
        for member in sorted(self.members, key=lambda member: member is leader):
            if member.process is not None and member.process.poll() is None:
                member.process.terminate()
                member.process.wait(60)

    def kill(self):
        """All of it at once; for members in namespaces."""
        for member in self.members:
            member.place.signal(signal.SIGKILL)
            member.process.wait()

    def states(self):
        """What Patroni says of its members, as its leader has it if it has one: [{name, role, state, timeline, lag}]."""
        best = []
        for member in self.members:
            try:
                with urllib.request.urlopen(f"http://{member.place.address}:{member.place.rest_port}/cluster", timeout=1) as answer:
                    said = json.load(answer)["members"]
            except (OSError, ValueError):
                continue
            if any(state["role"] == "leader" and state["name"] == member.name for state in said):
                return said
            best = best or said
        return best

    def with_role(self, role):
        for state in self.states():
            if state["role"] == role:
                return next(member for member in self.members if member.name == state["name"])
        return None

    def leader(self):
        return self.with_role("leader")

    def sync_standby(self):
        return self.with_role("sync_standby")

    def is_whole(self):
        """One leads, two follow it on its timeline, one of them synchronously (where that is asked for)."""
        states = self.states()
        first = "sync_standby" if self.dcs["synchronous_mode"] else "replica"
        return (sorted(state["role"] for state in states) == sorted(["leader", "replica", first])
                and len({state.get("timeline") for state in states}) == 1
                and all(state["state"] in ("running", "streaming") for state in states)
                and all(isinstance(state.get("lag", 0), int) and state.get("lag", 0) < 1 << 20 for state in states))

    def await_whole(self, seconds):
        """For longer than a round of Patroni's."""
        seen = []
        def stays():
            seen[:] = [*seen, time.monotonic()] if self.is_whole() else []
            return seen and seen[-1] - seen[0] > DCS["loop_wait"]
        await_that(stays, seconds, lambda: f"the cluster did not become whole: {self.states()}")

    def await_leader_but(self, member, seconds):
        await_that(lambda: self.leader() not in (None, member), seconds, lambda: f"nobody took over from {member}")

    def await_sync_standby_but(self, member, seconds):
        await_that(lambda: self.sync_standby() not in (None, member), seconds,
                   lambda: f"nobody became the synchronous standby in the place of {member}")

    def ctl(self, *words):
        return subprocess.run(["/usr/bin/patronictl", "-c", f"{self.folder}/ctl.json", *words], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": self.folder})

    def sql(self, statement, database="muster"):
        """The primary's answer, a list of fields a row."""
        answer = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "\t", "-c", statement,
                                 f"{self.conninfo()} dbname={database} user=postgres target_session_attrs=read-write connect_timeout=3"],
                                capture_output=True, text=True, timeout=60)
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr.strip())
        return [line.split("\t") for line in answer.stdout.splitlines()]


def await_that(holds, seconds, otherwise, pause=0.2):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(otherwise())
        time.sleep(pause)
