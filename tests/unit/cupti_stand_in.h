/* cupti_stand_in.h -- CUPTI for tests without GPUs: a shared object with the library's entry
 * points, loaded as the library is. A test says what was launched and when it ran. Records come
 * when they are asked for, in small buffers: those of activities before those that give their
 * external ids, the newest first. It refuses what would cost a run its speed or its times: kinds
 * that serialise kernels or fold a graph into one record, a clock that comes after records, ids
 * that are not taken back. */
#ifndef LOCKSTEP_TESTS_CUPTI_STAND_IN_H
#define LOCKSTEP_TESTS_CUPTI_STAND_IN_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* How the library is: as it should be, or not. */
typedef enum CuptiFlaw {
  CUPTI_SOUND,
  CUPTI_OF_ANOTHER_VERSION,
  CUPTI_HAS_A_SUBSCRIBER,
  CUPTI_DROPS,                /* the records of the next window */
  CUPTI_NAMES_ONLY_WITH_CALLS /* external ids come only where records of calls are asked for */
} CuptiFlaw;

/* The activities of one launch, a graph's if they have nodes: each has its kind, 'k', 'c' or 's'
 * for a kernel, a copy or a clear. */
typedef struct CuptiActivity {
  char kind;
  uint64_t node;
  int64_t start_ns, end_ns;
} CuptiActivity;

/* Further functions of the shared object. */
typedef void CuptiStandInSet(int flaw);
/* The calling thread launches them. */
typedef void CuptiStandInLaunch(const CuptiActivity *activities, int count);
/* A node is created (`original` 0), or copied from another. Nodes are numbers from 1 on. */
typedef void CuptiStandInNode(uintptr_t node, uintptr_t original);
/* Rules that were broken, and kinds that are switched on. */
typedef int CuptiStandInCount(void);

#ifdef CUPTI_STAND_IN /* the object's path: in a test */
static inline void *cupti_stand_in_find(const char *name) {
  void *object = dlopen(CUPTI_STAND_IN, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, name) : NULL;
  if (found == NULL) printf("%s\n", dlerror()), exit(1);
  return found;
}

static inline void cupti_stand_in_set(CuptiFlaw flaw) {
  CuptiStandInSet *call = NULL;
  *(void **)&call = cupti_stand_in_find("cupti_stand_in_flaw");
  call((int)flaw);
}

static inline void cupti_stand_in_launch(const CuptiActivity *activities, int count) {
  CuptiStandInLaunch *call = NULL;
  *(void **)&call = cupti_stand_in_find("cupti_stand_in_launched");
  call(activities, count);
}

static inline void cupti_stand_in_node(uintptr_t node, uintptr_t original) {
  CuptiStandInNode *call = NULL;
  *(void **)&call = cupti_stand_in_find("cupti_stand_in_noded");
  call(node, original);
}

static inline int cupti_stand_in_wrongs(void) {
  CuptiStandInCount *call = NULL;
  *(void **)&call = cupti_stand_in_find("cupti_stand_in_faults");
  return call();
}
#endif

#endif
