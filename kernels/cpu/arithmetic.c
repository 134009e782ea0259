/* arithmetic.c -- a op b where b is all of a's shape or repeats along the leading axes; sums over
 * leading axes; scale * x + shift. Other broadcasts go to the reference. */
#include "kernels/cpu/columns.h"
#include "kernels/cpu/fused.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

typedef enum Operation { ADD, SUBTRACT, MULTIPLY } Operation;

ALWAYS_INLINE Vec apply(Operation op, Vec a, Vec b) {
  return op == ADD ? v_add(a, b) : op == SUBTRACT ? v_sub(a, b) : v_mul(a, b);
}

/* Elements of b when its strides are dense over the last axes and 0 over the others; else 0. */
static int64_t repeated_suffix(const KernelArgs *args, int64_t *count) {
  int64_t axes = args->dim[0], dense = 1, axis = axes - 1;
  const int64_t *size = args->dim + 1, *stride = size + axes;
  *count = 1;
  for (int64_t i = 0; i < axes; i++)
    *count *= size[i];
  for (; axis >= 0 && (stride[axis] == dense || size[axis] == 1); axis--)
    dense *= size[axis];
  for (; axis >= 0; axis--)
    if (stride[axis] != 0 && size[axis] != 1) return 0;
  return dense;
}

typedef struct Combine {
  Operation op;
  int64_t period; /* elements of b */
} Combine;

ALWAYS_INLINE void combine_run(const KernelArgs *args, Operation op, int64_t i, int64_t from,
                               int64_t n) {
  DType a_dtype = (DType)args->dtype[0], b_dtype = (DType)args->dtype[1];
  DType y_dtype = (DType)args->dtype[2];
  for (int64_t k = 0; k < n; k += LANES) {
    Vec a = v_get_n(args->operand[0], i + k, n - k, a_dtype);
    Vec b = v_get_n(args->operand[1], from + k, n - k, b_dtype);
    v_put_n(args->operand[2], i + k, n - k, y_dtype, apply(op, a, b));
  }
}

static void combine_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Combine *c = (const Combine *)context;
  for (int64_t i = first; i < end;) {
    int64_t from = i % c->period, n = min64(c->period - from, end - i);
    switch (c->op) {
    case ADD: combine_run(args, ADD, i, from, n); break;
    case SUBTRACT: combine_run(args, SUBTRACT, i, from, n); break;
    case MULTIPLY: combine_run(args, MULTIPLY, i, from, n); break;
    }
    i += n;
  }
}

static bool combine(const KernelArgs *args, Operation op) {
  int64_t count;
  Combine c = {op, repeated_suffix(args, &count)};
  if (!cpu_floats(args, 3, 0) || c.period < min64(LANES, count)) return false;
  cpu_ranges(args, count, GRAIN_ELEMENTS, combine_range, &c);
  return true;
}

bool CPU(adds_all)(const KernelArgs *args, int64_t elements) {
  int64_t count;
  return cpu_floats(args, 3, 0) && repeated_suffix(args, &count) == count && count == elements;
}

void CPU(add_elements)(const KernelArgs *args, int64_t first, int64_t end) {
  combine_run(args, ADD, first, first, end - first);
}

void CPU(add)(const KernelArgs *args) {
  if (!combine(args, ADD)) reference_add(args);
}
void CPU(subtract)(const KernelArgs *args) {
  if (!combine(args, SUBTRACT)) reference_subtract(args);
}
void CPU(multiply)(const KernelArgs *args) {
  if (!combine(args, MULTIPLY)) reference_multiply(args);
}

void CPU(sum_to)(const KernelArgs *args) {
  int64_t count, width = repeated_suffix(args, &count);
  if (!cpu_floats(args, 2, 0) || width == 0) {
    reference_sum_to(args);
    return;
  }
  CPU(column_sums)
  (args, (Columns){.x = args->operand[0],
                   .x_dtype = (DType)args->dtype[0],
                   .y = args->operand[1],
                   .y_dtype = (DType)args->dtype[1],
                   .accumulate = args->accumulate,
                   .rows = count / width,
                   .width = width});
}

static void affine_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  Vec scale = v_set((float)args->attr[0]), shift = v_set((float)args->attr[1]);
  DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[1];
  (void)context;
  for (int64_t i = first; i < end; i += LANES) {
    Vec x = v_get_n(args->operand[0], i, end - i, x_dtype);
    v_put_n(args->operand[1], i, end - i, y_dtype, v_fma(scale, x, shift));
  }
}

void CPU(affine)(const KernelArgs *args) {
  if (cpu_floats(args, 2, 0))
    cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, affine_range, NULL);
  else
    reference_affine(args);
}
