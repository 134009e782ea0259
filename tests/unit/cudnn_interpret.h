/* cudnn_interpret.h -- graphs of cuDNN's operations, checked and carried out one by one on a
 * processor: a part of the stand-in. */
#ifndef LOCKSTEP_TESTS_CUDNN_INTERPRET_H
#define LOCKSTEP_TESTS_CUDNN_INTERPRET_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/cudnn_api.h"

enum { ATTRIBUTES_MAX = 8 };

typedef struct Attribute {
  int attribute;
  int64_t count;
  void *values;
} Attribute;

typedef struct Descriptor {
  int kind;
  bool is_final;
  int count;
  Attribute attribute[ATTRIBUTES_MAX];
  struct Descriptor *graph; /* of a configuration */
  int64_t engine;           /* of a configuration or an engine */
} Descriptor;

/* NULL: it is not set. */
const Attribute *attribute_of(const Descriptor *descriptor, int attribute);
Descriptor *part_of(const Descriptor *descriptor, int attribute);

/* Sizes, types and order of what is about to be finished. */
bool interpret_check(const Descriptor *descriptor, const char **why);

/* Memory that an engine would use while it runs: 256 bytes, d(scores) where no sums of d_q are
 * given, and products that heads share. */
int64_t interpret_workspace_bytes(const Descriptor *graph);

bool interpret_run(const Descriptor *graph, const Descriptor *pack, int64_t workspace_bytes,
                   const char **why);

#endif
