#include "compiler/draft/edges/touches.h"

#include "compiler/draft/roles.h"
#include "kernels/contract/contract.h"

static Touch touch_operand(const Draft *d, const Segment *segment, const Operand *operand) {
  int64_t last = operand->by != 0 ? mesh_count(&d->mesh, operand->by) - 1 : 0;
  int64_t reach = last * operand->member_stride_bytes;
  const BaseRole role = segment->bases.at[operand->base].role;
  return (Touch){
      .base = role == BASE_CONTROL  ? CONTROL_BASE
              : role == BASE_MIRROR ? MIRROR_BASE
                                    : operand->base,
      .first = operand->offset_bytes + (reach < 0 ? reach : 0),
      .end = operand->offset_bytes + operand->size_bytes + (reach > 0 ? reach : 0),
      .writes = operand->access != ACCESS_READ,
  };
}

static Touches touches_of_record(const Draft *d, const Segment *segment, const Record *record) {
  const KernelContract *contract =
      record->kind == RECORD_KERNEL ? contract_find(record->kernel) : NULL;
  Touch *at = ARENA_ARRAY(d->compile->arena, Touch, record->operand_count + KERNEL_CONTROLS_MAX);
  int32_t count = 0;
  for (int32_t i = 0; i < record->operand_count; i++)
    at[count++] = touch_operand(d, segment, &record->operands[i]);
  uint32_t controls = contract == NULL ? 0 : contract_controls_in(contract, draft_slots(d));
  for (int32_t i = 0; controls >> i != 0; i++) {
    if ((controls >> i & 1u) == 0) continue;
    int64_t first = draft_slot_offset(d, draft_slot_of(d, record, contract->controls[i].slot));
    bool writes = contract->controls[i].access != KERNEL_READ;
    const int32_t block = record->lane == LANE_HOST ? MIRROR_BASE : CONTROL_BASE;
    at[count++] = (Touch){block, first, first + CONTROL_SLOT_BYTES, writes};
  }
  return (Touches){at, count};
}

const Touches *touches_of(const Draft *d, const Segment *segment) {
  Touches *touches = ARENA_ARRAY(d->compile->arena, Touches, segment->records.count + 1);
  for (int32_t i = 0; i < segment->records.count; i++)
    touches[i] = touches_of_record(d, segment, &segment->records.at[i]);
  return touches;
}
