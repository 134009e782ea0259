/* absent.c -- replaces pmix.c in builds without PMIx or MPI. */
#include <stdlib.h>

#include "runtime/boot/pmix.h"

static const char missing[] =
    "this lockstep-rank was built without PMIx and MPI, so all its ranks are threads: install "
    "libpmix-dev and libopenmpi-dev, then build again (./bootstrap build)";

bool boot_pmix_is_launched(void) {
  return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

Boot *boot_pmix_new(const BootPmixSetup *setup, Status *status) {
  (void)setup;
  (void)status_fail(status, STATUS_USER, "%s", missing);
  return NULL;
}
