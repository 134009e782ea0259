/* gradients.c -- the life of every gradient, from the kernels that make it to its tensor.
 *
 * In cells gradients wait for the micro-batches to come. A gradient may also be made in a block of
 * one layer, and travel in buffers of another dtype: there it is a mark, which records carry from
 * place to place. Whose gradient a mark is shows where it comes to stand: it must fill one tensor,
 * or one rank's piece of it, exactly. */
#include "compiler/prove/step.h"

static const char *name_at(const Step *s, uint64_t offset) {
  const Cell *cell = find_cell(s, offset);
  return cell < s->cells + s->cell_count && cell->first <= offset ? cell_name(s, cell)
                                                                  : "one of a layer";
}

/* ---- marks */

static const SortedKind mark_kind = SORTED_KIND(Gradient, end);

static uint32_t find_mark(const Step *s, uint64_t offset) {
  return sorted_find(&mark_kind, &s->marks, offset + 1);
}

/* NULL: none that begins before `end`. */
static Gradient *mark_at(const Step *s, uint32_t index, uint64_t end) {
  Gradient *mark = index < s->marks.count ? sorted_at(&mark_kind, &s->marks, index) : NULL;
  return mark != NULL && mark->first < end ? mark : NULL;
}

bool gradients_in(const Step *s, uint64_t first, uint64_t end) {
  return mark_at(s, find_mark(s, first), end) != NULL;
}

static bool insert_mark(Step *s, uint32_t at, Gradient mark) {
  bool done = sorted_replace(&mark_kind, &s->marks, at, 0, &mark, 1);
  s->failed |= !done;
  return done;
}

/* Zeros that are cut stay zeros; a gradient that is cut is none any more. */
void gradient_forget(Step *s, uint64_t first, uint64_t end) {
  uint32_t at = find_mark(s, first);
  for (const Gradient *mark = NULL; (mark = mark_at(s, at, end)) != NULL;) {
    Gradient old = *mark;
    sorted_replace(&mark_kind, &s->marks, at, 1, NULL, 0);
    if (!old.cleared) continue;
    Gradient left = old, right = old;
    left.end = first, right.first = end;
    if (old.first < first && insert_mark(s, at, left)) at++;
    if (old.end > end && insert_mark(s, at, right)) at++;
  }
}

static void put_mark(Step *s, Gradient mark) {
  gradient_forget(s, mark.first, mark.end);
  if (mark.first < mark.end) insert_mark(s, find_mark(s, mark.first), mark);
}

/* The first gradient, zeros left out, that begins in [first, end), or what another class sent;
 * NULL: none. */
static Gradient *next_any(const Step *s, uint64_t first, uint64_t end) {
  Cell *cell = find_cell(s, first);
  while (cell < s->cells + s->cell_count && cell->first < end &&
         (cell->first < first || cell_kind(s, cell) != BUFFER_GRAD))
    cell++;
  if (cell < s->cells + s->cell_count && cell->first < end) return &cell->gradient;
  Gradient *mark = NULL;
  for (uint32_t i = find_mark(s, first); (mark = mark_at(s, i, end)) != NULL; i++)
    if (mark->first >= first && !mark->cleared) return mark;
  return NULL;
}

/* Not what another class sent: that is a gradient only if it is added to one. */
static Gradient *next_gradient(const Step *s, uint64_t first, uint64_t end) {
  Gradient *g = next_any(s, first, end);
  while (g != NULL && g->received)
    g = next_any(s, g->first + 1, end);
  return g;
}

static Cell *cell_of(const Step *s, const Gradient *g) {
  Cell *cell = find_cell(s, g->first);
  return cell < s->cells + s->cell_count && &cell->gradient == g ? cell : NULL;
}

/* Like g, to be carried elsewhere. */
static Gradient copy_of(const Step *s, const Gradient *g) {
  Gradient copy = *g;
  const Cell *cell = cell_of(s, g);
  if (cell != NULL) copy.home = (uint32_t)(cell - s->cells);
  return copy;
}

/* ---- coming to stand */

static void check_use(const Step *s, const Cell *cell) {
  if (cell->squared || cell->updated)
    FINDING(s, "changes the gradient of %.60s, which is used already", cell_name(s, cell));
}

/* The part that another class made, of a tensor that both have. */
static void join(Step *s, Cell *cell, const Gradient *other) {
  const Gradient *g = &cell->gradient;
  check_use(s, cell);
  if (g->microbatch_last != s->microbatches - 1)
    FINDING(s, "joins the gradient of %.60s before its last micro-batch", cell_name(s, cell));
  cell->joined++;
  tied_claim(s, cell,
             (Claim){.kind = CLAIM_JOIN,
                     .record = other->record,
                     .operand = other->operand,
                     .reduced = g->reduced,
                     .split = g->split});
}

static void add_to(Step *s, Gradient *g, const Gradient *more) {
  Cell *cell = cell_of(s, g);
  const char *name = name_at(s, g->first);
  if (more->received) {
    if (cell != NULL) join(s, cell, more);
    return;
  }
  if (cell != NULL) check_use(s, cell);
  if (g->end - g->first != more->end - more->first)
    FINDING(s, "adds a gradient of another size to that of %.60s", name);
  if (g->microbatch_last < 0)
    FINDING(s, "adds to the gradient of %.60s before any assignment in this step", name);
  else if (more->microbatch_first != g->microbatch_last + 1)
    FINDING(s, "gradient of %.60s: micro-batch %d follows %d", name, more->microbatch_first,
            g->microbatch_last);
  if (g->parts != more->parts)
    FINDING(s, "gradient of %.60s: %u contributions of micro-batch %d, %u of those before", name,
            more->parts, more->microbatch_last, g->parts);
  if (g->reduced != more->reduced || g->split != more->split)
    FINDING(s, "adds to the gradient of %.60s what was added up over other ranks", name);
  g->microbatch_last = more->microbatch_last;
}

/* A copy comes home: it must still be what was copied, but for what was done to it on the way. */
static void come_home(const Step *s, Cell *cell, const Gradient *g) {
  check_use(s, cell);
  if (cell->gradient.microbatch_last != g->microbatch_last ||
      (cell->gradient.reduced & ~g->reduced) != 0)
    FINDING(s, "an old copy of the gradient of %.60s comes back", cell_name(s, cell));
  cell->gradient.reduced = g->reduced;
  cell->gradient.split = g->split;
  cell->gradient.in_row = g->in_row;
}

/* Puts g where its `first` and `end` say. */
static void land(Step *s, Gradient g) {
  Cell *cell = find_cell(s, g.first);
  bool held = cell < s->cells + s->cell_count && cell->first < g.end;
  if (!held) {
    put_mark(s, g);
    return;
  }
  /* A piece may be longer than what is left of a short tensor: the rest is padding. */
  bool fits = cell_kind(s, cell) == BUFFER_GRAD && cell->first == g.first &&
              (cell->end == g.end || g.split != 0);
  if (!fits) {
    FINDING(s, "a gradient comes to stand where %.60s is, and does not fit", cell_name(s, cell));
    return;
  }
  if (g.home == (uint32_t)(cell - s->cells)) {
    come_home(s, cell, &g);
    return;
  }
  check_use(s, cell);
  if (g.home != PLAN_NONE || g.received || g.microbatch_first != 0 ||
      cell->gradient.microbatch_last >= 0)
    FINDING(s, "assigns the gradient of %.60s, what was there is lost", cell_name(s, cell));
  g.home = PLAN_NONE;
  cell->gradient = g;
  cell->gradient.first = cell->first, cell->gradient.end = cell->end;
}

/* ---- made by kernels */

static void check_parts(const Step *s, const Gradient *g) {
  if (g->parts_each != 0 && g->parts != g->parts_each)
    FINDING(s, "gradient of %.60s: %u contributions of micro-batch %d, %u of those before",
            name_at(s, g->first), g->parts, g->microbatch_last, g->parts_each);
}

/* Counts a contribution; with the first of a micro-batch, the one before is over. */
static void count_part(const Step *s, Gradient *g, int32_t microbatch) {
  if (g->microbatch_last >= 0 && microbatch != g->microbatch_last) {
    check_parts(s, g);
    g->parts_each = g->parts;
    g->parts = 0;
  }
  g->parts++;
}

static void contribute_to(Step *s, Gradient *g, bool assign) {
  const Cell *cell = cell_of(s, g);
  int32_t microbatch = s->walk->microbatch, last = g->microbatch_last;
  const char *name = name_at(s, g->first);
  if (s->record->accumulate != !assign)
    FINDING(s, "accumulate is %u, but the access says otherwise", s->record->accumulate);
  if (g->reduced || g->split || (cell != NULL && (cell->squared || cell->updated || cell->joined)))
    FINDING(s, "adds to the gradient of %.60s, which is reduced or used already", name);
  bool first = cell != NULL ? microbatch == 0 : microbatch >= 0;
  if (assign && (!first || last >= 0))
    FINDING(s, "assigns the gradient of %.60s, what was there is lost", name);
  else if (!assign && last < 0 && !(g->cleared && first))
    FINDING(s, "adds to the gradient of %.60s before any assignment in this step", name);
  else if (last >= 0 && (microbatch < last || microbatch - last > (cell != NULL)))
    FINDING(s, "gradient of %.60s: micro-batch %d follows %d", name, microbatch, last);
  count_part(s, g, microbatch);
  if (last < 0) g->microbatch_first = microbatch;
  g->microbatch_last = microbatch;
  g->cleared = false;
}

/* A gradient made in a block of one layer: of this micro-batch, and made from nothing. */
static void contribute_mark(Step *s, const Reach *to, bool assign) {
  Gradient *g = mark_at(s, find_mark(s, to->first), to->first + 1);
  bool exact = g != NULL && g->first == to->first && g->end == to->end && !g->cleared;
  Gradient fresh = {.first = to->first,
                    .end = to->end,
                    .home = PLAN_NONE,
                    .cleared = g != NULL && g->cleared && to->end <= g->end,
                    .microbatch_first = -1,
                    .microbatch_last = -1};
  if (!assign && exact) {
    contribute_to(s, g, assign);
    return;
  }
  contribute_to(s, &fresh, assign);
  put_mark(s, fresh);
}

void gradient_contribute(Step *s, const Reach *to, bool assign) {
  for (uint32_t i = 0; i < to->cell_count; i++)
    if (cell_kind(s, &to->cell[i]) == BUFFER_GRAD) contribute_to(s, &to->cell[i].gradient, assign);
  if (to->cell_count == 0 && to->first < to->end) contribute_mark(s, to, assign);
}

void gradient_clear(Step *s, const Reach *to) {
  for (uint32_t i = 0; i < to->cell_count; i++) {
    Gradient *g = &to->cell[i].gradient;
    if (cell_kind(s, &to->cell[i]) != BUFFER_GRAD)
      FINDING(s, "nothing but an update may change %.60s", cell_name(s, &to->cell[i]));
    else if (g->microbatch_last >= 0)
      FINDING(s, "clears the gradient of %.60s, what was there is lost",
              cell_name(s, &to->cell[i]));
    g->cleared = true;
  }
  if (to->cell_count > 0) return;
  put_mark(s, (Gradient){.first = to->first,
                         .end = to->end,
                         .home = PLAN_NONE,
                         .cleared = true,
                         .microbatch_first = -1,
                         .microbatch_last = -1});
}

/* ---- carried */

static Gradient moved(const Step *s, const Gradient *g, const Reach *from, const Reach *to) {
  Gradient copy = copy_of(s, g);
  uint64_t length = g->end - g->first;
  if (from->split != 0 && from->end < from->first + length) length = from->end - from->first;
  copy.first = to->first + (g->first - from->first) / from->unit * to->unit;
  copy.end = copy.first + length / from->unit * to->unit;
  copy.split |= from->split;
  copy.in_row = to->split != 0;
  return copy;
}

void gradient_check_taken(const Step *s, const Gradient *g, const Reach *from) {
  const char *name = name_at(s, g->first);
  if (g->in_row ? from->split != g->split : from->split != 0 && g->split != 0)
    FINDING(s, "takes other ranks' pieces of the gradient of %.60s", name);
  if (g->end > from->end && from->split == 0)
    FINDING(s, "takes only a part of the gradient of %.60s", name);
}

/* A copy of everything between them, of another dtype or not. */
static void carry(Step *s, const Reach *from, const Reach *to) {
  uint64_t at = from->first;
  for (Gradient *g; (g = next_any(s, at, from->end)) != NULL;) {
    at = g->first + 1;
    gradient_check_taken(s, g, from);
    land(s, moved(s, g, from, to));
  }
}

/* No gradient stands in the operand, at home or on its way: the usual case. */
static bool is_bare(const Step *s, uint32_t index) {
  const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + index];
  uint32_t buffer = walk_buffer(s->walk, operand->base);
  if (buffer == PLAN_NONE || !holds_samples(s, buffer)) return false;
  uint64_t first = walk_base(s->walk, operand->base) + view_operand(s->view, operand);
  return !gradients_in(s, first, first + operand->size_bytes);
}

bool gradient_cast(Step *s) {
  if (s->record->operands_count != 2 || is_bare(s, 0)) return false;
  Reach from = reach(s, 0), to = reach(s, 1);
  if (next_any(s, from.first, from.end) == NULL) return false;
  gradient_forget(s, to.first, to.end);
  carry(s, &from, &to);
  return true;
}

/* y = a + b, y being a: b's gradients are added to a's. */
bool gradient_add(Step *s) {
  if (s->record->operands_count != 3 || is_bare(s, 1)) return false;
  Reach a = reach(s, 0), b = reach(s, 1), y = reach(s, 2);
  Gradient *more = next_any(s, b.first, b.end);
  if (more == NULL || (more->received && next_gradient(s, y.first, y.end) == NULL)) return false;
  if (a.first != y.first || a.end != y.end || a.split != y.split ||
      (a.end - a.first) / a.unit != (b.end - b.first) / b.unit) {
    FINDING(s, "gradients are added in place, element by element");
    return true;
  }
  uint64_t at = b.first;
  for (Gradient *g; (g = next_any(s, at, b.end)) != NULL;) {
    at = g->first + 1;
    Gradient copy = moved(s, g, &b, &y);
    Gradient *to = next_gradient(s, copy.first, copy.first + 1);
    if (to != NULL)
      add_to(s, to, &copy);
    else
      FINDING(s, "adds a gradient to what is none");
  }
  return true;
}

/* ---- over ranks */

static void check_sum(const Step *s, uint32_t axes) {
  const Plan *plan = s->view->plan;
  if (axes & s->stage_axes || axes == 0)
    FINDING(s, "gradients are reduced over %.40s",
            plan_string(plan, plan->comms[s->record->comm].name));
  if (s->record->meaning == PLAN_NONE || plan->meanings[s->record->meaning].reduce != REDUCE_SUM)
    FINDING(s, "gradients must be summed, and say so");
}

static void reduce_one(const Step *s, Gradient *g, uint32_t axes) {
  const Cell *cell = cell_of(s, g);
  const char *name = name_at(s, g->first);
  if (cell != NULL) check_use(s, cell);
  bool waits = cell != NULL || g->home != PLAN_NONE; /* for the micro-batches to come */
  if (g->microbatch_last < 0 || (waits && g->microbatch_last != s->microbatches - 1))
    FINDING(s, "reduces the gradient of %.60s before its last micro-batch", name);
  if ((g->reduced | g->split) & axes) FINDING(s, "reduces the gradient of %.60s again", name);
  g->reduced |= axes;
}

bool gradient_reduce(Step *s) {
  Reach from = reach(s, 0), to = reach(s, s->record->operands_count - 1);
  if (next_gradient(s, from.first, from.end) == NULL) return false;
  uint32_t axes = comm_axes(s, s->record->comm);
  check_sum(s, axes);
  uint64_t at = from.first;
  for (Gradient *g; (g = next_gradient(s, at, from.end)) != NULL;) {
    at = g->first + 1;
    gradient_check_taken(s, g, &from);
    Gradient sum = moved(s, g, &from, &to);
    reduce_one(s, s->record->operands_count == 1 ? g : &sum, axes);
    if (s->record->operands_count == 2) land(s, sum);
  }
  return true;
}

/* Row k of the whole becomes piece k of the share. A gradient begins where its row begins. */
static void scatter_row(Step *s, uint64_t row, uint64_t row_end, uint64_t to, uint64_t to_end,
                        uint32_t axes) {
  Gradient *g = next_gradient(s, row, row_end);
  if (g == NULL || g->first != row || g->end > row_end ||
      next_gradient(s, row + 1, row_end) != NULL) {
    FINDING(s, "bytes [%llu..%llu) should be one gradient", (unsigned long long)row,
            (unsigned long long)row_end);
    return;
  }
  Gradient piece = copy_of(s, g);
  reduce_one(s, s->record->operands_count == 1 ? g : &piece, axes);
  piece.split |= axes;
  piece.first = to, piece.end = to_end;
  if (s->record->operands_count == 2) {
    land(s, piece);
  } else {
    g->split |= axes;
    g->in_row = true;
    if (cell_of(s, g) == NULL) g->end = to_end;
  }
}

bool gradient_scatter(Step *s) {
  Reach from = reach(s, 0), to = reach(s, s->record->operands_count - 1);
  if (next_gradient(s, from.first, from.end) == NULL) return false;
  const int64_t *pair = s->view->plan->ints + s->record->dims_first;
  uint32_t axes = comm_axes(s, s->record->comm),
           members = plan_comm_size(s->view->plan, s->record->comm);
  bool in_place = s->record->operands_count == 1;
  check_sum(s, axes);
  uint64_t row = from.first, piece = to.first;
  if (!in_place) gradient_forget(s, to.first, to.end);
  for (uint32_t i = 0; i + 1 < s->record->dims_count; i += 2) {
    if (pair[i] != 1) {
      FINDING(s, "gradients are divided into %lld pieces a rank", (long long)pair[i]);
      return true;
    }
    uint64_t bytes = (uint64_t)pair[i + 1] * from.unit, row_end = row + bytes * members;
    if (in_place) piece = row;
    scatter_row(s, row, row_end, piece, piece + bytes, axes);
    row = row_end;
    piece += bytes;
  }
  return true;
}

static void send(Step *s, uint32_t index) {
  Reach r = reach(s, index);
  for (uint32_t k = 0; k < r.cell_count; k++) {
    const Cell *cell = &r.cell[k];
    if (cell_kind(s, cell) != BUFFER_GRAD || r.cell_count != 1 || cell->joined ||
        cell->gradient.microbatch_last != s->microbatches - 1)
      FINDING(s, "operand %u sends %.60s, which is no gradient of this class alone, complete",
              index, cell_name(s, cell));
    tied_claim(s, cell,
               (Claim){.kind = CLAIM_SEND,
                       .record = (uint32_t)(s->record - s->view->plan->records),
                       .operand = index,
                       .reduced = cell->gradient.reduced,
                       .split = cell->gradient.split});
  }
}

static void receive(Step *s, uint32_t index) {
  Reach r = reach(s, index);
  if (r.cell_count > 0) FINDING(s, "operand %u: an exchange may not change tensors", index);
  gradient_forget(s, r.first, r.end);
  if ((comm_axes(s, s->record->comm) & s->stage_axes) == 0) return; /* from the class itself */
  if (r.buffer != PLAN_NONE && holds_samples(s, r.buffer)) return;
  put_mark(s, (Gradient){.first = r.first,
                         .end = r.end,
                         .home = PLAN_NONE,
                         .received = true,
                         .record = (uint32_t)(s->record - s->view->plan->records),
                         .operand = index});
}

void gradient_exchange(Step *s) {
  for (uint32_t i = 0; i < s->record->operands_count; i++) {
    const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + i];
    uint32_t buffer = walk_buffer(s->walk, operand->base);
    if (operand->access != ACCESS_READ)
      receive(s, i);
    else if (buffer == PLAN_NONE || !holds_samples(s, buffer))
      send(s, i);
  }
}

bool gradient_complete(const Step *s, const Cell *cell) {
  const Gradient *g = &cell->gradient;
  return g->microbatch_last == s->microbatches - 1 && (g->reduced & s->data_axes) == s->data_axes;
}
