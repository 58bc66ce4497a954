/* SPDX-License-Identifier: Apache-2.0 */
#include "smb_told.h"

#include <string.h>

#include "rest/watch/inspector.h"
#include "smb/told.h"

void smb_told_note(void *arg, const struct smb_told *told)
{
    static const struct op OPS[] = {{.name = "SMB Create"},  {.name = "SMB Lock"},
                                    {.name = "SMB Read"},    {.name = "SMB Write"},
                                    {.name = "SMB SetInfo"}, {.name = "SMB"}};
    static const enum inspector_kind KINDS[] = {[SMB_TOLD_REFUSAL] = INSPECTOR_REFUSED,
                                                [SMB_TOLD_WRITE] = INSPECTOR_WROTE,
                                                [SMB_TOLD_READ] = INSPECTOR_READ};
    size_t i = 0;
    while (i + 1 < sizeof OPS / sizeof OPS[0] && told->command != NULL &&
           strcmp(OPS[i].name + sizeof "SMB", told->command) != 0)
        i++;
    struct inspector_foreign f = {.kind = KINDS[told->kind],
                                  .op = &OPS[i],
                                  .account = told->account,
                                  .share = told->share,
                                  .path = told->path,
                                  .error = told->error,
                                  .at = told->at,
                                  .sent = told->wish,
                                  .holder = told->holder,
                                  .client = told->client,
                                  .peer = told->peer};
    if (arg != NULL)
        inspector_note_foreign(arg, &f);
}
