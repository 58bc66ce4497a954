# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL primary with a synchronous standby: one shard of the cluster engine's rows."""
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time

from common import Failed, run, until

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")  # not from PATH, where another installation may come first
USER, DATABASE = "lazuli", "lazuli"
START_SECONDS = 60

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
shared_buffers = 64MB
max_wal_size = 512MB
wal_keep_size = 512MB
wal_level = replica
hot_standby = on
synchronous_commit = on
# A dead peer is noticed within seconds, so that a backend does not keep a partition's lock for one that is gone.
tcp_keepalives_idle = 5
tcp_keepalives_interval = 2
tcp_keepalives_count = 3
wal_receiver_timeout = 10s
wal_sender_timeout = 10s
jit = off
log_line_prefix = '%m [%p] '
"""
TRUST = "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"


class Pair:
    def __init__(self, folder, number):
        self.folder, self.number = folder, number
        prefix = "pg" if number == 1 else f"pg{number}"
        self.names = [f"{prefix}-a", f"{prefix}-b"]

    # ---- where it is, and as whom it runs ----

    def identity(self):
        """Arguments for subprocess: PostgreSQL refuses to run as root."""
        if os.getuid() != 0:
            return {}
        user = pwd.getpwnam("postgres")
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def data(self, name):
        return pathlib.Path(self.folder.get("pg folder")) / name

    def make_home(self):
        """For all pairs: a folder that PostgreSQL's user reaches; under /tmp when the cluster's own folder is closed to it."""
        if self.folder.get("pg folder"):
            return
        home = self.folder.path / "pg"
        home.mkdir(exist_ok=True)
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(home, user.pw_uid, user.pw_gid)
            self.folder.path.chmod(self.folder.path.stat().st_mode | 0o011)
            if subprocess.run(["test", "-w", home], **self.identity(), check=False).returncode != 0:
                home = pathlib.Path(tempfile.mkdtemp(prefix="lazuli-pg."))
                os.chown(home, user.pw_uid, user.pw_gid)
        self.folder.put("pg folder", str(home))

    def uri(self, database=DATABASE):
        hosts = ",".join(f"127.0.0.1:{self.folder.port(name)}" for name in self.names)
        return (f"postgresql://{USER}@{hosts}/{database}"
                "?target_session_attrs=read-write&connect_timeout=3&sslmode=disable")

    # ---- starting ----

    def up(self):
        if not self.folder.get(f"primary {self.number}"):
            self.create(*self.names)
        for name in self.names:
            self.start(name, wait=False)
        until("PostgreSQL takes writes", START_SECONDS, self.writes)

    def create(self, primary, standby):
        """The standby begins as a copy of the fresh, stopped primary."""
        data, copy = self.data(primary), self.data(standby)
        for path in (data, copy):
            shutil.rmtree(path, ignore_errors=True)
        run([BIN / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
             "--no-instructions"], cwd="/", **self.identity())
        with open(data / "postgresql.conf", "a", encoding="utf-8") as conf:
            conf.write(SETTINGS)
        (data / "pg_hba.conf").write_text(TRUST)
        run(["cp", "-a", data, copy])
        self.configure(primary, following=None, waiting=True)
        self.configure(standby, following=primary, waiting=False)
        self.folder.put(f"primary {self.number}", primary)

    def configure(self, name, following, waiting):
        """Who it follows (None: it is the primary), and whether its commits wait for a standby."""
        lines = [f"port = {self.folder.port(name)}", "synchronous_standby_names = '%s'" % ("*" if waiting else "")]
        signal_file = self.data(name) / "standby.signal"
        if following:
            lines.append("primary_conninfo = 'host=127.0.0.1 port=%d user=%s application_name=%s'"
                         % (self.folder.port(following), USER, name.replace("-", "_")))
            signal_file.touch()
        (self.data(name) / "postgresql.auto.conf").write_text("\n".join(lines) + "\n")
        self.own(name)

    def own(self, name):
        """What root has written into the data folder belongs to PostgreSQL's user."""
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            for file in ("standby.signal", "postgresql.auto.conf", "postgresql.conf", "pg_hba.conf"):
                if (self.data(name) / file).exists():
                    os.chown(self.data(name) / file, user.pw_uid, user.pw_gid)

    def start(self, name, wait=True):
        log = self.folder.logs / f"{name}.log"
        log.touch()
        if not self.folder.alive(name):
            # Where nobody reaps orphans, a killed server stays a zombie, which PostgreSQL takes for one that runs.
            (self.data(name) / "postmaster.pid").unlink(missing_ok=True)
        self.folder.launch(name, [BIN / "postgres", "-D", self.data(name)], log=log, **self.identity())
        if wait:
            until(f"start of {name}", START_SECONDS, lambda: self.sql("select 1", name) == "1")

    # ---- asking ----

    def sql(self, text, name=None, database="postgres"):
        port = self.folder.port(name or self.folder.get(f"primary {self.number}"))
        environment = {"PATH": "/usr/bin:/bin", "PGCONNECT_TIMEOUT": "3", "PGOPTIONS": "-c statement_timeout=5s"}
        return run([BIN / "psql", "-XAtq", "-h", "127.0.0.1", "-p", str(port), "-U", USER, "-d", database,
                    "-v", "ON_ERROR_STOP=1", "-c", text], env=environment).strip()

    def writes(self):
        """A commit that the standby has confirmed."""
        if self.sql("select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')") == "0":
            waiting = self.sql("show synchronous_standby_names")
            if waiting:
                return False
        if self.sql(f"select count(*) from pg_database where datname = '{DATABASE}'") == "0":
            self.sql(f"create database {DATABASE}")
        self.sql("create table if not exists up_probe (n int); insert into up_probe values (1); drop table up_probe",
                 database=DATABASE)
        return True

    def primary(self):
        print(self.folder.get(f"primary {self.number}"))

    # ---- faults ----

    def roles(self):
        primary = self.folder.get(f"primary {self.number}")
        return primary, next(n for n in self.names if n != primary)

    def promote(self):
        primary, standby = self.roles()
        if self.folder.alive(primary):
            self.folder.kill(primary)
        run([BIN / "pg_ctl", "-D", self.data(standby), "promote", "-t", "60"], cwd="/", **self.identity())
        self.folder.put(f"primary {self.number}", standby)
        until("the new primary", START_SECONDS, lambda: self.sql("select pg_is_in_recovery()", standby) == "f")

    def rejoin(self):
        """A fresh copy rather than pg_rewind: the stores of tests are small, and a copy works whatever was lost."""
        primary, other = self.roles()
        if self.folder.alive(other):
            raise Failed(f"{other} still runs")
        self.folder.must_run(primary)
        shutil.rmtree(self.data(other), ignore_errors=True)
        run([BIN / "pg_basebackup", "-h", "127.0.0.1", "-p", str(self.folder.port(primary)), "-U", USER,
             "-D", self.data(other), "-X", "stream", "-c", "fast", "--no-sync"], cwd="/", **self.identity())
        self.configure(other, following=primary, waiting=False)
        self.start(other)
        self.sync(True)

    def sync(self, waiting):
        primary, _ = self.roles()
        self.configure(primary, following=None, waiting=waiting)
        self.sql("select pg_reload_conf()")
        if waiting:
            until("a synchronous standby", START_SECONDS, lambda: self.sql(
                "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')") != "0")
        else:
            time.sleep(0.2)
