/* SPDX-License-Identifier: Apache-2.0 */
/* Renames between two containers: the whole tree is moved, each observer sees it in one place, and
 * any failure leaves it complete. */
#include "service/blob/path/path_across.h"

#include "engine/fault.h"
#include "service/blob/path/path_fixture.h"
#include "service/common/fault_fixture.h"

/* The fixture uses the container of that name from now on. */
static void in(struct blob_fixture *f, const char *container)
{
    f->partition = blob_partition(&f->arena, STR("a"), str_of(container));
}

static void make_other(struct blob_fixture *f)
{
    in(f, "d");
    struct container_args made = {.request = {.arena = &f->arena}, .hierarchical = true};
    CHECK_OK(bf_update(f, blob_create_container, &made));
    in(f, "c");
}

/* From the container c to d. */
static struct err move(struct blob_fixture *f, struct blob_request from, struct blob_request to)
{
    struct path_rename_args args = {.source = from,
                                    .source_partition =
                                        blob_partition(&f->arena, STR("a"), STR("c")),
                                    .destination = to,
                                    .legacy = true};
    return path_rename_across(&f->store, blob_partition(&f->arena, STR("a"), STR("d")), &args);
}

/* Nothing may be left of either. */
static void end_both(struct blob_fixture *f)
{
    struct container_args gone = {.request = {.arena = &f->arena}};
    in(f, "d");
    CHECK_OK(bf_update(f, blob_delete_container, &gone));
    in(f, "c");
    bf_sweep(f);
    bf_seconds(f, 120); /* the row of a move stays for a while */
    bf_sweep(f);
    bf_sweep(f);
    bf_end(f);
}

enum { LARGE = 100000 };

static void furnish(struct blob_fixture *f)
{
    int64_t snapshot;
    CHECK_OK(pf_make(f, bf_blob(f, "t/small"), false));
    CHECK_OK(pf_append(f, bf_blob(f, "t/small"), 0, "small", true));
    CHECK_OK(pf_append(f, bf_blob(f, "t/small"), 5, " and more", false));
    CHECK_OK(bf_put(f, bf_blob(f, "t/u/large"), bf_bytes(f, LARGE, 1), NULL));
    CHECK_OK(bf_stage(f, bf_blob(f, "t/u/blocks"), "x", bf_bytes(f, LARGE, 2)));
    CHECK_OK(bf_commit(f, bf_blob(f, "t/u/blocks"), "ux", NULL));
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "t/u/blocks"), &snapshot));
    CHECK_OK(bf_stage(f, bf_blob(f, "t/u/blocks"), "y", bf_bytes(f, LARGE, 3)));
    CHECK_OK(pf_make(f, bf_blob(f, "t/u/v/w"), true));
    CHECK_OK(pf_make(f, bf_blob(f, "t/empty"), false));
    CHECK_OK(pf_append(f, bf_blob(f, "t/empty"), 0, "not yet", false));
    CHECK_OK(pf_make(f, bf_blob(f, "stays"), false));
}

void test_path_across_brings_all_of_a_tree(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    pf_init(&f);
    make_other(&f);
    furnish(&f);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "t/u/large"), &before));
    CHECK_OK(move(&f, bf_blob(&f, "t"), bf_blob(&f, "moved")));
    CHECK_STR(pf_all(&f), STR("stays "));
    in(&f, "d");
    CHECK_STR(pf_all(&f),
              STR("moved moved/empty moved/small moved/u moved/u/blocks moved/u/large moved/u/v "
                  "moved/u/v/w "));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "moved/u/large"), &after));
    CHECK_INT(after.etag, before.etag);
    CHECK_INT(after.last_modified, before.last_modified);
    /* What the source had is swept, and what came along has its own hold. */
    bf_sweep(&f);
    CHECK_STR(bf_content(&f, "moved/u/large"), bf_bytes(&f, LARGE, 1));
    CHECK_STR(bf_content(&f, "moved/u/blocks"), bf_bytes(&f, LARGE, 2));
    CHECK_STR(bf_kinds(&f, "moved/u/blocks"), STR("S B "));
    CHECK_OK(pf_flush(&f, bf_blob(&f, "moved/small"), 14));
    CHECK_STR(bf_content(&f, "moved/small"), STR("small and more"));
    CHECK_OK(pf_flush(&f, bf_blob(&f, "moved/empty"), 7));
    CHECK_STR(bf_content(&f, "moved/empty"), STR("not yet"));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "moved/u/blocks"), "cx uy", NULL));
    CHECK_INT(bf_content(&f, "moved/u/blocks").n, 2 * LARGE);
    end_both(&f);
}

void test_path_across_brings_many_pages(void)
{
    enum { FILES = 1500 };
    struct blob_fixture f;
    size_t names = 0;
    pf_init(&f);
    make_other(&f);
    for (int i = 0; i < FILES; i++) {
        const char *name = arena_cstr(&f.arena, arena_printf(&f.arena, "t/%d/%d", i % 7, i));
        CHECK_OK(pf_make(&f, bf_blob(&f, name), false));
        CHECK_OK(pf_append(&f, bf_blob(&f, name), 0, name, true));
    }
    CHECK_OK(move(&f, bf_blob(&f, "t"), bf_blob(&f, "z")));
    CHECK_STR(pf_all(&f), STR(""));
    in(&f, "d");
    struct str all = pf_all(&f);
    for (size_t i = 0; i < all.n; i++)
        names += all.p[i] == ' ';
    CHECK_INT(names, FILES + 8);
    CHECK_STR(bf_content(&f, "z/6/1301"), STR("t/6/1301"));
    CHECK_STR(bf_content(&f, "z/0/0"), STR("t/0/0"));
    end_both(&f);
}

void test_path_across_checks_both_sides(void)
{
    struct blob_fixture f;
    struct blob_head head;
    pf_init(&f);
    make_other(&f);
    furnish(&f);
    CHECK_ERR(move(&f, bf_blob(&f, "none"), bf_blob(&f, "x")), ERR_SOURCE_PATH_NOT_FOUND);
    CHECK_ERR(move(&f, bf_blob(&f, "t"), bf_blob(&f, "no/x")),
              ERR_RENAME_DESTINATION_PARENT_PATH_NOT_FOUND);
    CHECK_ERR(move(&f, bf_if_match(&f, "t/small", 1), bf_blob(&f, "x")),
              ERR_SOURCE_CONDITION_NOT_MET);
    CHECK_ERR(move(&f, bf_blob(&f, "t/small"), bf_if_match(&f, "x", 1)), ERR_CONDITION_NOT_MET);
    CHECK_OK(bf_acquire(&f, "t/small", 'A', LEASE_INFINITE));
    CHECK_ERR(move(&f, bf_blob(&f, "t/small"), bf_blob(&f, "x")), ERR_LEASE_ID_MISSING);
    in(&f, "d");
    CHECK_OK(pf_make(&f, bf_blob(&f, "full/one"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "leased"), false));
    CHECK_OK(bf_acquire(&f, "leased", 'B', LEASE_INFINITE));
    in(&f, "c");
    CHECK_ERR(move(&f, bf_blob(&f, "t"), bf_blob(&f, "full")), ERR_PATH_ALREADY_EXISTS);
    CHECK_ERR(move(&f, bf_blob(&f, "stays"), bf_blob(&f, "leased")), ERR_LEASE_ID_MISSING);
    CHECK_ERR(move(&f, bf_blob(&f, "stays"), bf_blob(&f, "full")),
              ERR_INVALID_SOURCE_OR_DESTINATION_RESOURCE_TYPE);
    CHECK_STR(pf_all(&f), STR("stays t t/empty t/small t/u t/u/blocks t/u/large t/u/v t/u/v/w "));
    /* The lease comes along. */
    CHECK_OK(move(&f, bf_with_lease(&f, "t/small", 'A'), bf_with_lease(&f, "leased", 'B')));
    in(&f, "d");
    CHECK_OK(bf_properties(&f, bf_blob(&f, "leased"), &head));
    CHECK(guid_eq(&head.lease.id, &(struct guid){{'A'}}));
    in(&f, "c");
    end_both(&f);
}

/* ---- observers ---- */

/* At every call that the rename makes, every observer sees the complete tree in one place. */
static void look(void *arg)
{
    static const char *const PLACES[] = {"c", "d"};
    struct blob_fixture seen = *(struct blob_fixture *)arg;
    unsigned found = 0;
    for (size_t i = 0; i < 2; i++) {
        in(&seen, PLACES[i]);
        struct str all = pf_all(&seen);
        const char *const file = i == 0 ? "t/u/large" : "moved/u/large";
        struct blob_head head;
        bool listed = str_eq(
            all, i == 0 ? STR("stays t t/empty t/small t/u t/u/blocks t/u/large t/u/v t/u/v/w ")
                        : STR("moved moved/empty moved/small moved/u moved/u/blocks moved/u/large "
                              "moved/u/v moved/u/v/w "));
        CHECK(listed || str_eq(all, i == 0 ? STR("stays ") : STR("")));
        CHECK(err_is(bf_properties(&seen, bf_blob(&seen, file), &head)) == !listed);
        found += listed;
    }
    CHECK_INT(found, 1);
}

static void begin(struct blob_fixture *f)
{
    bf_init_fault(f);
    pf_make_hierarchical(f);
    make_other(f);
    furnish(f);
}

void test_path_across_is_seen_at_one_place(void)
{
    for (uint64_t n = 1;; n++) {
        struct blob_fixture f;
        begin(&f);
        engine_fault_meet(f.store.engine, n, look, &f);
        CHECK_OK(move(&f, bf_blob(&f, "t"), bf_blob(&f, "moved")));
        bool met = engine_fault_fired(f.store.engine);
        engine_fault_arm(f.store.engine, 0, OK);
        look(&f);
        bf_release(&f);
        if (!met)
            break;
    }
}

/* Each call fails in turn; then a client writes to the source, or the sweeper runs. */
static bool fails_at(uint64_t n, bool sweeps)
{
    struct blob_fixture f;
    begin(&f);
    engine_fault_arm(f.store.engine, n, err_new(ERR_IO));
    struct err e = move(&f, bf_blob(&f, "t"), bf_blob(&f, "moved"));
    bool fired = engine_fault_fired(f.store.engine);
    engine_fault_arm(f.store.engine, 0, OK);
    look(&f);
    if (sweeps) {
        bf_seconds(&f, 40);
        bf_sweep(&f);
        bf_sweep(&f);
        look(&f);
    }
    in(&f, "c");
    CHECK_OK(pf_make(&f, bf_blob(&f, "stays"), false));
    look(&f);
    if (err_is(e)) {
        CHECK_ERR(e, ERR_IO);
        CHECK_OK(move(&f, bf_blob(&f, "t"), bf_blob(&f, "moved")));
    }
    look(&f);
    end_both(&f);
    return fired;
}

void test_faults_path_across(void)
{
    for (uint64_t n = 1; fails_at(n, false); n++)
        continue;
    for (uint64_t n = 1; fails_at(n, true); n++)
        continue;
}
