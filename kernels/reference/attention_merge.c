/* attention_merge.c -- attention over two sets of keys, from attention over each
 * (arXiv:2310.01889): lse = log(e^lse + e^lse1), out = e^(lse before - lse) out + e^(lse1 - lse)
 * out1. */
#include "kernels/reference/access.h"

typedef struct Merge {
  Tensor out, lse, out1, lse1;
  int64_t head;
  bool accumulate;
} Merge;

/* A head of a token, whose elements begin at `out`. A side with lse -inf has seen no key. */
static void merge_row(const Merge *m, int64_t out, int64_t row) {
  double lse = m->accumulate ? load(m->lse, row) : (double)-INFINITY, lse1 = load(m->lse1, row);
  if (m->accumulate && lse1 == -INFINITY) return; /* it adds nothing, not even to -inf */
  bool first = lse == -INFINITY;
  double highest = lse > lse1 ? lse : lse1;
  double weight = exp(lse - highest), weight1 = exp(lse1 - highest), sum = weight + weight1;
  for (int64_t c = out; c < out + m->head; c++) {
    double out1 = load(m->out1, c);
    store(m->out, c, first ? out1 : (weight * load(m->out, c) + weight1 * out1) / sum);
  }
  store(m->lse, row, first ? lse1 : highest + log(sum));
}

void reference_attention_merge(const KernelArgs *args) {
  int64_t batch = args->dim[0], seq = args->dim[1], heads = args->dim[2];
  Merge m = {.out = tensor(args, 0), .lse = tensor(args, 1), .out1 = tensor(args, 2)};
  m.lse1 = tensor(args, 3);
  m.head = args->dim[3];
  m.accumulate = args->accumulate;
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < seq; i++)
      for (int64_t h = 0; h < heads; h++)
        merge_row(&m, ((b * seq + i) * heads + h) * m.head, (b * heads + h) * seq + i);
}
