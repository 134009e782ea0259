/* kernel_against.h -- the kernels of another target against the plain ones on the processor: every
 * case of kernel_case_list.h, by the bounds of kernel_compare.h. Each runs twice, and its bytes are
 * the same both times: these kernels have no atomics, and a library's say if they do. */
#ifndef LOCKSTEP_TESTS_KERNEL_AGAINST_H
#define LOCKSTEP_TESTS_KERNEL_AGAINST_H

#include "tests/unit/check.h"
#include "tests/unit/kernel_compare.h"

/* The name of a kernel whose bytes need not be the same both times; NULL: none. */
static const char *against_varies;

/* Runs a call on the other target; `time` is 1, then 2. False: it printed why not. */
typedef bool RunElsewhere(CaseCall *c, int time);

/* As many as the row says, or as the first ones say (contract_dims_fit). */
static inline int32_t case_dims(const CaseCall *c) {
  if (c->contract->is_broadcast) return 1 + 2 * (int32_t)c->call.dim[0];
  return c->contract->is_pieces ? 2 + 2 * (int32_t)c->call.dim[1] : c->contract->dim_count;
}

/* The call as a record of a plan for that target has it. */
static inline KernelUse case_use(const CaseCall *c) {
  const Call *call = &c->call;
  return (KernelUse){.target = case_target,
                     .dtype = call->dtype,
                     .bytes = call->bytes,
                     .dim = call->dim,
                     .attr = call->attr,
                     .operand_count = call->operand_count,
                     .dim_count = case_dims(c),
                     .attr_count = contract_attrs_in(c->contract, call->tf32),
                     .threads = 1,
                     .align_bytes = CALL_ALIGN_BYTES};
}

static inline void case_against(const KernelCase *kernel_case, Mode mode, bool accumulate,
                                RunElsewhere *run) {
  CaseCall plain, other, again, *all[] = {&plain, &other, &again};
  for (int i = 0; i < 3; i++) {
    CHECK(case_make(kernel_case, mode, 1000 + (uint64_t)(kernel_case - kernel_cases), all[i]));
    all[i]->call.accumulate = accumulate;
  }
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  bool good = run(&other, 1) && run(&again, 2);
  bool varies = against_varies != NULL && strcmp(against_varies, kernel_case->kernel) == 0;
  if (good && !varies && !same_bytes(&other, &again)) good = !printf("two runs differ\n");
  if (good && !same_control(&plain.call.control, &other.call.control))
    good = !printf("control differs\n");
  for (int32_t i = 0; good && i < plain.call.operand_count; i++)
    good = compare(&plain, &other, i);
  if (!good) {
    check_failures++;
    printf("  %s, %s, accumulate %d, case %d\n", plain.call.kernel, mode_names[mode], accumulate,
           (int)(kernel_case - kernel_cases));
  }
  for (int i = 0; i < 3; i++)
    call_free(&all[i]->call);
}

static inline void kernel_against(const char *name, RunElsewhere *run) {
  for (size_t i = 0; i < KERNEL_CASES; i++)
    for (Mode mode = MODE_F32; mode < MODE_COUNT; mode++)
      if (strcmp(kernel_cases[i].kernel, name) == 0)
        case_against(&kernel_cases[i], mode, (i + mode) % 2, run);
}

/* `names`: the kernels to run; all where there are none. */
static inline void kernels_against(KernelTarget target, int name_count, char **names,
                                   RunElsewhere *run) {
  case_target = target;
  for (KernelId id = 0; id < KERNEL_COUNT; id++) {
    const char *name = contract_of(id)->row->name;
    bool wanted = name_count == 0;
    for (int k = 0; k < name_count; k++)
      wanted |= strcmp(names[k], name) == 0;
    TEST(name) if (wanted) kernel_against(name, run);
  }
}

#endif
