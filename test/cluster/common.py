# SPDX-License-Identifier: Apache-2.0
"""The folder of a cluster: settings, ports, and processes that are known by their pid files."""
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

# Below the range that the kernel hands out to outgoing connections, so that none of them takes a port meanwhile.
PORT_FIRST, PORT_LAST = 20000, 32000
STOP_SECONDS = 10


class Failed(Exception):
    """One line for the user."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def until(what, seconds, attempt):
    """Calls attempt until it returns something true; its errors count as "not yet"."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        try:
            result = attempt()
            if result:
                return result
        except Exception as error:  # pylint: disable=broad-except
            last = error
        time.sleep(0.1)
    raise Failed(f"{what}: not within {seconds} s" + (f" ({last})" if last else ""))


def run(args, **more):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, args))}: {done.stdout.strip()[-2000:]}")
    return done.stdout


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.pids = self.path / "run"
        self.logs = self.path / "log"
        for folder in (self.pids, self.logs):
            folder.mkdir(exist_ok=True)

    # ---- settings, kept across down and up ----

    def _settings(self):
        try:
            return json.loads((self.path / "settings.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def get(self, name, default=None):
        return self._settings().get(name, default)

    def put(self, name, value):
        with open(self.path / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            settings = self._settings()
            settings[name] = value
            part = self.path / "settings.part"
            part.write_text(json.dumps(settings))
            part.rename(self.path / "settings.json")
        return value

    def port(self, name):
        """The port of that name: a free one the first time, and the same ever after."""
        return self.get(f"port {name}") or self.put(f"port {name}", free_port())

    # ---- processes ----

    def launch(self, name, args, log=None, **more):
        """Starts a daemon in a session of its own, and remembers its pid."""
        if self.alive(name):
            return
        with open(log or self.logs / f"{name}.log", "ab") as out:
            child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                     start_new_session=True, **more)
        (self.pids / f"{name}.pid").write_text(f"{child.pid} {started(child.pid)}\n")
        return child

    def pid(self, name):
        """Its pid, when the process that was started still has it."""
        try:
            pid, at = (self.pids / f"{name}.pid").read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if started(int(pid)) == at else None

    def alive(self, name):
        pid = self.pid(name)
        return pid is not None and state(pid) not in ("Z", "X")

    def running(self):
        return {p.stem: self.pid(p.stem) for p in sorted(self.pids.glob("*.pid")) if self.alive(p.stem)}

    def signal(self, name, number):
        """To the daemon and its children: the processes of PostgreSQL are many. Stopped first, it cannot make more."""
        pid = self.pid(name)
        if pid is None:
            return
        everyone = [pid]
        if number != signal.SIGCONT:
            quietly(os.kill, pid, signal.SIGSTOP)
        everyone += descendants(pid)
        for one in everyone:
            quietly(os.kill, one, number)

    def must_run(self, name):
        if not self.alive(name):
            raise Failed(f"{name} does not run")

    def kill(self, name):
        self.must_run(name)
        pid = self.pid(name)
        family = [pid] + descendants(pid)
        self.signal(name, signal.SIGKILL)
        until(f"the end of {name}", STOP_SECONDS, lambda: not any(lives(p) for p in family))

    def freeze(self, name):
        self.must_run(name)
        self.signal(name, signal.SIGSTOP)

    def thaw(self, name):
        self.must_run(name)
        self.signal(name, signal.SIGCONT)

    def stop_all(self):
        """Ends every daemon, also stopped ones. OSDs end before the monitor, so that it learns of their end."""
        names = list(self.running())
        self.stop([n for n in names if n.startswith(("osd", "pg"))])
        self.stop([n for n in names if n in ("mon", "mgr")])

    def stop(self, names):
        """Asks the daemons to end, and kills those that do not."""
        families = {}
        for name in names:
            pid = self.pid(name)
            families[name] = [pid] + descendants(pid)
            self.signal(name, signal.SIGCONT)
            # PostgreSQL: end at once, without a checkpoint; its log has everything. Ceph's daemons end on SIGTERM.
            quietly(os.kill, pid, signal.SIGQUIT if name.startswith("pg") else signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(self.alive(n) for n in names) and time.monotonic() < deadline:
            time.sleep(0.05)
        for name in names:
            if self.alive(name):
                for pid in families[name]:
                    quietly(os.kill, pid, signal.SIGKILL)
            (self.pids / f"{name}.pid").unlink(missing_ok=True)

    def remove(self):
        elsewhere = self.get("pg folder")
        if elsewhere:
            shutil.rmtree(elsewhere, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)


def free_port():
    for _ in range(1000):
        port = random.randint(PORT_FIRST, PORT_LAST)
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failed("no free port")


def stat_fields(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def started(pid):
    """When the process began, in ticks since boot: pid and start name a process for good."""
    fields = stat_fields(pid)
    return fields[19] if fields else None


def state(pid):
    fields = stat_fields(pid)
    return fields[0] if fields else "X"


def lives(pid):
    return state(pid) not in ("Z", "X")


def descendants(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += [int(child)] + descendants(int(child))
        except OSError:
            pass
    return found


def quietly(function, *args):
    try:
        function(*args)
    except (ProcessLookupError, PermissionError):
        pass
