# SPDX-License-Identifier: Apache-2.0
"""Runs commands of `az storage fs`, given as a JSON list, and prints what came of each."""
import contextlib
import io
import json
import shlex
import sys

from azure.cli.core import get_default_cli


def run(cli, line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err):
        try:
            code = cli.invoke(["storage", "fs", *shlex.split(line)], out_file=out)
        except SystemExit as end:
            code = end.code
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def main():
    cli = get_default_cli()
    answers = []
    deleted = ""
    for line in json.load(sys.stdin):
        answers.append(run(cli, line.replace("@0", deleted)))
        if line.startswith("list-deleted-path"):
            deleted = json.loads(answers[-1]["out"])[0]["deletionId"]
    json.dump(answers, sys.stdout)


main()
