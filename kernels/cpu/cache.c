/* cache.c -- attention of one token after another to a cache: a block of positions at a time, the
 * sums so far rescaled where a block has a higher score. A token's numbers depend on its position
 * alone, whatever else is in the pass. Many tokens of a text go through cache_panels.c. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/cache_panels.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum { WIDEST_HEAD = 512, BLOCK = 128 };

typedef struct Head {
  const void *keys, *values;
  DType keys_dtype, values_dtype;
  int64_t head, first_row, row; /* elements: of position 0, and from position to position */
  float scale, softcap;
} Head;

ALWAYS_INLINE float dot_key(const Head *h, const float *q, int64_t position, DType dtype) {
  const int64_t at = h->first_row + position * h->row;
  Vec sum = v_set(0);
  int64_t c = 0;
  for (; c + LANES <= h->head; c += LANES)
    sum = v_fma(v_load(q + c), v_get(h->keys, at + c, dtype), sum);
  if (c < h->head) sum = v_fma(v_load(q + c), v_get_n(h->keys, at + c, h->head - c, dtype), sum);
  return v_sum(sum);
}

ALWAYS_INLINE void add_value(const Head *h, float *out, float weight, int64_t position,
                             DType dtype) {
  const int64_t at = h->first_row + position * h->row;
  const Vec w = v_set(weight);
  int64_t c = 0;
  for (; c + LANES <= h->head; c += LANES)
    v_store(out + c, v_fma(w, v_get(h->values, at + c, dtype), v_load(out + c)));
  if (c < h->head)
    v_store(out + c, v_fma(w, v_get_n(h->values, at + c, h->head - c, dtype), v_load(out + c)));
}

/* The scores of positions [first, first + count), and the highest. */
ALWAYS_INLINE float find_scores(const Head *h, const float *q, int64_t first, int64_t count,
                                float *score, DType dtype) {
  float highest = -INFINITY;
  for (int64_t j = 0; j < count; j++) {
    float s = h->scale * dot_key(h, q, first + j, dtype);
    if (h->softcap > 0) s = h->softcap * tanhf(s / h->softcap);
    score[j] = s;
    highest = s > highest ? s : highest;
  }
  return highest;
}

ALWAYS_INLINE void rescale(float *out, int64_t head, float factor) {
  for (int64_t c = 0; c < head; c += LANES)
    v_store(out + c, v_mul(v_load(out + c), v_set(factor)));
}

/* out, with room for whole vectors, = the attention of q to positions [first, end). */
ALWAYS_INLINE void attend(const Head *h, const float *q, float *out, int64_t first, int64_t end,
                          DType keys_dtype, DType values_dtype) {
  float score[BLOCK], highest = -INFINITY, sum = 0;
  memset(out, 0, sizeof(float) * (size_t)(h->head + LANES));
  for (; first < end; first += BLOCK) {
    const int64_t count = min64(BLOCK, end - first);
    const float block = find_scores(h, q, first, count, score, keys_dtype);
    if (block > highest) {
      const float factor = expf(highest - block);
      rescale(out, h->head, factor);
      sum *= factor;
      highest = block;
    }
    const Vec base =
        v_set(highest == -INFINITY ? 0 : highest); /* where no score has a weight yet */
    for (int64_t j = 0; j < count; j += LANES) {
      const int64_t n = min64(LANES, count - j);
      v_store_n(score + j, n, v_exp(v_sub(v_load_n(score + j, n), base)));
    }
    for (int64_t j = 0; j < count; j++) {
      sum += score[j];
      add_value(h, out, score[j], first + j, values_dtype);
    }
  }
  rescale(out, h->head, sum == 0 ? 0 : 1 / sum);
}

static void attend_head(const Head *h, const float *q, float *out, int64_t first, int64_t end) {
  if (h->keys_dtype == DTYPE_F32 && h->values_dtype == DTYPE_F32)
    attend(h, q, out, first, end, DTYPE_F32, DTYPE_F32);
  else if (h->keys_dtype == DTYPE_BF16 && h->values_dtype == DTYPE_BF16)
    attend(h, q, out, first, end, DTYPE_BF16, DTYPE_BF16);
  else
    attend(h, q, out, first, end, h->keys_dtype, h->values_dtype);
}

/* Heads of tokens, one after another. */
static void head_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const int64_t *dim = args->dim, seq = dim[1], heads = dim[2], kv_heads = dim[3], head = dim[4];
  const int32_t *places = args->operand[3];
  const int64_t window = (int64_t)args->attr[1], rows = dim[6];
  float q[WIDEST_HEAD + LANES], out[WIDEST_HEAD + LANES];
  (void)context;
  for (int64_t i = first; i < end; i++) {
    const int64_t token = i / heads, h = i % heads, place = places[token];
    const Head of = {.keys = args->operand[1],
                     .values = args->operand[2],
                     .keys_dtype = (DType)args->dtype[1],
                     .values_dtype = (DType)args->dtype[2],
                     .head = head,
                     .row = kv_heads * head,
                     .first_row =
                         token / seq * rows * kv_heads * head + h / (heads / kv_heads) * head,
                     .scale = (float)args->attr[0],
                     .softcap = (float)args->attr[2]};
    memset(q + head, 0, sizeof(float) * LANES);
    for (int64_t c = 0; c < head; c += LANES)
      v_store_n(q + c, min64(LANES, head - c),
                v_get_n(args->operand[0], token * dim[5] + h * head + c, head - c,
                        (DType)args->dtype[0]));
    attend_head(&of, q, out, window > 0 && place >= window ? place - window + 1 : 0,
                place >= 0 && place < rows ? place + 1 : 0);
    for (int64_t c = 0; c < head; c += LANES)
      v_put_n(args->operand[4], i * head + c, head - c, (DType)args->dtype[4], v_load(out + c));
  }
}

void CPU(attention_cached)(const KernelArgs *args) {
  const int64_t heads = args->dim[0] * args->dim[1] * args->dim[2];
  if (!cpu_floats(args, 5, 1u << 3) || args->dim[4] > WIDEST_HEAD)
    reference_attention_cached(args);
  else if (!CPU(cache_panels)(args))
    cpu_ranges(args, heads, 1, head_range, NULL);
}
