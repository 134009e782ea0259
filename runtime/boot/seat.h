/* seat.h -- whether the node that a process runs on is what the plan has its rank on: the device,
 * the NIC and the processors of its seat, and how the node calls itself a machine. */
#ifndef LOCKSTEP_BOOT_SEAT_H
#define LOCKSTEP_BOOT_SEAT_H

#include <stddef.h>

#include "runtime/boot/cores.h"

enum { SEAT_WHY_BYTES = 256, SEAT_MACHINE_BYTES = 128 };

/* False: `why` says what the plan names and this node lacks. A node that is not described lacks
 * nothing. `allowed` is what the process may use, `system` the root of sysfs ("/sys"). */
bool seat_check(const Plan *plan, int32_t rank, const Cores *allowed, const char *system,
                char why[SEAT_WHY_BYTES]);

/* "AMD EPYC 9654, 192 processors": nodes of one kind say the same. */
void seat_machine(char machine[SEAT_MACHINE_BYTES]);

#endif
