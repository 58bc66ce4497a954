#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man page and the completions for bash, zsh and fish, from `lazuli config --describe` on stdin.

    lazuli config --describe | pages.py VERSION FOLDER
"""
import datetime
import os
import sys

PATHS = {"FILE", "DIR", "FOLDER"}


class Flag:
    def __init__(self, parts):
        (self.name, self.alias, self.short, self.kind, self.argument, self.words, self.default, self.variable,
         self.reload, self.section, self.help) = [None if p == "-" else p for p in parts]

    def names(self):
        return [n for n in (self.short, self.name, self.alias) if n]

    def choices(self):
        return self.words.split(",") if self.words else []


class Command:
    def __init__(self, parts):
        self.name, self.operands, self.help, self.text, flags = parts
        self.text = self.text.replace("\\n", "\n")
        self.flags = [] if flags == "-" else flags.split()


def read(lines):
    flags, commands = [], []
    for line in lines:
        kind, *parts = line.rstrip("\n").split("\t")
        if kind == "flag":
            flags.append(Flag(parts))
        elif kind == "command":
            commands.append(Command(parts))
    return [f for f in flags if f.help], commands


# ---- man page ----

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def man_flag(flag):
    names = ", ".join(f"\\fB{roff(n)}\\fR" for n in flag.names())
    argument = f" \\fI{roff(flag.argument)}\\fR" if flag.argument else ""
    notes = []
    if flag.variable:
        notes.append(f"Variable {flag.variable}.")
    if flag.reload == "reload":
        notes.append("SIGHUP puts a new value in force.")
    return f".TP\n{names}{argument}\n{roff(flag.help)}.\n{roff(' '.join(notes))}\n".rstrip("\n") + "\n"


def man_page(flags, commands, version, date):
    out = [f".TH LAZULI 1 {date} \"Lazuli {version}\" \"User Commands\"\n"
           ".SH NAME\nlazuli, azurite, azurite\\-blob, azurite\\-queue, azurite\\-table \\- Azure Storage server\n"
           ".SH SYNOPSIS\n.B lazuli\n[\\fIFLAGS\\fR]\n.br\n.B lazuli\n\\fICOMMAND\\fR [\\fIOPERANDS\\fR] [\\fIFLAGS\\fR]\n"
           ".SH DESCRIPTION\nServes Blob, Queue, Table and File over REST, and File over SMB, with the interface of Azure\n"
           "Storage. Without flags it listens on 127.0.0.1 and keeps its data in ./lazuli\\-data.\n"
           "By the names azurite, azurite\\-blob, azurite\\-queue and azurite\\-table it stands in for those programs.\n"
           ".SH COMMANDS\n"]
    for c in commands:
        out.append(f".TP\n\\fB{roff(c.name)}\\fR {roff(c.operands)}\n{roff(c.text)}\n")
    out.append(".SH FLAGS\nFlags win over variables, those over the file of \\-\\-config.\n")
    section = None
    for f in flags:
        if f.section != section:
            section = f.section
            out.append(f".SS {roff(section)}\n")
        out.append(man_flag(f))
    out.append(".SH FILES\n.TP\n.I /etc/lazuli/lazuli.conf\nsettings of the system's service.\n.TP\n.I /var/lib/lazuli\n"
               "its data.\n.SH EXIT STATUS\n0: all went well. 1: it did not; a line on stderr says why. 2: wrong flags.\n")
    return "".join(out)


# ---- completions ----

def bash(flags, commands):
    names = " ".join(n for f in flags for n in f.names())
    cases = []
    for f in flags:
        if not f.argument:
            continue
        pattern = "|".join(f.names())
        if f.choices():
            cases.append(f"    {pattern}) COMPREPLY=($(compgen -W '{' '.join(f.choices())}' -- \"$word\")); return ;;")
        elif f.argument in PATHS:
            cases.append(f"    {pattern}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;")
        else:
            cases.append(f"    {pattern}) return ;;")
    words = " ".join(c.name for c in commands)
    return f"""# bash completion for lazuli; generated from its table of flags.
_lazuli() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    case $before in
{chr(10).join(cases)}
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '{names}' -- "$word"))
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W '{words}' -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _lazuli lazuli azurite azurite-blob azurite-queue azurite-table
"""


def quoted(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    return quoted(text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:"))


def zsh(flags, commands):
    lines = []
    for f in flags:
        for n in f.names():
            spec = f"{n}[{zsh_text(f.help)}]"
            if f.argument:
                action = f"({' '.join(f.choices())})" if f.choices() else "_files" if f.argument in PATHS else " "
                spec += f":{zsh_text(f.argument)}:{action}"
            lines.append(f"    '{spec}'")
    rows = "\n".join(f"        '{c.name}:{zsh_text(c.help)}'" for c in commands)
    flags_text = " \\\n".join(lines)
    return f"""#compdef lazuli azurite azurite-blob azurite-queue azurite-table
# Generated from lazuli's table of flags.
_lazuli_commands() {{
    local -a commands
    commands=(
{rows}
    )
    _describe command commands
}}
_arguments \\
{flags_text} \\
    '1:command:_lazuli_commands' \\
    '*:operand:_files'
"""


def fish(flags, commands):
    out = ["# fish completion for lazuli; generated from its table of flags.\n"]
    for program in ("lazuli", "azurite", "azurite-blob", "azurite-queue", "azurite-table"):
        for f in flags:
            for n in f.names():
                form = f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}"
                value = ""
                if f.argument:
                    value = f" -x -a '{' '.join(f.choices())}'" if f.choices() else " -r" if f.argument in PATHS else " -x"
                out.append(f"complete -c {program} {form}{value} -d '{quoted(f.help)}'\n")
    for c in commands:
        out.append(f"complete -c lazuli -n __fish_use_subcommand -a {c.name} -d '{quoted(c.help)}'\n")
    return "".join(out)


def main():
    version, folder = sys.argv[1:]
    flags, commands = read(sys.stdin)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    day = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.datetime.now()
    for name, text in {"lazuli.1": man_page(flags, commands, version, day.strftime("%Y-%m-%d")),
                       "lazuli.bash": bash(flags, commands), "_lazuli": zsh(flags, commands),
                       "lazuli.fish": fish(flags, commands)}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)


main()
