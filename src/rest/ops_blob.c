/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/op.h"

const struct op_table OPS_BLOB = {NULL, 0};
