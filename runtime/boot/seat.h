/* seat.h -- whether the node of a process has the device, the NIC and the processors that the plan
 * gives its rank, and how the node names its model. */
#ifndef LOCKSTEP_BOOT_SEAT_H
#define LOCKSTEP_BOOT_SEAT_H

#include <stddef.h>

#include "runtime/boot/cores.h"

enum { SEAT_WHY_BYTES = 256, SEAT_MACHINE_BYTES = 128 };

/* False: `why` says what the plan names and this node lacks. A plan that does not describe its
 * nodes names nothing. `allowed` are the processors that the process may use, `system` is the root
 * of sysfs ("/sys"). */
bool seat_check(const Plan *plan, int32_t rank, const Cores *allowed, const char *system,
                char why[SEAT_WHY_BYTES]);

/* "AMD EPYC 9654, 192 processors": equal on nodes of one kind. */
void seat_machine(char machine[SEAT_MACHINE_BYTES]);

#endif
