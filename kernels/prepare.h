/* prepare.h -- what preparing is, for kernels that need nothing of their own. */
#ifndef LOCKSTEP_KERNELS_PREPARE_H
#define LOCKSTEP_KERNELS_PREPARE_H

#include "kernels/kernel.h"

/* Refuses a record that is not as the kernel's row says; the state is NULL. */
KernelStatus kernel_check_use(const Kernel *kernel, const KernelUse *use, void **state,
                              const char **why);

#endif
