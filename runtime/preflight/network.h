/* network.h -- tests the network before a run, with one process on each node: sums over all nodes,
 * and exchanges of pairs.
 *
 * Lines, after the node's own: "network nodes=N wrong=COUNT mbs=RATE", then "pair NODE mbs=RATE
 * wrong=COUNT" for each partner; RATE in MB/s, COUNT is the number of wrong elements. The names are
 * written before the exchange and the numbers after it, so a line without numbers is an exchange
 * that has not returned. */
#ifndef LOCKSTEP_PREFLIGHT_NETWORK_H
#define LOCKSTEP_PREFLIGHT_NETWORK_H

#include <stdio.h>

#include "runtime/process/status.h"

/* True if this process was started as one of several, and can reach the others. */
bool network_is_there(void);

/* Takes at most 50 s: then the process ends with a line on stderr and code 2. `all_pairs`: with
 * more than 65 nodes, too, each exchanges with all others. */
bool network_look(const char *node, bool all_pairs, FILE *out, Status *status);

#endif
