#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lost update and its cure, the same on every run. See README.md."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import threading
import urllib.parse
import uuid
from email.utils import formatdate

ADMIN = urllib.parse.urlsplit(os.environ.get("LAZULI_URL", "http://127.0.0.1:10004"))


def send(host, port, method, path, headers, body=None):
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def control(method, path, body=None):
    text = None if body is None else json.dumps(body)
    status, _, answer = send(ADMIN.hostname, ADMIN.port, method, f"/_lazuli/control/v1/{path}", {"x-lazuli-control": "1"}, text)
    assert 200 <= status < 300, f"{method} {path}: {status} {answer!r}"
    return json.loads(answer)


class Counter:
    """A number in a blob."""

    def __init__(self, account):
        self.name, self.key = account["name"], base64.b64decode(account["keys"][0])
        self.url = urllib.parse.urlsplit(re.search("BlobEndpoint=([^;]+)", account["connectionString"])[1])

    def blob(self, method, path, query="", headers=None, body=b""):
        every = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2025-11-05", "x-ms-client-request-id": str(uuid.uuid4()), **(headers or {})}
        names = sorted(name for name in every if name.startswith("x-ms-"))
        resource = f"/{self.name}/{self.name}{path}" + "".join(f"\n{pair.replace('=', ':')}" for pair in sorted(filter(None, query.split("&"))))
        text = "\n".join([method, "", "", str(len(body) or ""), "", every.get("Content-Type", ""), "", "", every.get("If-Match", ""), "", "", "",
                          *(f"{name}:{every[name]}" for name in names), resource])
        signature = base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()
        target = f"/{self.name}{path}" + (f"?{query}" if query else "")
        every["Authorization"] = f"SharedKey {self.name}:{signature}"
        return send(self.url.hostname, self.url.port, method, target, every, body if method == "PUT" else None)

    def put(self, value, who=None, etag=None):
        headers = {"x-ms-blob-type": "BlockBlob", "Content-Type": "text/plain"}
        if who:
            headers["x-ms-client-request-id"] = who
        if etag:
            headers["If-Match"] = etag
        return self.blob("PUT", "/box/counter", headers=headers, body=str(value).encode())[0]

    def read(self):
        _, headers, body = self.blob("GET", "/box/counter")
        return int(body), headers["ETag"]


def race(*writes):
    """Both writes wait at the door until both are there; then Alice's goes first, Bob's second."""
    control("POST", "holds", {"match": {"operation": "PutBlob", "object": "counter"}, "at": "before", "parties": 2, "order": ["alice", "bob"]})
    answers = [None] * len(writes)

    def run(i):
        answers[i] = writes[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(writes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def main():
    account = control("POST", "accounts", {})
    counter = Counter(account)
    state = account["name"] + "-start"
    try:
        counter.blob("PUT", "/box", "restype=container")

        # 1. Last writer wins (rule B4): both add one, and one of the two is lost.
        counter.put(0)
        control("PUT", f"snapshots/{state}", {"account": account["name"]})
        (a, at_first), (b, _) = counter.read(), counter.read()
        race(lambda: counter.put(b + 1, "bob"), lambda: counter.put(a + 1, "alice"))
        assert counter.read()[0] == 1
        print("without a condition: 0 + 1 + 1 = 1, an update is lost")

        # 2. The cure (rule B2): If-Match, and whoever is refused reads again. From the same state: saved above, put back in milliseconds.
        control("POST", f"snapshots/{state}/restore")
        (a, etag_a), (b, etag_b) = counter.read(), counter.read()
        assert (a, etag_a) == (0, at_first), "all is as it was, ETags too"
        answers = race(lambda: counter.put(b + 1, "bob", etag_b), lambda: counter.put(a + 1, "alice", etag_a))
        assert answers == [412, 201], answers
        value, etag = counter.read()
        assert counter.put(value + 1, etag=etag) == 201
        assert counter.read()[0] == 2
        print("with If-Match: 201 and 412, then again: 0 + 1 + 1 = 2")

        # 3. The write is durable, and the client is not told: a retry must not count twice.
        value, etag = counter.read()
        control("POST", "faults", {"match": {"operation": "PutBlob", "account": account["name"]}, "when": {"times": 1}, "at": "after-commit", "do": {"reset": True}})
        try:
            counter.put(value + 1, etag=etag)
            raise AssertionError("the connection was not cut")
        except (ConnectionError, http.client.HTTPException):
            pass
        assert counter.put(value + 1, etag=etag) == 412
        assert counter.read()[0] == value + 1
        print("cut after the commit: the retry gets 412 and does not count twice")
    finally:
        control("PUT", "faults", [])
        control("DELETE", f"snapshots/{state}")
        control("DELETE", f"accounts/{account['name']}")


if __name__ == "__main__":
    main()
