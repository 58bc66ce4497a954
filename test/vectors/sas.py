# Makes src/auth/sas_vectors_python.h: tokens as the official Python SDK signs them (Debian: python3-azure-storage).
#   /usr/bin/python3 test/vectors/sas.py > src/auth/sas_vectors_python.h
import base64
import hashlib
import hmac
from datetime import datetime
from azure.data.tables import generate_account_sas as table_account_sas, generate_table_sas
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage import blob, filedatalake, fileshare, queue

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
START, EXPIRY = datetime(1994, 11, 6, 8), datetime(1994, 11, 6, 9)
TERMS = {"start": START, "expiry": EXPIRY, "ip": "127.0.0.1-127.0.0.9", "protocol": "https,http"}
HEADERS = {"cache_control": "no-cache", "content_disposition": "inline", "content_encoding": "gzip",
           "content_language": "en", "content_type": "text/plain"}
vectors = []


def add(name, service, path, token, extra=""):
    vectors.append(f'{{"python {name}", SERVICE_{service}, "/{ACCOUNT}/{path}?{extra}{token}"}},')


def delegation_key(kind):
    """The key that this server hands out; see src/auth/delegation.c."""
    fields = ["lazuli user delegation key 1", "oid", "tid", "Sun, 06 Nov 1994 08:00:00 GMT",
              "Sun, 06 Nov 1994 10:00:00 GMT", "b", "2021-08-06", ""]
    key = kind()
    key.signed_oid, key.signed_tid = "oid", "tid"
    key.signed_start, key.signed_expiry = "1994-11-06T08:00:00Z", "1994-11-06T10:00:00Z"
    key.signed_service, key.signed_version = "b", "2021-08-06"
    mac = hmac.new(base64.b64decode(KEY), "\n".join(fields).encode(), hashlib.sha256)
    key.value = base64.b64encode(mac.digest()).decode()
    return key


blob_key = delegation_key(blob.UserDelegationKey)
for letters in ("r", "racwdxytmei"):
    add(f"blob {letters}", "BLOB", "c/dir/a%20b", blob.generate_blob_sas(
        ACCOUNT, "c", "dir/a b", account_key=KEY, permission=letters, **TERMS, **HEADERS))
for letters in ("rl", "racwdxltfmei"):
    add(f"container {letters}", "BLOB", "c/dir/a%20b", blob.generate_container_sas(
        ACCOUNT, "c", account_key=KEY, permission=letters, **TERMS, **HEADERS))
SNAPSHOT = "1994-11-06T08:30:00.1234567Z"
add("snapshot", "BLOB", "c/b", blob.generate_blob_sas(
    ACCOUNT, "c", "b", snapshot=SNAPSHOT, account_key=KEY, permission="r", **TERMS), f"snapshot={SNAPSHOT}&")
add("version", "BLOB", "c/b", blob.generate_blob_sas(
    ACCOUNT, "c", "b", version_id=SNAPSHOT, account_key=KEY, permission="r", **TERMS), f"versionid={SNAPSHOT}&")
add("scope", "BLOB", "c/b", blob.generate_blob_sas(
    ACCOUNT, "c", "b", encryption_scope="scope1", account_key=KEY, permission="r", **TERMS))
add("delegated blob", "BLOB", "c/b", blob.generate_blob_sas(
    ACCOUNT, "c", "b", user_delegation_key=blob_key, permission="r", **TERMS, **HEADERS))
add("delegated container", "BLOB", "c/b", blob.generate_container_sas(
    ACCOUNT, "c", user_delegation_key=blob_key, permission="rl", **TERMS))
add("account", "BLOB", "c/b", blob.generate_account_sas(
    ACCOUNT, KEY, resource_types="sco", permission="rwdxylacuptfi", **TERMS))
for depth, path in ((1, "d1"), (2, "d1/d2")):
    add(f"directory {depth}", "BLOB", "c/d1/d2/file", filedatalake.generate_directory_sas(
        ACCOUNT, "c", path, KEY, permission="racwdlmeop", **TERMS))
add("delegated directory", "BLOB", "c/d1/d2/file", filedatalake.generate_directory_sas(
    ACCOUNT, "c", "d1/d2", delegation_key(filedatalake.UserDelegationKey), permission="rl", correlation_id="cid",
    preauthorized_agent_object_id="agent", **TERMS))
add("lake file", "BLOB", "c/d1/file", filedatalake.generate_file_sas(
    ACCOUNT, "c", "d1", "file", KEY, permission="r", **TERMS, **HEADERS))
add("file system", "BLOB", "c/d1/file", filedatalake.generate_file_system_sas(
    ACCOUNT, "c", KEY, permission="rl", **TERMS))
add("queue", "QUEUE", "q/messages", queue.generate_queue_sas(ACCOUNT, "q", KEY, permission="raup", **TERMS))
add("share", "FILE", "s/dir/f", fileshare.generate_share_sas(ACCOUNT, "s", KEY, permission="rcwdl", **TERMS, **HEADERS))
add("file", "FILE", "s/dir/f", fileshare.generate_file_sas(
    ACCOUNT, "s", ["dir", "f"], KEY, permission="rcwd", **TERMS, **HEADERS))
credential = AzureNamedKeyCredential(ACCOUNT, KEY)
TABLE_TERMS = {**TERMS, "ip_address_or_range": TERMS["ip"]}
del TABLE_TERMS["ip"]
add("table", "TABLE", "MyTable()", generate_table_sas(
    credential, "MyTable", permission="raud", start_pk="a", start_rk="1", end_pk="m", end_rk="9", **TABLE_TERMS))
add("table account", "TABLE", "MyTable()", table_account_sas(
    credential, resource_types="sco", permission="rwdlacu", **TABLE_TERMS))

print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by test/vectors/sas.py. Good from 08:00 to 09:00 on 6 November 1994. */")
print("// clang-format off")
print("\n".join(vectors))
