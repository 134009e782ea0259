/* network.h -- what a node says of its network before a run, one process a node: sums of all of
 * them, and what each pair exchanges.
 *
 * Lines, after the node's own: "network nodes=N wrong=COUNT mbs=RATE", then "pair NODE mbs=RATE
 * wrong=COUNT" for each partner; RATE in MB/s, COUNT of elements that came wrong. The names come
 * before the exchange and the numbers after it, so a line without them is an exchange that has not
 * returned. */
#ifndef LOCKSTEP_PREFLIGHT_NETWORK_H
#define LOCKSTEP_PREFLIGHT_NETWORK_H

#include <stdio.h>

#include "runtime/status.h"

/* Whether this process was started as one of several, and can reach the others. */
bool network_is_there(void);

/* At most 50 s: then the process ends with a line on stderr, and code 2. `all_pairs`: also of more
 * than 65 nodes each meets all others. */
bool network_look(const char *node, bool all_pairs, FILE *out, Status *status);

#endif
