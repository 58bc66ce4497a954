/* SPDX-License-Identifier: Apache-2.0 */
/* The copier's threads: copies submitted by several threads at once, and those left in the store,
 * are completed. `make V=tsan unit T=copier` looks for races. */
#include "rest/copy/copier.h"

#include <pthread.h>

#include "service/blob/copy/copy_fixture.h"

enum { COPIES = 6, HANDS = 3 };

static const char *const NAMES[COPIES] = {"to0", "to1", "to2", "to3", "to4", "to5"};

static void begin_copies(struct blob_fixture *f)
{
    bf_init(f);
    cf_append_blob(f, "from", BLOB_SOURCE_PIECES + 200);
    for (size_t i = 0; i < COPIES; i++) {
        CHECK_OK(cf_copy(f, "from", NAMES[i]));
        CHECK_INT(cf_state(f, NAMES[i]).status, BLOB_COPY_PENDING);
    }
}

/* Other threads do the work, so this one polls until it is done. */
static void wait_for_all(struct blob_fixture *f)
{
    for (size_t i = 0; i < COPIES; i++) {
        WAIT_UNTIL(cf_state(f, NAMES[i]).status != BLOB_COPY_PENDING);
        CHECK_INT(cf_state(f, NAMES[i]).status, BLOB_COPY_SUCCESS);
        CHECK_STR(bf_content(f, NAMES[i]), bf_content(f, "from"));
    }
}

struct hand {
    struct copier *copier;
    struct str partition;
    const struct copy_jobs_args *jobs;
};

/* Each thread submits all copies: a known copy is not accepted twice. */
static void *hand_over(void *arg)
{
    struct hand *hand = arg;
    for (size_t i = 0; i < hand->jobs->count; i++)
        copier_add(hand->copier, hand->partition, hand->jobs->jobs[i].incarnation,
                   hand->jobs->jobs[i].id);
    return NULL;
}

void test_copier_takes_copies_from_many_threads(void)
{
    struct blob_fixture f;
    struct copier *copier;
    pthread_t threads[HANDS];
    begin_copies(&f);
    struct copy_jobs_args jobs = {.arena = &f.arena, .max = COPIES};
    CHECK_OK(bf_view(&f, copy_jobs_list, &jobs));
    CHECK_INT(jobs.count, COPIES);
    CHECK_OK(copier_start(&f.store, NULL, &copier));
    struct hand hand = {copier, f.partition, &jobs};
    for (size_t i = 0; i < HANDS; i++)
        CHECK(pthread_create(&threads[i], NULL, hand_over, &hand) == 0);
    for (size_t i = 0; i < HANDS; i++)
        (void)pthread_join(threads[i], NULL);
    wait_for_all(&f);
    copier_stop(copier);
    bf_end(&f);
}

void test_copier_goes_on_with_what_was_left(void)
{
    struct blob_fixture f;
    struct copier *copier;
    begin_copies(&f);
    CHECK_OK(copier_start(&f.store, NULL, &copier));
    wait_for_all(&f);
    copier_stop(copier);
    bf_end(&f);
}

/* If it is stopped in the middle of a copy, the next copier continues it. */
void test_copier_is_stopped_at_any_time(void)
{
    struct blob_fixture f;
    struct copier *copier;
    begin_copies(&f);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(copier_start(&f.store, NULL, &copier));
        copier_stop(copier);
    }
    CHECK_OK(copier_start(&f.store, NULL, &copier));
    wait_for_all(&f);
    copier_stop(copier);
    bf_end(&f);
}
