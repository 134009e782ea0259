/* step.c -- the arithmetic of a step: which micro-batches count, what initial values and updates
 * do to tensors, and that nothing else does anything to them. The life of gradients is in
 * gradients.c, the norm in norm.c. */
#include "compiler/prove/step.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/control.h"

/* ---- updates */

/* Element counts: what the kernel works on is the whole tensor, or a piece of it. */
static void check_covers(const Step *s, const Reach *r) {
  const Plan *plan = s->view->plan;
  const PlanTensor *tensor = &plan->tensors[r->cell->tensor];
  int64_t elements = s->record->dims_count < 1 ? -1 : plan->ints[s->record->dims_first];
  if (r->split == 0 && (r->first != r->cell->first || elements != tensor->elements))
    FINDING(s, "should update every element of %.60s", cell_name(s, r->cell));
}

/* A rank updates its piece: of which ranks it is one, init has shown; moments begin as zeros and
 * are whoever's updates them. */
static void check_divided(const Step *s, const Reach *r, uint32_t pieces) {
  Cell *cell = r->cell;
  uint32_t kind = cell_kind(s, cell);
  bool has_values = kind == BUFFER_PARAM || kind == BUFFER_MASTER;
  if (r->split != 0 ? r->split != pieces : has_values && cell->pieces != pieces)
    FINDING(s, "%.60s is divided among other ranks than its gradient", cell_name(s, cell));
  if (kind == BUFFER_PARAM) cell->split = r->split;
}

/* The kind of operand `index` of an update: grad, param, moments, master. */
static uint32_t kind_of_operand(const Step *s, uint32_t index) {
  static const BufferKind adamw[] = {BUFFER_GRAD, BUFFER_PARAM, BUFFER_MOMENT1, BUFFER_MOMENT2,
                                     BUFFER_MASTER};
  static const BufferKind sgd[] = {BUFFER_GRAD, BUFFER_PARAM, BUFFER_MOMENT1, BUFFER_MASTER};
  const char *name = plan_string(s->view->plan, s->view->plan->kernels[s->record->kernel].name);
  bool is_sgd = strncmp(name, "sgd", 3) == 0; /* shapes: there are no more operands than these */
  if (index >= (is_sgd ? sizeof sgd / sizeof *sgd : sizeof adamw / sizeof *adamw))
    return BufferKind_COUNT;
  return is_sgd ? sgd[index] : adamw[index];
}

/* All operands are of one tensor. */
static void optimize(Step *s) {
  Cell *grad = NULL;
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    Reach r = reach(s, i);
    if (r.cell_count != 1) {
      FINDING(s, "operand %u should be one tensor", i);
      return;
    }
    if (cell_kind(s, r.cell) != kind_of_operand(s, i))
      FINDING(s, "operand %u is %.60s of the wrong kind", i, cell_name(s, r.cell));
    if (i == 0) grad = r.cell;
    if (strcmp(cell_name(s, grad), cell_name(s, r.cell)) != 0 || grad->layer != r.cell->layer)
      FINDING(s, "the gradient of %.60s updates %.60s", cell_name(s, grad), cell_name(s, r.cell));
    check_covers(s, &r);
    if (i == 0)
      gradient_check_taken(s, &grad->gradient, &r);
    else
      check_divided(s, &r, grad->gradient.split);
    if (r.cell->updated++ > 0) FINDING(s, "updates %.60s again", cell_name(s, r.cell));
  }
  if (grad == NULL) return;
  if (!gradient_complete(s, grad))
    FINDING(s, "the gradient of %.60s is not complete here", cell_name(s, grad));
  if (s->norms == 0) FINDING(s, "an update before the norm is known");
  if (s->all_axes != 0 && s->control_reduces == 0)
    FINDING(s, "an update before the control values are known");
  s->updating = true;
}

/* ---- gathered parameters */

static bool is_transient(const Step *s, uint32_t buffer, BufferKind kind) {
  if (buffer == PLAN_NONE) return false;
  const PlanBuffer *b = &s->view->plan->buffers[buffer];
  return b->program != PLAN_NONE && b->kind == (uint32_t)kind;
}

/* Row k of the whole is the k-th tensor's pieces, in the order of their ranks. */
static void gather_rows(const Step *s, const Reach *to, uint32_t axes) {
  const int64_t *pair = s->view->plan->ints + s->record->dims_first;
  uint64_t members = plan_comm_size(s->view->plan, s->record->comm), row = to->first;
  uint32_t found = 0;
  for (uint32_t i = 0; i + 1 < s->record->dims_count; i += 2) {
    uint64_t end = row + (uint64_t)pair[i] * (uint64_t)pair[i + 1] * members * to->unit;
    Cell *cell = find_cell(s, row);
    if (pair[i] == 1 && cell < to->cell + to->cell_count && cell->first == row &&
        cell->end <= end) {
      if (cell_kind(s, cell) != BUFFER_PARAM || (cell->split != 0 && cell->split != axes))
        FINDING(s, "gathers %.60s over other ranks than have its pieces", cell_name(s, cell));
      cell->split = 0;
      found++;
    }
    row = end;
  }
  if (found != to->cell_count)
    FINDING(s, "gathers %u tensors whose pieces do not stand as they are gathered",
            to->cell_count - found);
}

/* Shards of tensors, one after another, into a block where each has its row. */
static void gather_shards(const Step *s, const Reach *from, uint32_t axes) {
  const int64_t *pair = s->view->plan->ints + s->record->dims_first;
  uint64_t at = from->first;
  uint32_t found = 0;
  for (uint32_t i = 0; i + 1 < s->record->dims_count; i += 2) {
    const Cell *cell = find_cell(s, at);
    bool here = cell < from->cell + from->cell_count && cell->first == at;
    at += (uint64_t)pair[i] * (uint64_t)pair[i + 1] * from->unit;
    if (!here || pair[i] != 1 || cell->end > at) continue;
    found++;
    if (cell_kind(s, cell) != BUFFER_PARAM || cell->pieces != axes)
      FINDING(s, "gathers %.60s over other ranks than have its pieces", cell_name(s, cell));
    if (s->training && cell->updated)
      FINDING(s, "reads %.60s after its update", cell_name(s, cell));
  }
  if (found != from->cell_count)
    FINDING(s, "gathers %u tensors whose pieces do not stand as they are gathered",
            from->cell_count - found);
}

static void gather(Step *s) {
  Reach from = reach(s, 0), to = reach(s, s->record->operands_count - 1);
  uint32_t axes = comm_axes(s, s->record->comm);
  gradient_forget(s, to.first, to.end);
  if (s->record->operands_count == 2 && from.cell_count > 0) gather_shards(s, &from, axes);
  if (s->record->operands_count == 2 && from.cell_count == 0 &&
      is_transient(s, to.buffer, BUFFER_PARAM))
    FINDING(s, "gathers parameters from where none are");
  if (s->record->operands_count == 2 && to.cell_count > 0)
    FINDING(s, "gathers into tensors what does not stand in them");
  if (s->record->operands_count == 1 && to.cell_count > 0) gather_rows(s, &to, axes);
}

/* ---- everything else that touches state */

static void touch_cell(const Step *s, const Reach *r, uint32_t operand, Cell *cell) {
  uint32_t kind = cell_kind(s, cell);
  if (kind == BUFFER_PARAM && r->access == ACCESS_READ) {
    if (cell->updated) FINDING(s, "reads %.60s after its update", cell_name(s, cell));
  } else if (kind != BUFFER_GRAD || r->access == ACCESS_READ || !s->training) {
    FINDING(s, "operand %u: nothing but reduction and update may do this to %.60s", operand,
            cell_name(s, cell));
  }
}

static void count_loss(Step *s, const Reach *r) {
  uint64_t first = s->view->plan->jobs[0].control_offset + offsetof(Control, reduce);
  uint64_t end = first + 2 * sizeof(double); /* REDUCE_LOSS, REDUCE_COUNT */
  if (r->access == ACCESS_READ || r->end <= first || end <= r->first) return;
  if (s->walk->microbatch != s->losses)
    FINDING(s, "the loss of micro-batch %d counts, that of %lld should", s->walk->microbatch,
            (long long)s->losses);
  if (r->first != first || r->end != end) FINDING(s, "loss and count are reduce[0] and reduce[1]");
  if (r->access == ACCESS_WRITE && s->losses > 0) FINDING(s, "earlier losses are lost");
  s->losses++;
}

/* Gradients that kernels make, in tensors or in a block of one layer. */
static void write_gradients(Step *s, const Reach *r, bool clears) {
  if (!s->training) return;
  bool block = is_transient(s, r->buffer, BUFFER_GRAD), cells = r->cell_count > 0;
  bool zero = clears && r->access == ACCESS_WRITE;
  if (!block && !cells) {
    gradient_forget(s, r->first, r->end);
    return;
  }
  if (zero)
    gradient_clear(s, r);
  else
    gradient_contribute(s, r, r->access == ACCESS_WRITE);
}

/* A gradient that stood there on its way does so no more. */
static void write_samples(Step *s, const PlanOperand *operand) {
  if (operand->access == ACCESS_READ || !s->training || s->marks.count == 0) return;
  uint64_t first = walk_base(s->walk, operand->base) + view_operand(s->view, operand);
  gradient_forget(s, first, first + operand->size_bytes);
}

static void plain(Step *s, bool clears) {
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + i];
    uint32_t buffer = walk_buffer(s->walk, operand->base);
    if (buffer == PLAN_NONE || operand->size_bytes == 0) continue;
    if (holds_samples(s, buffer)) {
      write_samples(s, operand);
      continue;
    }
    Reach r = reach(s, i);
    count_loss(s, &r);
    for (uint32_t k = 0; k < r.cell_count && !(clears && r.access == ACCESS_WRITE); k++)
      touch_cell(s, &r, i, &r.cell[k]);
    if (r.access != ACCESS_READ) write_gradients(s, &r, clears);
    if (r.access != ACCESS_READ && !clears && is_transient(s, r.buffer, BUFFER_PARAM))
      FINDING(s, "operand %u: nothing but a gather may write gathered parameters", i);
  }
}

static void reduce_control(Step *s) {
  const Plan *plan = s->view->plan;
  uint32_t axes = comm_axes(s, s->record->comm);
  if (axes != s->all_axes)
    FINDING(s, "control values are reduced over %.40s",
            plan_string(plan, plan->comms[s->record->comm].name));
  if (s->record->meaning == PLAN_NONE || plan->meanings[s->record->meaning].reduce != REDUCE_SUM)
    FINDING(s, "control values must be summed, and say so");
  s->control_reduces++;
  if ((s->losses != 0 && s->losses < s->microbatches) || s->updating)
    FINDING(s, "control values are reduced before the last loss or after an update");
}

/* What a collective reads and writes that is no gradient and no sum of squares. */
static void communicate(Step *s) {
  Reach r = reach(s, 0);
  uint64_t slots = s->view->plan->jobs[0].control_offset + offsetof(Control, reduce);
  bool control = r.first == slots && r.end == slots + sizeof(double) * REDUCE_SLOTS;
  switch ((RecordKind)s->record->kind) {
  case RECORD_ALL_GATHER: gather(s); return;
  case RECORD_ALL_REDUCE:
    if (control)
      reduce_control(s);
    else if (!s->training || (!gradient_reduce(s) && !norm_reduce(s)))
      plain(s, false);
    return;
  case RECORD_REDUCE_SCATTER:
    if (!s->training || !gradient_scatter(s)) plain(s, false);
    return;
  case RECORD_EXCHANGE:
    if (s->training)
      gradient_exchange(s);
    else
      plain(s, false);
    return;
  default: plain(s, false); return;
  }
}

static void run_kernel(Step *s) {
  KernelRole role = s->training ? (KernelRole)s->role[s->record->kernel] : ROLE_NONE;
  switch (role) {
  case ROLE_UPDATE: optimize(s); break;
  case ROLE_SQUARE_SUM: norm_square(s); break;
  case ROLE_SUM: norm_sum(s); break;
  case ROLE_GRAD_NORM: norm_read(s); break;
  case ROLE_CAST:
    if (!gradient_cast(s)) plain(s, false);
    break;
  case ROLE_ADD:
    if (!gradient_add(s)) plain(s, false);
    break;
  case ROLE_INIT:
  case ROLE_FILL: {
    Reach to = reach(s, 0);
    if (to.cell_count > 0 || !norm_zero(s, &to)) plain(s, true);
    break;
  }
  default: plain(s, false); break;
  }
}

/* Nothing but losses and sums over ranks writes to the control block by operand. */
static void check_control(const Step *s) {
  const Plan *plan = s->view->plan;
  uint64_t block = plan->jobs[0].control_offset;
  if (s->record->kind == RECORD_ALL_REDUCE ||
      (s->record->kind == RECORD_KERNEL && s->role[s->record->kernel] == ROLE_LOSS))
    return;
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[s->record->operands_first + i];
    uint32_t buffer = walk_buffer(s->walk, operand->base);
    if (operand->access == ACCESS_READ || buffer == PLAN_NONE || holds_samples(s, buffer)) continue;
    uint64_t first = walk_base(s->walk, operand->base) + view_operand(s->view, operand);
    if (first < block + sizeof(Control) && block < first + operand->size_bytes)
      FINDING(s, "operand %u: nothing but a loss may write to the control block", i);
  }
}

static void run_record(Step *s) {
  const PlanRecord *record = s->record;
  check_control(s);
  if (record->kind == RECORD_KERNEL) {
    run_kernel(s);
  } else if (record->kind != RECORD_LOAD) {
    communicate(s);
  } else {
    if (s->walk->microbatch != s->loads)
      FINDING(s, "micro-batch %d is loaded, %lld should be", s->walk->microbatch,
              (long long)s->loads);
    s->loads++;
    plain(s, false);
  }
}

/* ---- a whole program */

/* FIRST and LAST are what the runtime's and the records' conditions go by: they must be the truth.
 */
static void check_flags(const Step *s, int64_t microbatches) {
  const PlanCall *call = s->walk->call;
  const PlanLoop *loop = s->walk->loop;
  int64_t first = call->microbatch, last = first;
  if (loop != NULL) last += (int64_t)(loop->times - 1) * (int64_t)loop->microbatch_stride;
  bool is_first = (call->flags & CALL_FIRST_MICROBATCH) != 0;
  bool is_last = (call->flags & CALL_LAST_MICROBATCH) != 0;
  bool truth = first < 0 ? !is_first && !is_last
                         : last < microbatches && is_first == (last == 0) &&
                               is_last == (first == microbatches - 1) &&
                               (first == last || (first > 0 && last < microbatches - 1));
  if (!truth)
    prove_finding(s->view, s->walk, -1, "step", "micro-batch %lld of %lld, but the flags say %s%s",
                  (long long)first, (long long)microbatches, is_first ? "first " : "",
                  is_last ? "last" : "neither");
}

/* Axes along which an attribute of the record differs. */
static uint32_t varies_along(const Step *s, uint32_t attr) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < s->record->varies_count; i++) {
    const PlanVary *vary = &s->view->plan->varies[s->record->varies_first + i];
    if (vary->attr == attr && (vary->stride != 0 || vary->values_count > 0))
      axes |= comm_axes(s, vary->by);
  }
  return axes;
}

enum { INIT_FLAT_FIRST = 2, INIT_FIRST = 3 }; /* attributes of init_*, kernels.def */

/* init may zero whole blocks, padding included; a tensor's own value is written to exactly its
 * bytes, or to the rank's piece of them. */
static void initialize_operand(Step *s, uint32_t index) {
  Reach r = reach(s, index);
  if (r.access != ACCESS_WRITE || r.cell_count != 1 || r.first != r.cell->first ||
      (r.end != r.cell->end && r.split == 0))
    return;
  Cell *cell = r.cell;
  cell->initial = true;
  cell->split = r.split;
  KernelRole role = (KernelRole)s->role[s->record->kernel];
  if (role == ROLE_INIT || role == ROLE_FILL) {
    cell->cut = varies_along(s, INIT_FIRST);
    cell->pieces = varies_along(s, INIT_FLAT_FIRST) & ~r.split;
    if (r.split != 0 && varies_along(s, INIT_FLAT_FIRST) != r.split)
      FINDING(s, "ranks' pieces of %.60s get the values of other pieces", cell_name(s, cell));
  }
  Reach from = reach(s, 0);
  if (role != ROLE_CAST || from.cell_count != 1) return;
  cell->cut = from.cell->cut;
  cell->pieces = from.cell->pieces & ~r.split;
  if (from.cell->pieces != (cell->pieces | r.split))
    FINDING(s, "ranks' pieces of %.60s get the values of other pieces", cell_name(s, cell));
}

static void prove_init(Step *s, const PlanProgram *program) {
  s->walk_now = walk_begin(s->view, program);
  s->walk = &s->walk_now;
  while (walk_next(&s->walk_now)) {
    for (s->record_index = 0; s->record_index < s->walk->segment->records_count;
         s->record_index++) {
      s->record = walk_record(s->walk, s->record_index);
      if (!walk_runs(s->walk, s->record)) continue;
      if (s->record->kind == RECORD_ALL_GATHER) gather(s);
      for (uint32_t i = 0; i < s->record->operands_count && s->record->kind == RECORD_KERNEL; i++)
        initialize_operand(s, i);
    }
  }
  s->walk_now.call = NULL;
  for (uint32_t i = 0; i < s->cell_count; i++) {
    const Cell *cell = &s->cells[i];
    uint32_t kind = cell_kind(s, cell);
    if (!cell->initial && (kind == BUFFER_PARAM || kind == BUFFER_MASTER))
      prove_finding(s->view, s->walk, -1, "step", "%.60s (layer %d) gets no value of its own",
                    cell_name(s, cell), cell->layer);
    if (cell->split != 0 && kind == BUFFER_PARAM)
      prove_finding(s->view, s->walk, -1, "step",
                    "%.60s (layer %d): other ranks' pieces are not gathered", cell_name(s, cell),
                    cell->layer);
  }
}

/* A stage loads every micro-batch or none, and the losses of all count on one stage. */
static void finish(Step *s) {
  if ((s->loads != s->microbatches && s->loads != 0) ||
      (s->losses != s->microbatches && s->losses != 0) ||
      (s->stage_axes == 0 && (s->loads == 0 || s->losses == 0)))
    prove_finding(s->view, s->walk, -1, "step",
                  "%lld micro-batches: %lld are loaded, losses of %lld count",
                  (long long)s->microbatches, (long long)s->loads, (long long)s->losses);
  if (s->losses > 0) s->classes->ranks_with_losses[s->training] += s->view->class->rank_count;
  if (s->all_axes != 0 && s->control_reduces != 1)
    prove_finding(s->view, s->walk, -1, "step", "control values are reduced %lld times",
                  (long long)s->control_reduces);
  if (!s->training) return;
  for (uint32_t i = 0; i < s->cell_count; i++)
    if (s->cells[i].split != 0 && cell_kind(s, &s->cells[i]) == BUFFER_PARAM)
      prove_finding(s->view, s->walk, -1, "step",
                    "%.60s (layer %d): pieces that other ranks updated are not gathered",
                    cell_name(s, &s->cells[i]), s->cells[i].layer);
  tied_finish(s);
}

static void run_call(Step *s) {
  const Concerned *list = concerned_records(s);
  uint32_t count = list == NULL ? s->walk->segment->records_count : list->count;
  for (uint32_t i = 0; i < count; i++) {
    s->record_index = list == NULL ? i : list->record[i];
    s->record = walk_record(s->walk, s->record_index);
    if (walk_runs(s->walk, s->record)) run_record(s);
  }
}

static void run_program(Step *s, const PlanProgram *program) {
  const View *view = s->view;
  int64_t microbatches = view->plan->jobs[0].accumulation;
  if (!s->training) {
    microbatches = 0; /* an evaluation has as many as it numbers */
    for (uint32_t i = 0; i < program->calls_count; i++) {
      int64_t number = view->plan->calls[program->calls_first + i].microbatch;
      if (number >= microbatches) microbatches = number + 1;
    }
  }
  s->microbatches = microbatches - walk_left_out(view, program);
  s->walk_now = walk_begin(view, program);
  s->walk = &s->walk_now;
  s->loads = s->losses = s->control_reduces = 0;
  while (walk_next(&s->walk_now)) {
    check_flags(s, microbatches);
    run_call(s);
  }
  s->walk_now.call = NULL; /* findings from here on are about the program */
  finish(s);
}

/* ---- the mesh */

typedef struct Axes {
  uint32_t all, data, stages; /* masks, axes of size 1 left out */
  int64_t replicas;
} Axes;

/* dp and its like divide the samples, cp their tokens; classes along pp are stages. */
static Axes find_axes(const Plan *plan) {
  Axes axes = {.replicas = 1};
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    uint32_t divides = plan->axes[i].divides;
    bool replicas = divides == DIVIDES_SAMPLES;
    if (plan->axes[i].size == 1) continue;
    axes.all |= 1u << i;
    if (replicas || divides == DIVIDES_TOKENS) axes.data |= 1u << i;
    if (replicas) axes.replicas *= plan->axes[i].size;
    const PlanBound *bound = &plan->bounds[plan->classes[0].bounds_first + i];
    if (divides == DIVIDES_DEPTH && bound->end - bound->first < plan->axes[i].size)
      axes.stages |= 1u << i;
  }
  return axes;
}

static void check_batch(const Plan *plan, ProveReport *report, int64_t replicas) {
  const PlanJob *job = plan->jobs;
  View view = {.plan = plan, .report = report, .class = plan->classes};
  int64_t batch = 0;
  if (__builtin_mul_overflow(job->microbatch_samples, job->accumulation, &batch) ||
      __builtin_mul_overflow(batch, replicas, &batch) || batch != job->batch_samples)
    prove_finding(&view, NULL, -1, "step",
                  "batch of %lld samples is not %lld a micro-batch * %lld * %lld replicas",
                  (long long)job->batch_samples, (long long)job->microbatch_samples,
                  (long long)job->accumulation, (long long)replicas);
}

void prove_step(const View *view, Classes *classes) {
  const Plan *plan = view->plan;
  Axes axes = find_axes(plan);
  Step s = {.view = view,
            .classes = classes,
            .all_axes = axes.all,
            .data_axes = axes.data,
            .stage_axes = axes.stages};
  s.role = prove_roles(view);
  s.concerned = prove_array(view, plan->segments_count, sizeof *s.concerned);
  if (s.role != NULL && s.concerned != NULL && cells_open(&s)) {
    const PlanProgram *init = view_program(view, PROGRAM_INIT);
    if (init != NULL) prove_init(&s, init);
    const PlanProgram *eval = view_program(view, PROGRAM_EVAL_STEP);
    if (eval != NULL) run_program(&s, eval);
    const PlanProgram *train = view_program(view, PROGRAM_TRAIN_STEP);
    s.training = true;
    if (train != NULL) run_program(&s, train);
  }
  if (s.failed) prove_finding(view, NULL, -1, "step", "out of memory while proving");
  cells_close(&s);
  for (uint32_t i = 0; s.concerned != NULL && i < plan->segments_count; i++)
    free(s.concerned[i].record);
  free(s.role), free(s.concerned);
}

/* ---- all classes */

Classes *step_classes_open(const Plan *plan, ProveReport *report, const Links *links) {
  View view = {.plan = plan, .report = report};
  Classes *classes = prove_array(&view, 1, sizeof *classes);
  if (classes == NULL) return NULL;
  Axes axes = find_axes(plan);
  *classes = (Classes){.plan = plan, .report = report, .links = links, .stage_axes = axes.stages};
  check_batch(plan, report, axes.replicas);
  return classes;
}

void step_classes_close(Classes *classes) {
  const Plan *plan = classes->plan;
  View view = {.plan = plan, .report = classes->report};
  uint64_t ranks = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if ((classes->stage_axes >> i & 1) == 0) ranks *= plan->axes[i].size;
  for (int training = 0; training < 2; training++)
    if (classes->stage_axes != 0 && classes->ranks_with_losses[training] != ranks &&
        (training || classes->ranks_with_losses[training] != 0))
      prove_finding(&view, NULL, -1, "step", "losses count on %llu ranks, %llu are one stage",
                    (unsigned long long)classes->ranks_with_losses[training],
                    (unsigned long long)ranks);
  tied_prove(classes);
  if (classes->failed) prove_finding(&view, NULL, -1, "step", "out of memory while proving");
  free(classes->claims);
  free(classes);
}
