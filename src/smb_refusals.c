/* SPDX-License-Identifier: Apache-2.0 */
#include "smb_refusals.h"

#include <string.h>

#include "rest/watch/inspector.h"
#include "smb/refused.h"

void smb_refusals_tell(void *arg, const struct smb_refusal *refusal)
{
    static const struct op OPS[] = {{.name = "SMB Create"},  {.name = "SMB Lock"},
                                    {.name = "SMB Read"},    {.name = "SMB Write"},
                                    {.name = "SMB SetInfo"}, {.name = "SMB"}};
    size_t i = 0;
    while (i + 1 < sizeof OPS / sizeof OPS[0] && refusal->command != NULL &&
           strcmp(OPS[i].name + sizeof "SMB", refusal->command) != 0)
        i++;
    struct inspector_foreign f = {.op = &OPS[i],
                                  .account = refusal->account,
                                  .share = refusal->share,
                                  .path = refusal->path,
                                  .error = refusal->error,
                                  .at = refusal->at,
                                  .sent = refusal->wish,
                                  .holder = refusal->holder,
                                  .client = refusal->client,
                                  .peer = refusal->peer};
    if (arg != NULL)
        inspector_refused_foreign(arg, &f);
}
