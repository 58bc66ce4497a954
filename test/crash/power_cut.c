/* SPDX-License-Identifier: Apache-2.0 */
/* Power cuts, kills, and calls that fail. Updates run over a recording disk (disk.h). Then the
 * store is opened from states that a cut at many moments may have left, and must hold exactly the
 * first M updates: all that were acknowledged by then, no partial update, no refused one.
 *
 *     power_cut [part of a test's name [how many stores [the first one's seed]]] */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/test.h"
#include "disk.h"
#include "power_run.h"
#include "power_tree.h"

enum {
    UPDATES_RUN = 120, /* between two cuts of one store */
    STORES = 2,        /* in each test */
    LINKS = 2,         /* cuts that one store goes through */
    CUTS = 12,         /* states that are checked of each */
    IN_FLIGHT = 8,
    OPENS_MAX = 20, /* attempts to open the store until the injected faults are used up */
};

/* The faults while a store is in use. */
struct trouble {
    const char *aim; /* NULL, or all cuts come just before a flush of a file with this in its path
                        returns */
    struct disk_fault fault; /* its first call is chosen at random, up to `first` */
    bool at_start;           /* the fault is active when the store is opened */
    bool killed;             /* the program is killed and started again before the power cut */
    bool first_start;        /* of the first link: the store consists of empty folders */
    bool tree;               /* updates move, create and remove paths (power_tree.h) */
};

/* The current case, printed with a failure. */
static char at[160];

static void say_where(void)
{
    if (at[0] != '\0')
        (void)fprintf(stderr, "  in %s\n", at);
}

/* ---- folders ---- */

static void remove_folder(const char *folder)
{
    char path[512];
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        CHECK(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path);
        if (unlink(path) != 0)
            remove_folder(path);
    }
    (void)closedir(dir);
    CHECK(rmdir(folder) == 0);
}

static char *image_of(const struct run *run)
{
    char *image = NULL;
    CHECK(asprintf(&image, "%s.cut", run->folder) > 0);
    return image;
}

static void go_on_from_cut(struct run *run)
{
    char *image = image_of(run);
    remove_folder(run->folder);
    CHECK(rename(image, run->folder) == 0);
    free(image);
}

static void empty_folder(const char *folder)
{
    remove_folder(folder);
    CHECK(mkdir(folder, 0700) == 0);
}

/* A store whose first start ended after making the folders. */
static void empty_store(const struct run *run)
{
    static const char *const folders[] = {"rows", "journal", "segments"};
    char path[512];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        CHECK(snprintf(path, sizeof path, "%s/%s", run->folder, folders[i]) < (int)sizeof path);
        empty_folder(path);
    }
}

/* ---- a link: updates, and cuts in them ---- */

/* A start may fail if the disk fails; the next one finds all data. */
static void open_store(struct run *run)
{
    struct err e = OK;
    for (int n = 0; n < OPENS_MAX; n++) {
        e = run_open(run, run->folder, false, &run->engine);
        if (!err_is(e))
            return;
        CHECK(disk_has_failed() && e.code != ERR_CORRUPT);
    }
    CHECK_OK(e);
}

static void run_updates(struct run *run, uint32_t count)
{
    uint32_t first = run->submitted + 1;
    uint32_t last = run->submitted + count;
    CHECK(last <= UPDATES_MAX);
    for (uint32_t number = first; number <= last; number++) {
        run_submit(run, number);
        if (number >= first + IN_FLIGHT)
            run_wait(run, number - IN_FLIGHT);
    }
    run_wait(run, last);
    run_check_live(run);
}

static void arm(const struct trouble *trouble, uint32_t *random)
{
    struct disk_fault fault = trouble->fault;
    fault.first = 1 + draw(random, fault.first);
    fault.count = 1 + draw(random, fault.count);
    disk_fail(&fault);
}

static uint32_t check_cut(struct run *run, size_t now, enum cut_kind kind)
{
    char *image = image_of(run);
    (void)snprintf(at, sizeof at, "store %u, updates up to %u, a cut of kind %d after %zu things",
                   run->seed, run->submitted, kind, now);
    remove_folder(image);
    disk_cut(now, kind, run->seed * 31 + (uint32_t)now, image);
    if (now >= run->made)
        run_check_whole(run, image);
    CHECK_OK(run_open(run, image, false, &run->engine));
    uint32_t held = power_run_check(run, now);
    engine_close(run->engine);
    run_check_whole(run, image);
    free(image);
    return held;
}

/* The range of events of a link from which cuts are drawn. */
struct moments {
    size_t begun; /* opening the store */
    size_t opened;
    size_t ended; /* the last update */
    size_t closed;
};

static void use_store(struct run *run, const struct trouble *trouble, struct moments *m,
                      uint32_t *random)
{
    m->begun = disk_now();
    if (trouble->at_start)
        arm(trouble, random);
    open_store(run);
    m->opened = disk_note();
    if (!trouble->at_start)
        arm(trouble, random);
    run_updates(run, UPDATES_RUN);
    m->ended = disk_now();
    engine_close(run->engine);
    m->closed = disk_now();
}

/* The program dies at some moment, and another continues from what is in memory and on the disk. */
static void kill_and_go_on(struct run *run, const struct trouble *trouble, struct moments *m,
                           uint32_t *random)
{
    size_t now = m->begun + draw(random, (uint32_t)(m->closed - m->begun)) + 1;
    disk_unwatch();
    remove_folder(run->folder);
    disk_restart(now, *random);
    run_forget_told(run, now);
    (void)snprintf(at, sizeof at, "store %u, updates up to %u, killed after %zu things", run->seed,
                   run->submitted, now);
    m->begun = now;
    if (trouble->at_start)
        arm(trouble, random);
    open_store(run);
    m->opened = disk_note();
    run_go_on(run, power_run_check(run, now), m->opened);
    run_updates(run, UPDATES_RUN / 2);
    m->ended = disk_now();
    engine_close(run->engine);
    m->closed = disk_now();
}

struct moment {
    size_t now;
    enum cut_kind kind;
};

/* Cuts also fall in the preceding recovery and in the close. The most critical moment is just
 * before a flush returns. */
static struct moment draw_cut(const struct trouble *trouble, const struct moments *m, uint32_t i,
                              uint32_t *random)
{
    size_t from = i % 4 == 0 ? m->begun : m->opened;
    size_t to = i % 4 == 1 ? m->closed : m->ended;
    if (trouble->first_start && i % 4 < 3) {
        from = m->begun;
        to = m->opened;
    }
    struct moment cut = {from + draw(random, (uint32_t)(to - from)) + 1,
                         (enum cut_kind)(i % CUT_KINDS)};
    if (trouble->aim != NULL)
        return (struct moment){disk_before_flush(cut.now, to, trouble->aim), CUT_SOME_SECTORS};
    if (i % 3 == 0)
        cut.now = disk_before_flush(cut.now, to, "/");
    return cut;
}

static void run_link(struct run *run, const struct trouble *trouble)
{
    uint32_t random = run->seed * 7 + run->submitted;
    struct moments m;
    (void)snprintf(at, sizeof at, "store %u, updates from %u on", run->seed, run->submitted + 1);
    disk_watch(run->folder);
    use_store(run, trouble, &m, &random);
    if (trouble->killed)
        kill_and_go_on(run, trouble, &m, &random);
    disk_unwatch();
    uint32_t held = 0;
    run->made = trouble->first_start && run->made == 0 ? m.opened : 1;
    for (uint32_t i = 0; i < CUTS; i++) {
        struct moment cut = draw_cut(trouble, &m, i, &random);
        held = check_cut(run, cut.now, cut.kind);
    }
    run_go_on(run, held, 0);
    at[0] = '\0';
}

static struct run *run_new(uint32_t seed, bool tree)
{
    struct run *run = MEM_NEW(struct run);
    run->seed = seed;
    run->tree = tree;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->landed, NULL);
    clock_init_system(&run->clock);
    CHECK(asprintf(&run->folder, "%s/store", test_folder()) > 0);
    CHECK_OK(run_open(run, run->folder, false, &run->engine));
    if (tree)
        tree_begin(run->engine);
    engine_close(run->engine);
    return run;
}

/* From the command line. */
static uint32_t stores = STORES;
static uint32_t first_seed = 1;

static void run_stores(struct trouble trouble)
{
    (void)atexit(say_where);
    for (uint32_t seed = first_seed; seed < first_seed + stores; seed++) {
        struct run *run = run_new(seed, trouble.tree);
        run->may_fail = trouble.fault.error != 0;
        if (trouble.first_start)
            empty_store(run);
        for (int link = 0; link < LINKS; link++) {
            run_link(run, &trouble);
            go_on_from_cut(run);
        }
        remove_folder(run->folder);
        free(run->folder);
        free(run);
    }
    printf("%u cuts\n", stores * LINKS * CUTS);
}

/* ---- the tests ---- */

static void test_power_cuts(void)
{
    run_stores((struct trouble){.killed = false});
}

/* RocksDB writes several changes of its MANIFEST under one flush, and a cut may keep only the later
 * one. */
static void test_cuts_in_manifests(void)
{
    run_stores((struct trouble){.aim = "/MANIFEST-"});
}

/* Cuts while a store is created. */
static void test_cuts_in_a_first_start(void)
{
    run_stores((struct trouble){.first_start = true});
}

/* Data that a kill leaves in memory is durable once a start has made it durable. */
static void test_kills_before_power_cuts(void)
{
    run_stores((struct trouble){.killed = true});
}

static const struct disk_fault A_JOURNAL_FLUSH = {
    .part = "/journal/", .calls = DISK_FLUSH, .first = 20, .count = 1, .error = EIO};

/* The journal continues in a new file, once the tables hold its rows. */
static void test_failed_journal_flush(void)
{
    run_stores((struct trouble){.fault = A_JOURNAL_FLUSH});
}

static void test_failed_journal_flush_and_kill(void)
{
    run_stores((struct trouble){.fault = A_JOURNAL_FLUSH, .killed = true});
}

static const struct disk_fault FLUSHES_OF_ALL = {
    .part = "/", .calls = DISK_FLUSH, .first = 20, .count = 8, .error = EIO};

/* The tables cannot be written either: updates are refused until the next start. */
static void test_failed_flushes_of_all(void)
{
    run_stores((struct trouble){.fault = FLUSHES_OF_ALL});
}

static void test_failed_flushes_of_all_and_kill(void)
{
    run_stores((struct trouble){.fault = FLUSHES_OF_ALL, .killed = true});
}

static void test_failed_flushes_of_a_start(void)
{
    run_stores((struct trouble){.fault = FLUSHES_OF_ALL, .at_start = true, .killed = true});
}

static void test_failed_segment_flush(void)
{
    static const struct disk_fault fault = {
        .part = "/segments/", .calls = DISK_FLUSH, .first = 30, .count = 2, .error = EIO};
    run_stores((struct trouble){.fault = fault, .killed = true});
}

static void test_failed_flushes_of_rows(void)
{
    static const struct disk_fault fault = {
        .part = "/rows/", .calls = DISK_FLUSH, .first = 4, .count = 2, .error = EIO};
    run_stores((struct trouble){.fault = fault, .at_start = true, .killed = true});
}

static void test_short_writes(void)
{
    static const struct disk_fault fault = {
        .part = "/", .calls = DISK_WRITE, .first = 1, .count = 100000};
    run_stores((struct trouble){.fault = fault, .killed = true});
}

/* Any call that needs disk space, in any file. */
static void test_full_disk(void)
{
    static const struct disk_fault fault = {
        .part = "/", .calls = DISK_WRITE | DISK_CREATE, .first = 100, .count = 12, .error = ENOSPC};
    run_stores((struct trouble){.fault = fault, .killed = true});
}

static void test_full_disk_at_start(void)
{
    static const struct disk_fault fault = {.part = "/",
                                            .calls = DISK_WRITE | DISK_CREATE | DISK_FLUSH,
                                            .first = 20,
                                            .count = 12,
                                            .error = ENOSPC};
    run_stores((struct trouble){.fault = fault, .at_start = true, .killed = true});
}

static void test_failed_journal_writes(void)
{
    static const struct disk_fault fault = {.part = "/journal/",
                                            .calls = DISK_WRITE | DISK_CREATE,
                                            .first = 40,
                                            .count = 8,
                                            .error = EIO};
    run_stores((struct trouble){.fault = fault, .killed = true});
}

/* Renames and deletes of directories: each such update is there completely or not at all. */
static void test_trees(void)
{
    run_stores((struct trouble){.tree = true});
}

static void test_trees_after_kills(void)
{
    run_stores((struct trouble){.tree = true, .killed = true});
}

static void test_trees_and_failed_flushes(void)
{
    run_stores((struct trouble){.tree = true, .fault = A_JOURNAL_FLUSH, .killed = true});
}

/* ---- renames between two containers ---- */

enum { MOVES = 60 };

/* The content of both trees after each change, and when it was acknowledged. */
struct history {
    struct arena arena;
    struct str texts[MOVES + 1];
    size_t told[MOVES + 1];
};

/* A partial move is never visible: the state is that after the acknowledged changes, or after the
 * next one. */
static void check_moves(const struct history *h, struct engine *e, size_t now)
{
    struct arena arena = {0};
    uint32_t done = 0;
    while (done < MOVES && h->told[done + 1] <= now)
        done++;
    struct str text = trees_text(e, &arena);
    CHECK(str_eq(text, h->texts[done]) || (done < MOVES && str_eq(text, h->texts[done + 1])));
    arena_release(&arena);
}

static void check_cut_moves(struct run *run, const struct history *h, struct moment cut)
{
    char *image = image_of(run);
    (void)snprintf(at, sizeof at, "store %u, a cut of kind %d after %zu things", run->seed,
                   cut.kind, cut.now);
    remove_folder(image);
    disk_cut(cut.now, cut.kind, run->seed * 31 + (uint32_t)cut.now, image);
    CHECK_OK(run_open(run, image, false, &run->engine));
    struct store store = {
        .engine = run->engine, .clock = &run->clock, .alone_since = clock_now(&run->clock)};
    check_moves(h, run->engine, cut.now);
    trees_settle(&store);
    check_moves(h, run->engine, cut.now);
    engine_close(run->engine);
    run_check_whole(run, image);
    remove_folder(image);
    free(image);
}

static void make_moves(struct run *run, struct history *h)
{
    CHECK_OK(run_open(run, run->folder, false, &run->engine));
    struct store store = {.engine = run->engine, .clock = &run->clock};
    h->texts[0] = trees_text(run->engine, &h->arena);
    for (uint32_t number = 1; number <= MOVES; number++) {
        trees_change(&store, run->seed, number);
        h->told[number] = disk_note();
        h->texts[number] = trees_text(run->engine, &h->arena);
    }
    engine_close(run->engine);
}

static void test_moves_between_trees(void)
{
    (void)atexit(say_where);
    for (uint32_t seed = first_seed; seed < first_seed + stores; seed++) {
        struct history *h = MEM_NEW(struct history);
        struct run *run = run_new(seed, false);
        run->tree = true; /* for the check of the whole store */
        uint32_t random = seed * 7;
        CHECK_OK(run_open(run, run->folder, false, &run->engine));
        trees_begin(run->engine);
        engine_close(run->engine);
        disk_watch(run->folder);
        size_t begun = disk_now();
        make_moves(run, h);
        size_t ended = disk_now();
        disk_unwatch();
        for (uint32_t i = 0; i < LINKS * CUTS; i++) {
            size_t now = begun + draw(&random, (uint32_t)(ended - begun)) + 1;
            if (i % 3 == 0)
                now = disk_before_flush(now, ended, "/");
            check_cut_moves(run, h, (struct moment){now, (enum cut_kind)(i % CUT_KINDS)});
        }
        at[0] = '\0';
        arena_release(&h->arena);
        free(h);
        remove_folder(run->folder);
        free(run->folder);
        free(run);
    }
    printf("%u cuts\n", stores * LINKS * CUTS);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"power_cuts", test_power_cuts},
        {"cuts_in_manifests", test_cuts_in_manifests},
        {"cuts_in_a_first_start", test_cuts_in_a_first_start},
        {"kills_before_power_cuts", test_kills_before_power_cuts},
        {"failed_journal_flush", test_failed_journal_flush},
        {"failed_journal_flush_and_kill", test_failed_journal_flush_and_kill},
        {"failed_flushes_of_all", test_failed_flushes_of_all},
        {"failed_flushes_of_all_and_kill", test_failed_flushes_of_all_and_kill},
        {"failed_flushes_of_a_start", test_failed_flushes_of_a_start},
        {"failed_segment_flush", test_failed_segment_flush},
        {"failed_flushes_of_rows", test_failed_flushes_of_rows},
        {"short_writes", test_short_writes},
        {"full_disk", test_full_disk},
        {"full_disk_at_start", test_full_disk_at_start},
        {"failed_journal_writes", test_failed_journal_writes},
        {"trees", test_trees},
        {"trees_after_kills", test_trees_after_kills},
        {"trees_and_failed_flushes", test_trees_and_failed_flushes},
        {"moves_between_trees", test_moves_between_trees},
    };
    if (argc > 2)
        stores = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        first_seed = (uint32_t)strtoul(argv[3], NULL, 10);
    return test_main(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : "");
}
