/* arithmetic.c -- a op b with b broadcast, the sum that undoes a broadcast, and scale * x + shift.
 */
#include <assert.h>

#include "kernels/reference/access.h"

enum { AXES_MAX = (KERNEL_DIMS_MAX - 1) / 2 };

typedef struct Broadcast {
  int64_t axes, count; /* count: elements of the larger tensor */
  const int64_t *size, *stride;
} Broadcast;

static Broadcast broadcast_of(const KernelArgs *args) {
  Broadcast b = {.axes = args->dim[0], .count = 1, .size = args->dim + 1};
  assert(b.axes <= AXES_MAX);
  b.stride = b.size + b.axes;
  for (int64_t axis = 0; axis < b.axes; axis++)
    b.count *= b.size[axis];
  return b;
}

/* The element of the smaller tensor that belongs to element i of the larger one. */
static int64_t partner(Broadcast b, int64_t i) {
  int64_t at = 0;
  for (int64_t axis = b.axes - 1; axis >= 0; axis--) {
    at += i % b.size[axis] * b.stride[axis];
    i /= b.size[axis];
  }
  return at;
}

static void combine(const KernelArgs *args, char operation) {
  Tensor a = tensor(args, 0), b = tensor(args, 1), y = tensor(args, 2);
  Broadcast shape = broadcast_of(args);
  for (int64_t i = 0; i < shape.count; i++) {
    double left = load(a, i), right = load(b, partner(shape, i));
    store(y, i, operation == '+' ? left + right : operation == '-' ? left - right : left * right);
  }
}

void reference_add(const KernelArgs *args) {
  combine(args, '+');
}
void reference_subtract(const KernelArgs *args) {
  combine(args, '-');
}
void reference_multiply(const KernelArgs *args) {
  combine(args, '*');
}

/* Element number `i` of the axes that are kept (or summed), in order, as an index into x. */
static int64_t x_index(Broadcast b, bool kept, int64_t i) {
  int64_t at = 0, x_stride = 1;
  for (int64_t axis = b.axes - 1; axis >= 0; axis--) {
    if ((b.stride[axis] != 0) == kept) {
      at += i % b.size[axis] * x_stride;
      i /= b.size[axis];
    }
    x_stride *= b.size[axis];
  }
  return at;
}

void reference_sum_to(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  Broadcast b = broadcast_of(args);
  int64_t kept_count = 1, summed_count = 1;
  for (int64_t axis = 0; axis < b.axes; axis++)
    *(b.stride[axis] != 0 ? &kept_count : &summed_count) *= b.size[axis];
  for (int64_t kept = 0; kept < kept_count; kept++) {
    int64_t from = x_index(b, true, kept);
    double sum = 0;
    for (int64_t summed = 0; summed < summed_count; summed++)
      sum += load(x, from + x_index(b, false, summed));
    store_or_add(y, partner(b, from), sum, args->accumulate);
  }
}

void reference_affine(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, args->attr[0] * load(x, i) + args->attr[1]);
}
