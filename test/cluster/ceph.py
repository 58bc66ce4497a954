# SPDX-License-Identifier: Apache-2.0
"""One monitor, one manager and three bluestore OSDs on sparse files: the cluster engine's extents."""
import json
import shutil
import subprocess
import uuid

from common import Failed, run, until

POOL = "lazuli"
OSDS = 3
START_SECONDS = 90
WRITE_SECONDS = 4

# Addresses are on loopback. Three copies, and writes go on with two. The rest keeps the processes small: as Ceph comes, an
# OSD takes up to 4 GB. A frozen OSD is noticed by its peers after osd_heartbeat_grace (Ceph's own 20 s), though
# all of them are on one host.
CONF = """[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{mon}/0]
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_bind_msgr1 = false
ms_async_op_threads = 2
run_dir = {home}
admin_socket =
log_file = {logs}/$type.$id.ceph.log
log_to_stderr = false
mon_cluster_log_file = {logs}/cluster.log
debug_rocksdb = 0
debug_bluestore = 0
debug_bluefs = 0
debug_mon = 0
debug_osd = 0
debug_mgr = 0
debug_ms = 0
crash_dir = {home}/crash
osd_pool_default_size = 3
osd_pool_default_min_size = 2
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_osd_reporter_subtree_level = osd
mon_osd_min_down_reporters = 1
mon_osd_down_out_interval = 3600
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_allow_pool_delete = true
mon_max_pg_per_osd = 1000
mon_pg_warn_min_per_osd = 0
mon_warn_on_insecure_global_id_reclaim_allowed = false

[mon]
mon_data = {home}/mon.$id

[mgr]
mgr_data = {home}/mgr.$id
mgr_module_path = {home}/no-modules
mgr_stats_period = 2

[osd]
osd_data = {home}/osd.$id
osd_objectstore = bluestore
osd_memory_target_autotune = false
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 2
osd_max_pg_log_entries = 500
osd_min_pg_log_entries = 100
osd_mclock_skip_benchmark = true
osd_class_update_on_start = false
bluestore_block_size = {size}
bluestore_cache_autotune = false
bluestore_cache_size = 33554432
bluestore_rocksdb_options = compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,write_buffer_size=8388608,max_background_jobs=2
bluestore_fsck_on_mount = false
bluestore_warn_on_bluefs_spillover = false
"""
BLOCK_BYTES = 16 << 30  # sparse: only what is written is allocated


class Ceph:
    def __init__(self, folder):
        self.folder = folder
        self.home = folder.path / "ceph"
        self.conf = self.home / "ceph.conf"
        self.names = ["mon", "mgr"] + [f"osd{n}" for n in range(OSDS)]
        self.connection = None

    def uri(self):
        return f"rados:{POOL},conf={self.conf},id=admin"

    # ---- starting ----

    def up(self):
        osds = self.folder.get("osds") or self.create()
        for name in self.names[:2]:
            self.start(name, wait=False)
        self.connect()
        for number, osd in enumerate(osds):
            self.ask({"prefix": "osd new", "uuid": osd, "id": number})
        for name in self.names[2:]:
            self.start(name, wait=False)
        self.make_pool()
        until("Ceph takes writes", START_SECONDS, self.writes)

    def create(self):
        """Makes the files of all daemons, side by side; in place of those of an attempt that did not end."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        for name in ("mon.a", "mgr.a", "no-modules", "crash", *(f"osd.{n}" for n in range(OSDS))):
            (self.home / name).mkdir(exist_ok=True)
        fsid, osds, port = str(uuid.uuid4()), [str(uuid.uuid4()) for _ in range(OSDS)], self.folder.port("mon")
        self.conf.write_text(CONF.format(fsid=fsid, mon=port, home=self.home, logs=self.folder.logs, size=BLOCK_BYTES))
        monmap = self.home / "monmap"
        run(["monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{port}]", monmap])
        run(["ceph-mon", "-c", self.conf, "--mkfs", "-i", "a", "--monmap", monmap, "--no-mon-config"])
        # They end with this program, if it is killed.
        making = [subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "ceph-osd", "-c", self.conf, "--mkfs", "-i", str(n), "--osd-uuid", osds[n],
                                    "--monmap", monmap, "--no-mon-config"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True) for n in range(OSDS)]
        for child in making:
            _, errors = child.communicate()
            if child.returncode != 0:
                raise Failed(f"ceph-osd --mkfs: {errors[-1000:]}")
        return self.folder.put("osds", osds)

    def start(self, name, wait=True):
        kind, which = (name, "a") if name in ("mon", "mgr") else ("osd", name[3:])
        self.folder.launch(name, [f"ceph-{kind}", "-f", "-c", self.conf, "-i", which])
        if wait and kind == "osd":
            self.connect()
            until(f"{name} is up", START_SECONDS, lambda: self.is_up(int(which)))

    def is_up(self, number):
        osds = json.loads(self.ask({"prefix": "osd dump", "format": "json"}))["osds"]
        return any(o["osd"] == number and o["up"] for o in osds)

    # ---- asking the monitor ----

    def connect(self):
        """One connection for all commands: the program `ceph` takes most of a second for each."""
        import rados  # pylint: disable=import-outside-toplevel

        def attempt():
            connection = rados.Rados(conffile=str(self.conf), name="client.admin",
                                     conf={"client_mount_timeout": "20", "rados_mon_op_timeout": "20",
                                           "rados_osd_op_timeout": "10", "log_to_stderr": "false"})
            connection.connect(timeout=20)
            return connection

        self.connection = until("Ceph's monitor", START_SECONDS, attempt)

    def ask(self, command):
        status, out, text = self.connection.mon_command(json.dumps(command), b"")
        if status != 0:
            raise Failed(f"{command['prefix']}: {text}")
        return out

    def make_pool(self):
        if POOL in self.connection.list_pools():
            return
        self.ask({"prefix": "osd pool create", "pool": POOL, "pg_num": 16, "pgp_num": 16})
        self.ask({"prefix": "osd pool application enable", "pool": POOL, "app": "lazuli"})

    def writes(self):
        """HEALTH_OK is not readiness. Enough names that nearly every placement group is asked. An operation that was sent
        to an OSD of the run before may wait for long: the next attempt has a new connection."""
        self.connect()
        with self.connection.open_ioctx(POOL) as pool:
            names = [f"up_probe_{n}" for n in range(48)]
            waiting = [pool.aio_write_full(name, b"x" * 4096) for name in names]
            until("writes", WRITE_SECONDS, lambda: all(one.is_complete() for one in waiting))
            if any(one.get_return_value() != 0 for one in waiting):
                return False
            waiting = [pool.aio_remove(name) for name in names]
            until("removes", WRITE_SECONDS, lambda: all(one.is_complete() for one in waiting))
        return True

    # ---- faults ----

    def quota(self, size):
        self.connect()
        self.ask({"prefix": "osd pool set-quota", "pool": POOL, "field": "max_bytes", "val": str(size)})
        wanted = size != 0
        until("the pool's quota", START_SECONDS, lambda: self.pool_is_full() == wanted)

    def pool_is_full(self):
        pools = json.loads(self.ask({"prefix": "osd dump", "format": "json"}))["pools"]
        return any(p["pool_name"] == POOL and "full" in p["flags_names"].split(",") for p in pools)

    def fill(self):
        """A quota below what is there. A pool without a byte gets one first, since the quota must be exceeded."""
        self.connect()
        with self.connection.open_ioctx(POOL) as pool:
            pool.write_full("fill_probe", b"x" * 65536)
        self.quota(1)

    def unfill(self):
        self.quota(0)
        with self.connection.open_ioctx(POOL) as pool:
            try:
                pool.remove_object("fill_probe")
            except Exception:  # pylint: disable=broad-except
                pass

    # ---- for tests of backups ----

    def copy(self, old, new):
        """Every object of one namespace into another."""
        self.connect()
        with self.connection.open_ioctx(POOL) as source, self.connection.open_ioctx(POOL) as target:
            source.set_namespace(old)
            target.set_namespace(new)
            for found in source.list_objects():
                size, _ = source.stat(found.key)
                target.write_full(found.key, source.read(found.key, size))
