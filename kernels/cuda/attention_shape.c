#include "kernels/cuda/attention_shape.h"

#include "kernels/runs.h"

enum { UNIT = DNN_ALIGN_BYTES / 2 /* elements of two bytes */ };

/* All values are bf16, or all are fp16. */
static bool are_narrow(const KernelUse *use, bool is_backward) {
  int32_t lse = is_backward ? 5 : 4, values = is_backward ? 9 : 4;
  for (int32_t i = 0; i < values; i++)
    if (i != lse && use->dtype[i] != use->dtype[0]) return false;
  return use->dtype[0] == DTYPE_BF16 || use->dtype[0] == DTYPE_F16;
}

static bool ascend(Runs runs) {
  return runs.seq / 2 == 0 || runs.second >= runs.first + runs.seq / 2;
}

/* Tokens in two runs, in the order of their positions. */
typedef struct Halves {
  int64_t from[2], to[2]; /* the first and last position of each */
} Halves;

static Halves halves_of(Runs runs) {
  int64_t half = runs.seq / 2, rest = runs.seq - half;
  return (Halves){{runs.first, runs.second}, {runs.first + half - 1, runs.second + rest - 1}};
}

/* The visible part of a ring's block from another rank: all queries see the first half of the keys,
 * or the second half of the queries sees all keys. The shape is cut so, and hides nothing then. */
static bool say_half(AttentionShape *shape, Runs query, Runs key) {
  Halves q = halves_of(query), k = halves_of(key);
  int64_t half = shape->sample / 2;
  if (shape->sample % 2 != 0 || half * (int64_t)sizeof(float) % DNN_ALIGN_BYTES != 0) return false;
  if (k.to[0] <= q.from[0] && k.from[1] > q.to[1])
    shape->keys = half;
  else if (k.to[1] <= q.from[1] && k.from[0] > q.to[0])
    shape->seq = half;
  else
    return false;
  shape->causal = false;
  return true;
}

/* Positions, where the graph can express them: it counts queries and keys from 0. Where both have
 * the same ascending positions, their order is that of their numbers. */
static void say_mask(const KernelUse *use, AttentionShape *shape, const char **why) {
  Runs q = {shape->sample, (int64_t)use->attr[3], (int64_t)use->attr[4]};
  Runs k = {shape->sample, (int64_t)use->attr[5], (int64_t)use->attr[6]};
  int64_t last = shape->sample - 1;
  int64_t q_first = runs_position(q, 0), k_last = runs_position(k, last);
  bool is_same = q_first == runs_position(k, 0) && runs_position(q, last) == k_last;
  bool are_ascending = ascend(q) && ascend(k);
  if (shape->causal && are_ascending && k_last <= q_first)
    shape->causal = false; /* all of them are seen */
  else if (shape->causal && !(are_ascending && (is_same || say_half(shape, q, k))))
    *why = "a causal mask of keys at other positions than queries";
}

static bool in_units(const AttentionShape *shape) {
  return ((shape->head | shape->q_stride | shape->k_stride | shape->v_stride | shape->d_q_stride |
           shape->d_k_stride | shape->d_v_stride) %
          UNIT) == 0;
}

AttentionShape attention_shape_of(KernelId id, const KernelUse *use, const char **why) {
  const int64_t *dim = use->dim;
  AttentionShape shape = {.batch = dim[0],
                          .seq = dim[1],
                          .keys = dim[1],
                          .sample = dim[1],
                          .heads = dim[2],
                          .kv_heads = dim[3],
                          .head = dim[4],
                          .q_stride = dim[5],
                          .k_stride = dim[6],
                          .v_stride = dim[7]};
  *why = NULL;
  shape.is_backward = id == KERNEL_attention_backward;
  shape.causal = use->attr[0] != 0;
  if (shape.is_backward)
    shape.d_q_stride = dim[8], shape.d_k_stride = dim[9], shape.d_v_stride = dim[10];
  shape.is_f16 = use->dtype[0] == DTYPE_F16;
  if (!are_narrow(use, shape.is_backward))
    *why = "values that are neither bf16 nor fp16";
  else if (use->attr[2] != 0)
    *why = "dropout";
  else if (use->attr[10] != 0)
    *why = "a window";
  else if (use->attr[11] != 0)
    *why = "a soft cap of scores";
  else if (shape.batch <= 0 || shape.seq <= 0 || shape.kv_heads <= 0)
    *why = "no tokens";
  else if (!in_units(&shape) || use->align_bytes < DNN_ALIGN_BYTES)
    *why = "heads, strides or addresses that are not whole 16 bytes";
  else
    say_mask(use, &shape, why);
  return shape;
}

bool attention_shape_same(const AttentionShape *a, const AttentionShape *b) {
  return a->batch == b->batch && a->seq == b->seq && a->keys == b->keys && a->sample == b->sample &&
         a->heads == b->heads && a->kv_heads == b->kv_heads && a->head == b->head &&
         a->q_stride == b->q_stride && a->k_stride == b->k_stride && a->v_stride == b->v_stride &&
         a->d_q_stride == b->d_q_stride && a->d_k_stride == b->d_k_stride &&
         a->d_v_stride == b->d_v_stride && a->is_backward == b->is_backward &&
         a->causal == b->causal && a->is_f16 == b->is_f16 && a->is_ordered == b->is_ordered;
}
