/* SPDX-License-Identifier: Apache-2.0 */
/* One question to an SMB server, asked through libsmbclient: so the client is the same, and as
 * fast, for Lazuli and for Samba. Prints rate and server CPU as one row of a table (see run.sh).
 *
 *   smb_load URL USER PASSWORD PORT plain|encrypted PID NAME OP COUNT [CLIENTS]
 *
 * OP: write and read (COUNT MiB in order, 1 MiB a call), randwrite and randread (COUNT calls of 4
 * KiB in a file that `write` has left), files (COUNT files made, then removed). CLIENTS processes
 * share the count. PID is the server's first process; the CPU time is that of it and its children.
 */
#include <dirent.h>
#include <fcntl.h>
#include <libsmbclient.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20, SMALL = 4096, URL_MAX = 1024, CLIENTS_MAX = 64, PROCESSES_MAX = 256 };

struct question {
    const char *url, *user, *password, *op;
    uint16_t port;
    bool encrypted;
    unsigned count; /* of each client */
    unsigned client;
};

/* libsmbclient asks through a callback without an argument of ours but the context's user data. */
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

static SMBCCTX *connect_as(struct question *q)
{
    SMBCCTX *context = smbc_new_context();
    must(context != NULL, "smbc_new_context");
    smbc_setDebug(context, 0);
    smbc_setPort(context, q->port);
    smbc_setOptionUserData(context, q);
    smbc_setFunctionAuthDataWithContext(context, tell_who);
    smbc_setOptionSmbEncryptionLevel(context, q->encrypted ? SMBC_ENCRYPTLEVEL_REQUIRE
                                                           : SMBC_ENCRYPTLEVEL_NONE);
    must(smbc_init_context(context) != NULL, "smbc_init_context");
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
        ssize_t n = writes ? smbc_getFunctionWrite(c)(c, file, piece, PIECE)
                           : smbc_getFunctionRead(c)(c, file, piece, PIECE);
        must(n == PIECE, "stream");
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
        ssize_t n = writes ? smbc_getFunctionWrite(c)(c, file, small, SMALL)
                           : smbc_getFunctionRead(c)(c, file, small, SMALL);
        must(n == SMALL, "scatter");
    }
    must(smbc_getFunctionClose(c)(c, file) == 0, "close");
}

static void make_and_remove(SMBCCTX *c, const struct question *q)
{
    char url[URL_MAX];
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < q->count; i++) {
            snprintf(url, sizeof url, "%s/f%u-%u", q->url, q->client, i);
            if (pass == 1) {
                must(smbc_getFunctionUnlink(c)(c, url) == 0, url);
                continue;
            }
            SMBCFILE *file = smbc_getFunctionOpen(c)(c, url, O_CREAT | O_WRONLY, 0644);
            must(file != NULL, url);
            must(smbc_getFunctionClose(c)(c, file) == 0, url);
        }
}

static SMBCCTX *ask(struct question *q)
{
    SMBCCTX *c = connect_as(q);
    if (strcmp(q->op, "write") == 0 || strcmp(q->op, "read") == 0)
        stream(c, q, q->op[0] == 'w');
    else if (strcmp(q->op, "randwrite") == 0 || strcmp(q->op, "randread") == 0)
        scatter(c, q, q->op[4] == 'w');
    else if (strcmp(q->op, "files") == 0)
        make_and_remove(c, q);
    else
        must(false, "unknown operation");
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

/* Of those that live at the end: Samba has a process for each connection, so the clients have to
 * be connected still, and what earlier ones have left behind does not count. */
static double cpu_since(long server, const struct processes *before)
{
    static struct processes after;
    double sum = 0;
    read_processes(server, &after);
    for (size_t i = 0; i < after.count; i++)
        sum += after.list[i].cpu - cpu_before(before, after.list[i].pid);
    return sum;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct clients {
    unsigned count;
    int done[2]; /* each says when it has asked */
    int go[2];   /* closed when they may leave */
};

static void be_client(struct question *q, struct clients *c, unsigned number)
{
    q->client = number;
    close(c->go[1]);
    SMBCCTX *context = ask(q);
    must(write(c->done[1], "d", 1) == 1, "write");
    char end;
    must(read(c->go[0], &end, 1) == 0, "read");
    smbc_free_context(context, 1);
    _exit(0);
}

static void start_clients(struct question *q, struct clients *c)
{
    must(pipe(c->done) == 0 && pipe(c->go) == 0, "pipe");
    for (unsigned i = 0; i < c->count; i++) {
        pid_t pid = fork();
        must(pid >= 0, "fork");
        if (pid == 0)
            be_client(q, c, i);
    }
    close(c->done[1]);
    for (unsigned i = 0; i < c->count; i++) {
        char said;
        must(read(c->done[0], &said, 1) == 1, "a client failed");
    }
}

static void end_clients(struct clients *c)
{
    close(c->go[1]);
    for (unsigned i = 0; i < c->count; i++)
        wait(NULL);
}

int main(int argc, char **argv)
{
    if (argc < 10) {
        fprintf(
            stderr,
            "usage: smb_load URL USER PASSWORD PORT plain|encrypted PID NAME OP COUNT [CLIENTS]\n");
        return 2;
    }
    unsigned clients = argc > 10 ? (unsigned)strtoul(argv[10], NULL, 10) : 1;
    if (clients < 1 || clients > CLIENTS_MAX)
        clients = 1;
    unsigned count = (unsigned)strtoul(argv[9], NULL, 10);
    struct question q = {.url = argv[1],
                         .user = argv[2],
                         .password = argv[3],
                         .op = argv[8],
                         .port = (uint16_t)strtoul(argv[4], NULL, 10),
                         .count = count / clients,
                         .encrypted = strcmp(argv[5], "encrypted") == 0};
    long server = strtol(argv[6], NULL, 10);
    static struct processes before;
    struct clients c = {.count = clients};
    read_processes(server, &before);
    double begun = now();
    start_clients(&q, &c);
    double seconds = now() - begun;
    double cpu = cpu_since(server, &before);
    end_clients(&c);
    bool bytes = q.op[0] == 'w' || strcmp(q.op, "read") == 0;
    printf("| %s | %s | %.0f %s | %.1f |\n", argv[7], argv[5], count / seconds,
           bytes ? "MiB/s" : "/s", cpu * 1e6 / count);
    return 0;
}
