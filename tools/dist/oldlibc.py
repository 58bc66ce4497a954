#!/usr/bin/env python3
"""Stubs of the C library to link against, as an older one would be: oldlibc.py NEWEST FOLDER CC

The linker binds each symbol to the newest version that the C library of this machine has, so a program built here would
ask for a C library as new as this one. The C library keeps all versions of a symbol that it ever had, so a stub that
defines each symbol by its newest version up to NEWEST (say 2.31) makes a program that runs with that one and all later ones.
Functions that are younger are not in the stubs: compat.c has those that the program uses.

Up to 2.33 threads and dlopen were libraries of their own. Programs that name them run everywhere, since they are still there,
empty."""
import re
import subprocess
import sys


def version_key(version):
    return [int(part) for part in version.removeprefix("GLIBC_").split(".")]


def symbols(objdump, path, newest):
    """name -> (version, is data, size, is weak, address), the newest that is old enough."""
    found = {}
    for line in subprocess.run([objdump, "-T", path], check=True, capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"([0-9a-f]+) (.{7}) (\S+)\s+([0-9a-f]+)\s+\(?(GLIBC_[0-9.]+)\)?\s+(?:0x\S+ )?(\S+)$", line)
        if not m or m[3] in ("*UND*", "*ABS*"):
            continue
        address, flags, size, version, name = m[1], m[2], int(m[4], 16), m[5], m[6]
        if version_key(version) > version_key(newest):
            continue
        if name not in found or version_key(version) > version_key(found[name][0]):
            found[name] = (version, "O" in flags, size, "w" in flags, address)
    return found


def stub(cc, table, soname, to):
    """A shared library of empty functions and data of the right size, each by its version. Names of one variable (environ
    and __environ) stay names of one: the program may have the variable itself, by a copy relocation."""
    lines, nodes, numbers = [], set(), {}
    for i, name in enumerate(sorted(table)):
        numbers[name] = i
    variables = {}
    for name, (version, data, size, weak, address) in table.items():
        nodes.add(version)
        variables.setdefault(address if data else name, []).append(name)
    for names in sorted(sorted(group) for group in variables.values()):
        _, data, size, _, _ = table[names[0]]
        size = max([table[name][2] for name in names] + [1]) if data else 1
        lines += [".data" if data else ".text", ".balign 32" if data else ".balign 1"]
        for name in names:
            own, (version, _, _, weak, _) = f"stub_{numbers[name]}", table[name]
            lines += [f".{'weak' if weak else 'globl'} {own}", f".type {own}, {'%object' if data else '%function'}",
                      f"{own}:", f".size {own}, {size}", f".symver {own}, {name}@@{version}, remove"]
        lines.append(f".zero {size}")
    lines.append('.section .note.GNU-stack,"",%progbits')
    with open(to + ".s", "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    with open(to + ".map", "w", encoding="ascii") as f:
        f.write("".join(f"{node} {{ }};\n" for node in sorted(nodes, key=version_key)) or "{ local: *; };\n")
    subprocess.run(cc + ["-shared", "-nostdlib", "-fno-lto", "-Wl,--build-id=none", f"-Wl,-soname,{soname}",
                         f"-Wl,--version-script,{to}.map", "-o", to, to + ".s"], check=True)


def main():
    newest, folder, cc = "GLIBC_" + sys.argv[1], sys.argv[2], sys.argv[3:]
    objdump = subprocess.run(cc + ["-print-prog-name=objdump"], check=True, capture_output=True, text=True).stdout.strip()
    where = lambda name: subprocess.run(cc + [f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    stub(cc, symbols(objdump, where("libc.so.6"), newest), "libc.so.6", f"{folder}/libc.so.6")
    stub(cc, symbols(objdump, where("libm.so.6"), newest), "libm.so.6", f"{folder}/libm.so")
    for name in ("pthread.so.0", "dl.so.2"):
        stub(cc, {}, f"lib{name}", f"{folder}/lib{name}")
    # On some machines the loader has a few symbols that programs ask for.
    loaders = [name for name in ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1") if "/" in where(name)]
    for name in loaders:
        stub(cc, symbols(objdump, where(name), newest), name, f"{folder}/{name}")
    with open(f"{folder}/libc.so", "w", encoding="ascii") as f:
        f.write(f"GROUP ( {folder}/libc.so.6 {where('libc_nonshared.a')} AS_NEEDED ( {' '.join(f'{folder}/{name}' for name in loaders)} ) )\n")


if __name__ == "__main__":
    main()
