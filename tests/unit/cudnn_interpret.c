#include "tests/unit/cudnn_interpret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/math/floats.h"

enum { DIMS = 4, TENSORS_MAX = 64, ENGINE_BYTES = 256, BLOCK = 64 };

/* ---- what descriptors say */

const Attribute *attribute_of(const Descriptor *descriptor, int attribute) {
  for (int i = 0; i < descriptor->count; i++)
    if (descriptor->attribute[i].attribute == attribute) return &descriptor->attribute[i];
  return NULL;
}

Descriptor *part_of(const Descriptor *descriptor, int attribute) {
  const Attribute *a = attribute_of(descriptor, attribute);
  return a != NULL ? *(Descriptor *const *)a->values : NULL;
}

static int64_t number_of(const Descriptor *d, int attribute) {
  const Attribute *a = attribute_of(d, attribute);
  return a != NULL ? *(const int64_t *)a->values : 0;
}

static int32_t word_of(const Descriptor *d, int attribute) {
  return *(const int32_t *)attribute_of(d, attribute)->values;
}

static bool flag_of(const Descriptor *d, int attribute) {
  const Attribute *a = attribute_of(d, attribute);
  return a != NULL && *(const bool *)a->values;
}

static const int64_t *sizes_of(const Descriptor *tensor) {
  return attribute_of(tensor, DNN_TENSOR_SIZES)->values;
}

static const int64_t *strides_of(const Descriptor *tensor) {
  return attribute_of(tensor, DNN_TENSOR_STRIDES)->values;
}

static bool is_virtual(const Descriptor *tensor) {
  return flag_of(tensor, DNN_TENSOR_IS_VIRTUAL);
}

static int32_t type_of(const Descriptor *tensor) {
  return word_of(tensor, DNN_TENSOR_TYPE);
}

static int64_t type_bytes(int32_t type) {
  return type == DNN_BF16 || type == DNN_F16 ? 2 : type == DNN_BOOLEAN ? 1 : 4;
}

static int64_t elements_of(const Descriptor *tensor) {
  const int64_t *size = sizes_of(tensor);
  return size[0] * size[1] * size[2] * size[3];
}

/* From the first element to the end of the last. */
static int64_t span_bytes(const Descriptor *tensor) {
  const int64_t *size = sizes_of(tensor), *stride = strides_of(tensor);
  int64_t last = 0;
  for (int i = 0; i < DIMS; i++)
    last += (size[i] - 1) * stride[i];
  return (last + 1) * type_bytes(type_of(tensor));
}

/* The tensors of an operation: those that it reads, then the one that it writes. */
typedef struct Reach {
  const Descriptor *in[3], *out;
  int count;
} Reach;

static void reads(Reach *reach, const Descriptor *operation, int attribute) {
  const Descriptor *tensor = part_of(operation, attribute);
  if (tensor != NULL) reach->in[reach->count++] = tensor;
}

static Reach reach_of(const Descriptor *operation) {
  Reach reach = {.count = 0};
  switch (operation->kind) {
  case DNN_OPERATION_MATMUL:
    reads(&reach, operation, DNN_OPERATION_MATMUL_A);
    reads(&reach, operation, DNN_OPERATION_MATMUL_B);
    reach.out = part_of(operation, DNN_OPERATION_MATMUL_C);
    break;
  case DNN_OPERATION_POINTWISE:
    reads(&reach, operation, DNN_OPERATION_POINTWISE_X);
    reads(&reach, operation, DNN_OPERATION_POINTWISE_B);
    reads(&reach, operation, DNN_OPERATION_POINTWISE_T);
    reach.out = part_of(operation, DNN_OPERATION_POINTWISE_Y);
    break;
  case DNN_OPERATION_REDUCTION:
    reads(&reach, operation, DNN_OPERATION_REDUCTION_X);
    reach.out = part_of(operation, DNN_OPERATION_REDUCTION_Y);
    break;
  default:
    reads(&reach, operation, DNN_OPERATION_RESHAPE_X);
    reach.out = part_of(operation, DNN_OPERATION_RESHAPE_Y);
  }
  return reach;
}

/* ---- checks */

static bool says(bool good, const char *words, const char **why) {
  if (!good) *why = words;
  return good;
}

static bool check_tensor(const Descriptor *d, const char **why) {
  const int64_t *size = sizes_of(d), *stride = strides_of(d);
  int32_t type = type_of(d);
  bool good = type == DNN_F32 || type == DNN_BF16 || type == DNN_F16 ||
              ((type == DNN_I32 || type == DNN_BOOLEAN) && is_virtual(d));
  for (int i = 0; i < DIMS; i++)
    good &= size[i] > 0 && stride[i] > 0;
  if (flag_of(d, DNN_TENSOR_IS_VALUE)) good &= elements_of(d) == 1 && !is_virtual(d);
  return says(good, "a tensor of another type, or without a size", why);
}

static bool check_matmul(const Reach *reach, const char **why) {
  const int64_t *a = sizes_of(reach->in[0]), *b = sizes_of(reach->in[1]), *c = sizes_of(reach->out);
  bool good = a[0] == c[0] && b[0] == c[0] && a[1] == c[1] && a[1] % b[1] == 0 && a[2] == c[2] &&
              b[3] == c[3] && a[3] == b[2];
  return says(good, "matrices that do not join", why);
}

/* An element, or the whole dim. */
static bool spreads(const Descriptor *x, const Descriptor *over) {
  for (int i = 0; i < DIMS; i++)
    if (sizes_of(x)[i] != 1 && sizes_of(x)[i] != sizes_of(over)[i]) return false;
  return true;
}

static bool check_pointwise(const Descriptor *d, const Reach *reach, const char **why) {
  int mode = word_of(part_of(d, DNN_OPERATION_POINTWISE_POINTWISE), DNN_POINTWISE_MODE);
  bool unary = mode == DNN_EXP || mode == DNN_LOG || mode == DNN_IDENTITY || mode == DNN_INDEX;
  bool good = reach->count == (unary ? 1 : mode == DNN_SELECT ? 3 : 2);
  for (int i = 0; i < reach->count; i++)
    good &= spreads(reach->in[i], reach->out);
  int32_t out = type_of(reach->out);
  good &= (mode == DNN_INDEX) == (out == DNN_I32) && (mode == DNN_AT_LEAST) == (out == DNN_BOOLEAN);
  if (mode == DNN_SELECT) good &= type_of(reach->in[2]) == DNN_BOOLEAN;
  return says(good, "an operation by elements whose tensors do not fit", why);
}

static bool check_reduction(const Reach *reach, const char **why) {
  bool good = true;
  for (int i = 0; i < DIMS; i++)
    good &= sizes_of(reach->in[0])[i] % sizes_of(reach->out)[i] == 0;
  return says(good, "a reduction to sizes that do not divide", why);
}

static bool check_reshape(const Reach *reach, const char **why) {
  return says(elements_of(reach->in[0]) == elements_of(reach->out) &&
                  span_bytes(reach->in[0]) / type_bytes(type_of(reach->in[0])) ==
                      span_bytes(reach->out) / type_bytes(type_of(reach->out)),
              "another memory of the same numbers", why);
}

static const Descriptor *operation_of(const Descriptor *graph, int64_t i) {
  return ((Descriptor *const *)attribute_of(graph, DNN_GRAPH_OPERATIONS)->values)[i];
}

static int64_t operations_of(const Descriptor *graph) {
  return attribute_of(graph, DNN_GRAPH_OPERATIONS)->count;
}

/* How often operations before `until` write it. */
static int writers(const Descriptor *graph, const Descriptor *tensor, int64_t until) {
  int count = 0;
  for (int64_t i = 0; i < until; i++)
    count += reach_of(operation_of(graph, i)).out == tensor;
  return count;
}

/* Tensors have one id each; what is virtual is written before it is read, and everything once. */
static bool check_graph(const Descriptor *graph, const char **why) {
  for (int64_t i = 0; i < operations_of(graph); i++) {
    Reach reach = reach_of(operation_of(graph, i));
    for (int k = 0; k < reach.count; k++)
      if (!says(!is_virtual(reach.in[k]) || writers(graph, reach.in[k], i) == 1,
                "a tensor that is read before it is made", why))
        return false;
    if (!says(writers(graph, reach.out, operations_of(graph)) == 1,
              "a tensor that two operations make", why))
      return false;
    for (int64_t j = 0; j < i; j++) {
      const Descriptor *other = reach_of(operation_of(graph, j)).out;
      if (!says(number_of(other, DNN_TENSOR_ID) != number_of(reach.out, DNN_TENSOR_ID),
                "two tensors of one id", why))
        return false;
    }
  }
  return true;
}

bool interpret_check(const Descriptor *d, const char **why) {
  Reach reach;
  switch (d->kind) {
  case DNN_TENSOR: return check_tensor(d, why);
  case DNN_GRAPH: return check_graph(d, why);
  case DNN_OPERATION_MATMUL: reach = reach_of(d); return check_matmul(&reach, why);
  case DNN_OPERATION_POINTWISE: reach = reach_of(d); return check_pointwise(d, &reach, why);
  case DNN_OPERATION_REDUCTION: reach = reach_of(d); return check_reduction(&reach, why);
  case DNN_OPERATION_RESHAPE: reach = reach_of(d); return check_reshape(&reach, why);
  default: return true;
  }
}

int64_t interpret_workspace_bytes(const Descriptor *graph) {
  int64_t bytes = ENGINE_BYTES, pairs = 0;
  bool is_backward = false, has_sums = false;
  for (int64_t i = 0; i < operations_of(graph); i++) {
    const Descriptor *operation = operation_of(graph, i);
    const Descriptor *out = reach_of(operation).out;
    const int64_t *size = sizes_of(out);
    bool is_product = operation->kind == DNN_OPERATION_MATMUL;
    if (operation->kind == DNN_OPERATION_RESHAPE) is_backward = true;
    if (is_product && is_virtual(out) && type_bytes(type_of(out)) == 2)
      bytes += 2 * elements_of(out);
    if (is_product && !is_virtual(out) && type_of(out) == DNN_F32) has_sums = true;
    if (is_product && pairs == 0) {
      int64_t rows = (size[2] + BLOCK - 1) / BLOCK * BLOCK,
              columns = (size[3] + BLOCK - 1) / BLOCK * BLOCK;
      pairs = 2 * size[0] * size[1] * rows * columns;
    }
  }
  return is_backward && !has_sums ? bytes + pairs : bytes;
}

/* ---- running */

/* Where a tensor is during a call. */
typedef struct Place {
  const Descriptor *tensor;
  char *at;
  void *own; /* what was allocated for it */
} Place;

typedef struct Call {
  const Descriptor *graph, *pack;
  Place place[TENSORS_MAX];
  int count;
  const char *why;
} Call;

static float load(const Place *from, int64_t element) {
  switch (type_of(from->tensor)) {
  case DNN_F32: return ((const float *)from->at)[element];
  case DNN_BF16: return bf16_to_float(((const uint16_t *)from->at)[element]);
  case DNN_F16: return f16_to_float(((const uint16_t *)from->at)[element]);
  case DNN_I32: return (float)((const int32_t *)from->at)[element];
  default: return from->at[element];
  }
}

static void store(const Place *to, int64_t element, float value) {
  switch (type_of(to->tensor)) {
  case DNN_F32: ((float *)to->at)[element] = value; return;
  case DNN_BF16: ((uint16_t *)to->at)[element] = bf16_from_float(value); return;
  case DNN_F16: ((uint16_t *)to->at)[element] = f16_from_float(value); return;
  case DNN_I32: ((int32_t *)to->at)[element] = (int32_t)value; return;
  default: to->at[element] = (char)(value != 0);
  }
}

/* Where element i of `over` is in a tensor that spreads over it, or whose heads it shares. */
static int64_t element_at(const Place *place, const int64_t *i, const int64_t *over) {
  const int64_t *size = sizes_of(place->tensor), *stride = strides_of(place->tensor);
  int64_t at = 0;
  for (int d = 0; d < DIMS; d++)
    at += i[d] * size[d] / over[d] * stride[d];
  return at;
}

/* The next element, row-major; false: that was the last. */
static bool next(int64_t *i, const int64_t *size) {
  for (int d = DIMS - 1; d >= 0; d--) {
    if (++i[d] < size[d]) return true;
    i[d] = 0;
  }
  return false;
}

static void *address_of(const Call *call, int64_t id) {
  const Attribute *ids = attribute_of(call->pack, DNN_PACK_IDS);
  const Attribute *at = attribute_of(call->pack, DNN_PACK_ADDRESSES);
  void *found = NULL;
  for (int64_t i = 0; i < ids->count && i < at->count; i++)
    if (((const int64_t *)ids->values)[i] == id) found = ((void *const *)at->values)[i];
  return found;
}

static const Place *place_of(Call *call, const Descriptor *tensor) {
  for (int i = 0; i < call->count; i++)
    if (call->place[i].tensor == tensor) return &call->place[i];
  Place *place = &call->place[call->count++];
  size_t bytes = (size_t)span_bytes(tensor);
  place->tensor = tensor;
  if (is_virtual(tensor)) place->own = malloc(bytes);
  place->at = place->own != NULL ? place->own : address_of(call, number_of(tensor, DNN_TENSOR_ID));
  if (place->at == NULL) call->why = "a tensor without an address";
  if (place->own != NULL) memset(place->own, 0xff, bytes);
  bool aligned = (uintptr_t)place->at % (uintptr_t)number_of(tensor, DNN_TENSOR_ALIGNMENT) == 0;
  if (!aligned && !flag_of(tensor, DNN_TENSOR_IS_VALUE))
    call->why = "an address that is less aligned than was said";
  return place;
}

static void multiply(const Place *a, const Place *b, const Place *c) {
  const int64_t *size = sizes_of(c->tensor), *a_size = sizes_of(a->tensor),
                *b_size = sizes_of(b->tensor);
  const int64_t *a_stride = strides_of(a->tensor), *b_stride = strides_of(b->tensor);
  int64_t i[DIMS] = {0}, depth = a_size[3];
  do {
    int64_t a_at = i[0] * a_stride[0] + i[1] * a_stride[1] + i[2] * a_stride[2];
    int64_t b_at =
        i[0] * b_stride[0] + i[1] * b_size[1] / size[1] * b_stride[1] + i[3] * b_stride[3];
    float sum = 0;
    for (int64_t k = 0; k < depth; k++)
      sum += load(a, a_at + k * a_stride[3]) * load(b, b_at + k * b_stride[2]);
    store(c, element_at(c, i, size), sum);
  } while (next(i, size));
}

static float by_element(int mode, float x, float b, float t) {
  switch (mode) {
  case DNN_ADD: return x + b;
  case DNN_MULTIPLY: return x * b;
  case DNN_DIVIDE: return x / b;
  case DNN_SUBTRACT: return x - b;
  case DNN_EXP: return expf(x);
  case DNN_LOG: return logf(x);
  case DNN_AT_LEAST: return x >= b ? 1 : 0;
  case DNN_SELECT: return t != 0 ? x : b;
  default: return x;
  }
}

static void apply(const Descriptor *how, const Place *const *in, int count, const Place *y) {
  const int64_t *size = sizes_of(y->tensor);
  int mode = word_of(how, DNN_POINTWISE_MODE);
  int64_t axis = number_of(how, DNN_POINTWISE_AXIS), i[DIMS] = {0};
  do {
    float value[3] = {0};
    for (int k = 0; k < count; k++)
      value[k] = load(in[k], element_at(in[k], i, size));
    if (mode == DNN_INDEX) value[0] = (float)i[axis];
    store(y, element_at(y, i, size), by_element(mode, value[0], value[1], value[2]));
  } while (next(i, size));
}

/* Over x in its order; what is made so far is kept in f32, not in y's type. */
static bool reduce(int operator, const Place * x, const Place *y) {
  const int64_t *size = sizes_of(x->tensor);
  size_t count = (size_t)(span_bytes(y->tensor) / type_bytes(type_of(y->tensor)));
  float *so_far = malloc(count * sizeof *so_far);
  int64_t i[DIMS] = {0};
  if (so_far == NULL) return false;
  for (size_t k = 0; k < count; k++)
    so_far[k] = operator== DNN_LARGEST ? -INFINITY : 0;
  do {
    float *at = &so_far[element_at(y, i, size)], value = load(x, element_at(x, i, size));
    *at = operator== DNN_LARGEST ? fmaxf(*at, value) : * at + value;
  } while (next(i, size));
  do {
    int64_t at = element_at(y, i, sizes_of(y->tensor));
    store(y, at, so_far[at]);
  } while (next(i, sizes_of(y->tensor)));
  free(so_far);
  return true;
}

static void reshape(const Place *x, const Place *y) {
  const int64_t *size = sizes_of(y->tensor);
  int64_t i[DIMS] = {0};
  do {
    int64_t at = element_at(y, i, size);
    store(y, at, load(x, at));
  } while (next(i, size));
}

static bool carry_out(Call *call, const Descriptor *operation) {
  Reach reach = reach_of(operation);
  const Place *in[3] = {NULL, NULL, NULL};
  for (int i = 0; i < reach.count; i++)
    in[i] = place_of(call, reach.in[i]);
  const Place *out = place_of(call, reach.out);
  if (call->why != NULL) return false;
  switch (operation->kind) {
  case DNN_OPERATION_MATMUL: multiply(in[0], in[1], out); return true;
  case DNN_OPERATION_POINTWISE:
    apply(part_of(operation, DNN_OPERATION_POINTWISE_POINTWISE), in, reach.count, out);
    return true;
  case DNN_OPERATION_REDUCTION:
    return reduce(
        word_of(part_of(operation, DNN_OPERATION_REDUCTION_REDUCTION), DNN_REDUCTION_OPERATOR),
        in[0], out);
  default: reshape(in[0], out); return true;
  }
}

static bool overlap(const char *x, int64_t x_bytes, const char *y, int64_t y_bytes) {
  return x < y + y_bytes && y < x + x_bytes;
}

/* The workspace is nobody else's memory, and no other tensor lies in one of f32. Those of bf16 may
 * lie between each other's rows. */
static bool is_apart(const Call *call, const char *workspace, int64_t bytes) {
  for (int i = 0; i < call->count; i++) {
    const Place *x = &call->place[i];
    int64_t x_bytes = span_bytes(x->tensor);
    if (overlap(x->at, x_bytes, workspace, bytes)) return false;
    for (int k = 0; k < call->count && type_of(x->tensor) == DNN_F32; k++)
      if (k != i && overlap(x->at, x_bytes, call->place[k].at, span_bytes(call->place[k].tensor)) &&
          number_of(x->tensor, DNN_TENSOR_ID) != number_of(call->place[k].tensor, DNN_TENSOR_ID))
        return false;
  }
  return true;
}

static void free_virtual(Call *call) {
  for (int i = 0; i < call->count; i++)
    free(call->place[i].own);
}

/* An address that no tensor has is a mistake, too. */
static bool binds_all(const Call *call) {
  const Attribute *ids = attribute_of(call->pack, DNN_PACK_IDS);
  int64_t bound = 0;
  for (int64_t i = 0; i < ids->count; i++)
    for (int k = 0; k < call->count; k++)
      bound += number_of(call->place[k].tensor, DNN_TENSOR_ID) == ((const int64_t *)ids->values)[i];
  return bound >= ids->count;
}

bool interpret_run(const Descriptor *graph, const Descriptor *pack, int64_t workspace_bytes,
                   const char **why) {
  Call call = {.graph = graph, .pack = pack};
  char *workspace = *(char *const *)attribute_of(pack, DNN_PACK_WORKSPACE)->values;
  if (workspace_bytes > 0 && (workspace == NULL || (uintptr_t)workspace % 16 != 0))
    call.why = "workspace that is missing, or not aligned";
  else if (workspace_bytes > 0)
    memset(workspace, 0xff, (size_t)workspace_bytes);
  for (int64_t i = 0; call.why == NULL && i < operations_of(graph); i++)
    if (!carry_out(&call, operation_of(graph, i)) && call.why == NULL) call.why = "no memory";
  if (call.why == NULL && !is_apart(&call, workspace, workspace_bytes))
    call.why = "memory of two tensors, or of one and the workspace";
  if (call.why == NULL && !binds_all(&call)) call.why = "an address of no tensor";
  free_virtual(&call);
  *why = call.why;
  return call.why == NULL;
}
