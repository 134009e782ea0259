/* fused_against.h -- two fused records on another target: every row of fusions.def for it, in
 * sizes with rests, against the plain kernels one after the other, and where no library is asked
 * also against the target's own one after the other, to the bit. Each runs twice, and its bytes are
 * the same both times. */
#ifndef LOCKSTEP_TESTS_FUSED_AGAINST_H
#define LOCKSTEP_TESTS_FUSED_AGAINST_H

#include "kernels/contract/fusions.h"
#include "tests/unit/kernel_against.h"

/* The first sizes run in all ways, larger ones in one: threads of a block are fibers, and slow.
 */
enum { SMALL = 2 };

/* rows, in, out, transposed: of some the library's leading dimension is a multiple of 8. */
static const int64_t fused_products[][4] = {{3, 5, 7, 0},     {5, 24, 16, 0}, {17, 31, 33, 1},
                                            {64, 64, 64, 0},  {1, 1, 1, 0},   {9, 40, 32, 1},
                                            {17, 136, 72, 0}, {70, 48, 8, 1}};
/* rows, width: by vectors and one by one, each number of threads, and rows that are read again. */
static const int64_t fused_norms[][2] = {{3, 7},    {3, 264},  {1, 1},    {2, 1025}, {3, 2048},
                                         {1, 4104}, {1, 5000}, {1, 5001}, {1, 9000}, {1, 16384},
                                         {9, 504},  {3, 1016}, {2, 4096}};
enum {
  PRODUCTS = sizeof fused_products / sizeof *fused_products,
  NORMS = sizeof fused_norms / sizeof *fused_norms
};

typedef struct Pair {
  CaseCall of[2];
} Pair;

typedef struct PairCase {
  const KernelFusion *fusion;
  KernelCase of[2];
  Mode mode;
  bool over, accumulate; /* over: the second writes over the value that the two share */
} PairCase;

static inline bool is_norm(KernelId id) {
  return id == KERNEL_layernorm || id == KERNEL_rmsnorm;
}

static inline bool is_product(KernelId id) {
  return contract_of(id)->row->role == ROLE_LINEAR;
}

/* Which operand the second of the two writes. */
static inline int32_t result_of(const KernelContract *contract) {
  for (int32_t i = 0; i < contract->operand_count; i++)
    if (contract->operands[i].access == KERNEL_WRITE) return i;
  return contract->operand_count - 1;
}

static inline void set_dims(KernelCase *of, const int64_t *dim, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    of->dim[i] = dim[i];
}

static inline void add_dims(KernelCase *of, int64_t elements) {
  set_dims(of, (const int64_t[]){1, elements, 1}, 3);
}

/* The i-th size of the two; false: there are no more. */
static inline bool lay_sizes(const KernelFusion *fusion, int i, PairCase *c) {
  bool of_product = is_product(fusion->first);
  if (i >= (of_product ? (int)PRODUCTS : (int)NORMS)) return false;
  for (int k = 0; k < 2; k++) {
    KernelId id = k == 0 ? fusion->first : fusion->second;
    c->of[k] = (KernelCase){.kernel = contract_of(id)->row->name};
    if (is_norm(id)) c->of[k].attr[0] = 1e-5;
  }
  const int64_t *p = fused_products[of_product ? i : 0], *n = fused_norms[of_product ? 0 : i];
  if (of_product) {
    const int64_t elements = p[0] * (fusion->first == KERNEL_linear_dx ? p[1] : p[2]);
    set_dims(&c->of[0], p, 4);
    if (fusion->second == KERNEL_add)
      add_dims(&c->of[1], elements);
    else
      c->of[1].dim[0] = elements;
    return true;
  }
  for (int k = 0; k < 2; k++) {
    const KernelContract *contract = contract_find(c->of[k].kernel);
    if (contract->is_broadcast)
      add_dims(&c->of[k], n[0] * n[1]);
    else if (contract->row->role == ROLE_ACTIVATION)
      c->of[k].dim[0] = n[0] * n[1];
    else
      set_dims(&c->of[k], n, 2);
  }
  return true;
}

/* The operand has the memory of that of another call. */
static inline void share(CaseCall *c, int32_t operand, const CaseCall *owner, int32_t of) {
  CHECK_INT(c->call.bytes[operand], owner->call.bytes[of]);
  if (!c->call.shared[operand]) free(c->call.operand[operand]);
  c->call.operand[operand] = owner->call.operand[of];
  c->call.shared[operand] = true;
}

static inline void make_pair(const PairCase *c, Pair *pair) {
  CHECK(case_make(&c->of[0], c->mode, 7, &pair->of[0]));
  CHECK(case_make(&c->of[1], c->mode, 8, &pair->of[1]));
  share(&pair->of[1], c->fusion->second_operand, &pair->of[0], c->fusion->first_operand);
  if (c->over)
    share(&pair->of[1], result_of(pair->of[1].contract), &pair->of[0], c->fusion->first_operand);
  for (int k = 0; k < 2; k++)
    pair->of[k].call.accumulate = c->accumulate && !pair->of[k].contract->is_broadcast;
}

static inline void free_pair(Pair *pair) {
  call_free(&pair->of[1].call);
  call_free(&pair->of[0].call);
}

/* The two as records that a processor has been asked about. */
typedef struct Bound {
  KernelArgs args[2];
  KernelUse use[2];
  const Kernel *kernel[2];
  KernelFused fused;
} Bound;

static inline void bind_pair(Pair *pair, const Kernel *kernels, Bound *bound) {
  const char *why = "";
  *bound = (Bound){0};
  for (int k = 0; k < 2; k++) {
    bound->kernel[k] = &kernels[pair->of[k].contract->id];
    bound->args[k] = call_args(&pair->of[k].call, NULL);
    bound->use[k] = case_use(&pair->of[k]);
    bound->use[k].accumulate = pair->of[k].call.accumulate;
    CHECK(bound->kernel[k]->prepare(bound->kernel[k], &bound->use[k], &bound->args[k].state,
                                    &why) == KERNEL_DONE);
  }
  if (bound->kernel[0]->fuse != NULL)
    CHECK(bound->kernel[0]->fuse(bound->kernel, bound->use, 2, &bound->fused, &why) == KERNEL_DONE);
}

/* As one, or one after the other. */
static inline void run_bound(const Bound *bound, bool as_one) {
  const char *why = "";
  KernelStatus ended = KERNEL_DONE;
  if (as_one) ended = bound->fused.run(&bound->fused, bound->args, &why);
  for (int k = 0; !as_one && k < 2 && ended == KERNEL_DONE; k++)
    ended = bound->kernel[k]->run(&bound->args[k], &why);
  if (ended != KERNEL_DONE) check_failures += 1, printf("%s\n", why);
}

static inline void unbind(const Bound *bound) {
  if (bound->fused.release != NULL) bound->fused.release(bound->fused.state);
  for (int k = 0; k < 2; k++)
    if (bound->kernel[k]->release != NULL) bound->kernel[k]->release(bound->args[k].state);
}

/* A value between that is rounded to bf16 in one of the two ways only. */
static inline bool is_near(const Pair *want, const Pair *got, int k, int32_t i) {
  const Call *a = &want->of[k].call, *b = &got->of[k].call;
  double rms = rms_of(a, i), more = a->dtype[i] == DTYPE_BF16  ? 0x1p-8
                                    : a->dtype[i] == DTYPE_F16 ? 0x1p-11
                                                               : 0;
  if (rms < 0.05) rms = 0.05;
  for (int64_t e = 0; e < call_count(a, i); e++) {
    double x = call_get(a, i, e), y = call_get(b, i, e);
    double bound = bound_of(a, (DType)a->dtype[i], rms, x) + more * (rms + fabs(x));
    if (fabs(x - y) <= bound) continue;
    printf("%s, operand %d element %lld: apart %.9g, fused %.9g, bound %g\n", a->kernel, i,
           (long long)e, x, y, bound);
    return false;
  }
  return true;
}

static inline bool are_near(const Pair *want, const Pair *got) {
  bool near = true;
  for (int k = 0; k < 2; k++)
    for (int32_t i = 0; near && i < want->of[k].call.operand_count; i++)
      near = case_is_scratch(&want->of[k], i) || is_near(want, got, k, i);
  return near;
}

static inline bool are_same(const Pair *a, const Pair *b) {
  return same_bytes(&a->of[0], &b->of[0]) && same_bytes(&a->of[1], &b->of[1]);
}

/* Runs the two on the other target, fused or one after the other. False: they cannot be
 * fused. `time`: 1, then 2. */
typedef bool RunPair(Pair *pair, bool as_one, int time);

/* True: the two ran fused. */
static inline bool check_pair(const PairCase *c, RunPair *run) {
  Pair plain, apart, fused, again, *all[] = {&plain, &apart, &fused, &again};
  make_pair(c, &fused);
  bool fusions = run(&fused, true, 1);
  for (int i = 0; fusions && i < 4; i++)
    if (all[i] != &fused) make_pair(c, all[i]);
  if (fusions) {
    CHECK(run(&again, true, 2));
    for (int k = 0; k < 2; k++)
      call_run(&plain.of[k].call, KERNEL_REFERENCE, NULL);
    bool good = are_same(&fused, &again) && are_near(&plain, &fused);
    if (good && !is_product(c->fusion->first)) { /* no library is asked: to the bit */
      CHECK(run(&apart, false, 1));
      good = are_same(&apart, &fused);
    }
    if (!good) {
      check_failures++;
      printf("  %s and %s, %s, %lld %lld %lld, over %d, accumulate %d\n", c->of[0].kernel,
             c->of[1].kernel, mode_names[c->mode], (long long)c->of[0].dim[0],
             (long long)c->of[0].dim[1], (long long)c->of[0].dim[2], c->over, c->accumulate);
    }
  }
  for (int i = 0; i < 4; i++)
    if (fusions || all[i] == &fused) free_pair(all[i]);
  return fusions;
}

/* How many of all cases of the two ran fused. */
static inline int check_join(const KernelFusion *fusion, RunPair *run) {
  int fused = 0;
  PairCase c = {.fusion = fusion};
  bool may_be_over = !is_norm(fusion->second) && fusion->second != KERNEL_linear_db;
  bool may_add = contract_operand(contract_of(fusion->first), "d_w") >= 0 ||
                 contract_operand(contract_of(fusion->first), "d_weight") >= 0 ||
                 fusion->second == KERNEL_linear_db;
  Mode last = may_add ? MODE_MIXED : MODE_F16;
  for (int i = 0; lay_sizes(fusion, i, &c); i++)
    for (c.mode = MODE_F32; c.mode <= last; c.mode++)
      for (int how = 0; how < 4; how++) {
        c.over = how % 2 > 0, c.accumulate = how / 2 > 0;
        bool is_taken = i < SMALL || how == (i + (int)c.mode) % (may_add ? 4 : 2);
        if (is_taken && (!c.over || may_be_over) && (!c.accumulate || may_add))
          fused += check_pair(&c, run);
      }
  return fused;
}

#endif
