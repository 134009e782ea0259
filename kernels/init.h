/* init.h -- maps the elements of a rank's part to elements of the whole tensor. */
#ifndef LOCKSTEP_KERNELS_INIT_H
#define LOCKSTEP_KERNELS_INIT_H

#include "kernels/inline.h"
#include "kernels/kernel.h"

/* A run of `length` elements of out: padding (0), or consecutive elements of the tensor. */
typedef struct InitRun {
  bool padding;
  int64_t element, length;
} InitRun;

/* The part that a record makes: kernels.def says what the names mean. */
typedef struct InitPart {
  int64_t n, elements, inner, stride, all_elements, flat_first, first;
} InitPart;

/* `attr`: the number of the attr flat_first, which `first` follows. */
static inline InitPart init_part_at(const KernelArgs *args, int32_t attr) {
  const int64_t *dim = args->dim;
  InitPart part = {dim[0], dim[1], dim[2], dim[3], dim[4], 0, 0};
  part.flat_first = (int64_t)args->attr[attr];
  part.first = (int64_t)args->attr[attr + 1];
  return part;
}

static inline InitPart init_part(const KernelArgs *args) {
  return init_part_at(args, 2);
}

KERNEL_INLINE InitRun init_run(const InitPart *part, int64_t i) {
  InitRun run = {true, 0, part->n - i};
  int64_t f = part->flat_first + i;
  if (f >= part->elements) return run;
  int64_t length = part->inner - f % part->inner, left = part->elements - f;
  if (length > left) length = left;
  if (length < run.length) run.length = length;
  int64_t element = f / part->inner * part->stride + part->first + f % part->inner;
  int64_t real = part->all_elements - element;
  if (real <= 0) return run;
  run.padding = false;
  run.element = element;
  if (real < run.length) run.length = real;
  return run;
}

#endif
