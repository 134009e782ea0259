#include "kernels/contract/fusions.h"

#include <pthread.h>
#include <stdlib.h>

enum { CUDA = 1 << KERNEL_TARGET_CUDA, ANY = CUDA | 1 << KERNEL_TARGET_CPU };

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

enum { ROWS = sizeof rows / sizeof *rows };
static KernelFusion fusions[ROWS];

static int32_t operand_of(KernelId kernel, const char *name) {
  int32_t number = contract_operand(contract_of(kernel), name);
  if (number >= 0) return number;
  fprintf(stderr, "fusions.def: %s has no operand %s\n", contract_of(kernel)->row->name, name);
  abort();
}

static void parse_all(void) {
  for (int32_t i = 0; i < ROWS; i++)
    fusions[i] = (KernelFusion){
        rows[i].first, rows[i].second, operand_of(rows[i].first, rows[i].first_operand),
        operand_of(rows[i].second, rows[i].second_operand), rows[i].targets};
}

const KernelFusion *contract_fusions(int32_t *count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, parse_all);
  *count = ROWS;
  return fusions;
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
