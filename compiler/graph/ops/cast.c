/* cast.c -- y = x in another dtype: a sum made in f32 is cast to the dtype that its readers expect.
 */
#include "compiler/graph/ops/rule.h"

const OpDef op_cast = {.name = "cast",
                       .shape = rule_given,
                       .lower = lower_elements,
                       .in_place = -1,
                       .is_light = true,
                       .layout = LAYOUT_LINEAR};
