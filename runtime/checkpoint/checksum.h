/* checksum.h -- 64 bits that notice damage, at the speed of memory; not against malice. */
#ifndef LOCKSTEP_CHECKSUM_H
#define LOCKSTEP_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum(const void *bytes, size_t count);

#endif
