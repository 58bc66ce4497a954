/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of every REST operation on an engine across a network, in sequential round trips, by the
 * rules of engine.h. A row of the table is a request over a real connection and its budget; the
 * test fails if a request needs more. A second test runs the same requests over an engine that runs
 * each transaction twice. */
#include "core/test.h"
#include "engine/cluster/cluster.h"
#include "engine/count.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "requests.h"
#include "rest/head/match.h"
#include "subject.h"
#include <stdlib.h>

enum { COPIER_TRIPS = 2 }; /* when it starts, it looks for copies of blobs and of files */

/* Fewer trips than the budget are accepted: on a busy machine, a background copy may have cached a
 * row. */
typedef uint64_t count_trips(struct engine *e);

/* What a request may take. Round trips to several shards are made at the same time, and counted one
 * by one; a view of several also begins a transaction in each. */
static unsigned budget_of(const struct budget *b, bool remembers, unsigned shards)
{
    unsigned budget = remembers ? b->warm : b->cold;
    return shards > 1 ? (budget + 1) * shards : budget;
}

static void run_all(struct requests_fixture *f, count_trips *counted, bool remembers,
                    unsigned shards)
{
    unsigned wrong = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < BUDGETS_COUNT; i++) {
        const struct budget *b = &BUDGETS[i];
        uint64_t before = counted != NULL ? counted(f->store.engine) : 0;
        requests_send(f, b);
        struct str answer = requests_answer(f, b);
        uint64_t trips = counted != NULL ? counted(f->store.engine) - before : 0;
        all += trips;
        unsigned budget = budget_of(b, remembers, shards);
        if (requests_status(answer) != b->status || trips > budget) {
            wrong++;
            (void)printf("  %s %s %s: status %u, want %u; %llu round trips, want %u\n",
                         b->operation, b->method, b->target, requests_status(answer), b->status,
                         (unsigned long long)trips, budget);
            if (requests_status(answer) != b->status)
                (void)printf("    %.*s\n",
                             STR_ARG(str_head(answer, str_find_str(answer, STR("Content-")))));
        }
        if (requests_status(answer) == b->status)
            CHECK(requests_capture(f, b, answer));
        if (counted == engine_count_trips)
            WAIT_UNTIL(engine_count_lent(f->store.engine) == 0);
    }
    CHECK_INT(wrong, 0);
    CHECK((all > 0) == (counted != NULL));
}

static void check_budgets(bool remembers)
{
    struct requests_fixture f;
    requests_init(&f);
    requests_begin(&f, engine_count_new(engine_mem_new(&f.clock), remembers));
    WAIT_UNTIL(engine_count_trips(f.store.engine) >= COPIER_TRIPS);
    run_all(&f, engine_count_trips, remembers, 1);
    requests_end(&f);
}

/* With warm caches. */
void test_budget_of_every_operation(void)
{
    check_budgets(true);
}

/* With cold caches. */
void test_budget_of_every_operation_at_first(void)
{
    check_budgets(false);
}

void test_every_transaction_may_run_twice(void)
{
    struct requests_fixture f;
    requests_init(&f);
    requests_begin(&f, engine_repeat_new(engine_mem_new(&f.clock)));
    run_all(&f, NULL, false, 1);
    requests_end(&f);
}

/* Waits until the server's start-up work has ended. */
static void wait_for_quiet(struct engine *e)
{
    enum { QUIET_NAPS = 50 };
    uint64_t last = 0;
    for (unsigned quiet = 0, naps = 0; quiet < QUIET_NAPS; naps++) {
        uint64_t trips = engine_cluster_trips(e);
        quiet = trips == last && trips >= COPIER_TRIPS ? quiet + 1 : 0;
        last = trips;
        test_nap(__FILE__, __LINE__, "no round trips", naps);
    }
}

static unsigned count_shards(void)
{
    const char *rows = getenv("LAZULI_TEST_ROWS");
    unsigned count = 1;
    for (const char *space = rows; space != NULL && (space = strchr(space, ' ')) != NULL; space++)
        count++;
    return count;
}

/* The cluster engine: counts its round trips to PostgreSQL. (Those to RADOS are not counted here.)
 */
void test_on_cluster_budget_of_every_operation(void)
{
    struct requests_fixture f;
    struct subject s = {.kind = &SUBJECT_CLUSTER};
    requests_init(&f);
    clock_init_system(&s.clock);
    requests_begin(&f, SUBJECT_CLUSTER.open(&s));
    wait_for_quiet(f.store.engine);
    run_all(&f, engine_cluster_trips, false, count_shards());
    requests_end(&f);
    SUBJECT_CLUSTER.end();
}

static void check_has_rows(enum service_kind service, const struct op_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        bool found = table->rows[i].mode == MODE_DIRECT; /* asks no engine */
        for (size_t k = 0; k < BUDGETS_COUNT; k++)
            found |= BUDGETS[k].service == service &&
                     strcmp(BUDGETS[k].operation, table->rows[i].name) == 0;
        if (!found)
            test_fail(__FILE__, __LINE__, "%s has no budget", table->rows[i].name);
    }
}

void test_budget_table_has_every_operation(void)
{
    for (int service = 0; service < SERVICE_KIND_COUNT; service++)
        check_has_rows((enum service_kind)service, match_table((enum service_kind)service));
    check_has_rows(SERVICE_BLOB, &OPS_DFS);
}
