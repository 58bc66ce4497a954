/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with libsmbclient, in each of its dialects and with each protection: built and run by
 * libsmbclient.test.mjs, which starts the server and passes its address in the environment.
 *
 *   libsmbclient_cases work DIALECT plain|encrypted     files and directories
 *   libsmbclient_cases who                              who is let in
 *   libsmbclient_cases refused DIALECT plain|encrypted  nobody is, in this manner
 *
 * Prints "ok NAME" or "not ok NAME: WHY" for each case. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libsmbclient.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { URL_MAX = 2048, WHY_MAX = 512, LARGE = 9 << 20, PIECE = 3 << 20 };

struct client {
    SMBCCTX *c;
    const char *user, *key;
    char base[URL_MAX]; /* of the share, with a slash */
    char why[WHY_MAX];  /* the first thing that was not as it should be */
};

static void note(struct client *k, int line, const char *what)
{
    if (k->why[0] == 0)
        (void)snprintf(k->why, sizeof k->why, "line %d: %s (%s)", line, what, strerror(errno));
}

/* Leaves the case. */
#define WANT(condition)                    \
    do {                                   \
        errno = 0;                         \
        if (!(condition)) {                \
            note(k, __LINE__, #condition); \
            return;                        \
        }                                  \
    } while (0)

static void tell_who(SMBCCTX *c, const char *server, const char *share, char *group, int group_size,
                     char *user, int user_size, char *password, int password_size)
{
    (void)server;
    (void)share;
    const struct client *k = smbc_getOptionUserData(c);
    (void)snprintf(group, (size_t)group_size, "AZURE");
    (void)snprintf(user, (size_t)user_size, "%s", k->user);
    (void)snprintf(password, (size_t)password_size, "%s", k->key);
}

static void client_init(struct client *k, const char *dialect, bool encrypted)
{
    *k = (struct client){.user = getenv("SMB_ACCOUNT"), .key = getenv("SMB_KEY")};
    (void)snprintf(k->base, sizeof k->base, "smb://127.0.0.1/share1/");
    k->c = smbc_new_context();
    smbc_setDebug(k->c, 0);
    smbc_setPort(k->c, (uint16_t)strtoul(getenv("SMB_PORT"), NULL, 10));
    smbc_setOptionUserData(k->c, k);
    smbc_setFunctionAuthDataWithContext(k->c, tell_who);
    smbc_setOptionNoAutoAnonymousLogin(k->c, true);
    smbc_setOptionSmbEncryptionLevel(k->c, encrypted ? SMBC_ENCRYPTLEVEL_REQUIRE
                                                     : SMBC_ENCRYPTLEVEL_NONE);
    if (smbc_init_context(k->c) == NULL || !smbc_setOptionProtocols(k->c, dialect, dialect))
        note(k, __LINE__, "the context could not be made");
}

static void client_end(struct client *k)
{
    if (k->c != NULL)
        (void)smbc_free_context(k->c, 1);
}

static const char *url_of(struct client *k, char *out, const char *name)
{
    (void)snprintf(out, URL_MAX, "%s%s", k->base, name);
    return out;
}

static SMBCFILE *open_in(struct client *k, const char *name, int flags)
{
    char url[URL_MAX];
    return smbc_getFunctionOpen(k->c)(k->c, url_of(k, url, name), flags, 0644);
}

static bool close_it(struct client *k, SMBCFILE *file)
{
    return smbc_getFunctionClose(k->c)(k->c, file) == 0;
}

static bool put(struct client *k, const char *name, const char *bytes, size_t n)
{
    SMBCFILE *file = open_in(k, name, O_CREAT | O_TRUNC | O_WRONLY);
    bool good = file != NULL;
    for (size_t at = 0; good && at < n;) {
        size_t part = n - at < PIECE ? n - at : PIECE;
        ssize_t written = smbc_getFunctionWrite(k->c)(k->c, file, bytes + at, part);
        good = written > 0;
        at += good ? (size_t)written : 0;
    }
    return file != NULL && close_it(k, file) && good;
}

static bool holds(struct client *k, const char *name, const char *bytes, size_t n)
{
    char *got = malloc(n + 1);
    size_t have = 0;
    ssize_t part = 1;
    SMBCFILE *file = open_in(k, name, O_RDONLY);
    while (file != NULL && part > 0 && have < n + 1) {
        part = smbc_getFunctionRead(k->c)(k->c, file, got + have, n + 1 - have);
        have += part > 0 ? (size_t)part : 0;
    }
    bool good =
        file != NULL && close_it(k, file) && part >= 0 && have == n && memcmp(got, bytes, n) == 0;
    free(got);
    return good;
}

static bool unlink_it(struct client *k, const char *name)
{
    char url[URL_MAX];
    return smbc_getFunctionUnlink(k->c)(k->c, url_of(k, url, name)) == 0;
}

static bool make_directory(struct client *k, const char *name)
{
    char url[URL_MAX];
    return smbc_getFunctionMkdir(k->c)(k->c, url_of(k, url, name), 0755) == 0;
}

static bool remove_directory(struct client *k, const char *name)
{
    char url[URL_MAX];
    return smbc_getFunctionRmdir(k->c)(k->c, url_of(k, url, name)) == 0;
}

static bool rename_it(struct client *k, const char *from, const char *to)
{
    char old[URL_MAX];
    char new[URL_MAX];
    return smbc_getFunctionRename(k->c)(k->c, url_of(k, old, from), k->c, url_of(k, new, to)) == 0;
}

static bool look(struct client *k, const char *name, struct stat *st)
{
    char url[URL_MAX];
    return smbc_getFunctionStat(k->c)(k->c, url_of(k, url, name), st) == 0;
}

/* The number of entries without "." and ".."; -1 if it cannot be listed. */
static int count_entries(struct client *k, const char *url, const char *wanted)
{
    int count = 0;
    SMBCFILE *directory = smbc_getFunctionOpendir(k->c)(k->c, url);
    if (directory == NULL)
        return -1;
    for (struct smbc_dirent *e; (e = smbc_getFunctionReaddir(k->c)(k->c, directory)) != NULL;) {
        bool dots = strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0;
        if (!dots && (wanted == NULL || strcmp(e->name, wanted) == 0))
            count++;
    }
    (void)smbc_getFunctionClosedir(k->c)(k->c, directory);
    return count;
}

/* ---- cases ---- */

static void files_come_back(struct client *k)
{
    WANT(put(k, "one", "hello", 5) && holds(k, "one", "hello", 5));
    WANT(put(k, "one", "", 0) && holds(k, "one", "", 0));
    WANT(put(k, "one", "second", 6) && rename_it(k, "one", "two"));
    WANT(holds(k, "two", "second", 6) && !holds(k, "one", "second", 6));
    WANT(open_in(k, "one", O_RDONLY) == NULL && errno == ENOENT);
    WANT(open_in(k, "two", O_CREAT | O_EXCL | O_WRONLY) == NULL && errno == EEXIST);
    WANT(unlink_it(k, "two") && !unlink_it(k, "two") && errno == ENOENT);
}

static void large_files_come_back(struct client *k)
{
    char *bytes = malloc(LARGE + 1);
    for (size_t i = 0; i < LARGE + 1; i++)
        bytes[i] = (char)(i * 31 + (i >> 12));
    WANT(put(k, "large", bytes, LARGE + 1));
    WANT(holds(k, "large", bytes, LARGE + 1));
    WANT(unlink_it(k, "large"));
    free(bytes);
}

static void parts_are_written_anywhere(struct client *k)
{
    char want[9000] = {0};
    memset(want + 8000, 'b', 1000);
    memcpy(want + 10, "aaa", 3);
    SMBCFILE *file = open_in(k, "parts", O_CREAT | O_RDWR);
    WANT(file != NULL);
    WANT(smbc_getFunctionLseek(k->c)(k->c, file, 8000, SEEK_SET) == 8000);
    WANT(smbc_getFunctionWrite(k->c)(k->c, file, want + 8000, 1000) == 1000);
    WANT(smbc_getFunctionLseek(k->c)(k->c, file, 10, SEEK_SET) == 10);
    WANT(smbc_getFunctionWrite(k->c)(k->c, file, "aaa", 3) == 3);
    WANT(close_it(k, file) && holds(k, "parts", want, 9000));
    file = open_in(k, "parts", O_RDWR);
    WANT(file != NULL && smbc_getFunctionFtruncate(k->c)(k->c, file, 100) == 0 &&
         close_it(k, file));
    WANT(holds(k, "parts", want, 100) && unlink_it(k, "parts"));
}

static void directories_are_made_and_removed(struct client *k)
{
    char url[URL_MAX];
    WANT(make_directory(k, "d") && !make_directory(k, "d") && errno == EEXIST);
    WANT(make_directory(k, "d/e") && put(k, "d/e/f", "x", 1) && put(k, "d/g", "y", 1));
    WANT(count_entries(k, url_of(k, url, "d"), NULL) == 2);
    WANT(!remove_directory(k, "d") && errno == ENOTEMPTY);
    WANT(rename_it(k, "d/e", "d/moved") && holds(k, "d/moved/f", "x", 1));
    WANT(unlink_it(k, "d/moved/f") && remove_directory(k, "d/moved") && unlink_it(k, "d/g"));
    WANT(remove_directory(k, "d") && count_entries(k, url_of(k, url, "d"), NULL) == -1);
}

static void names_in_any_script(struct client *k)
{
    static const char *const names[] = {"Ünïcödé", "日本語.txt", "смех",
                                        "smile 😀", "a  b",       "100% #1"};
    char url[URL_MAX];
    WANT(make_directory(k, "names"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[URL_MAX];
        char escaped[URL_MAX];
        (void)snprintf(name, sizeof name, "names/%s", names[i]);
        (void)smbc_urlencode(escaped, name, sizeof escaped);
        WANT(put(k, escaped, names[i], strlen(names[i])));
        WANT(holds(k, escaped, names[i], strlen(names[i])));
        WANT(count_entries(k, url_of(k, url, "names"), names[i]) == 1);
        WANT(unlink_it(k, escaped));
    }
    WANT(remove_directory(k, "names"));
}

static void sizes_times_and_attributes(struct client *k)
{
    struct stat st;
    char url[URL_MAX];
    struct timeval times[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1500000000}};
    WANT(put(k, "meta", "12345", 5) && look(k, "meta", &st) && st.st_size == 5);
    WANT(S_ISREG(st.st_mode) && st.st_mtime > 1700000000);
    WANT(smbc_getFunctionUtimes(k->c)(k->c, url_of(k, url, "meta"), times) == 0);
    WANT(look(k, "meta", &st) && st.st_mtime == 1500000000 && st.st_atime == 1600000000);
    WANT(smbc_getFunctionSetxattr(k->c)(k->c, url, "system.dos_attr.mode", "0x22", 4, 0) == 0);
    /* The library tells "hidden" by this bit. */
    WANT(look(k, "meta", &st) && (st.st_mode & S_IXOTH) != 0 && st.st_mtime == 1500000000);
    WANT(unlink_it(k, "meta") && !look(k, "meta", &st) && errno == ENOENT);
}

static void many_files_are_listed(struct client *k)
{
    enum { MANY = 60 };
    char name[64];
    char url[URL_MAX];
    WANT(make_directory(k, "many"));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "many/a file with number %d", i);
        WANT(put(k, name, name, 3));
    }
    WANT(count_entries(k, url_of(k, url, "many"), NULL) == MANY);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "many/a file with number %d", i);
        WANT(unlink_it(k, name));
    }
    WANT(remove_directory(k, "many"));
}

static void the_volume_has_a_size(struct client *k)
{
    struct statvfs fs = {0};
    char url[URL_MAX];
    WANT(smbc_getFunctionStatVFS(k->c)(k->c, (char *)(uintptr_t)url_of(k, url, ""), &fs) == 0);
    WANT(fs.f_bsize > 0 && fs.f_blocks > 0 && fs.f_bfree <= fs.f_blocks);
}

static void shares_are_listed(struct client *k)
{
    WANT(count_entries(k, "smb://127.0.0.1/", "share1") == 1);
}

struct named_case {
    const char *name;
    void (*run)(struct client *k);
};

static const struct named_case WORK[] = {
    {"files come back", files_come_back},
    {"large files come back", large_files_come_back},
    {"parts are written anywhere", parts_are_written_anywhere},
    {"directories are made and removed", directories_are_made_and_removed},
    {"names in any script", names_in_any_script},
    {"sizes, times and attributes", sizes_times_and_attributes},
    {"many files are listed", many_files_are_listed},
    {"the volume has a size", the_volume_has_a_size},
    {"shares are listed", shares_are_listed},
};

static bool report(const struct client *k, const char *name)
{
    if (k->why[0] == 0)
        printf("ok %s\n", name);
    else
        printf("not ok %s: %s\n", name, k->why);
    (void)fflush(stdout);
    return k->why[0] == 0;
}

static bool work(const char *dialect, bool encrypted)
{
    bool good = true;
    struct client k;
    client_init(&k, dialect, encrypted);
    for (size_t i = 0; i < sizeof WORK / sizeof WORK[0]; i++) {
        k.why[0] = 0;
        WORK[i].run(&k);
        good = report(&k, WORK[i].name) && good;
    }
    client_end(&k);
    return good;
}

/* ---- several at one time ---- */

static void be_one_of_many(unsigned number)
{
    static const char *const dialects[] = {"SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"};
    static char bytes[300000];
    char name[64];
    struct client k;
    client_init(&k, dialects[number % 4], number % 2 == 1);
    memset(bytes, 'a' + (int)number, sizeof bytes);
    (void)snprintf(name, sizeof name, "side%u", number);
    bool good = k.why[0] == 0;
    for (int i = 0; i < 3 && good; i++)
        good = put(&k, name, bytes, sizeof bytes) && holds(&k, name, bytes, sizeof bytes) &&
               unlink_it(&k, name);
    client_end(&k);
    _exit(good ? 0 : 1);
}

static bool side_by_side(void)
{
    enum { CLIENTS = 8 };
    struct client outcome = {0};
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (fork() == 0)
            be_one_of_many(i);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        int status = 1;
        if (wait(&status) < 0 || status != 0)
            note(&outcome, __LINE__, "a client failed");
    }
    return report(&outcome, "clients side by side");
}

/* ---- who ---- */

static bool let_in(const char *name, const char *user, const char *key, bool wanted)
{
    struct client k;
    client_init(&k, "SMB3_11", false);
    k.user = user;
    k.key = key;
    bool in = count_entries(&k, k.base, NULL) >= 0;
    client_end(&k);
    if (in != wanted)
        note(&k, __LINE__, in ? "was let in" : "was refused");
    return report(&k, name);
}

static bool who(void)
{
    const char *account = getenv("SMB_ACCOUNT");
    const char *key = getenv("SMB_KEY");
    bool good = let_in("the first key", account, key, true);
    good = let_in("the second key", account, getenv("SMB_KEY2"), true) && good;
    good = let_in("no key", account, "", false) && good;
    good = let_in("a wrong key", account, key + 1, false) && good;
    good = let_in("another name", "nobody", key, false) && good;
    good = let_in("a guest", "guest", "", false) && good;
    good = let_in("nobody at all", "", "", false) && good;
    return side_by_side() && good;
}

static bool refused(const char *dialect, bool encrypted)
{
    struct client k;
    client_init(&k, dialect, encrypted);
    if (count_entries(&k, k.base, NULL) >= 0)
        note(&k, __LINE__, "was let in");
    client_end(&k);
    return report(&k, "refused");
}

int main(int argc, char **argv)
{
    bool encrypted = argc > 3 && strcmp(argv[3], "encrypted") == 0;
    if (argc > 3 && strcmp(argv[1], "work") == 0)
        return work(argv[2], encrypted) ? 0 : 1;
    if (argc > 3 && strcmp(argv[1], "refused") == 0)
        return refused(argv[2], encrypted) ? 0 : 1;
    if (argc > 1 && strcmp(argv[1], "who") == 0)
        return who() ? 0 : 1;
    return 2;
}
