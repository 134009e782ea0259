/* sum.h -- the end of the text of a manifest, and the types of control values in it. */
#ifndef LOCKSTEP_MANIFEST_SUM_H
#define LOCKSTEP_MANIFEST_SUM_H

#define XXH_STATIC_LINKING_ONLY /* the size of a state */
#include <xxhash.h>

#include "runtime/manifest/manifest.h"

enum {
  MANIFEST_SUM_DIGITS = 16,
  MANIFEST_SUM_END =
      MANIFEST_SUM_DIGITS + 3 /* the text ends with the digits and "} and a newline */
};

/* True if the control value is a double; otherwise it is an int64_t. */
static inline bool manifest_slot_is_real(ControlSlot slot) {
  static const bool is_real[CONTROL_SLOT_COUNT] = {
#define CONTROL_SLOT(kind, type, writer, reduce, name, unit)                                       \
  [CONTROL_##name] = _Generic((CONTROL_TYPE_##type)0, double : true, default : false),
      CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
  };
  return is_real[slot];
}

#endif
