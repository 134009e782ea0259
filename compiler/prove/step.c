/* step.c -- the arithmetic of a step: which micro-batches count, and the life of every gradient.
 *
 * A cell is one layer of one persistent tensor. Cells are found by address, so a call bound to the
 * wrong layer's gradient shows as one gradient too many and one too few, whatever the call says of
 * itself. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"
#include "runtime/plan/control.h"

enum { CELLS_MAX = 1 << 24 };

typedef struct Cell {
  uint64_t first, end;
  uint32_t tensor;                    /* index into plan->tensors */
  int32_t layer;                      /* -1: not of a stack */
  int32_t last_microbatch;            /* that contributed; -1: none yet */
  uint32_t reduced, squared, updated; /* times, in this step */
  bool initial;                       /* init writes exactly its bytes */
  bool on_wire;                       /* copied out to be reduced, not back yet */
} Cell;

typedef enum KernelRole {
  ROLE_PLAIN,
  ROLE_OPTIMIZER,
  ROLE_SQUARE_SUM,
  ROLE_GRAD_NORM,
  ROLE_CAST
} KernelRole;

/* A gradient on its way through a buffer of another dtype: cast, all-reduce, cast back. */
typedef struct Wire {
  uint64_t grad_first, grad_end, first, end;
  bool reduced;
} Wire;

typedef struct Step {
  const View *view;
  Walk walk_now;
  const Walk *walk; /* walk_now */
  uint32_t record_index;
  const PlanRecord *record;
  bool training;
  Cell *cells; /* by offset, disjoint */
  uint32_t cell_count, grad_count;
  bool *has_cells;      /* by buffer of the class */
  uint8_t *role;        /* KernelRole by kernel */
  int64_t microbatches; /* that the walk numbers */
  int64_t loads, losses, norms, control_reduces, squared;
  bool updating;
  uint32_t data_axes, all_axes; /* masks, axes of size 1 left out */
  Wire wire;
} Step;

#define FINDING(s, ...) prove_finding((s)->view, (s)->walk, (s)->record_index, "step", __VA_ARGS__)

/* ---- cells */

static const char *cell_name(const Step *s, const Cell *cell) {
  return plan_string(s->view->plan, s->view->plan->tensors[cell->tensor].name);
}

static uint32_t cell_kind(const Step *s, const Cell *cell) {
  return s->view->plan->tensors[cell->tensor].kind;
}

static int compare_cells(const void *a, const void *b) {
  const Cell *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t count_cells(const View *view) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < view->class->tensors_count; i++)
    count += view->plan->tensors[view->class->tensors_first + i].layer_count;
  return count;
}

static void fill_cells(Step *s) {
  const Plan *plan = s->view->plan;
  for (uint32_t i = 0; i < s->view->class->tensors_count; i++) {
    uint32_t index = s->view->class->tensors_first + i;
    const PlanTensor *tensor = &plan->tensors[index];
    for (uint32_t l = 0; l < tensor->layer_count; l++) {
      uint64_t first = tensor->offset + l * tensor->layer_stride;
      s->cells[s->cell_count++] =
          (Cell){.first = first,
                 .end = first + tensor->size_bytes,
                 .tensor = index,
                 .layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)l,
                 .last_microbatch = -1};
    }
    if (tensor->kind == BUFFER_GRAD) s->grad_count += tensor->layer_count;
  }
  qsort(s->cells, s->cell_count, sizeof *s->cells, compare_cells);
  for (uint32_t i = 1; i < s->cell_count; i++)
    if (s->cells[i].first < s->cells[i - 1].end)
      prove_finding(s->view, NULL, -1, "step", "tensors %.40s and %.40s share bytes",
                    cell_name(s, &s->cells[i - 1]), cell_name(s, &s->cells[i]));
}

/* The first cell that ends after `offset`. */
static Cell *find_cell(const Step *s, uint64_t offset) {
  uint32_t low = 0, high = s->cell_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->cells[middle].end > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return s->cells + low;
}

/* Every tensor lies in one persistent buffer, or what happens to it would go unseen. */
static void mark_buffers(Step *s) {
  const PlanClass *class = s->view->class;
  uint64_t held = 0;
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &s->view->plan->buffers[class->buffers_first + i];
    if (buffer->program != PLAN_NONE) continue;
    const Cell *cell = find_cell(s, buffer->offset);
    for (; cell < s->cells + s->cell_count && cell->end <= buffer->offset + buffer->size_bytes &&
           cell->first >= buffer->offset;
         cell++) {
      s->has_cells[i] = true;
      held++;
    }
  }
  if (held != s->cell_count)
    prove_finding(s->view, NULL, -1, "step", "%llu of %u tensors lie in no persistent buffer",
                  (unsigned long long)(s->cell_count - held), s->cell_count);
}

typedef struct Reach {
  uint64_t first, end;
  uint32_t buffer; /* of the plan; PLAN_NONE: none */
  Cell *cell;      /* the cells reached */
  uint32_t cell_count;
  Access access;
} Reach;

/* What operand `index` of the current record reaches. A cell is reached whole or it is a finding.
 */
static Reach reach(const Step *s, uint32_t index) {
  const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + index];
  Reach r = {.buffer = walk_buffer(s->walk, operand->base), .access = (Access)operand->access};
  r.first = walk_base(s->walk, operand->base) + view_operand(s->view, operand);
  r.end = r.first + operand->size_bytes;
  if (r.buffer == PLAN_NONE || !s->has_cells[r.buffer - s->view->class->buffers_first]) return r;
  r.cell = find_cell(s, r.first);
  int32_t layer = s->walk->call->layer;
  for (Cell *c = r.cell; c < s->cells + s->cell_count && c->first < r.end; c++, r.cell_count++) {
    if (c->first < r.first || r.end < c->end)
      FINDING(s, "operand %u reaches only a part of %.60s", index, cell_name(s, c));
    if (c->layer >= 0 && layer >= 0 && c->layer != layer)
      FINDING(s, "operand %u reaches %.60s of layer %d", index, cell_name(s, c), c->layer);
  }
  return r;
}

static bool reaches_kind(const Step *s, const Reach *r, BufferKind kind) {
  for (uint32_t i = 0; i < r->cell_count; i++)
    if (cell_kind(s, &r->cell[i]) == (uint32_t)kind) return true;
  return false;
}

/* ---- the life of a gradient */

static bool is_complete(const Step *s, const Cell *cell) {
  return cell->last_microbatch == s->microbatches - 1 && !cell->on_wire &&
         cell->reduced == (s->data_axes != 0);
}

static void contribute(const Step *s, Cell *cell, bool assign) {
  int32_t microbatch = s->walk->microbatch;
  const char *name = cell_name(s, cell);
  if (s->record->accumulate != !assign)
    FINDING(s, "accumulate is %u, but the access says otherwise", s->record->accumulate);
  if (cell->reduced || cell->on_wire || cell->squared || cell->updated)
    FINDING(s, "adds to the gradient of %.60s, which is reduced or used already", name);
  if (assign && (microbatch != 0 || cell->last_microbatch >= 0))
    FINDING(s, "assigns the gradient of %.60s, what was there is lost", name);
  else if (!assign && cell->last_microbatch < 0)
    FINDING(s, "adds to the gradient of %.60s before any assignment in this step", name);
  else if (microbatch < 0 || microbatch - cell->last_microbatch > 1 ||
           microbatch < cell->last_microbatch)
    FINDING(s, "gradient of %.60s: micro-batch %d follows %d", name, microbatch,
            cell->last_microbatch);
  cell->last_microbatch = microbatch;
}

static void reduce_cell(const Step *s, Cell *cell) {
  if (cell_kind(s, cell) != BUFFER_GRAD) {
    FINDING(s, "reduces %.60s, which is no gradient", cell_name(s, cell));
    return;
  }
  if (cell->last_microbatch != s->microbatches - 1)
    FINDING(s, "reduces the gradient of %.60s before its last micro-batch", cell_name(s, cell));
  if (cell->reduced++ > 0) FINDING(s, "reduces the gradient of %.60s again", cell_name(s, cell));
  if (cell->squared || cell->updated)
    FINDING(s, "reduces the gradient of %.60s after its use", cell_name(s, cell));
}

static void check_group(const Step *s, uint32_t axes, const char *what) {
  const Plan *plan = s->view->plan;
  if ((plan->comms[s->record->comm].axes_mask & s->all_axes) != axes)
    FINDING(s, "%s are reduced over %.40s", what,
            plan_string(plan, plan->comms[s->record->comm].name));
  if (s->record->meaning == PLAN_NONE || plan->meanings[s->record->meaning].reduce != REDUCE_SUM)
    FINDING(s, "%s must be summed, and say so", what);
}

static void all_reduce(Step *s) {
  Reach r = reach(s, 0);
  uint64_t control = s->view->plan->jobs[0].control_offset;
  uint64_t slots = control + offsetof(Control, reduce);
  if (r.first == slots && r.end == slots + sizeof(double) * REDUCE_SLOTS) {
    check_group(s, s->all_axes, "control values");
    s->control_reduces++;
    if (s->losses < s->microbatches || s->updating)
      FINDING(s, "control values are reduced before the last loss or after an update");
  } else if (r.cell_count > 0) {
    check_group(s, s->data_axes, "gradients");
    for (uint32_t i = 0; i < r.cell_count; i++)
      reduce_cell(s, &r.cell[i]);
  } else if (r.first == s->wire.first && r.end == s->wire.end && r.end > r.first) {
    check_group(s, s->data_axes, "gradients");
    if (s->wire.reduced) FINDING(s, "reduces the same gradients again");
    s->wire.reduced = true;
  } else {
    FINDING(s, "reduces what is neither gradients nor control values");
  }
}

/* A cast out of gradients, or back into them. False: it is neither. */
static bool cast(Step *s) {
  if (s->record->operands_count != 2) return false;
  Reach from = reach(s, 0), to = reach(s, 1);
  if (reaches_kind(s, &from, BUFFER_GRAD) && to.cell_count == 0) {
    s->wire = (Wire){from.first, from.end, to.first, to.end, false};
    for (uint32_t i = 0; i < from.cell_count; i++)
      from.cell[i].on_wire = true;
    return true;
  }
  if (!reaches_kind(s, &to, BUFFER_GRAD) || from.cell_count > 0) return false;
  if (from.first != s->wire.first || from.end != s->wire.end || to.first != s->wire.grad_first ||
      to.end != s->wire.grad_end || !s->wire.reduced)
    FINDING(s, "writes gradients that were not reduced here");
  for (uint32_t i = 0; i < to.cell_count; i++) {
    to.cell[i].on_wire = false;
    reduce_cell(s, &to.cell[i]);
  }
  s->wire = (Wire){0};
  return true;
}

static void square_sum(Step *s) {
  Reach r = reach(s, 0);
  if (r.cell_count != 1 || cell_kind(s, r.cell) != BUFFER_GRAD) {
    FINDING(s, "should read one gradient");
    return;
  }
  if (!is_complete(s, r.cell) || r.cell->updated)
    FINDING(s, "the gradient of %.60s is not complete here", cell_name(s, r.cell));
  if (s->record->dims_count < 1 ||
      s->view->plan->ints[s->record->dims_first] != s->view->plan->tensors[r.cell->tensor].elements)
    FINDING(s, "the norm should read every element of %.60s once", cell_name(s, r.cell));
  if (r.cell->squared++ > 0)
    FINDING(s, "the gradient of %.60s enters the norm twice", cell_name(s, r.cell));
  s->squared++;
}

static void grad_norm(Step *s) {
  Reach r = reach(s, 0);
  if (s->norms++ > 0) FINDING(s, "a second norm in one step");
  if (s->updating) FINDING(s, "the norm comes after an update");
  if (s->squared != s->grad_count || (r.end - r.first) / sizeof(double) != s->grad_count)
    FINDING(s, "the norm takes %llu sums, %lld were made, there are %u gradients",
            (unsigned long long)((r.end - r.first) / sizeof(double)), (long long)s->squared,
            s->grad_count);
}

/* grad, param, then moments and master: all of one tensor. */
static void optimize(Step *s) {
  static const BufferKind kinds[] = {BUFFER_GRAD, BUFFER_PARAM};
  const Plan *plan = s->view->plan;
  uint32_t seen = 0;
  Cell *grad = NULL;
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    Reach r = reach(s, i);
    if (r.cell_count != 1) {
      FINDING(s, "operand %u should be one tensor", i);
      return;
    }
    uint32_t kind = cell_kind(s, r.cell);
    if ((i < 2 && kind != (uint32_t)kinds[i]) || seen & 1u << kind)
      FINDING(s, "operand %u is %.60s of the wrong kind", i, cell_name(s, r.cell));
    seen |= 1u << kind;
    if (i == 0) grad = r.cell;
    if (strcmp(cell_name(s, grad), cell_name(s, r.cell)) != 0 || grad->layer != r.cell->layer)
      FINDING(s, "the gradient of %.60s updates %.60s", cell_name(s, grad), cell_name(s, r.cell));
    if (s->record->dims_count < 1 ||
        plan->ints[s->record->dims_first] != plan->tensors[r.cell->tensor].elements)
      FINDING(s, "should update every element of %.60s", cell_name(s, r.cell));
    if (r.cell->updated++ > 0) FINDING(s, "updates %.60s again", cell_name(s, r.cell));
  }
  if (grad == NULL) return;
  if (!is_complete(s, grad))
    FINDING(s, "the gradient of %.60s is not complete here", cell_name(s, grad));
  if (s->norms == 0) FINDING(s, "an update before the norm is known");
  if (s->all_axes != 0 && s->control_reduces == 0)
    FINDING(s, "an update before the control values are known");
  s->updating = true;
}

/* ---- everything else that touches state */

static void touch_cell(const Step *s, const Reach *r, uint32_t operand, Cell *cell) {
  uint32_t kind = cell_kind(s, cell);
  if (kind == BUFFER_PARAM && r->access == ACCESS_READ) {
    if (cell->updated) FINDING(s, "reads %.60s after its update", cell_name(s, cell));
  } else if (kind == BUFFER_GRAD && r->access != ACCESS_READ && s->training) {
    contribute(s, cell, r->access == ACCESS_WRITE);
  } else {
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

static void plain(Step *s) {
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + i];
    uint32_t buffer = walk_buffer(s->walk, operand->base);
    if (buffer == PLAN_NONE || s->view->plan->buffers[buffer].program != PLAN_NONE) continue;
    Reach r = reach(s, i);
    count_loss(s, &r);
    for (uint32_t k = 0; k < r.cell_count; k++)
      touch_cell(s, &r, i, &r.cell[k]);
  }
}

static void run_record(Step *s) {
  const PlanRecord *record = s->record;
  if (record->kind == RECORD_LOAD) {
    if (s->walk->microbatch != s->loads)
      FINDING(s, "micro-batch %d is loaded, %lld should be", s->walk->microbatch,
              (long long)s->loads);
    s->loads++;
    return;
  }
  if (record->kind == RECORD_ALL_REDUCE) {
    all_reduce(s);
    return;
  }
  KernelRole role =
      record->kind == RECORD_KERNEL ? (KernelRole)s->role[record->kernel] : ROLE_PLAIN;
  if (!s->training) role = ROLE_PLAIN;
  switch (role) {
  case ROLE_OPTIMIZER: optimize(s); break;
  case ROLE_SQUARE_SUM: square_sum(s); break;
  case ROLE_GRAD_NORM: grad_norm(s); break;
  case ROLE_CAST:
    if (!cast(s)) plain(s);
    break;
  case ROLE_PLAIN: plain(s); break;
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

/* init may zero whole blocks, padding included; a parameter's own value is written to exactly its
 * bytes. */
static void initialize(Step *s) {
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    Reach r = reach(s, i);
    if (r.access == ACCESS_WRITE && r.cell_count == 1 && r.first == r.cell->first &&
        r.end == r.cell->end)
      r.cell->initial = true;
  }
}

static void prove_init(Step *s, const PlanProgram *program) {
  s->walk_now = walk_begin(s->view, program);
  s->walk = &s->walk_now;
  while (walk_next(&s->walk_now)) {
    for (s->record_index = 0; s->record_index < s->walk->segment->records_count;
         s->record_index++) {
      s->record = walk_record(s->walk, s->record_index);
      if (walk_runs(s->walk, s->record)) initialize(s);
    }
  }
  s->walk_now.call = NULL;
  for (uint32_t i = 0; i < s->cell_count; i++) {
    uint32_t kind = cell_kind(s, &s->cells[i]);
    if (!s->cells[i].initial && (kind == BUFFER_PARAM || kind == BUFFER_MASTER))
      prove_finding(s->view, s->walk, -1, "step", "%.60s (layer %d) gets no value of its own",
                    cell_name(s, &s->cells[i]), s->cells[i].layer);
  }
}

static void finish(Step *s) {
  if (s->loads != s->microbatches || s->losses != s->microbatches)
    prove_finding(s->view, s->walk, -1, "step",
                  "%lld micro-batches: %lld are loaded, losses of %lld count",
                  (long long)s->microbatches, (long long)s->loads, (long long)s->losses);
  if (s->all_axes != 0 && s->control_reduces != 1)
    prove_finding(s->view, s->walk, -1, "step", "control values are reduced %lld times",
                  (long long)s->control_reduces);
  if (!s->training) return;
  for (uint32_t i = 0; i < s->cell_count; i++) {
    const Cell *cell = &s->cells[i];
    if (cell_kind(s, cell) != BUFFER_GRAD) continue;
    if (!is_complete(s, cell) || cell->squared != 1 || cell->updated != 1)
      prove_finding(s->view, s->walk, -1, "step",
                    "gradient of %.60s (layer %d): last micro-batch %d, reduced %u, in the norm "
                    "%u, used by %u updates",
                    cell_name(s, cell), cell->layer, cell->last_microbatch, cell->reduced,
                    cell->squared, cell->updated);
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
    for (s->record_index = 0; s->record_index < s->walk->segment->records_count;
         s->record_index++) {
      s->record = walk_record(s->walk, s->record_index);
      if (walk_runs(s->walk, s->record)) run_record(s);
    }
  }
  s->walk_now.call = NULL; /* findings from here on are about the program */
  finish(s);
}

static KernelRole role_of(const char *name) {
  static const struct {
    const char *name;
    KernelRole role;
  } roles[] = {{"adamw", ROLE_OPTIMIZER},
               {"adamw_master", ROLE_OPTIMIZER},
               {"sgd", ROLE_OPTIMIZER},
               {"sgd_master", ROLE_OPTIMIZER},
               {"square_sum", ROLE_SQUARE_SUM},
               {"grad_norm", ROLE_GRAD_NORM},
               {"cast", ROLE_CAST}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (strcmp(name, roles[i].name) == 0) return roles[i].role;
  return ROLE_PLAIN;
}

static void find_axes(Step *s) {
  const Plan *plan = s->view->plan;
  const PlanJob *job = plan->jobs;
  int64_t replicas = 1, batch = 0;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    if (plan->axes[i].size == 1) continue;
    s->all_axes |= 1u << i;
    if (strcmp(plan_string(plan, plan->axes[i].name), "dp") != 0) continue;
    s->data_axes |= 1u << i;
    replicas *= plan->axes[i].size;
  }
  if (__builtin_mul_overflow(job->microbatch_samples, job->accumulation, &batch) ||
      __builtin_mul_overflow(batch, replicas, &batch) || batch != job->batch_samples)
    prove_finding(s->view, NULL, -1, "step",
                  "batch of %lld samples is not %lld a micro-batch * %lld * %lld replicas",
                  (long long)job->batch_samples, (long long)job->microbatch_samples,
                  (long long)job->accumulation, (long long)replicas);
}

void prove_step(const View *view) {
  const Plan *plan = view->plan;
  Step s = {.view = view};
  uint64_t cells = count_cells(view);
  if (cells > CELLS_MAX) {
    prove_finding(view, NULL, -1, "step", "%llu tensors: too many to prove",
                  (unsigned long long)cells);
    return;
  }
  s.cells = prove_array(view, cells, sizeof *s.cells);
  s.has_cells = prove_array(view, view->class->buffers_count, sizeof *s.has_cells);
  s.role = prove_array(view, plan->kernels_count, sizeof *s.role);
  if (s.cells != NULL && s.has_cells != NULL && s.role != NULL) {
    for (uint32_t i = 0; i < plan->kernels_count; i++)
      s.role[i] = (uint8_t)role_of(plan_string(plan, plan->kernels[i].name));
    find_axes(&s);
    fill_cells(&s);
    mark_buffers(&s);
    const PlanProgram *init = view_program(view, PROGRAM_INIT);
    if (init != NULL) prove_init(&s, init);
    const PlanProgram *eval = view_program(view, PROGRAM_EVAL_STEP);
    if (eval != NULL) run_program(&s, eval);
    const PlanProgram *train = view_program(view, PROGRAM_TRAIN_STEP);
    s.training = true;
    if (train != NULL) run_program(&s, train);
  }
  free(s.cells), free(s.has_cells), free(s.role);
}
