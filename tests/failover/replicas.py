"""Two musterd with all services on one database, and the questions that are asked of them from outside."""
import os
import subprocess
import time

ANY_PORT = "127.0.0.1:0"
SERVICES = "capacity,quota,lifecycle,configuration"


class Replica:
    def __init__(self, name, bin, migrations, folder, conninfo, flags=()):
        self.name, self.bin = name, bin
        self.log = f"{folder}/{name}.log"
        self.port_file = f"{folder}/{name}.ports"
        self.command = [
            f"{bin}/musterd", "serve", f"--services={SERVICES}", "--metrics_listen=127.0.0.1:0", f"--port_file={self.port_file}",
            f"--migrations_dir={migrations}", f"--db_conninfo={conninfo}", "--drain_delay=0s", f"--log_file={self.log}", "--audit_interval=10s",
            # The load's Holdings belong to no pools of lifecycle's.
            "--orphan_releases=0", *flags]
        self.process = None
        self.ports = {}

    def start(self):
        if os.path.exists(self.port_file):
            os.remove(self.port_file)
        with open(self.log + ".stderr", "ab") as err:
            # Where it was before, if it was started before.
            self.process = subprocess.Popen(
                [*self.command, f"--listen={self.ports.get('grpc', ANY_PORT)}",
                 f"--operator_listen={self.ports.get('operator', ANY_PORT)}"], stderr=err)
        until = time.monotonic() + 60
        while not os.path.exists(self.port_file):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.name} did not start: see {self.log}, {self.log}.stderr")
            time.sleep(0.05)
        time.sleep(0.1)
        with open(self.port_file) as file:
            self.ports = {kind: f"127.0.0.1:{port}" for kind, port in map(str.split, file)}

    def start_when_it_can(self, seconds):
        """As whoever restarts what ends: it does not start while nothing takes writes."""
        until = time.monotonic() + seconds
        while True:
            try:
                return self.start()
            except RuntimeError:
                if time.monotonic() > until:
                    raise

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                return f"{self.name} did not end within 30 s of SIGTERM"
        return None

    def ended(self):
        return self.process.poll() is not None

    def log_lines(self, words):
        """Lines of its log that have one of the words in them."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [line.rstrip() for line in file if any(word in line for word in words)]

    def audit_quotas(self):
        import grpc
        from muster.quota.v1 import quota_service_pb2, quota_service_pb2_grpc
        with grpc.insecure_channel(self.ports["operator"]) as channel:
            stub = quota_service_pb2_grpc.QuotaServiceStub(channel)
            return list(stub.AuditQuotas(quota_service_pb2.AuditQuotasRequest(), timeout=60, wait_for_ready=True).violations)

    def debug(self, *words):
        """What musterctl debug says, and whether all is as it should be."""
        answer = subprocess.run([f"{self.bin}/musterctl", "debug", *words, f"--operator-server={self.ports['operator']}",
                                 f"--server={self.ports['grpc']}"], capture_output=True, text=True, timeout=120)
        return answer.returncode == 0, (answer.stdout + answer.stderr).strip()


def migrate(bin, migrations, conninfo):
    subprocess.run([f"{bin}/musterd", "migrate", f"--migrations_dir={migrations}", f"--db_conninfo={conninfo} user=postgres"],
                   check=True, stdout=subprocess.DEVNULL)
