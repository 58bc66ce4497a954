/* SPDX-License-Identifier: Apache-2.0 */
/* What SMB clients are refused is seen beside what REST clients are. */
#ifndef SMB_REFUSALS_H
#define SMB_REFUSALS_H

struct smb_refusal;

/* For smb_world.refused; arg is the inspector, or NULL. */
void smb_refusals_tell(void *arg, const struct smb_refusal *refusal);

#endif
