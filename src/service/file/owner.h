/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVICE_FILE_OWNER_H
#define SERVICE_FILE_OWNER_H

#include "service/common/owner.h"

/* The files and directories that rows of a share belong to. arg: an owner_search. */
engine_fn file_row_owners;

#endif
