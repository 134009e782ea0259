/* replay_file.c -- reads and writes between a file and the host's memory. */
#include "runtime/plan/plan_text.h"
#include "runtime/replay/replay.h"

bool replay_run_file(const Replay *replay, const Work *work, Status *status) {
  const PlanRecord *record = work->record;
  const Plan *plan = replay->setup.plan;
  const uint64_t bytes = (uint64_t)replay->operand_bytes[record->operands_first];
  const bool reads = record->kind == RECORD_READ;
  Status why = {0};
  if (reads ? tier_file_read(work->operand[0], work->operand[1], bytes, &why)
            : tier_file_write(work->operand[1], work->operand[0], bytes, &why))
    return true;
  const PlanOperand *operand = &plan->operands[record->operands_first];
  const PlanSegment *segment = plan->segments;
  while ((uint32_t)(record - plan->records) - segment->records_first >= segment->records_count)
    segment++;
  return status_fail(status, why.code, "rank %d, %s of %s, layer %d: %s", replay->setup.rank,
                     BufferKind_names[plan->bases[segment->bases_first + operand->base].kind],
                     plan_string(plan, record->path), work->layer, why.text);
}
