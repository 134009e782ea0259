/* changes.h -- small changes of a job: changes of one or two keys, such as half of tp and twice as
 * many replicas; and what the job would need and take with each, as estimate.h has it.
 *
 * Advice, lints and `explain --breakdown` ask the same question of other lists of changes. The
 * answer does not depend on the number of threads. */
#ifndef LOCKSTEP_CHANGES_H
#define LOCKSTEP_CHANGES_H

#include "compiler/search/bounds.h"
#include "compiler/search/estimate.h"

enum { CHANGED_KEYS = 8, CHANGES_MOST = 48 };

typedef struct ChangedKey {
  int32_t field;
  int64_t value; /* of a choice: the number of its word */
} ChangedKey;

typedef struct Change {
  ChangedKey key[CHANGED_KEYS];
  int32_t count;
  bool is_legal; /* the job can be compiled so; what follows is known then */
  bool fits;     /* with the margin that tune leaves, where the job does not say its budget */
  Estimate estimate;
  Derived derived;
} Change;

typedef struct Changes {
  Change at[CHANGES_MOST];
  int32_t count;
} Changes;

/* Sets a key, in place of what the change has of it. */
void change_set(Change *change, int32_t field, int64_t value);

/* Adds a change of one key to a list; more keys may be set in it then. */
Change *changes_add(Changes *list, const Change *base, int32_t field, int64_t value);

/* All small changes of the subject's job with `base`, whose `derived` is known, on top of `base`;
 * `saves`: only those that may need less memory. Numbers that the job computes stay the same to
 * rounding. */
void changes_small(const Subject *subject, const Cluster *cluster, const Change *base, bool saves,
                   Changes *out);

/* Fills in what each change needs and takes. Changes that are not legal are refused in silence. */
void changes_estimate(const Subject *subject, Changes *list);

/* The fastest that fits, and whose plan has been made and fits, too; without times the first one.
 * NULL: none. `more_nodes`: also of those that take more nodes. */
const Change *changes_best(const Subject *subject, Changes *list, bool more_nodes);

bool change_takes_nodes(const Change *change);

/* "parallel.tp = 4, parallel.pp = 2"; the same within sections: "tp = 4, pp = 2"; and as options:
 * "-D parallel.tp=4 -D parallel.pp=2". */
const char *change_text(Arena *arena, const Change *change);
const char *change_keys(Arena *arena, const Change *change);
const char *change_options(Arena *arena, const Change *change);

#endif
