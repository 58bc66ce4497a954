/* SPDX-License-Identifier: Apache-2.0 */
/* Passes what SMB clients do to files, and their refusals, to the inspector, beside what REST
 * clients do. */
#ifndef SMB_TOLD_NOTE_H
#define SMB_TOLD_NOTE_H

struct smb_told;

/* For smb_world.told; arg is the inspector, or NULL. */
void smb_told_note(void *arg, const struct smb_told *told);

#endif
