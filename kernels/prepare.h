/* prepare.h -- the default prepare, for kernels without state. */
#ifndef LOCKSTEP_KERNELS_PREPARE_H
#define LOCKSTEP_KERNELS_PREPARE_H

#include "kernels/kernel.h"

/* Refuses a record that does not match the kernel's row; the state is NULL. */
KernelStatus kernel_check_use(const Kernel *kernel, const KernelUse *use, void **state,
                              const char **why);

#endif
