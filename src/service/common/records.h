/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all structs that rows store as records (record.h). Each is defined beside its
 * struct. Tests and the fuzz driver walk this list. */
#ifndef SERVICE_COMMON_RECORDS_H
#define SERVICE_COMMON_RECORDS_H

#include "service/common/record.h"

#define RECORDS(X)               \
    X(ACCOUNT_RECORD)            \
    X(BLOB_HEAD_RECORD)          \
    X(BLOB_COPY_RECORD)          \
    X(BLOCK_SET_RECORD)          \
    X(CONTAINER_RECORD)          \
    X(COPY_JOB_RECORD)           \
    X(FILE_COPY_RECORD)          \
    X(NODE_RECORD)               \
    X(NODE_COPY_RECORD)          \
    X(POLICY_RECORD)             \
    X(QUEUE_RECORD)              \
    X(QUEUE_STATE_RECORD)        \
    X(SERVICE_PROPERTIES_RECORD) \
    X(SHARE_RECORD)              \
    X(SHARE_SNAPSHOT_RECORD)     \
    X(TABLE_RECORD)              \
    X(TABLE_BLOCKED_RECORD)

#define RECORD_DECLARE(name) extern const struct record_type name;
RECORDS(RECORD_DECLARE)
#undef RECORD_DECLARE

#endif
