/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/repeat.h"

#include "core/mem.h"
#include "engine/wrap.h"

struct engine *engine_repeat_new(struct engine *inner)
{
    static const struct wrap_hooks hooks = {.twice = true};
    return wrap_engine_init(MEM_NEW(struct wrap_engine), inner, &hooks);
}

struct engine *engine_hintless_new(struct engine *inner)
{
    static const struct wrap_hooks hooks = {.no_hints = true};
    return wrap_engine_init(MEM_NEW(struct wrap_engine), inner, &hooks);
}
