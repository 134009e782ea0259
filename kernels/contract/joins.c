#include "kernels/contract/joins.h"

#include <pthread.h>
#include <stdlib.h>

enum { CUDA = 1 << KERNEL_TARGET_CUDA, ANY = CUDA | 1 << KERNEL_TARGET_CPU };

typedef struct JoinRow {
  KernelId first, second;
  const char *first_operand, *second_operand;
  uint32_t targets;
} JoinRow;

static const JoinRow rows[] = {
#define JOIN(first, of_first, second, of_second, targets)                                          \
  {KERNEL_##first, KERNEL_##second, #of_first, #of_second, targets},
#include "kernels/joins.def"
#undef JOIN
};

enum { ROWS = sizeof rows / sizeof *rows };
static KernelJoin joins[ROWS];

static int32_t operand_of(KernelId kernel, const char *name) {
  int32_t number = contract_operand(contract_of(kernel), name);
  if (number >= 0) return number;
  fprintf(stderr, "joins.def: %s has no operand %s\n", contract_of(kernel)->row->name, name);
  abort();
}

static void parse_all(void) {
  for (int32_t i = 0; i < ROWS; i++)
    joins[i] = (KernelJoin){rows[i].first, rows[i].second,
                            operand_of(rows[i].first, rows[i].first_operand),
                            operand_of(rows[i].second, rows[i].second_operand), rows[i].targets};
}

const KernelJoin *contract_joins(int32_t *count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, parse_all);
  *count = ROWS;
  return joins;
}

const KernelJoin *contract_join(KernelId first, KernelId second) {
  int32_t count;
  for (const KernelJoin *join = contract_joins(&count); count > 0; join++, count--)
    if (join->first == first && join->second == second) return join;
  return NULL;
}

bool contract_may_join(KernelId first, KernelId second, KernelTarget target) {
  const KernelJoin *join = contract_join(first, second);
  return join != NULL && (join->targets >> target & 1u) != 0;
}
