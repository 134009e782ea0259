#include "kernels/contract/fusions.h"

#include <pthread.h>
#include <stdlib.h>

enum {
  CUDA = 1 << KERNEL_TARGET_CUDA,
  ANY = CUDA | 1 << KERNEL_TARGET_CPU,
  OVER_BIT = 1 << 16,
  OVER = CUDA | OVER_BIT
};

typedef struct FusionRow {
  KernelId first, second;
  const char *first_operand, *second_operand;
  uint32_t targets;
} FusionRow;

static const FusionRow rows[] = {
#define FUSION(first, of_first, second, of_second, targets)                                        \
  {KERNEL_##first, KERNEL_##second, #of_first, #of_second, targets},
#include "kernels/fusions.def"
#undef FUSION
};

static const struct {
  KernelId rider, first, second;
  const char *operand;
  uint32_t targets;
} rider_rows[] = {
#define FUSION(first, of_first, second, of_second, targets)
#define RIDER(rider, operand, first, second, targets)                                              \
  {KERNEL_##rider, KERNEL_##first, KERNEL_##second, #operand, targets},
#include "kernels/fusions.def"
#undef FUSION
};

enum { ROWS = sizeof rows / sizeof *rows, RIDERS = sizeof rider_rows / sizeof *rider_rows };
static KernelFusion fusions[ROWS];
static KernelRider riders[RIDERS];

static int32_t operand_of(KernelId kernel, const char *name) {
  int32_t number = contract_operand(contract_of(kernel), name);
  if (number >= 0) return number;
  fprintf(stderr, "fusions.def: %s has no operand %s\n", contract_of(kernel)->row->name, name);
  abort();
}

static void parse_all(void) {
  for (int32_t i = 0; i < ROWS; i++)
    fusions[i] = (KernelFusion){rows[i].first,
                                rows[i].second,
                                operand_of(rows[i].first, rows[i].first_operand),
                                operand_of(rows[i].second, rows[i].second_operand),
                                rows[i].targets & (uint32_t)ANY,
                                (rows[i].targets & OVER_BIT) != 0};
  for (int32_t i = 0; i < RIDERS; i++)
    riders[i] = (KernelRider){rider_rows[i].rider, rider_rows[i].first, rider_rows[i].second,
                              operand_of(rider_rows[i].rider, rider_rows[i].operand),
                              rider_rows[i].targets};
}

static void parse_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, parse_all);
}

const KernelFusion *contract_fusions(int32_t *count) {
  parse_once();
  *count = ROWS;
  return fusions;
}

const KernelRider *contract_riders(int32_t *count) {
  parse_once();
  *count = RIDERS;
  return riders;
}

const KernelRider *contract_rider(KernelId rider, KernelId first, KernelId second,
                                  KernelTarget target) {
  parse_once();
  for (int32_t i = 0; i < RIDERS; i++)
    if (riders[i].rider == rider && riders[i].first == first && riders[i].second == second &&
        (riders[i].targets >> target & 1u) != 0)
      return &riders[i];
  return NULL;
}

bool contract_may_meet(KernelId first, KernelId second, KernelTarget target) {
  bool may = contract_may_fuse(first, second, target);
  parse_once();
  for (int32_t i = 0; i < RIDERS && !may; i++) {
    const KernelRider *row = &riders[i];
    bool are_of_row = (first == row->first && second == row->rider) ||
                      (first == row->rider && second == row->second);
    may = are_of_row && (row->targets >> target & 1u) != 0;
  }
  return may;
}

const KernelFusion *contract_fusion(KernelId first, KernelId second) {
  int32_t count;
  for (const KernelFusion *fusion = contract_fusions(&count); count > 0; fusion++, count--)
    if (fusion->first == first && fusion->second == second) return fusion;
  return NULL;
}

bool contract_may_fuse(KernelId first, KernelId second, KernelTarget target) {
  const KernelFusion *fusion = contract_fusion(first, second);
  return fusion != NULL && (fusion->targets >> target & 1u) != 0;
}
