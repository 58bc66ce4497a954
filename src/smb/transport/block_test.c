/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/block.h"

#include <string.h>

#include "core/clock.h"
#include "core/test.h"
#include "engine/mem/mem.h"

void test_smb_blocks_large_ones_are_used_again(void)
{
    struct smb_blocks blocks = {0};
    struct smb_block *first = smb_block_take(&blocks, 1 << 20);
    first->end = 7;
    smb_block_give(&blocks, first);
    struct smb_block *again = smb_block_take(&blocks, 200 << 10);
    CHECK(again == first && again->end == 0 && again->capacity >= 1 << 20);
    struct smb_block *largest = smb_block_take(&blocks, 8 << 20);
    CHECK(largest->capacity >= 8 << 20);
    memset(largest->bytes, 1, 8 << 20);
    smb_block_give(&blocks, again);
    smb_block_give(&blocks, largest);
    smb_blocks_release(&blocks);
}

void test_smb_blocks_keep_few(void)
{
    struct smb_blocks blocks = {0};
    struct smb_block *many[20];
    for (size_t i = 0; i < 20; i++)
        many[i] = smb_block_take(&blocks, i < 10 ? 1 << 20 : 8 << 20);
    for (size_t i = 0; i < 20; i++)
        smb_block_give(&blocks, many[i]);
    CHECK_INT(blocks.classes[0].count, 8);
    CHECK_INT(blocks.classes[1].count, 1);
    smb_block_give(&blocks, smb_block_take(&blocks, 100));
    smb_block_give(&blocks, NULL);
    CHECK_INT(blocks.classes[0].count, 8);
    smb_blocks_release(&blocks);
}

void test_smb_tail_is_sent_after_its_block(void)
{
    struct smb_blocks blocks = {0};
    struct clock clock;
    clock_init_system(&clock);
    struct engine *e = engine_mem_new(&clock);
    struct smb_block *block = smb_block_take(&blocks, 100);
    block->begin = 10;
    block->end = 30;
    block->tail = smb_tail_new(e);
    CHECK(
        smb_tail_add(block->tail, &(struct extent_span){.fd = 7, .file_offset = 50, .length = 5}));
    CHECK(smb_tail_add(block->tail, &(struct extent_span){.fd = 8, .length = 1000}));
    CHECK_INT(smb_block_bytes(block), 1025);
    smb_block_sent(block, 15);
    CHECK_INT(smb_block_bytes(block), 1010);
    CHECK_INT(block->begin, 25);
    smb_block_sent(block, 8);
    CHECK(block->begin == block->end && block->tail->at == 0);
    CHECK_INT(block->tail->parts[0].file_offset, 53);
    smb_block_sent(block, 2 + 400);
    CHECK_INT(block->tail->at, 1);
    CHECK_INT(block->tail->parts[1].file_offset, 400);
    smb_block_sent(block, 600);
    CHECK_INT(smb_block_bytes(block), 0);
    smb_block_give(&blocks, block); /* and its pin */
    engine_close(e);
}

void test_smb_tail_takes_so_many_parts_of_files_and_no_memory(void)
{
    struct clock clock;
    clock_init_system(&clock);
    struct engine *e = engine_mem_new(&clock);
    struct smb_tail *t = smb_tail_new(e);
    CHECK(!smb_tail_add(t, &(struct extent_span){.memory = "m", .fd = -1, .length = 1}));
    for (unsigned i = 0; i < SMB_TAIL_PARTS_MAX; i++)
        CHECK(smb_tail_add(t, &(struct extent_span){.fd = 3, .length = 2}));
    CHECK(!smb_tail_add(t, &(struct extent_span){.fd = 3, .length = 2}));
    CHECK_INT(t->bytes, 2 * SMB_TAIL_PARTS_MAX);
    smb_tail_free(t);
    smb_tail_free(NULL);
    engine_close(e);
}
