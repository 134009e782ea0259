/* dataflow.c -- every byte read was written before, by the life of the buffer that it is read from.
 *
 * A gather in place reads the rank's own pieces and writes the whole. A scatter in place reads the
 * whole and leaves the rank's own pieces; around them is some part of the sum, which is nothing to
 * read, except where all ranks have zeros: padding, cleared once and written by nobody, stays what
 * it is.
 *
 * Each buffer has the set of its written bytes: empty when its life begins (in a loop: in every
 * iteration), kept from program to program when it is persistent. init runs first; then steps and
 * evaluations as they may follow each other: what one leaves unwritten, the next may not read. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/sorted.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/control.h"

typedef struct Span {
  uint64_t first, end;
} Span;

/* Written bytes: disjoint spans in order, neighbours merged. Most buffers have one. */
typedef struct Written {
  Sorted spans;
  uint64_t changes; /* times that it has become another set */
} Written;

typedef struct Dataflow {
  const View *view;
  Written *written;  /* by buffer of the class */
  Written *zeros;    /* the same: what is 0 on every rank */
  uint32_t *scratch; /* by kernel: bit per operand that is scratch */
  uint32_t *births;  /* transient buffers by first call */
  uint32_t *birth_first;
  Told told; /* calls, with the state of their buffers, that found all as it should be */
  bool failed;
} Dataflow;

static const SortedKind span_kind = SORTED_KIND(Span, end);

/* The first span that ends at or after `offset`. */
static uint32_t find_span(const Written *w, uint64_t offset) {
  return sorted_find(&span_kind, &w->spans, offset);
}

/* NULL: none that begins at or before `last`. */
static const Span *span_at(const Written *w, uint32_t index, uint64_t last) {
  const Span *span = index < w->spans.count ? sorted_at(&span_kind, &w->spans, index) : NULL;
  return span != NULL && span->first <= last ? span : NULL;
}

static bool covers(const Written *w, uint64_t first, uint64_t end) {
  uint32_t at = find_span(w, first);
  const Span *span = span_at(w, at, first);
  while (span != NULL && span->end == first)
    span = span_at(w, ++at, first); /* touches, but does not hold it */
  return span != NULL && end <= span->end;
}

static bool add_span(Written *w, uint64_t first, uint64_t end) {
  if (covers(w, first, end)) return true;
  w->changes++;
  Span whole = {first, end};
  uint32_t at = find_span(w, first), stop = at;
  for (const Span *span = NULL; (span = span_at(w, stop, whole.end)) != NULL; stop++) {
    if (span->first < whole.first) whole.first = span->first;
    if (span->end > whole.end) whole.end = span->end;
  }
  return sorted_replace(&span_kind, &w->spans, at, stop - at, &whole, 1);
}

/* Takes [first, end) out: nothing is known to be there any more. */
static bool remove_span(Written *w, uint64_t first, uint64_t end) {
  uint32_t at = find_span(w, first), count = 0;
  const Span *span = span_at(w, at, first);
  if (span != NULL && span->end == first) at++;
  Span left[2];
  uint32_t stop = at;
  for (; first < end && (span = span_at(w, stop, end - 1)) != NULL; stop++) {
    w->changes++;
    if (span->first < first) left[count++] = (Span){span->first, first};
    if (span->end > end) left[count++] = (Span){end, span->end};
  }
  return sorted_replace(&span_kind, &w->spans, at, stop - at, left, count);
}

/* Writes back into `w` what of [first, end) is in `more`. */
static bool add_common(Written *w, const Written *more, uint64_t first, uint64_t end) {
  const Span *next = NULL;
  for (uint32_t i = find_span(more, first); (next = span_at(more, i, end)) != NULL; i++) {
    Span span = *next;
    if (span.first < first) span.first = first;
    if (span.end > end) span.end = end;
    if (span.first < span.end && !add_span(w, span.first, span.end)) return false;
  }
  return true;
}

static bool clears(const Plan *plan, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL && record->attrs_count > 0 && record->varies_count == 0 &&
         plan->reals[record->attrs_first] == 0 &&
         strcmp(plan_string(plan, plan->kernels[record->kernel].name), "init_constant") == 0;
}

/* A sum over ranks of this class alone: where all have zeros it gives zeros. */
static bool keeps_zeros(const View *view, const PlanRecord *record) {
  if (record->kind != RECORD_ALL_REDUCE || record->operands_count != 1) return false;
  for (uint32_t axis = 0; axis < view->plan->axes_count; axis++) {
    const PlanBound *bound = &view->plan->bounds[view->class->bounds_first + axis];
    if (view->plan->comms[record->comm].axes_mask >> axis & 1 &&
        bound->end - bound->first != view->plan->axes[axis].size)
      return false;
  }
  return true;
}

static bool is_scratch(const Dataflow *d, const PlanRecord *record, uint32_t operand) {
  return record->kind == RECORD_KERNEL && d->scratch[record->kernel] >> (operand & 31u) & 1u;
}

/* What a kernel leaves in its scratch is nothing to read. */
static void spoil_bytes(Dataflow *d, uint32_t index, uint64_t first, uint64_t end) {
  d->failed |=
      !remove_span(&d->written[index], first, end) || !remove_span(&d->zeros[index], first, end);
}

/* A write of [first, end). */
static void write_bytes(Dataflow *d, uint32_t index, const PlanRecord *record, uint64_t first,
                        uint64_t end) {
  Written *w = &d->written[index], *zeros = &d->zeros[index];
  bool zero = clears(d->view->plan, record);
  d->failed |= !add_span(w, first, end);
  if (keeps_zeros(d->view, record)) return;
  if (zero ? !add_span(zeros, first, end) : !remove_span(zeros, first, end)) d->failed = true;
}

/* Gathers and scatters in place. */
static void run_in_place(Dataflow *d, const Walk *walk, uint32_t index) {
  const PlanRecord *record = walk_record(walk, index);
  const PlanOperand *operand = &d->view->plan->operands[record->operands_first];
  uint32_t buffer = walk_buffer(walk, operand->base);
  if (buffer == PLAN_NONE) return;
  uint32_t number = buffer - d->view->class->buffers_first;
  if (d->view->repeats.told_buffer[number] || !pieces_are_few(walk, index)) return;
  Written *w = &d->written[number];
  uint64_t whole = walk_base(walk, operand->base) + view_operand(d->view, operand);
  uint64_t whole_end = whole + operand->size_bytes, first = 0, end = 0;
  bool gathers = record->kind == RECORD_ALL_GATHER;
  bool covered = gathers || covers(w, whole, whole_end);
  if (!gathers)
    d->failed |=
        !remove_span(w, whole, whole_end) || !add_common(w, &d->zeros[number], whole, whole_end);
  Pieces pieces = pieces_begin(walk, record, whole);
  while (pieces_range(&pieces, &first, &end)) {
    if (gathers) covered = covered && covers(w, first, end);
    if (!gathers) d->failed |= !add_span(w, first, end);
  }
  if (gathers) write_bytes(d, number, record, whole, whole_end);
  if (!covered)
    prove_finding(d->view, walk, index, "dataflow",
                  "sends bytes of [%llu..%llu) of %.40s that nothing has written",
                  (unsigned long long)whole, (unsigned long long)whole_end,
                  plan_string(d->view->plan, d->view->plan->buffers[buffer].name));
}

static void check_access(Dataflow *d, const Walk *walk, uint32_t record, uint32_t index,
                         uint64_t base, uint32_t buffer) {
  const View *view = d->view;
  const PlanOperand *operand =
      &view->plan->operands[walk_record(walk, record)->operands_first + index];
  uint32_t number = buffer - view->class->buffers_first;
  if (buffer == PLAN_NONE || operand->size_bytes == 0 || view->repeats.told_buffer[number]) return;
  Written *w = &d->written[number];
  uint64_t first = base + view_operand(view, operand), end = first + operand->size_bytes;
  bool covered = covers(w, first, end);
  if (!covered && operand->access != ACCESS_WRITE)
    prove_finding(view, walk, record, "dataflow",
                  "operand %u reads bytes [%llu..%llu) of %.40s that nothing has written", index,
                  (unsigned long long)first, (unsigned long long)end,
                  plan_string(view->plan, view->plan->buffers[buffer].name));
  const PlanRecord *user = walk_record(walk, record);
  if (is_scratch(d, user, index))
    spoil_bytes(d, number, first, end);
  else if (operand->access != ACCESS_READ)
    write_bytes(d, number, user, first, end);
}

static void run_call(Dataflow *d, const Walk *walk) {
  const Plan *plan = d->view->plan;
  for (uint32_t r = 0; r < walk->segment->records_count; r++) {
    const PlanRecord *record = walk_record(walk, r);
    if (!walk_runs(walk, record)) continue;
    if (record_in_place(record)) {
      run_in_place(d, walk, r);
      continue;
    }
    for (int writes = 0; writes < 2; writes++) { /* a record reads before it writes */
      for (uint32_t i = 0; i < record->operands_count; i++) {
        const PlanOperand *operand = &plan->operands[record->operands_first + i];
        if ((operand->access == ACCESS_WRITE) != (writes == 1)) continue;
        check_access(d, walk, r, i, walk_base(walk, operand->base),
                     walk_buffer(walk, operand->base));
      }
    }
  }
}

static void forget(Dataflow *d, uint32_t buffer) {
  sorted_clear(&d->written[buffer].spans), sorted_clear(&d->zeros[buffer].spans);
  d->written[buffer].changes++, d->zeros[buffer].changes++;
}

/* A call that has done the same to buffers in the same state need not do it again: it changes
 * nothing, or their state would be another. */
static bool call_is_told(Dataflow *d, const Walk *walk) {
  uint64_t story = hash_mix(walk->call->segment, walk->call->flags);
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    uint32_t buffer = walk_buffer(walk, base);
    if (buffer == PLAN_NONE) continue;
    uint32_t number = buffer - d->view->class->buffers_first;
    if (d->view->repeats.told_buffer[number]) continue;
    story = hash_mix(hash_mix(story, base), number);
    story = hash_mix(hash_mix(story, walk_base(walk, base)), d->written[number].changes);
    story = hash_mix(story, d->zeros[number].changes);
  }
  return told_before(&d->told, story);
}

static void run_program(Dataflow *d, const PlanProgram *program) {
  BufferOrder births = order_buffers(d->view, program, true);
  if (births.buffer == NULL) return;
  Walk walk = walk_begin(d->view, program);
  while (walk_next(&walk)) {
    for (uint32_t i = births.first[walk.position]; i < births.first[walk.position + 1]; i++) {
      uint32_t number = births.buffer[i] - d->view->class->buffers_first;
      forget(d, number);
    }
    if (d->view->repeats.told_all[program->kind][walk.position]) continue;
    if (!call_is_told(d, &walk)) run_call(d, &walk);
  }
  free(births.buffer);
}

/* What the runtime writes by itself: the control block before every step. */
static void write_control(Dataflow *d) {
  const PlanClass *class = d->view->class;
  uint64_t control = d->view->plan->jobs[0].control_offset;
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &d->view->plan->buffers[class->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer_address(buffer) <= control &&
        control + sizeof(Control) <= buffer_address(buffer) + buffer->size_bytes)
      d->failed |= !add_span(&d->written[i], control, control + sizeof(Control));
  }
}

/* init, then the programs, from nothing. */
static void run_after_init(Dataflow *d, const ProgramKind *kinds, size_t count) {
  for (uint32_t i = 0; i < d->view->class->buffers_count; i++)
    forget(d, i);
  write_control(d);
  const PlanProgram *init = view_program(d->view, PROGRAM_INIT);
  if (init != NULL) run_program(d, init);
  uint32_t findings = d->view->report->finding_count;
  for (size_t i = 0; i < count && d->view->report->finding_count == findings; i++) {
    const PlanProgram *program = view_program(d->view, kinds[i]);
    if (program != NULL) run_program(d, program);
  }
}

/* A bit per operand. */
static uint32_t scratch_of(const KernelContract *contract) {
  bool has_scratch = contract != NULL && contract->row->workspace != NULL;
  return has_scratch ? 1u << (contract->operand_count - 1) : 0;
}

void prove_dataflow(const View *view) {
  static const ProgramKind steps[] = {PROGRAM_TRAIN_STEP, PROGRAM_TRAIN_STEP, PROGRAM_EVAL_STEP,
                                      PROGRAM_TRAIN_STEP};
  static const ProgramKind others[] = {PROGRAM_EVAL_STEP, PROGRAM_SNAPSHOT};
  Dataflow d = {.view = view};
  uint32_t buffers = view->class->buffers_count;
  d.written = prove_array(view, buffers, sizeof *d.written);
  d.zeros = prove_array(view, buffers, sizeof *d.zeros);
  d.scratch = prove_array(view, view->plan->kernels_count, sizeof *d.scratch);
  if (d.written != NULL && d.zeros != NULL && d.scratch != NULL) {
    for (uint32_t i = 0; i < view->plan->kernels_count; i++)
      d.scratch[i] =
          scratch_of(contract_find(plan_string(view->plan, view->plan->kernels[i].name)));
    if (view_program(view, PROGRAM_INIT) == NULL)
      prove_finding(view, NULL, -1, "dataflow", "no init program: nothing writes the first state");
    run_after_init(&d, steps, sizeof steps / sizeof *steps);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      run_after_init(&d, &others[i], 1);
    if (d.failed) prove_finding(view, NULL, -1, "dataflow", "out of memory while proving");
    for (uint32_t i = 0; i < buffers; i++)
      sorted_free(&d.written[i].spans), sorted_free(&d.zeros[i].spans);
  }
  free(d.written), free(d.zeros), free(d.scratch), free(d.told.story);
}
