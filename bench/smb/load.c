/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */
/* One measurement of an SMB server through libsmbclient, so that the client is the same for Lazuli
 * and Samba. Prints one line of JSON: the rate (of calls, or of MiB), the times of the calls and
 * the server's CPU time.
 *
 *   smb_load URL USER PASSWORD PORT plain|signed PID OP COUNT [CLIENTS]
 *
 * OP: write and read (COUNT MiB in order, 1 MiB a call), randwrite and randread (COUNT calls of 4
 * KiB in a file that `write` has left), files (COUNT files made, then removed). CLIENTS processes
 * share the count; they connect before the time begins. PID is the server's first process; the CPU
 * time is that of it and its children.
 */
#include <dirent.h>
#include <fcntl.h>
#include <libsmbclient.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load/histogram.h"

enum { PIECE = 1 << 20, SMALL = 4096, URL_MAX = 1024, CLIENTS_MAX = 256, PROCESSES_MAX = 1024 };

struct question {
    const char *url, *user, *password, *op;
    uint16_t port;
    bool signs;
    unsigned count; /* of each client */
    unsigned client;
    struct histogram *times; /* of this client's calls, in memory that all processes see */
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* libsmbclient's callback gets no argument from us except the context's user data. */
static void tell_who(SMBCCTX *context, const char *server, const char *share, char *group,
                     int group_size, char *user, int user_size, char *password, int password_size)
{
    (void)server;
    (void)share;
    const struct question *q = smbc_getOptionUserData(context);
    snprintf(group, (size_t)group_size, "%s", "AZURE");
    snprintf(user, (size_t)user_size, "%s", q->user);
    snprintf(password, (size_t)password_size, "%s", q->password);
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

/* Signing is a setting of Samba's configuration. With SMB 3, libsmbclient's encryption option only
 * signs, so the server must demand encryption. */
static void protect(SMBCCTX *context, bool signs)
{
    char path[64];
    int fd = memfd_create("smb.conf", 0);
    must(fd >= 0, "memfd_create");
    must(dprintf(fd, "[global]\nclient signing = %s\n", signs ? "required" : "if_required") > 0,
         "dprintf");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    must(smbc_setConfiguration(context, path) == 0, path);
    close(fd);
}

static SMBCCTX *connect_as(struct question *q)
{
    SMBCCTX *context = smbc_new_context();
    must(context != NULL, "smbc_new_context");
    smbc_setDebug(context, 0);
    smbc_setPort(context, q->port);
    smbc_setOptionUserData(context, q);
    smbc_setFunctionAuthDataWithContext(context, tell_who);
    must(smbc_init_context(context) != NULL, "smbc_init_context");
    protect(context, q->signs);
    return context;
}

static SMBCFILE *open_file(SMBCCTX *c, const struct question *q, const char *name, int flags)
{
    char url[URL_MAX];
    snprintf(url, sizeof url, "%s/%s%u", q->url, name, q->client);
    SMBCFILE *file = smbc_getFunctionOpen(c)(c, url, flags, 0644);
    must(file != NULL, url);
    return file;
}

/* In order, or at random in the file that was written in order. */
static void stream(SMBCCTX *c, const struct question *q, bool writes)
{
    static char piece[PIECE];
    memset(piece, 'l', sizeof piece);
    SMBCFILE *file = open_file(c, q, "big", writes ? O_CREAT | O_TRUNC | O_WRONLY : O_RDONLY);
    for (unsigned i = 0; i < q->count; i++) {
        uint64_t begun = now_ns();
        ssize_t n = writes ? smbc_getFunctionWrite(c)(c, file, piece, PIECE)
                           : smbc_getFunctionRead(c)(c, file, piece, PIECE);
        must(n == PIECE, "stream");
        histogram_add(q->times, now_ns() - begun);
    }
    must(smbc_getFunctionClose(c)(c, file) == 0, "close");
}

static void scatter(SMBCCTX *c, const struct question *q, bool writes)
{
    static char small[SMALL];
    SMBCFILE *file = open_file(c, q, "big", O_RDWR);
    struct stat st;
    must(smbc_getFunctionFstat(c)(c, file, &st) == 0 && st.st_size >= SMALL, "fstat");
    unsigned seed = q->client + 1;
    for (unsigned i = 0; i < q->count; i++) {
        off_t at = (off_t)((uint64_t)rand_r(&seed) % (uint64_t)(st.st_size / SMALL)) * SMALL;
        must(smbc_getFunctionLseek(c)(c, file, at, SEEK_SET) == at, "lseek");
        uint64_t begun = now_ns();
        ssize_t n = writes ? smbc_getFunctionWrite(c)(c, file, small, SMALL)
                           : smbc_getFunctionRead(c)(c, file, small, SMALL);
        must(n == SMALL, "scatter");
        histogram_add(q->times, now_ns() - begun);
    }
    must(smbc_getFunctionClose(c)(c, file) == 0, "close");
}

static void make_and_remove(SMBCCTX *c, const struct question *q)
{
    char url[URL_MAX];
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < q->count; i++) {
            snprintf(url, sizeof url, "%s/f%u-%u", q->url, q->client, i);
            uint64_t begun = now_ns();
            if (pass == 1) {
                must(smbc_getFunctionUnlink(c)(c, url) == 0, url);
            } else {
                SMBCFILE *file = smbc_getFunctionOpen(c)(c, url, O_CREAT | O_WRONLY, 0644);
                must(file != NULL, url);
                must(smbc_getFunctionClose(c)(c, file) == 0, url);
            }
            histogram_add(q->times, now_ns() - begun);
        }
}

static void ask(SMBCCTX *c, struct question *q)
{
    if (strcmp(q->op, "write") == 0 || strcmp(q->op, "read") == 0)
        stream(c, q, q->op[0] == 'w');
    else if (strcmp(q->op, "randwrite") == 0 || strcmp(q->op, "randread") == 0)
        scatter(c, q, q->op[4] == 'w');
    else if (strcmp(q->op, "files") == 0)
        make_and_remove(c, q);
    else
        must(false, "unknown operation");
}

/* A connection is made by the first call that needs it. */
static SMBCCTX *connected(struct question *q)
{
    SMBCCTX *c = connect_as(q);
    SMBCFILE *root = smbc_getFunctionOpendir(c)(c, q->url);
    must(root != NULL, q->url);
    must(smbc_getFunctionClosedir(c)(c, root) == 0, "closedir");
    return c;
}

/* ---- the server's CPU time ---- */

struct process {
    long pid;
    long parent;
    double cpu;
};

struct processes {
    struct process list[PROCESSES_MAX];
    size_t count;
};

static bool read_process(long pid, struct process *out)
{
    char path[64];
    char line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    bool good = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    const char *rest = good ? strrchr(line, ')') : NULL;
    clockid_t clock;
    struct timespec used;
    if (rest == NULL || sscanf(rest + 1, " %*c %ld", &out->parent) != 1 ||
        clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    out->pid = pid;
    out->cpu = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    return true;
}

static void read_processes(long server, struct processes *out)
{
    out->count = 0;
    DIR *proc = opendir("/proc");
    must(proc != NULL, "/proc");
    for (struct dirent *e; (e = readdir(proc)) != NULL && out->count < PROCESSES_MAX;) {
        long pid = strtol(e->d_name, NULL, 10);
        struct process *p = &out->list[out->count];
        if (pid > 0 && read_process(pid, p) && (pid == server || p->parent == server))
            out->count++;
    }
    closedir(proc);
}

static double cpu_before(const struct processes *before, long pid)
{
    for (size_t i = 0; i < before->count; i++) {
        if (before->list[i].pid == pid)
            return before->list[i].cpu;
    }
    return 0;
}

/* CPU time of the processes alive at the end. Samba has a process per connection, so the clients
 * must still be connected; processes of earlier clients do not count. */
static double cpu_since(long server, const struct processes *before)
{
    static struct processes after;
    double sum = 0;
    read_processes(server, &after);
    for (size_t i = 0; i < after.count; i++)
        sum += after.list[i].cpu - cpu_before(before, after.list[i].pid);
    return sum;
}

struct clients {
    unsigned count;
    int said[2];  /* a byte from each when it is connected, and when it has asked */
    int begin[2]; /* closed when they may ask */
    int leave[2]; /* closed when they may leave */
};

static void await_end(int fd)
{
    char end;
    must(read(fd, &end, 1) == 0, "read");
}

static void be_client(struct question *q, struct clients *c, unsigned number)
{
    q->client = number;
    q->times += number;
    close(c->begin[1]);
    close(c->leave[1]);
    SMBCCTX *context = connected(q);
    must(write(c->said[1], "c", 1) == 1, "write");
    await_end(c->begin[0]);
    ask(context, q);
    must(write(c->said[1], "d", 1) == 1, "write");
    await_end(c->leave[0]);
    smbc_free_context(context, 1);
    _exit(0);
}

/* Waits until each of them has sent something more. */
static void await_all(struct clients *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        char said;
        must(read(c->said[0], &said, 1) == 1, "a client failed");
    }
}

static void start_clients(struct question *q, struct clients *c)
{
    must(pipe(c->said) == 0 && pipe(c->begin) == 0 && pipe(c->leave) == 0, "pipe");
    for (unsigned i = 0; i < c->count; i++) {
        pid_t pid = fork();
        must(pid >= 0, "fork");
        if (pid == 0)
            be_client(q, c, i);
    }
    close(c->said[1]);
    await_all(c);
}

static void end_clients(struct clients *c)
{
    close(c->leave[1]);
    for (unsigned i = 0; i < c->count; i++)
        wait(NULL);
}

static struct histogram *shared_times(unsigned count)
{
    size_t bytes = count * sizeof(struct histogram);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED, "mmap");
    return at;
}

static void print_result(const struct histogram *times, unsigned clients, double seconds,
                         double cpu)
{
    static struct histogram all;
    for (unsigned i = 0; i < clients; i++) {
        all.count += times[i].count;
        for (size_t k = 0; k < HISTOGRAM_BUCKETS; k++)
            all.buckets[k] += times[i].buckets[k];
    }
    printf("{\"requests\":%llu,\"errors\":0,\"rate\":%.1f,\"p50Ms\":%.4f,\"p99Ms\":%.4f,"
           "\"p999Ms\":%.4f,\"cpuSeconds\":%.4f}\n",
           (unsigned long long)all.count, (double)all.count / seconds,
           (double)histogram_at(&all, 50) / 1e6, (double)histogram_at(&all, 99) / 1e6,
           (double)histogram_at(&all, 99.9) / 1e6, cpu);
}

int main(int argc, char **argv)
{
    if (argc < 9) {
        fprintf(stderr,
                "usage: smb_load URL USER PASSWORD PORT plain|signed PID OP COUNT [CLIENTS]\n");
        return 2;
    }
    unsigned clients = argc > 9 ? (unsigned)strtoul(argv[9], NULL, 10) : 1;
    if (clients < 1 || clients > CLIENTS_MAX)
        clients = 1;
    struct question q = {.url = argv[1],
                         .user = argv[2],
                         .password = argv[3],
                         .op = argv[7],
                         .port = (uint16_t)strtoul(argv[4], NULL, 10),
                         .count = (unsigned)strtoul(argv[8], NULL, 10) / clients,
                         .signs = strcmp(argv[5], "signed") == 0,
                         .times = shared_times(clients)};
    long server = strtol(argv[6], NULL, 10);
    static struct processes before;
    struct clients c = {.count = clients};
    start_clients(&q, &c);
    read_processes(server, &before);
    uint64_t begun = now_ns();
    close(c.begin[1]);
    await_all(&c);
    double seconds = (double)(now_ns() - begun) / 1e9;
    double cpu = cpu_since(server, &before);
    end_clients(&c);
    print_result(q.times, clients, seconds, cpu);
    return 0;
}
