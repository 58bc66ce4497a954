# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL 15 (a primary and a synchronous standby) and Ceph (mon, mgr, three OSDs) in a private folder on loopback.

  up DIR [--shards N]     start; print ROWS=... and EXTENTS=... (with shards also ROWS2=... and so on)
  down DIR [--remove]     stop; with --remove delete the data too
  ctl DIR VERB [NAME]     faults and repairs, see VERBS below

Needs Debian's packages (tools/deps.sh cluster) and no service manager. Several clusters may run side by side in different
folders: each has its own ports. As root, PostgreSQL runs as the user postgres, because it refuses to run as root.
"""
import json
import os
import pathlib
import signal
import sys
import threading
import time

from ceph import Ceph
from common import Failed, Folder, say
from postgres import Pair

VERBS = """verbs of ctl (NAME is pg-a, pg-b, mon, mgr, osd0, osd1 or osd2; of a second shard pg2-a, pg2-b):
  kill NAME       kill -9 the daemon and its children
  stop NAME       SIGSTOP all of it          cont NAME    SIGCONT
  start NAME      start it again (PostgreSQL recovers from its log)
  promote [N]     kill the primary of shard N (default 1) and promote its standby
  rejoin [N]      make the killed old primary a synchronous standby of the new one
  primary [N]     print the name of the primary
  sync on|off     wait for the standby in commits, or not
  fill            let the pool refuse writes (a quota of its present size)
  unfill          take the quota away
  copy OLD NEW    every object of one RADOS namespace into another
  status          print what runs"""


class Cluster:
    """Everything that lives in one folder."""

    def __init__(self, path):
        self.folder = Folder(path)
        self.ceph = Ceph(self.folder)
        self.pairs = [Pair(self.folder, n) for n in range(1, self.folder.get("shards", 1) + 1)]

    def up(self, shards):
        self.folder.put("shards", shards)
        self.pairs = [Pair(self.folder, n) for n in range(1, shards + 1)]
        began = time.monotonic()
        self.pairs[0].make_home()
        in_parallel([self.ceph.up] + [pair.up for pair in self.pairs])
        say(f"cluster in {self.folder.path} takes writes after {time.monotonic() - began:.1f} s")
        for pair in self.pairs:
            print(f"ROWS{'' if pair.number == 1 else pair.number}='{pair.uri()}'")
        print(f"EXTENTS='{self.ceph.uri()}'")

    def down(self, remove):
        self.folder.stop_all()
        if remove:
            self.folder.remove()

    def ctl(self, verb, *args):
        simple = {"kill": self.folder.kill, "stop": self.folder.freeze, "cont": self.folder.thaw}
        if verb in simple:
            simple[verb](*args)
        elif verb == "start":
            self.start(*args)
        elif verb in ("promote", "rejoin", "primary"):
            pair = self.pairs[int(args[0]) - 1 if args else 0]
            getattr(pair, verb)()
        elif verb == "sync":
            self.pairs[0].sync(args[0] == "on")
        elif verb in ("fill", "unfill", "copy"):
            getattr(self.ceph, verb)(*args)
        elif verb == "status":
            print(json.dumps(self.folder.running()))
        else:
            raise Failed(VERBS)

    def start(self, name):
        if name.startswith("pg"):
            for pair in self.pairs:
                if name in pair.names:
                    return pair.start(name)
        elif name in self.ceph.names:
            return self.ceph.start(name)
        raise Failed(f"no daemon {name}")


def in_parallel(functions):
    """Runs all of them, and raises the first error when all have ended."""
    errors = []

    def run(function):
        try:
            function()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def main(args):
    if len(args) < 2:
        raise Failed(VERBS if args[:1] == ["ctl"] else __doc__)
    command, path, rest = args[0], pathlib.Path(args[1]).absolute(), args[2:]
    if command == "up":
        shards = int(rest[1]) if rest[:1] == ["--shards"] else 1
        cluster = Cluster(path)
        try:
            cluster.up(shards)
        except BaseException:
            cluster.down(remove=False)
            raise
    elif not path.is_dir():
        raise Failed(f"{path} is not there")
    elif command == "down":
        Cluster(path).down("--remove" in rest)
    elif command == "ctl" and rest:
        Cluster(path).ctl(*rest)
    else:
        raise Failed(VERBS)


if __name__ == "__main__":
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main(sys.argv[1:])
    except (Failed, TypeError, IndexError, ValueError) as problem:
        say(problem)
        sys.exit(1)
