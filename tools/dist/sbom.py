#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program is made of, as SPDX 2.3 JSON on stdout: sbom.py PROGRAM VERSION"""
import hashlib
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's package with the archive that is linked in, and its licence.
LINKED = {
    "librocksdb-dev": "GPL-2.0-only OR Apache-2.0", "libssl-dev": "Apache-2.0", "libexpat1-dev": "MIT",
    "libsnappy-dev": "BSD-3-Clause", "libbz2-dev": "bzip2-1.0.6", "liblz4-dev": "BSD-2-Clause",
    "libzstd-dev": "BSD-3-Clause OR GPL-2.0-only", "zlib1g-dev": "Zlib", "libgflags-dev": "BSD-3-Clause",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
}
# In the container image only.
BESIDE = {"busybox-static": "GPL-2.0-only", "libc6": "LGPL-2.1-or-later"}


def debian_version(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], check=True, capture_output=True, text=True).stdout


def package(name, version, licence, purl):
    return {"SPDXID": "SPDXRef-" + name.replace("+", "-").replace("@", "").replace("/", "-"), "name": name,
            "versionInfo": version, "licenseDeclared": licence, "licenseConcluded": licence, "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def console_packages():
    """What esbuild puts into the console's page: the production packages of web/."""
    lock = os.path.join(HERE, "../../web/package-lock.json")
    if not os.path.exists(lock):
        return []
    with open(lock, encoding="utf-8") as file:
        rows = json.load(file)["packages"]
    return [package(path.split("node_modules/")[-1], row["version"], row.get("license", "NOASSERTION"),
                    f"pkg:npm/{path.split('node_modules/')[-1]}@{row['version']}")
            for path, row in sorted(rows.items()) if path and not row.get("dev")]


def main():
    program, version = sys.argv[1:]
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    own = package("lazuli", version, "Apache-2.0", f"pkg:generic/lazuli@{version}")
    own["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]

    def debian(names):
        return [package(name, debian_version(name), licence, f"pkg:deb/debian/{name}@{debian_version(name)}")
                for name, licence in sorted(names.items())]

    linked, console, beside = debian(LINKED), console_packages(), debian(BESIDE)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    relations += [(own["SPDXID"], "STATIC_LINK", p) for p in linked] + [(own["SPDXID"], "CONTAINS", p) for p in console]
    relations += [(p["SPDXID"], "OPTIONAL_DEPENDENCY_OF", own) for p in beside]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"lazuli-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/lazuli-{version}-{digest[:16]}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
                         "creators": ["Tool: tools/dist/sbom.py"]},
        "packages": [own] + linked + console + beside,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b["SPDXID"]}
                          for a, kind, b in relations],
    }, sys.stdout, indent=1, sort_keys=True)
    print()


main()
