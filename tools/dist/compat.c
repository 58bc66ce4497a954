/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the portable program and its libraries need and that the C library 2.31 lacks: see
 * oldlibc.py. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- 2.36: asked for by libexpat ---- */

void arc4random_buf(void *out, size_t n)
{
    char *at = out;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got < 0)
            continue;
        at += got;
        n -= (size_t)got;
    }
}

uint32_t arc4random(void)
{
    uint32_t value;
    arc4random_buf(&value, sizeof value);
    return value;
}

/* ---- 2.35: the unwinder of exceptions looks for the tables of a function's object ---- */

struct search {
    uintptr_t pc;
    struct dl_find_object *out;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    bool within = false;
    void *tables = NULL;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            tables = (void *)start;
        if (p->p_type == PT_LOAD && s->pc >= start && s->pc - start < p->p_memsz) {
            s->out->dlfo_map_start = (void *)start;
            s->out->dlfo_map_end = (void *)(start + p->p_memsz);
            within = true;
        }
    }
    s->out->dlfo_eh_frame = tables;
    return within && tables != NULL;
}

int _dl_find_object(void *pc, struct dl_find_object *out)
{
    struct search s = {(uintptr_t)pc, out};
    memset(out, 0, sizeof *out);
    return dl_iterate_phdr(look_into, &s) != 0 ? 0 : -1;
}

/* ---- 2.33: before, these were names of the headers ---- */

int fstatat(int folder, const char *restrict path, struct stat *restrict out, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}

int fstat(int fd, struct stat *out)
{
    return fstatat(fd, "", out, AT_EMPTY_PATH);
}

int stat(const char *restrict path, struct stat *restrict out)
{
    return fstatat(AT_FDCWD, path, out, 0);
}

int lstat(const char *restrict path, struct stat *restrict out)
{
    return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

/* On 64-bit machines the two are one. */
int fstat64(int fd, struct stat64 *out) __attribute__((alias("fstat")));
int stat64(const char *restrict path, struct stat64 *restrict out) __attribute__((alias("stat")));
int lstat64(const char *restrict path, struct stat64 *restrict out) __attribute__((alias("lstat")));

/* ---- 2.32 ---- */

/* If true, libstdc++ avoids atomic operations. */
char __libc_single_threaded = 0;

/* For known numbers strerror returns a constant. The log then has messages instead of names. */
const char *strerrordesc_np(int error)
{
    return strerror(error);
}

const char *strerrorname_np(int error)
{
    return strerror(error);
}
