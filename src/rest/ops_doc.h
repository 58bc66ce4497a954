/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli --ops`: the operation tables as Markdown. docs/operations.md is its output. */
#ifndef REST_OPS_DOC_H
#define REST_OPS_DOC_H

void ops_doc_print(void);

#endif
