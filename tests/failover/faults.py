"""The failures. Each begins, lasts, and is mended; the cluster is whole before and after."""
import signal
import time


class Fault:
    def __init__(self, cluster, replicas, chance, hold):
        self.cluster, self.replicas, self.chance, self.hold = cluster, replicas, chance, hold

    def wait(self):
        """Longer than a leader's lock lasts (ttl), and than musterd waits for an answer."""
        time.sleep(self.hold * self.chance.uniform(1, 1.5))


class Killed(Fault):
    """The primary and its Patroni end at once; they start anew when another leads."""

    def run(self):
        primary = self.cluster.leader()
        primary.place.signal(signal.SIGKILL)
        yield f"{primary} killed"
        self.cluster.await_leader_but(primary, 60)
        primary.start()


class Crashed(Fault):
    """Only the primary's server ends; its Patroni lets another lead."""

    def run(self):
        primary = self.cluster.leader()
        primary.crash_postgres()
        yield f"{primary}'s postmaster killed"
        self.cluster.await_leader_but(primary, 60)


class Frozen(Fault):
    """The primary and its Patroni stand still, and their kernel answers; they wake when another leads."""

    def run(self):
        primary = self.cluster.leader()
        primary.place.signal(signal.SIGSTOP)
        yield f"{primary} frozen"
        self.wait()
        self.cluster.await_leader_but(primary, 60)
        primary.place.signal(signal.SIGCONT)


class Woken(Fault):
    """The same, and one replica is started anew meanwhile: when the old primary wakes, only the other still speaks with it."""

    def run(self):
        primary, replica = self.cluster.leader(), self.chance.choice(self.replicas)
        primary.place.signal(signal.SIGSTOP)
        yield f"{primary} frozen"
        self.cluster.await_leader_but(primary, 60)
        replica.process.kill()
        replica.process.wait()
        began = time.monotonic()
        replica.start_when_it_can(60)  # the new leader may not take commits yet
        yield f"{replica.name} started anew in {time.monotonic() - began:.1f} s"
        time.sleep(5)
        primary.place.signal(signal.SIGCONT)


class Switched(Fault):
    """An operator makes the synchronous standby the primary."""

    def run(self):
        primary, standby = self.cluster.leader(), self.cluster.sync_standby()
        yield f"switchover from {primary} to {standby}"
        for _ in range(5):
            answer = self.cluster.ctl("switchover", "muster", "--master", primary.name, "--candidate", standby.name, "--force")
            if "Successfully switched over" in answer.stdout:
                return
            time.sleep(2)
        raise RuntimeError(f"patronictl switchover: {answer.stdout}{answer.stderr}")


class Cut(Fault):
    """The primary's network is gone, and comes back when another leads."""

    def run(self):
        primary = self.cluster.leader()
        primary.place.cut()
        yield f"{primary} cut off"
        self.wait()
        self.cluster.await_leader_but(primary, 60)
        primary.place.mend()


class StandbyGone(Fault):
    """The synchronous standby is killed, frozen or cut off, and comes back when another is in its place."""

    def run(self):
        standby = self.cluster.sync_standby()
        how = self.chance.choice(("killed", "frozen", "cut off"))
        if how == "killed":
            standby.place.signal(signal.SIGKILL)
        elif how == "frozen":
            standby.place.signal(signal.SIGSTOP)
        else:
            standby.place.cut()
        yield f"synchronous standby {standby} {how}"
        self.wait()
        self.cluster.await_sync_standby_but(standby, 60)
        if how == "killed":
            standby.start()
        elif how == "frozen":
            standby.place.signal(signal.SIGCONT)
        else:
            standby.place.mend()


class Lagging(Fault):
    """Both standbys are cut off for a while; the primary is killed, and they come back: what only it had is lost."""

    def run(self):
        primary = self.cluster.leader()
        standbys = [member for member in self.cluster.members if member is not primary]
        for standby in standbys:
            standby.place.cut()
        time.sleep(2)
        primary.place.signal(signal.SIGKILL)
        yield f"{primary} killed while its standbys were cut off"
        for standby in standbys:
            standby.place.mend()
        self.cluster.await_leader_but(primary, 60)
        primary.start()


KINDS = {"kill": Killed, "crash": Crashed, "freeze": Frozen, "switchover": Switched, "cut": Cut, "standby": StandbyGone, "lag": Lagging,
         "wake": Woken}
