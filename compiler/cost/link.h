/* link.h -- what lies between the ranks of a job, while there is no plan yet: from the cluster that
 * it is compiled for. */
#ifndef LOCKSTEP_COST_LINK_H
#define LOCKSTEP_COST_LINK_H

#include "compiler/schedule/draft.h"

/* Ranks are dealt to the nodes of a cluster in order. */
PlanPlace link_place(const Cluster *cluster, const Mesh *mesh);

/* Between ranks of one node, or of several; its class and comm are the caller's to fill. */
PlanLink link_of(const Cluster *cluster, bool is_one_node);

/* How long a communication takes; 0 where the link is unknown. */
int64_t link_record_ns(const Draft *d, const Record *record);

#endif
