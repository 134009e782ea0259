/* draw.c -- what a use of weights takes from the last value of a model. draw: draws a class of each
 * sample that has a target of 0 or more: temperature, then the k likeliest (and those as likely as
 * the k-th), then the likeliest until their probabilities reach top_p; of these one by the row's
 * random number, in order of classes. Temperature 0: the likeliest, of equals the first. */
#include "kernels/math/draw.h"

#include "kernels/reference/access.h"

typedef struct Row {
  Tensor logits;
  int64_t first, classes; /* elements of the row that are no padding */
  double temperature, highest;
  uint32_t bound; /* the least key that is kept */
  int64_t ties;   /* how many classes of that key are kept */
} Row;

static float logit_of(const Row *r, int64_t k) {
  return (float)load(r->logits, r->first + k);
}

static double weight_of(const Row *r, float logit) {
  return exp(((double)logit - r->highest) / r->temperature);
}

/* Counts the classes that have this key or a higher one, and sums their weights. */
static int64_t count_from(const Row *r, uint64_t key, double *weight) {
  int64_t count = 0;
  *weight = 0;
  for (int64_t k = 0; k < r->classes; k++) {
    float logit = logit_of(r, k);
    if (draw_key(logit) < key) continue;
    *weight += weight_of(r, logit);
    count++;
  }
  return count;
}

/* The highest key such that keys from it on have this many classes, or this much weight. */
static uint32_t highest_bound(const Row *r, int64_t count, double weight) {
  uint32_t bound = 0;
  for (int32_t bit = DRAW_KEY_BITS - 1; bit >= 0; bit--) {
    double above;
    uint32_t key = bound | 1u << bit;
    if (count_from(r, key, &above) >= count && above >= weight) bound = key;
  }
  return bound;
}

static void choose_kept(Row *r, double top_k, double top_p) {
  double total, above;
  if (top_k > 0 && top_k < (double)r->classes) r->bound = highest_bound(r, (int64_t)top_k, 0);
  if (top_p >= 1) return;
  (void)count_from(r, r->bound, &total);
  uint32_t bound = highest_bound(r, 1, top_p * total);
  if (bound > r->bound) r->bound = bound;
  (void)count_from(r, (uint64_t)r->bound + 1, &above);
  for (int64_t k = 0; k < r->classes; k++)
    if (draw_key(logit_of(r, k)) == r->bound)
      r->ties = draw_ties(top_p * total, above, weight_of(r, logit_of(r, k)));
}

static int64_t draw_class(const Row *r, double uniform) {
  double kept = 0, sum = 0;
  int64_t ties = 0, last = 0;
  for (int pass = 0; pass < 2; pass++, ties = 0)
    for (int64_t k = 0; k < r->classes; k++) {
      uint32_t key = draw_key(logit_of(r, k));
      bool is_tie = key == r->bound;
      if (key < r->bound || (is_tie && ties >= r->ties)) continue;
      ties += is_tie;
      double weight = weight_of(r, logit_of(r, k));
      if (pass == 0) kept += weight;
      if (pass == 0) continue;
      last = k;
      sum += weight;
      if (sum > uniform * kept) return k;
    }
  return last;
}

static int64_t likeliest(const Row *r) {
  int64_t best = 0;
  for (int64_t k = 1; k < r->classes; k++)
    if (draw_key(logit_of(r, k)) > draw_key(logit_of(r, best))) best = k;
  return best;
}

/* Adds a row's class and its log probability to `drawn`. */
static void draw_row(const KernelArgs *args, Row *r, double uniform, double drawn[2]) {
  double sum = 0;
  for (int64_t k = 0; k < r->classes; k++)
    r->highest = fmax(r->highest, (double)logit_of(r, k));
  for (int64_t k = 0; k < r->classes; k++)
    sum += exp((double)logit_of(r, k) - r->highest);
  int64_t class = likeliest(r);
  if (r->temperature > 0) {
    choose_kept(r, args->attr[1], args->attr[2]);
    class = draw_class(r, uniform);
  }
  drawn[0] += (double)class;
  drawn[1] += (double)logit_of(r, class) - r->highest - log(sum);
}

/* The last row of [first, first + seq) with a target; -1: none has one. */
static int64_t last_target(const int32_t *targets, int64_t first, int64_t seq) {
  int64_t row = first + seq - 1;
  while (row >= first && targets[row] < 0)
    row--;
  return row < first ? -1 : row;
}

void reference_draw(const KernelArgs *args) {
  const int32_t *targets = args->operand[1], *places = args->operand[2];
  const int64_t seq = args->dim[1];
  double *drawn = args->operand[3];
  const uint64_t key = philox_mix(kernel_seed(args), args->key);
  for (int64_t b = 0; b < args->dim[0]; b++, drawn += 2) {
    double of_sample[2] = {0, 0};
    const int64_t row = last_target(targets, b * seq, seq);
    Row r = {.logits = tensor(args, 0),
             .first = b * args->dim[2],
             .classes = args->dim[3],
             .temperature = args->attr[0],
             .highest = -INFINITY,
             .ties = INT64_MAX};
    if (row >= 0 && places[row] >= 0)
      draw_row(args, &r, draw_uniform(key, targets[row], places[row]), of_sample);
    for (int32_t i = 0; i < 2; i++)
      drawn[i] = args->accumulate ? drawn[i] + of_sample[i] : of_sample[i];
  }
}

void reference_last_token(const KernelArgs *args) {
  const int32_t *targets = args->operand[1];
  const int64_t seq = args->dim[1], width = args->dim[2];
  for (int64_t b = 0; b < args->dim[0]; b++) {
    const int64_t last = last_target(targets, b * seq, seq);
    for (int64_t i = 0; i < width; i++)
      store(tensor(args, 2), b * width + i, last < 0 ? 0 : load(tensor(args, 0), last * width + i));
  }
}

/* One element, which the host has asked for by the step's number. */
void reference_pick(const KernelArgs *args) {
  double *drawn = args->operand[1];
  const int64_t element = *(const int64_t *)args->control[0] - 1;
  const bool is_there = element >= 0 && element < args->dim[0];
  const double value = is_there ? load(tensor(args, 0), element) : 0;
  drawn[0] = args->accumulate ? drawn[0] + value : value;
  drawn[1] = args->accumulate ? drawn[1] + is_there : is_there;
}
