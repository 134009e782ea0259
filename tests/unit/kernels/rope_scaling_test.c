/* LINK: kernels -- rope's scaling gives the frequencies of the published formula of Llama 3.1.
 *
 * The numbers were computed apart from this program, by the formula as published: wavelengths
 * 2 pi / frequency, compared with original_positions / low_freq and / high_freq. */
#include <math.h>

#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

typedef struct Pair {
  int64_t j;
  double frequency;
} Pair;

/* Llama 3.1: head 128, base 500,000, factor 8. Pairs 29 to 34 are mixed. */
static const Pair llama_3_1[] = {{0, 1},
                                 {16, 0.0376060309309},
                                 {28, 0.00321144599475},
                                 {29, 0.0021665707635},
                                 {30, 0.00137189356776},
                                 {32, 0.000524846160993},
                                 {34, 0.000178507812768},
                                 {35, 9.55621235396e-05},
                                 {63, 3.06892598891e-07}};
/* Llama 3.2 1B: head 64, factor 32. */
static const Pair llama_3_2[] = {{0, 1},
                                 {8, 0.0376060309309},
                                 {14, 0.0032114459947525913},
                                 {15, 0.001290547928209264},
                                 {16, 0.000429556796559},
                                 {17, 9.70828780262767e-05},
                                 {24, 1.6619674678e-06},
                                 {30, 1.41927202519e-07}};
/* Llama 3, without scaling. */
static const Pair llama_3[] = {{0, 1}, {28, 0.00321144599475}, {63, 2.45514079113e-06}};

/* (1, 0) turned at position 1 is at the angle itself. */
static double angle_of(KernelVariant variant, Threads *team, int64_t head, double factor,
                       int64_t j) {
  Call c = {.kernel = "rope",
            .dim = {1, 2, 1, head, head, head},
            .attr = {5e5, 1, 0, 1, factor, 1, 4, 8192}};
  call_add(&c, DTYPE_F32, 2 * head);
  call_add(&c, DTYPE_F32, 2 * head);
  call_set(&c, 0, head + j, 1);
  call_run(&c, variant, team);
  double angle = atan2(call_get(&c, 1, head + head / 2 + j), call_get(&c, 1, head + j));
  call_free(&c);
  return angle;
}

static void check(KernelVariant variant, Threads *team, int64_t head, double factor,
                  const Pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double angle = angle_of(variant, team, head, factor, pairs[i].j);
    CHECK(fabs(angle / pairs[i].frequency - 1) < 1e-6);
  }
}

#define PAIRS(list) (list), sizeof(list) / sizeof *(list)

int main(void) {
  Threads *team = threads_new(2, NULL);
  for (KernelVariant variant = KERNEL_REFERENCE; variant <= KERNEL_FAST; variant++) {
    TEST("Llama 3.1: factor 8") {
      check(variant, team, 128, 8, PAIRS(llama_3_1));
    }
    TEST("Llama 3.2: factor 32") {
      check(variant, team, 64, 32, PAIRS(llama_3_2));
    }
    TEST("factor 1 changes nothing") {
      check(variant, team, 128, 1, PAIRS(llama_3));
    }
  }
  threads_free(team);
  CHECK_DONE();
}
