/* LINK: kernels -- a window of attention by its definition, in f64: query i sees the keys j with
 * i - W < j <= i, and softcap C makes C tanh(s / C) of a score s. The plain kernel agrees to 1e-13,
 * the fast one to 2e-6 of the largest element; both would differ by far with a window one shorter
 * or longer. */
#include <math.h>

#include "kernels/contract/contract.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

enum { SEQ = 203, HALF = SEQ / 2, HEAD = 16, THREADS = 2 };

static const double scale = 0.25;

static Call call_of(DType dtype, double window, double softcap) {
  Call c = {.kernel = "attention",
            .dim = {1, SEQ, 1, 1, HEAD, HEAD, HEAD, HEAD},
            .attr = {1, scale, 0, 0, HALF, 0, HALF, 0, 1, SEQ, window, softcap}};
  for (uint64_t i = 0; i < 3; i++)
    call_fill(&c, call_add(&c, dtype, SEQ * HEAD), 5 + i);
  call_add(&c, dtype, SEQ * HEAD);
  call_add(&c, dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32, SEQ);
  WorkspaceUse use = {KERNEL_TARGET_CPU, c.dim, c.dtype, THREADS, false};
  call_add(&c, DTYPE_F64, contract_workspace_bytes(contract_of(KERNEL_attention), &use) / 8 + 1);
  return c;
}

static double score_of(const Call *c, int64_t i, int64_t j, double softcap) {
  double sum = 0;
  for (int64_t k = 0; k < HEAD; k++)
    sum += call_get(c, 0, i * HEAD + k) * call_get(c, 1, j * HEAD + k);
  sum *= scale;
  return softcap > 0 ? softcap * tanh(sum / softcap) : sum;
}

/* The largest difference from the definition. */
static double off_by(const Call *c, int64_t window, double softcap) {
  double most = 0;
  for (int64_t i = 0; i < SEQ; i++) {
    double weight = 0, out[HEAD] = {0};
    for (int64_t j = 0; j < SEQ; j++) {
      if (!(j <= i && (window == 0 || i - window < j))) continue;
      double p = exp(score_of(c, i, j, softcap));
      weight += p;
      for (int64_t k = 0; k < HEAD; k++)
        out[k] += p * call_get(c, 2, j * HEAD + k);
    }
    for (int64_t k = 0; k < HEAD; k++)
      most = fmax(most, fabs(out[k] / weight - call_get(c, 3, i * HEAD + k)));
    most = fmax(most, fabs(log(weight) - call_get(c, 4, i)));
  }
  return most;
}

static void check_window(Threads *team, int64_t window, double softcap) {
  Call plain = call_of(DTYPE_F64, (double)window, softcap);
  Call fast = call_of(DTYPE_F32, (double)window, softcap);
  call_run(&plain, KERNEL_REFERENCE, NULL);
  call_run(&fast, KERNEL_FAST, team);
  CHECK(off_by(&plain, window, softcap) < 1e-13);
  CHECK(off_by(&fast, window, softcap) < 1e-5);
  if (window > 1) CHECK(off_by(&plain, window - 1, softcap) > 1e-4);
  if (window > 0 && window < SEQ) CHECK(off_by(&plain, window + 1, softcap) > 1e-4);
  call_free(&plain);
  call_free(&fast);
}

int main(void) {
  Threads *team = threads_new(THREADS, NULL);
  TEST("windows around the blocks of the fast kernel, with and without a soft cap") {
    static const int64_t windows[] = {0, 1, 2, 16, 47, 48, 49, 127, 128, 129, 202, 203};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
      for (int cap = 0; cap < 2; cap++)
        check_window(team, windows[i], cap * 1.5);
  }
  threads_free(team);
  CHECK_DONE();
}
