"""The load, and what is remembered of it: what was acknowledged must stay, and no answer may show less than one before it did."""
import bisect
import random
import threading
import time
import uuid

import grpc
import muster
from muster.quota.v1 import quota_pb2, quota_service_pb2
from muster.quota.v1.quota_service_pb2_grpc import QuotaServiceStub

QUOTA = "organizations/failover/quotas/RNO2A~gd-8xh100ib-i128~default"
POOLS_A_THREAD = 20
MOST_NODES = 10
LIMIT = 600  # less than all of them ask for on average
CALL_SECONDS = 10
PAUSE_SECONDS = 0.01  # between two calls of a thread


class Pool:
    """What its one writer knows of a Holding."""

    def __init__(self):
        self.name = f"{QUOTA}/holdings/{uuid.uuid4()}"
        self.generation = 0
        self.acked, self.nodes = 0, 0
        self.in_doubt = {}  # asked for since `acked` with an unknown end: generation → Nodes

    def fault_of(self, generation, nodes):
        """What is wrong with a Holding that is read while nobody writes it; None: nothing."""
        if generation < self.acked:
            return f"lost: generation {self.acked} was acknowledged, {generation} is there"
        if generation == self.acked:
            return None if nodes == self.nodes else f"changed: generation {generation} was acknowledged with {self.nodes} Nodes, {nodes} are there"
        if generation not in self.in_doubt:
            return f"invented: generation {generation} is there, nobody asked for it"
        # It was granted, or refused for want of quota: then what was there before stayed.
        possible = {self.nodes, *(n for g, n in self.in_doubt.items() if g <= generation)}
        return None if nodes in possible else f"changed: generation {generation} is there with {nodes} Nodes, {sorted(possible)} are possible"


class Times:
    """When calls were acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.times = []

    def add(self, at):
        with self.lock:
            self.times.append(at)

    def since(self, begin):
        with self.lock:
            return len(self.times) - bisect.bisect_right(self.times, begin)

    def pause(self, begin, end):
        """The longest time without one that reaches into what is between begin and end."""
        with self.lock:
            times = sorted(self.times)
        first = max(bisect.bisect_left(times, begin) - 1, 0)
        seen = [at for at in times[first:] if at <= end] + [end]
        return max((b - a for a, b in zip(seen, seen[1:])), default=end - begin)

    def forget(self, before):
        with self.lock:
            self.times = [at for at in sorted(self.times) if at >= before]


class Load:
    """Threads that write Holdings, half of them by a channel over both replicas, a quarter by each alone (unless not `alone`: all by the
    channel over both); readers and watchers of each."""

    def __init__(self, addresses, threads=8, seed=1, alone=True):
        self.addresses = addresses
        self.lock = threading.Lock()
        self.known_revision = 0
        self.acked = self.refused = self.failed = 0
        self.codes = {}
        self.violations = []
        self.any, self.by_replica = Times(), [Times() for _ in addresses]
        self.pools = []
        self.running, self.paused = True, False
        self.idle = threading.Condition(self.lock)
        self.busy = 0
        self.history_replaced = 0
        self.missing = set()  # (pool, generation) acknowledged, and not shown by a list that was asked for later
        self.health = []  # (when, replica, ready)
        both = "ipv4:" + ",".join(addresses)
        self.threads = []
        for i in range(threads):
            pools = [Pool() for _ in range(POOLS_A_THREAD)]
            self.pools += pools
            replica = None if not alone or i % 2 == 0 else i // 2 % len(addresses)
            target = both if replica is None else addresses[replica]
            self._add(self._write, QuotaServiceStub(self._channel(target, i)), pools, replica, random.Random(f"{seed}/{i}"))
        self.by_name = {pool.name: pool for pool in self.pools}
        for i, address in enumerate(addresses):
            self._add(self._read, QuotaServiceStub(self._channel(address, 100 + i)), i)
            self._add(self._watch, QuotaServiceStub(self._channel(address, 200 + i)), i)
            self._add(self._health, address, i)

    def _add(self, body, *arguments):
        self.threads.append(threading.Thread(target=self._guarded, args=(body, *arguments), daemon=True))

    def _guarded(self, body, *arguments):
        try:
            body(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.violation(f"the load itself broke: {type(error).__name__}: {error}")

    @staticmethod
    def _channel(target, number):
        # Its own connections, not those that another channel to the same address has.
        return grpc.insecure_channel(target, options=[*muster.CHANNEL_OPTIONS, ("grpc.channel_id", number), ("grpc.use_local_subchannel_pool", 1),
                                                      ("grpc.max_reconnect_backoff_ms", 1000)])

    def start(self):
        stub = QuotaServiceStub(self._channel(self.addresses[0], 300))
        stub.UpdateQuota(quota_service_pb2.UpdateQuotaRequest(quota={"name": QUOTA, "limit": LIMIT}, allow_missing=True), timeout=CALL_SECONDS)
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join(3 * CALL_SECONDS)

    def pause(self):
        """Nobody writes any more when it returns."""
        with self.idle:
            self.paused = True
            return self.idle.wait_for(lambda: self.busy == 0, 4 * CALL_SECONDS)

    def go_on(self):
        with self.idle:
            self.paused = False
            self.idle.notify_all()

    def is_ready(self, replica):
        return next((ready for _, number, ready in reversed(self.health) if number == replica), False)

    def violation(self, what):
        with self.lock:
            self.violations.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {what}")

    def _showed(self, who, revision, before):
        """An answer to a call that began when `before` was known."""
        with self.lock:
            if revision < before:
                self.known_revision = revision  # told once
            self.known_revision = max(self.known_revision, revision)
        if revision < before:
            self.violation(f"went back: {who} showed revision {revision}, {before} was shown before the call began")

    def _write(self, stub, pools, replica, chance):
        who = "the channel over both" if replica is None else f"replica {replica}"
        while self.running:
            with self.idle:
                self.idle.wait_for(lambda: not self.paused)
                self.busy += 1
            try:
                self._sync(stub, chance.choice(pools), replica, chance, who)
            finally:
                with self.idle:
                    self.busy -= 1
                    self.idle.notify_all()
            time.sleep(PAUSE_SECONDS)

    def _sync(self, stub, pool, replica, chance, who):
        nodes = chance.randint(0, MOST_NODES)
        with self.lock:
            before = self.known_revision
            pool.generation += 1
            generation = pool.generation
            pool.in_doubt[generation] = nodes
        try:
            answer = stub.SyncHolding(quota_service_pb2.SyncHoldingRequest(
                holding={"name": pool.name, "nodes": nodes, "generation": generation}), timeout=CALL_SECONDS).answer
        except grpc.RpcError as error:
            self._failed(pool, generation, error)
            return
        now = time.monotonic()
        with self.lock:
            held = pool.nodes
            possible = {held, *pool.in_doubt.values()}
            pool.acked, pool.nodes, pool.in_doubt = generation, answer.nodes, {}
            self.acked += 1
            self.refused += answer.nodes != nodes
        self.any.add(now)
        if replica is not None:
            self.by_replica[replica].add(now)
        if answer.nodes not in possible:
            self.violation(f"changed: {pool.name} was answered {answer.nodes} Nodes by {who}, {sorted(possible)} were possible")
        if answer.held > LIMIT or answer.limit != LIMIT:
            self.violation(f"over the limit: {answer.held} of {answer.limit} held, said {who}")
        self._showed(who, answer.revision, before)

    def _failed(self, pool, generation, error):
        reasons = [detail.reason for detail in muster.error_details(error) if hasattr(detail, "reason")]
        code = "/".join([error.code().name, *reasons[:1]])
        with self.lock:
            self.failed += 1
            self.codes[code] = self.codes.get(code, 0) + 1
        # Whether it was carried out is not known; but no other error may come.
        if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED):
            self.violation(f"refused: generation {generation} of {pool.name}: {code}: {error.details()}")

    def snapshot(self):
        with self.lock:
            return self.known_revision, {pool.name: pool.acked for pool in self.pools}

    def list(self, stub):
        """All Holdings in one page, of one revision: ({name: (generation, Nodes)}, revision)."""
        page = stub.ListHoldings(quota_service_pb2.ListHoldingsRequest(parent=QUOTA, page_size=1000), timeout=CALL_SECONDS)
        return {holding.name: (holding.generation, holding.nodes) for holding in page.holdings}, page.revision

    def _read(self, stub, replica):
        while self.running:
            before, acked = self.snapshot()
            try:
                shown, revision = self.list(stub)
            except grpc.RpcError:
                time.sleep(0.1)
                continue
            self._showed(f"replica {replica}'s list", revision, before)
            held = sum(nodes for _, nodes in shown.values())
            if held > LIMIT:
                self.violation(f"over the limit: replica {replica} lists {held} Nodes at revision {revision}")
            missing = {(name, generation) for name, generation in acked.items() if shown.get(name, (0, 0))[0] < generation}
            with self.lock:
                missing -= self.missing
                self.missing |= missing
            if missing:
                self.violation(f"missing: replica {replica}'s list at revision {revision} lacks what was acknowledged of {len(missing)} pools")
            time.sleep(0.1)

    def _watch(self, stub, replica):
        last, incarnation = None, ""
        while self.running:
            start = {"incarnation": incarnation, "after_revision": last} if last is not None else {}
            try:
                for message in stub.WatchQuotas(quota_service_pb2.WatchQuotasRequest(start=start, name_prefix=QUOTA)):
                    incarnation = message.incarnation or incarnation
                    if last is not None and (message.revision <= last if message.type in (3, 4) else message.revision < last):
                        self.violation(f"went back: replica {replica}'s watch tells revision {message.revision} after {last}")
                    # A snapshot's own are of whatever revision.
                    if message.type != 1:
                        last = message.revision
                    if not self.running:
                        return
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.OUT_OF_RANGE:
                    with self.lock:
                        self.history_replaced += 1
                    self.violation(f"a watch of replica {replica} was ended after revision {last}: {error.details()}")
                    last, incarnation = None, ""
                time.sleep(0.2)

    def _health(self, address, replica):
        """Writes down when a replica became ready, or no longer was. (Debian has no stubs of grpc.health.v1.)"""
        def plain(message):
            return message
        with grpc.insecure_channel(address) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=plain, response_deserializer=plain)
            last = None
            while self.running:
                try:
                    ready = check(b"", timeout=1) == b"\x08\x01"
                except grpc.RpcError:
                    ready = False
                if ready != last:
                    self.health.append((time.time(), replica, ready))
                    last = ready
                time.sleep(0.2)

    def faults_of(self, where, shown):
        """Of what is read while nobody writes: sentences."""
        faults = []
        for pool in self.pools:
            fault = pool.fault_of(*shown.get(pool.name, (0, 0)))
            if fault:
                faults.append(f"{where}: {pool.name.rpartition('/')[2]}: {fault}")
        held = sum(nodes for _, nodes in shown.values())
        if held > LIMIT:
            faults.append(f"{where}: over the limit: {held} Nodes are held")
        return faults
