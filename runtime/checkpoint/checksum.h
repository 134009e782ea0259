/* checksum.h -- a 64-bit checksum at memory speed, against damage but not against attacks. */
#ifndef LOCKSTEP_CHECKSUM_H
#define LOCKSTEP_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_LANES = 4, CHECKSUM_BLOCK_BYTES = 8 * CHECKSUM_LANES };

uint64_t checksum(const void *bytes, size_t count);

/* The same for bytes in pieces, of which all except the last are multiples of CHECKSUM_BLOCK_BYTES.
 */
typedef struct Checksum {
  uint64_t lane[CHECKSUM_LANES];
  uint64_t count;
} Checksum;

void checksum_begin(Checksum *sum);
void checksum_add(Checksum *sum, const void *bytes, size_t count);
uint64_t checksum_end(const Checksum *sum);

#endif
