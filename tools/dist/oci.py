#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container image as an OCI archive, without a container tool: oci.py VERSION FILE PROGRAM [PROGRAM_ARM64 SYSROOT]

From scratch: the program by its five names, the C library, busybox for the tools that starters probe with, and a user.
No ENTRYPOINT, so that `docker run IMAGE azurite-blob …` works as with Azurite's image.
"""
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
UID = 10001
APPLETS = ("sh ash cat cp df du echo env false find grep head hostname id kill ls mkdir mv nc netstat ping printf ps pwd rm "
           "sed sleep sort stat tail tar test touch tr true uname vi wc wget which").split()
NAMES = "azurite azurite-blob azurite-queue azurite-table".split()
ETC = {
    "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nlazuli:x:{UID}:{UID}:lazuli:/data:/bin/sh\n",
    "etc/group": f"root:x:0:\nlazuli:x:{UID}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
PORTS = (10000, 10001, 10002, 10003, 10004, 10445)


class Layer:
    """A tar in which nothing depends on when and where it was made."""

    def __init__(self):
        self.raw = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.raw, mode="w", format=tarfile.USTAR_FORMAT)
        self.made = set()

    def _entry(self, name, kind, mode, owner=0):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.mtime, info.uid, info.gid = kind, mode, EPOCH, owner, owner
        return info

    def folder(self, name, mode=0o755, owner=0):
        if name and name not in self.made:
            self.folder(os.path.dirname(name))
            self.tar.addfile(self._entry(name, tarfile.DIRTYPE, mode, owner))
            self.made.add(name)

    def file(self, name, content, mode=0o644):
        self.folder(os.path.dirname(name))
        info = self._entry(name, tarfile.REGTYPE, mode)
        info.size = len(content)
        self.tar.addfile(info, io.BytesIO(content))

    def link(self, name, target):
        self.folder(os.path.dirname(name))
        info = self._entry(name, tarfile.SYMTYPE, 0o777)
        info.linkname = target
        self.tar.addfile(info)

    def done(self):
        self.tar.close()
        return self.raw.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Machine:
    def __init__(self, name, folder, loader, root):
        self.name, self.folder, self.loader, self.root = name, folder, loader, root

    def read(self, path):
        return read(os.path.realpath(self.root + path))


def libraries(program, machine):
    """The files that the program is loaded with, by the paths that it asks for."""
    listed = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"NEEDED.*\[(lib.*?)\]", listed)
    # The C library loads libgcc_s when a thread is cancelled or unwound.
    return sorted({machine.loader, *(f"{machine.folder}/{name}" for name in needed + ["libgcc_s.so.1"])})


def make_layer(program, machine):
    layer = Layer()
    layer.folder("tmp", 0o1777)
    # Any user may be told to run it, so anybody may write there.
    layer.folder("data", 0o1777, UID)
    for name, text in sorted(ETC.items()):
        layer.file(name, text.encode())
    layer.file("bin/busybox", machine.read("/bin/busybox"), 0o755)
    for applet in APPLETS:
        layer.link(f"bin/{applet}", "busybox")
    for library in libraries(program, machine):
        layer.file(library.lstrip("/"), machine.read(library), 0o755)
    layer.file("usr/local/bin/lazuli", read(program), 0o755)
    for name in NAMES:
        layer.link(f"usr/local/bin/{name}", "lazuli")
    return layer.done()


def make_config(version, revision, layer, machine):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    label = "org.opencontainers.image."
    hosts = [w for s in ("blob", "queue", "table") for w in (f"--{s}Host", "0.0.0.0")]
    return {
        "created": created, "architecture": machine.name, "os": "linux",
        "config": {
            "User": str(UID),
            "Env": ["PATH=/usr/local/bin:/bin", "LAZULI_INSECURE_WELL_KNOWN_KEY=1"],
            "Cmd": ["azurite", "-l", "/data"] + hosts,
            "ExposedPorts": {f"{p}/tcp": {} for p in PORTS},
            "Volumes": {"/data": {}}, "WorkingDir": "/data", "StopSignal": "SIGTERM",
            "Labels": {label + "title": "Lazuli", label + "version": version, label + "revision": revision,
                       label + "created": created, label + "licenses": "Apache-2.0",
                       label + "description": "Azure Storage server in one program"},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "tools/dist/oci.py"}],
    }


def write_archive(path, blobs, manifests):
    archive = Layer()
    archive.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    archive.file("index.json", json.dumps(index, sort_keys=True).encode())
    for digest, content in sorted(blobs.items()):
        archive.file(f"blobs/sha256/{digest}", content)
    with open(path, "wb") as out:
        out.write(archive.done())


def main():
    version, path, program = sys.argv[1:4]
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    revision = re.search(r"^commit (\S+)", said, re.M).group(1)
    blobs = {}

    def put(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def put_json(kind, value):
        return put(kind, json.dumps(value, sort_keys=True).encode())

    def image(of, machine):
        layer = make_layer(of, machine)
        config = put_json("config.v1+json", make_config(version, revision, layer, machine))
        packed = put("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))
        manifest = put_json("manifest.v1+json", {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                                 "config": config, "layers": [packed]})
        return dict(manifest, platform={"architecture": machine.name, "os": "linux"})

    name = {"org.opencontainers.image.ref.name": f"lazuli:{version}"}
    found = [image(program, Machine("amd64", "/lib/x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2", ""))]
    if len(sys.argv) > 4:
        found.append(image(sys.argv[4], Machine("arm64", "/lib/aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1", sys.argv[5])))
        # Both machines' images under one name, from which an engine takes its own.
        found = [put_json("index.v1+json", {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": found})]
    write_archive(path, blobs, [dict(found[0], annotations=name)])


main()
