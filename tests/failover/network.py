"""Where members live: each in a network namespace of its own behind a bridge (root), or on ports of 127.0.0.1."""
import os
import socket
import subprocess
import sys
import time


def into_namespaces():
    """Goes on in network and process namespaces of this run's own: ports are free, the machine's network stays as it is, and all
    that was started ends with the run. Returns in there."""
    if os.environ.get("MUSTER_FAILOVER_INSIDE") != str(os.getppid()):
        if os.geteuid() != 0:
            sys.exit("only root can make network namespaces")
        if subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"]).returncode != 0:
            print("left out: this machine does not let namespaces be made (unshare)", file=sys.stderr)
            sys.exit(77)
        # In there the parent is unseen: 0.
        os.execvpe("unshare", ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv],
                   os.environ | {"MUSTER_FAILOVER_INSIDE": "0"})
    # Process 1 inherits Patroni's servers; Patroni takes those for alive that nobody has waited for.
    main = os.fork()
    if main == 0:
        return
    while True:
        try:
            pid, status = os.wait()
        except KeyboardInterrupt:
            continue
        if pid == main:
            os._exit(os.waitstatus_to_exitcode(status) & 255)


class Namespaces:
    """A bridge here, and behind it a namespace a member: 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self):
        _ip("link set lo up")
        _ip("link add muster0 type bridge")
        _ip("addr add 10.77.0.254/24 dev muster0")
        _ip("link set muster0 up")

    def place(self, number):
        return Namespace(number)


class Namespace:
    def __init__(self, number):
        self.link = f"member{number}"
        self.address = f"10.77.0.{number}"
        self.port, self.rest_port, self.raft_port = 5432, 8008, 2380
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        here = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == here:
            time.sleep(0.01)
        self.id = os.readlink(f"/proc/{self.holder.pid}/ns/net")
        _ip(f"link add {self.link} type veth peer name eth0 netns {self.holder.pid}")
        _ip(f"link set {self.link} master muster0 up")
        for command in ("link set lo up", f"addr add {self.address}/24 dev eth0", "link set eth0 up"):
            subprocess.run([*self.enter(), "ip", *command.split()], check=True)

    def enter(self):
        """What a command has before it to run in there."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--"]

    def cut(self):
        """From now on what is sent to it or by it is lost; nobody is told."""
        _ip(f"link set {self.link} down")

    def mend(self):
        _ip(f"link set {self.link} up")

    def signal(self, number):
        """To all that runs in there."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) != self.holder.pid and os.readlink(f"/proc/{pid}/ns/net") == self.id:
                    os.kill(int(pid), number)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass


class Loopback:
    def place(self, _number):
        return LoopbackPlace()


class LoopbackPlace:
    def __init__(self):
        self.address = "127.0.0.1"
        sockets = [socket.create_server((self.address, 0)) for _ in range(3)]
        self.port, self.rest_port, self.raft_port = (taken.getsockname()[1] for taken in sockets)
        for taken in sockets:
            taken.close()

    def enter(self):
        return []


def _ip(command):
    subprocess.run(["ip", *command.split()], check=True)
