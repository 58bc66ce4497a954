/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/block.h"

#include <string.h>

#include "core/test.h"

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
    CHECK_INT(blocks.classes[0].count, 4);
    CHECK_INT(blocks.classes[1].count, 1);
    smb_block_give(&blocks, smb_block_take(&blocks, 100));
    smb_block_give(&blocks, NULL);
    CHECK_INT(blocks.classes[0].count, 4);
    smb_blocks_release(&blocks);
}
