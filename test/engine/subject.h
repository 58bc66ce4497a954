/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite's view of an engine: each ENGINE_CASE runs once over every kind of engine,
 * under the names test_mem_<case>, test_fault_<case> and so on. */
#ifndef TEST_ENGINE_SUBJECT_H
#define TEST_ENGINE_SUBJECT_H

#include "core/test.h"
#include "engine/engine.h"

struct subject;

struct subject_kind {
    struct engine *(*open)(struct subject *s);
    bool persistent;   /* committed data survives closing and opening */
    size_t batch_max;  /* most updates that share a commit; 0: no limit */
    void (*end)(void); /* NULL, or cleans up after a case */
};

struct subject {
    const struct subject_kind *kind;
    struct clock clock; /* manual */
    struct engine *engine;
    struct arena arena; /* for what the case keeps */
    /* for tests of the local engine alone */
    bool relaxed;
    bool read_only;
    uint64_t journal_file_bytes;
    uint64_t segment_bytes;
};

extern const struct subject_kind SUBJECT_MEM;
extern const struct subject_kind SUBJECT_FAULT;
extern const struct subject_kind SUBJECT_LOCAL;
/* The same, but rows go to RocksDB almost at once, so that reads find some there and some not. */
extern const struct subject_kind SUBJECT_FOLDING;
/* The local engine without any hint. */
extern const struct subject_kind SUBJECT_HINTLESS;
/* The cluster engine, in a separate schema and namespace; LAZULI_TEST_ROWS and LAZULI_TEST_EXTENTS
 * name the cluster. */
extern const struct subject_kind SUBJECT_CLUSTER;

/* The folder of the local engine's store. */
const char *subject_folder(void);

void subject_run(const struct subject_kind *kind, void (*run)(struct subject *s));
/* Closes and reopens the store if the kind is persistent. */
void subject_reopen(struct subject *s);

#define ENGINE_CASE(name)                     \
    static void name(struct subject *s);      \
    void test_mem_##name(void)                \
    {                                         \
        subject_run(&SUBJECT_MEM, name);      \
    }                                         \
    void test_fault_##name(void)              \
    {                                         \
        subject_run(&SUBJECT_FAULT, name);    \
    }                                         \
    void test_local_hintless_##name(void)     \
    {                                         \
        subject_run(&SUBJECT_HINTLESS, name); \
    }                                         \
    void test_local_##name(void)              \
    {                                         \
        subject_run(&SUBJECT_LOCAL, name);    \
    }                                         \
    void test_local_folding_##name(void)      \
    {                                         \
        subject_run(&SUBJECT_FOLDING, name);  \
    }                                         \
    void test_on_cluster_##name(void)         \
    {                                         \
        subject_run(&SUBJECT_CLUSTER, name);  \
    }                                         \
    static void name(struct subject *s)

/* In a transaction: one row's value with HINT_SOON, of the partition or of another; and with its
 * body. */
struct err get_hot(struct txn *t, struct str key, struct str *value);
struct err get_in(struct txn *t, struct str partition, struct str key, struct str *value);
struct err get_with_body(struct txn *t, struct str key, struct str *value, struct str *body);

/* One row each, in a separate transaction. */
void put_row(struct subject *s, struct str partition, struct str key, struct str value);
void del_row(struct subject *s, struct str partition, struct str key);
/* A copy in the subject's arena; absent when the row is. */
struct str get_row(struct subject *s, struct str partition, struct str key);

void update_ok(struct subject *s, struct str partition, engine_fn *fn, void *arg);
void view_ok(struct subject *s, struct str partition, engine_fn *fn, void *arg);

/* Rows "key number", with values of `bytes` drawn from the seed, in partition "n"; and whether they
 * are there. */
/* "key 7" and its like. */
struct str number_key(char text[16], uint32_t number);
void put_number(struct subject *s, uint32_t number, size_t bytes, uint32_t seed);
void check_number(struct subject *s, uint32_t number, size_t bytes, uint32_t seed);

/* A finished extent of `length` bytes drawn from the seed; and whether one reads back as such. */
struct extent write_extent(struct engine *e, uint32_t length, uint32_t seed);
void check_extent(struct engine *e, const struct extent *x, uint32_t seed);
void fill_bytes(char *to, size_t n, uint32_t seed);
/* In separate updates, in partition "x". */
void adopt_extent(struct subject *s, const struct extent *x);
void hold_extent(struct subject *s, const struct extent *x);
void drop_extent(struct subject *s, const struct extent *x);
/* Runs fn in a child process, which ends as if it had been killed when fn returns. */
void run_and_crash(struct subject *s, void (*fn)(struct subject *s));
/* Bytes allocated to the files of a folder. */
uint64_t folder_bytes(const char *folder);
/* Waits, for a few seconds at most, until the engine holds no more than this. */
void wait_for_bytes(struct engine *e, uint64_t segment_bytes_max);
/* The same for the number of segments: the bytes are freed before the files. */
void wait_for_segments(struct engine *e, uint64_t segments);

#endif
