/* replay_look.c -- a run in which every record's operands are checked before and after it. */
#include "runtime/replay/replay_look.h"

#include <math.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "kernels/math/floats.h"

/* -inf is what attention has for tokens that see nothing, in fp32; of fp16 it is an overflow. */
static bool is_number(double value, DType dtype) {
  return !isnan(value) && !(isinf(value) && (value > 0 || dtype == DTYPE_F16));
}

static bool are_numbers(const void *at, DType dtype, int64_t size_bytes) {
  int64_t count = dtype_is_float(dtype) ? size_bytes / dtype_bytes(dtype) : 0;
  for (int64_t i = 0; i < count; i++) {
    double value = dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)float_get(at, i, dtype);
    if (!is_number(value, dtype)) return false;
  }
  return true;
}

static bool is_looked_at(Access access, bool is_over) {
  return is_over ? access != ACCESS_READ : access != ACCESS_WRITE;
}

/* Only control slots of type f64 can hold a NaN or infinity. */
static bool control_is_good(const Replay *replay, const PlanRecord *record, bool is_over) {
  if (record->kind != RECORD_KERNEL) return true;
  const KernelContract *contract = contract_of(replay_kernel(replay, record)->id);
  void *const *at =
      replay->control_at + replay->control_first[record - replay->setup.plan->records];
  for (int32_t i = 0; i < contract->control_count; i++) {
    const KernelControl *control = &contract->controls[i];
    double value;
    if (at[i] == NULL || plan_slot_known(control->slot).type != SLOT_F64 ||
        !is_looked_at((Access)control->access, is_over))
      continue;
    memcpy(&value, at[i], sizeof value);
    if (!is_number(value, DTYPE_F64)) return false;
  }
  return true;
}

/* The bytes between the rows of a view belong to others and are not checked. */
static bool view_is_good(const KernelView *view, const void *at, DType dtype) {
  int64_t unit = dtype_bytes(dtype);
  for (int64_t row = 0; row < view->rows; row++)
    if (!are_numbers((const uint8_t *)at + row * view->stride * unit, dtype, view->inner * unit))
      return false;
  return true;
}

/* Scratch has no contents before or after. */
static bool operand_is_good(const Replay *replay, const Work *work, uint32_t i) {
  const PlanRecord *record = work->record;
  uint32_t number = record->operands_first + i;
  DType dtype = (DType)replay->operand_dtype[number];
  if (record->kind == RECORD_KERNEL) {
    const KernelContract *contract = contract_of(replay_kernel(replay, record)->id);
    const int64_t *dims = replay->setup.plan->ints + record->dims_first;
    KernelView view;
    if (contract->operands[i].access == KERNEL_SCRATCH) return true;
    if (contract_view(contract, (int32_t)i, dims, &view))
      return view_is_good(&view, work->operand[i], dtype);
  }
  return are_numbers(work->operand[i], dtype, replay->operand_bytes[number]);
}

static bool is_good(const Replay *replay, const Work *work, bool is_over) {
  const PlanRecord *record = work->record;
  const PlanOperand *operand = replay->setup.plan->operands + record->operands_first;
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (is_looked_at((Access)operand[i].access, is_over) && !operand_is_good(replay, work, i))
      return false;
  return control_is_good(replay, record, is_over);
}

void replay_watch(ReplayWatch *watch, const Work *work, bool is_over) {
  const Replay *replay = watch->replay;
  if (watch->see != NULL) {
    if (!is_over) watch->see(watch->context, replay, work);
    return;
  }
  pthread_mutex_lock(&watch->lock);
  bool is_found = watch->first.kind != FIRST_NONE;
  pthread_mutex_unlock(&watch->lock);
  if (is_found || is_good(replay, work, is_over)) return;
  FirstKind kind = !is_over                              ? FIRST_HAD
                   : work->record->kind == RECORD_KERNEL ? FIRST_MADE
                                                         : FIRST_CAME;
  pthread_mutex_lock(&watch->lock);
  if (watch->first.kind == FIRST_NONE)
    watch->first =
        (ReplayFirst){(int32_t)kind, (uint32_t)(work->record - replay->setup.plan->records),
                      work->record->lane, work->layer, work->microbatch};
  pthread_mutex_unlock(&watch->lock);
}

void replay_watch_begin(ReplayWatch *watch, Replay *replay) {
  *watch = (ReplayWatch){.replay = replay};
  pthread_mutex_init(&watch->lock, NULL);
  replay->watch = watch;
}

ReplayFirst replay_watch_end(ReplayWatch *watch) {
  watch->replay->watch = NULL;
  pthread_mutex_destroy(&watch->lock);
  return watch->first;
}

bool replay_look(Replay *replay, const PlanProgram *program, const Control *set,
                 const void *samples, ReplayFirst *first, Status *status) {
  ReplayWatch watch;
  ReplayLeft left;
  if (!replay_settle(replay, status)) return false;
  replay_watch_begin(&watch, replay);
  bool ran = replay_run(replay, program, set, samples, &left, status);
  *first = replay_watch_end(&watch);
  return ran;
}
