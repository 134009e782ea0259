/* launches.h -- which calls of norms and of updates share a launch. */
#ifndef LOCKSTEP_DRAFT_LAUNCHES_H
#define LOCKSTEP_DRAFT_LAUNCHES_H

/* A launch takes further calls until it lasts this long. Above this time the launch overhead no
 * longer matters, and a longer launch would only delay its waiters. */
enum { LAUNCH_NS = 250000 };

#endif
