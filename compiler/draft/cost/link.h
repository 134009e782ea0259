/* link.h -- what lies between the ranks of a job, while there is no plan yet: from the cluster that
 * it is compiled for. */
#ifndef LOCKSTEP_COST_LINK_H
#define LOCKSTEP_COST_LINK_H

#include "compiler/draft/draft.h"
#include "compiler/machine/place/place.h"
#include "compiler/plan/simulate/price.h"

/* Rates are what large messages get of the cluster's. Its class and comm are the caller's to fill.
 */
PlanLink link_of(const Reach *reach, const Cluster *cluster);

/* The share of a link's rate that its PlanLink has. */
double link_share(const Cluster *cluster, bool is_inside);

/* A rank's share of a communication. */
Traffic link_traffic(const Draft *d, const Record *record);

/* How long a communication takes with ranks in the usual order; 0 where the link is unknown. */
int64_t link_record_ns(const Draft *d, const Record *record);

#endif
