# SPDX-License-Identifier: Apache-2.0
"""What the examples share: where the server is, names that are new, checks, and a way to let time pass."""
import os
import sys
import time
import uuid

from azure.core.exceptions import HttpResponseError

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
PORTS = {"Blob": 10000, "Queue": 10001, "Table": 10002, "File": 10003}

CONNECTION = os.environ.get("AZURE_STORAGE_CONNECTION_STRING") or (
    f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
    + "".join(f"{name}Endpoint=http://127.0.0.1:{port}/{ACCOUNT};" for name, port in PORTS.items()))


def new_name(prefix):
    return prefix + uuid.uuid4().hex[:12]


def expect(what, actual, expected):
    """Prints what happened, and ends the program if it is not what was expected."""
    print(f"{what}: {actual}")
    if actual != expected:
        sys.exit(f"expected {expected}")


def outcome(request, *args, **kwargs):
    """Makes the request: 'success', or status and code of its error."""
    try:
        request(*args, **kwargs)
        return "success"
    except HttpResponseError as error:
        code = getattr(error, "error_code", None) or ""
        return f"{error.status_code} {getattr(code, 'value', code)}".strip()


def let_pass(seconds):
    """Waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's --clock-file."""
    clock = os.environ.get("LAZULI_CLOCK")
    if clock is None:
        time.sleep(seconds)
    else:
        with open(clock, "r+") as file:
            file.write(f"{seconds * 1000}\n")
