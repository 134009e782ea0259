/* offload.c -- copies between tiers: the bytes do not change, so their type does not change.
 *
 * A copy reads whole values: one, or all that a layer keeps for backward. A copy that is missing,
 * early or of another layer leaves the wrong type where the next record reads. plan_check: the
 * operands have equal bytes, and lie in memory that the copy's lane reaches. */
#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_job.h"

/* True if the operand is exactly the block of this kind at this address. */
static bool is_block(Typing *t, uint32_t operand, BufferKind kind, uint64_t first) {
  const Where at = where(t, operand);
  return at.reached->buffer->kind == (uint32_t)kind && at.own_axes == 0 &&
         at.reached->start + at.first == first && at.end - at.first == job_control_bytes(t->plan);
}

/* The control block as the norm has left it, all of it. */
static void fill_mirror(Typing *t) {
  const uint64_t control = plan_address(TIER_DEVICE, job_control_offset(t->plan));
  const uint64_t mirror = buffer_address(plan_control_mirror(t->plan, t->view->class));
  if (!is_block(t, 0, BUFFER_CONTROL, control) || !is_block(t, 1, BUFFER_MIRROR, mirror))
    REFUSE(t, "it does not copy the whole block of control to its mirror");
  if ((t->class.made & MADE_NORM) == 0) REFUSE(t, "the norm is not known yet");
  if (!t->class.refused) t->class.made |= MADE_MIRROR;
}

bool mirror_is_made(Typing *t) {
  return !plan_is_host_lane(t->plan, t->call.at->lane) || (t->class.made & MADE_MIRROR) != 0 ||
         REFUSE(t, "it reads control on the host, and no copy has brought it there since the norm");
}

/* All values of a frame, as they are. A value of which the copy has only a part is refused. */
static void copy_spans(Typing *t) {
  const Where from = where(t, 0), to = where(t, 1);
  TypeSpan span;
  uint32_t count = 0;
  if (from.own_axes != 0 || to.own_axes != 0) {
    REFUSE(t, "it copies a piece of a row that holds no whole value");
    return;
  }
  put(t, &to.reached->spans, to.first, to.end, &(Type){0});
  for (uint64_t at = from.first; next_span(t, &from, at, &span); at = span.end, count++) {
    if (span.first < from.first || span.end > from.end) {
      const Type type = type_at(&t->proof.types, span.type);
      (void)refuse_found(t, &type, "it copies a part of a value");
      return;
    }
    span.first += to.first - from.first, span.end += to.first - from.first;
    spans_write(&t->proof.types, &to.reached->spans, span);
  }
  if (count == 0) REFUSE(t, "it copies what is no whole value");
}

void type_copy(Typing *t) {
  if (where(t, 1).reached->buffer->kind == BUFFER_MIRROR) {
    t->call.tells_class = true;
    fill_mirror(t);
    return;
  }
  const Type type = read_type(t, 0);
  if (type.kind == TYPE_NOTHING)
    copy_spans(t);
  else
    write_type(t, 1, &type);
}
