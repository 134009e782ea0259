/* cache.c -- keys and values of tokens by position, and attention to them. */
#include "kernels/reference/access.h"

void reference_cache_append(const KernelArgs *args) {
  Tensor x = tensor(args, 0), cache = tensor(args, 2);
  const int32_t *places = args->operand[1];
  const int64_t *dim = args->dim, seq = dim[1], row = dim[2] * dim[3], context = dim[5];
  for (int64_t token = 0; token < dim[0] * seq; token++) {
    const int64_t place = places[token];
    if (place < 0 || place >= context) continue;
    for (int64_t i = 0; i < row; i++)
      store(cache, (token / seq * context + place) * row + i, load(x, token * dim[4] + i));
  }
}

typedef struct Cached {
  Tensor q, keys, values, out;
  int64_t kv_row, head; /* kv_row: elements from position to position */
  double scale, softcap;
} Cached;

static double score(const Cached *a, int64_t q, int64_t key) {
  const double s =
      a->scale * dot(0, (Strided){a->q, q, 1}, (Strided){a->keys, key, 1}, a->head, false);
  return a->softcap > 0 ? a->softcap * tanh(s / a->softcap) : s;
}

/* Attention of one head of a token to positions [first, end). q and out: where its numbers begin;
 * kv: where those of its keys and values at position 0 do. */
static void attend(const Cached *a, int64_t q, int64_t kv, int64_t out, int64_t first,
                   int64_t end) {
  double highest = -INFINITY, sum = 0;
  for (int64_t j = first; j < end; j++)
    highest = fmax(highest, score(a, q, kv + j * a->kv_row));
  if (highest == -INFINITY) highest = 0; /* no score has a weight */
  for (int64_t j = first; j < end; j++)
    sum += exp(score(a, q, kv + j * a->kv_row) - highest);
  for (int64_t c = 0; c < a->head; c++) {
    double value = 0;
    for (int64_t j = first; sum != 0 && j < end; j++)
      value += exp(score(a, q, kv + j * a->kv_row) - highest) / sum *
               load(a->values, kv + j * a->kv_row + c);
    store(a->out, out + c, value);
  }
}

void reference_attention_cached(const KernelArgs *args) {
  const int64_t *dim = args->dim, seq = dim[1], heads = dim[2], kv_heads = dim[3], context = dim[6];
  const int64_t window = (int64_t)args->attr[1];
  const int32_t *places = args->operand[3];
  const Cached a = {.q = tensor(args, 0),
                    .keys = tensor(args, 1),
                    .values = tensor(args, 2),
                    .out = tensor(args, 4),
                    .kv_row = kv_heads * dim[4],
                    .head = dim[4],
                    .scale = args->attr[0],
                    .softcap = args->attr[2]};
  for (int64_t token = 0; token < dim[0] * seq; token++)
    for (int64_t h = 0; h < heads; h++) {
      const int64_t place = places[token], kv_head = h / (heads / kv_heads);
      const bool is_token = place >= 0 && place < context;
      const int64_t first = window > 0 && place >= window ? place - window + 1 : 0;
      attend(&a, token * dim[5] + h * a.head, token / seq * context * a.kv_row + kv_head * a.head,
             (token * heads + h) * a.head, first, is_token ? place + 1 : first);
    }
}
