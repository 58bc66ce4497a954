#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container image as an OCI archive, without a container tool: oci.py PROGRAM VERSION FILE

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


def libraries(program):
    """The files that the program is loaded with, by the paths that it asks for."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"(?:=> )?(/\S+) \(0x", listed)
    # The C library loads this one when a thread is cancelled or unwound.
    found.append(re.sub(r"libc\.so\.6$", "libgcc_s.so.1", next(f for f in found if f.endswith("/libc.so.6"))))
    return sorted(set(found))


def make_layer(program):
    layer = Layer()
    layer.folder("tmp", 0o1777)
    # Any user may be told to run it, so anybody may write there.
    layer.folder("data", 0o1777, UID)
    for name, text in sorted(ETC.items()):
        layer.file(name, text.encode())
    layer.file("bin/busybox", read("/bin/busybox"), 0o755)
    for applet in APPLETS:
        layer.link(f"bin/{applet}", "busybox")
    for library in libraries(program):
        layer.file(library.lstrip("/"), read(os.path.realpath(library)), 0o755)
    layer.file("usr/local/bin/lazuli", read(program), 0o755)
    for name in NAMES:
        layer.link(f"usr/local/bin/{name}", "lazuli")
    return layer.done()


def make_config(version, revision, layer):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    label = "org.opencontainers.image."
    hosts = [w for s in ("blob", "queue", "table") for w in (f"--{s}Host", "0.0.0.0")]
    return {
        "created": created, "architecture": "amd64", "os": "linux",
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


def write_archive(path, blobs, manifest, tag):
    archive = Layer()
    archive.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [dict(manifest, platform={"architecture": "amd64", "os": "linux"},
                                annotations={"org.opencontainers.image.ref.name": tag})]}
    archive.file("index.json", json.dumps(index, sort_keys=True).encode())
    for digest, content in sorted(blobs.items()):
        archive.file(f"blobs/sha256/{digest}", content)
    with open(path, "wb") as out:
        out.write(archive.done())


def main():
    program, version, path = sys.argv[1:]
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    revision = re.search(r"^commit (\S+)", said, re.M).group(1)
    layer = make_layer(program)
    blobs = {}

    def put(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def put_json(kind, value):
        return put(kind, json.dumps(value, sort_keys=True).encode())

    config = put_json("config.v1+json", make_config(version, revision, layer))
    packed = put("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))
    manifest = put_json("manifest.v1+json", {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                             "config": config, "layers": [packed]})
    write_archive(path, blobs, manifest, version)


main()
