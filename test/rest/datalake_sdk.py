# SPDX-License-Identifier: Apache-2.0
"""What azure-storage-file-datalake does with a file system, each step checked. URL ACCOUNT KEY NAME"""
import sys

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.filedatalake import (AccessPolicy, ContentSettings, DataLakeServiceClient, DirectorySasPermissions,
                                        FileSystemClient, generate_directory_sas)

url, account, key, name = sys.argv[1:]
USER = "11111111-1111-1111-1111-111111111111"
service = DataLakeServiceClient(url, credential={"account_name": account, "account_key": key}, retry_total=0)


def refused(kind, work):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


fs = service.get_file_system_client(name)
fs.create_file_system(metadata={"a": "b"})
assert fs.exists() and fs.get_file_system_properties().metadata == {"a": "b"}
assert name in [each.name for each in service.list_file_systems(name_starts_with=name)]
refused(ResourceExistsError, fs.create_file_system)

# Files: create, append, flush, read.
d = fs.get_directory_client("d")
d.create_directory(metadata={"x": "y"}, permissions="0777", umask="0022")
d.create_sub_directory("e")
f = d.get_file_client("f")
f.create_file(content_settings=ContentSettings(content_type="text/plain"), metadata={"m": "n"})
f.append_data(b"hello", 0, 5)
f.append_data(b"world", 5, 5, validate_content=True)
refused(HttpResponseError, lambda: f.flush_data(7))
f.flush_data(10, close=True)
assert f.download_file().readall() == b"helloworld"
assert f.download_file(offset=2, length=3).readall() == b"llo"
f.upload_data(b"x" * 100000, overwrite=True, chunk_size=30000, metadata={"q": "r"})
properties = f.get_file_properties()
assert (properties.size, properties.metadata) == (100000, {"q": "r"})
f.set_metadata({"k": "v"})
f.set_http_headers(ContentSettings(content_type="a/b"))
f.set_file_expiry("RelativeToNow", expires_on=10000000)
properties = f.get_file_properties()
assert properties.content_settings.content_type == "a/b" and properties.expiry_time is not None

# Access control.
f.set_access_control(acl="user::rwx,group::r--,other::---")
f.set_access_control(owner=USER)
assert f.get_access_control()["acl"] == "user::rwx,group::r--,other::---"
assert f.get_access_control(upn=True)["owner"] == USER
assert d.get_access_control()["permissions"] == "rwxr-xr-x"
for change in (d.set_access_control_recursive, d.update_access_control_recursive):
    counters = change(acl=f"user::rwx,group::r-x,other::---,user:{USER}:rwx", batch_size=1).counters
    assert (counters.directories_successful, counters.files_successful, counters.failure_count) == (2, 1, 0)
assert d.remove_access_control_recursive(acl=f"user:{USER}").counters.directories_successful == 2
paths = [(p.name, p.is_directory, p.content_length) for p in fs.get_paths(recursive=True, max_results=1)]
assert paths == [("d", True, 0), ("d/e", True, 0), ("d/f", False, 100000)], paths
refused(ResourceNotFoundError, lambda: list(fs.get_paths(path="none")))

# Leases, renames, deletes.
lease = f.acquire_lease(15)
refused(HttpResponseError, f.delete_file)
lease.release()
d.acquire_lease(-1).break_lease(0)
etag = f.get_file_properties().etag
g = f.rename_file(f"{name}/d/g", match_condition=None)
assert g.get_file_properties().etag == etag
d.rename_directory(f"{name}/moved")
assert [p.name for p in fs.get_paths()] == ["moved", "moved/e", "moved/g"]
fs.get_file_client("moved/g").delete_file()
assert not fs.get_file_client("moved/g").exists()
refused(ResourceNotFoundError, fs.get_file_client("moved/g").delete_file)
fs.get_directory_client("moved").delete_directory()
assert list(fs.get_paths()) == []

# The file system's own, and a SAS of a directory.
fs.acquire_lease().release()
fs.set_file_system_access_policy({"id": AccessPolicy(permission="r", expiry="2030-01-01T00:00:00Z")})
assert len(fs.get_file_system_access_policy()["signed_identifiers"]) == 1
fs.create_directory("s")
sas = generate_directory_sas(account, name, "s", key, expiry="2099-01-01T00:00:00Z",
                             permission=DirectorySasPermissions(read=True, write=True, create=True, delete=True))
limited = FileSystemClient(url, name, credential=sas, retry_total=0)
limited.get_file_client("s/f").upload_data(b"1", overwrite=True)
assert limited.get_file_client("s/f").download_file().readall() == b"1"
refused(HttpResponseError, lambda: limited.get_file_client("t").upload_data(b"1", overwrite=True))
fs.delete_file_system()
print("all is well")
