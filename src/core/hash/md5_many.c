/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/md5_many.h"

#include <assert.h>

static void md5_one(const struct md5_job *job)
{
    struct md5 state;
    md5_init(&state);
    md5_update(&state, job->bytes);
    md5_final(&state, job->out);
}

/* ---- whole texts ---- */

/* A text being hashed: its whole blocks, then the one or two final blocks (RFC 1321, 3.1 and 3.2).
 */
struct lane {
    const char *bytes;
    size_t whole;
    size_t blocks;
    char end[2 * MD5_BLOCK_BYTES];
};

static void lane_init(struct lane *l, struct str bytes)
{
    size_t rest = bytes.n % MD5_BLOCK_BYTES;
    size_t ends = rest + 1 + sizeof(uint64_t) <= MD5_BLOCK_BYTES ? 1 : 2;
    uint64_t bits = (uint64_t)bytes.n * 8;
    l->bytes = bytes.p;
    l->whole = bytes.n / MD5_BLOCK_BYTES;
    l->blocks = l->whole + ends;
    memset(l->end, 0, sizeof l->end);
    if (rest > 0)
        memcpy(l->end, bytes.p + bytes.n - rest, rest);
    l->end[rest] = (char)0x80;
    memcpy(l->end + ends * MD5_BLOCK_BYTES - sizeof bits, &bits, sizeof bits);
}

/* A finished lane continues with arbitrary input; its result was already taken. */
static const char *lane_block(const struct lane *l, size_t block)
{
    if (block < l->whole)
        return l->bytes + block * MD5_BLOCK_BYTES;
    return l->end + (block < l->blocks ? block - l->whole : 0) * MD5_BLOCK_BYTES;
}

/* Returns how many contiguous blocks every lane has from here on; at least one. */
static size_t lanes_run(const struct lane l[], size_t lanes, size_t block)
{
    size_t run = SIZE_MAX;
    for (size_t i = 0; i < lanes; i++) {
        size_t here = l[i].whole > block ? l[i].whole - block : 1;
        run = here < run ? here : run;
    }
    return run;
}

static void take_outcome(const struct md5_lanes *state, size_t lane, unsigned char *out)
{
    for (size_t w = 0; w < MD5_WORDS; w++)
        memcpy(out + w * sizeof(uint32_t), &state->words[w][lane], sizeof(uint32_t));
}

static void lanes_begin(struct md5_lanes *state)
{
    static const uint32_t FIRST[MD5_WORDS] = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U};
    for (size_t w = 0; w < MD5_WORDS; w++)
        for (size_t i = 0; i < MD5_LANES_MAX; i++)
            state->words[w][i] = FIRST[w];
}

/* Lanes without a text repeat the first. */
static void md5_side_by_side(enum md5_way way, const struct md5_job *jobs, size_t count)
{
    struct lane l[MD5_LANES_MAX];
    struct md5_lanes state;
    const char *from[MD5_LANES_MAX];
    size_t lanes = md5_lanes_for(way, count);
    size_t blocks = 0;
    assert(count <= lanes);
    lanes_begin(&state);
    for (size_t i = 0; i < lanes; i++) {
        lane_init(&l[i], jobs[i < count ? i : 0].bytes);
        blocks = l[i].blocks > blocks ? l[i].blocks : blocks;
    }
    for (size_t block = 0; block < blocks;) {
        size_t run = lanes_run(l, lanes, block);
        for (size_t i = 0; i < lanes; i++)
            from[i] = lane_block(&l[i], block);
        md5_add_blocks(way, &state, from, lanes, run);
        block += run;
        for (size_t i = 0; i < count; i++)
            if (l[i].blocks == block)
                take_outcome(&state, i, jobs[i].out);
    }
}

/* One text alone is as fast without lanes. */
void md5_many_by(enum md5_way way, const struct md5_job *jobs, size_t count)
{
    size_t lanes = md5_lanes_for(way, count);
    while (count > 1 && lanes > 0) {
        size_t part = count < lanes ? count : lanes;
        md5_side_by_side(way, jobs, part);
        jobs += part;
        count -= part;
    }
    for (size_t i = 0; i < count; i++)
        md5_one(&jobs[i]);
}

void md5_many(const struct md5_job *jobs, size_t count)
{
    md5_many_by(md5_best_way(), jobs, count);
}

/* ---- parts of long texts ---- */

/* Hashes whole blocks of up to MD5_LANES_MAX texts, as many blocks as the shortest has, and takes
 * them from the feeds. All states stand at the end of a block. */
static void feed_side_by_side(enum md5_way way, struct md5_feed *feeds, size_t count)
{
    uint32_t words[MD5_WORDS];
    struct md5_lanes state;
    const char *from[MD5_LANES_MAX];
    size_t lanes = md5_lanes_for(way, count);
    size_t blocks = SIZE_MAX;
    assert(count <= lanes);
    for (size_t i = 0; i < lanes; i++) {
        const struct md5_feed *feed = &feeds[i < count ? i : 0];
        size_t whole = feed->bytes.n / MD5_BLOCK_BYTES;
        (void)md5_words(feed->state, words);
        from[i] = feed->bytes.p;
        blocks = whole < blocks ? whole : blocks;
        for (size_t w = 0; w < MD5_WORDS; w++)
            state.words[w][i] = words[w];
    }
    md5_add_blocks(way, &state, from, lanes, blocks);
    for (size_t i = 0; i < count; i++) {
        for (size_t w = 0; w < MD5_WORDS; w++)
            words[w] = state.words[w][i];
        md5_set_words(feeds[i].state, words, blocks * MD5_BLOCK_BYTES);
        feeds[i].bytes = str_from(feeds[i].bytes, blocks * MD5_BLOCK_BYTES);
    }
}

/* Keeps those of the feeds that have a whole block and stand at the end of one; ends the others. */
static size_t keep_feeds(struct md5_feed *feeds, size_t count)
{
    size_t kept = 0;
    uint32_t words[MD5_WORDS];
    for (size_t i = 0; i < count; i++) {
        if (feeds[i].bytes.n >= MD5_BLOCK_BYTES && md5_words(feeds[i].state, words))
            feeds[kept++] = feeds[i];
        else
            md5_update(feeds[i].state, feeds[i].bytes);
    }
    return kept;
}

/* Hashes up to MD5_LANES_MAX feeds: when the shortest has ended, the others continue. */
static void feed_part(enum md5_way way, const struct md5_feed *feeds, size_t count)
{
    struct md5_feed left[MD5_LANES_MAX];
    memcpy(left, feeds, count * sizeof left[0]);
    while ((count = keep_feeds(left, count)) > 1)
        feed_side_by_side(way, left, count);
    if (count == 1)
        md5_update(left[0].state, left[0].bytes);
}

void md5_many_update_by(enum md5_way way, const struct md5_feed *feeds, size_t count)
{
    size_t lanes = md5_lanes_for(way, count);
    while (count > 1 && lanes > 0) {
        size_t part = count < lanes ? count : lanes;
        feed_part(way, feeds, part);
        feeds += part;
        count -= part;
    }
    for (size_t i = 0; i < count; i++)
        md5_update(feeds[i].state, feeds[i].bytes);
}

void md5_many_update(const struct md5_feed *feeds, size_t count)
{
    md5_many_update_by(md5_best_way(), feeds, count);
}
