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
bool manifest_slot_is_real(ControlSlot slot);

#endif
