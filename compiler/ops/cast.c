/* cast.c -- y = x in another dtype: what was summed in f32 becomes what others read. */
#include "compiler/ops/rule.h"

const OpDef op_cast = {.name = "cast",
                       .shape = rule_given,
                       .lower = lower_elements,
                       .in_place = -1,
                       .layout = LAYOUT_LINEAR};
