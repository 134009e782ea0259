/* replicas.c -- ranks that hold the same elements of a parameter hold them after every step.
 *
 * Followed is along which axes of the mesh bytes may differ from rank to rank. Samples differ along
 * the axes that divide the batch; what a kernel makes differs along whatever its inputs, its
 * attributes and the places of its operands differ along; an all-reduce or a gather makes its ranks
 * alike, a scatter or an all-to-all gives each its own. Nothing that records say of layouts is
 * believed. Then
 *
 * - an update's gradient differs along exactly the axes along which its parameter does: along
 *   fewer, and different parts were added up; along more, and a reduction is missing, over dp, cp
 *   or tp, and replicas part from here on;
 * - nothing is added up over ranks that have it in common: it would count once for each.
 *
 * What comes from another class is as different as what that class sent: classes are followed again
 * until nothing changes, and only what was found last counts. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/events.h"
#include "compiler/prove/sorted.h"
#include "runtime/plan/control.h"

typedef struct Extent {
  uint64_t first, end;
  uint32_t differs; /* axes */
  bool zero;        /* 0 on every rank */
} Extent;

/* Copies of extents on their way. */
typedef struct Taken {
  Extent *at;
  uint32_t count, capacity;
} Taken;

typedef struct Replicas {
  const View *view;
  const Links *links;
  uint8_t *role; /* KernelRole by kernel */
  bool back, changed, failed;
  Walk walk_now;
  const Walk *walk;
  uint32_t record_index;
  const PlanRecord *record;
  Sorted *extents; /* by buffer of the class, of Extent: disjoint, like neighbours merged */
  Taken taken;
  uint32_t sample_axes, stage_axes, used_axes;
} Replicas;

/* ---- extents */

static const SortedKind extent_kind = SORTED_KIND(Extent, end);

/* The first extent that ends after `offset`. */
static uint32_t find(const Sorted *e, uint64_t offset) {
  return sorted_find(&extent_kind, e, offset + 1);
}

/* NULL: none that begins before `end`. */
static const Extent *extent_at(const Sorted *e, uint32_t index, uint64_t end) {
  const Extent *extent = index < e->count ? sorted_at(&extent_kind, e, index) : NULL;
  return extent != NULL && extent->first < end ? extent : NULL;
}

static bool alike(const Extent *a, const Extent *b) {
  return a->differs == b->differs && a->zero == b->zero;
}

/* Takes the place of what was there: of extents that reach out of it the rest stays, and what has
 * become alike is merged. */
static void put(Replicas *r, Sorted *e, Extent extent) {
  if (extent.first >= extent.end) return;
  uint32_t at = find(e, extent.first), stop = at, count = 0;
  const Extent *old = extent_at(e, at, extent.end);
  if (old != NULL && alike(old, &extent) && old->first <= extent.first && extent.end <= old->end)
    return;
  Extent put[3];
  const Extent *before = at > 0 ? sorted_at(&extent_kind, e, at - 1) : NULL;
  if (old != NULL && old->first < extent.first) {
    put[count] = *old;
    put[count++].end = extent.first;
  } else if (before != NULL && before->end == extent.first) {
    put[count++] = *before;
    at--;
  }
  if (count > 0 && alike(&put[0], &extent))
    put[0].end = extent.end;
  else
    put[count++] = extent;
  for (; (old = extent_at(e, stop, extent.end)) != NULL && old->end <= extent.end;)
    stop++;
  if ((old = extent_at(e, stop, extent.end + 1)) != NULL) { /* reaches out of it, or touches it */
    Extent rest = *old;
    if (rest.first < extent.end) rest.first = extent.end;
    stop++;
    if (alike(&put[count - 1], &rest))
      put[count - 1].end = rest.end;
    else
      put[count++] = rest;
  }
  r->failed |= !sorted_replace(&extent_kind, e, at, stop - at, put, count);
}

/* ---- operands */

typedef struct Place {
  Sorted *extents; /* of Extent; NULL: nowhere */
  uint64_t first, end, unit;
  uint32_t moves; /* axes along which ranks have it in different places */
  Access access;
} Place;

static uint32_t axes_of(const Replicas *r, uint32_t comm) {
  return r->view->plan->comms[comm].axes_mask & r->used_axes;
}

static Place place_of(const Replicas *r, uint32_t index) {
  const Plan *plan = r->view->plan;
  const PlanOperand *operand = &plan->operands[r->record->operands_first + index];
  const PlanBinding *binding = &plan->bindings[r->walk->call->bindings_first + operand->base];
  uint32_t buffer = walk_buffer(r->walk, operand->base);
  Place p = {.unit = (uint64_t)dtype_bytes((DType)operand->dtype),
             .access = (Access)operand->access};
  if (buffer == PLAN_NONE) return p;
  p.extents = &r->extents[buffer - r->view->class->buffers_first];
  p.first = walk_base(r->walk, operand->base) + view_operand(r->view, operand);
  p.end = p.first + operand->size_bytes;
  if (operand->by != PLAN_NONE && operand->member_stride != 0) p.moves |= axes_of(r, operand->by);
  if (binding->by != PLAN_NONE && binding->member_stride != 0) p.moves |= axes_of(r, binding->by);
  return p;
}

/* Along which axes any of [first, end) differs. Parameters that begin as zeros differ along what
 * they will. */
static uint32_t differs_in(const Place *p, uint64_t first, uint64_t end, bool *zero) {
  uint32_t differs = p->moves;
  *zero = true;
  if (p->extents == NULL) return differs;
  const Extent *extent = NULL;
  for (uint32_t i = find(p->extents, first); (extent = extent_at(p->extents, i, end)) != NULL;
       i++) {
    differs |= extent->differs;
    *zero = *zero && extent->zero;
  }
  return differs;
}

static uint32_t differs(const Place *p) {
  bool zero = false;
  return differs_in(p, p->first, p->end, &zero);
}

static void set(Replicas *r, const Place *p, uint64_t first, uint64_t end, uint32_t axes,
                bool zero) {
  if (p->extents != NULL) put(r, p->extents, (Extent){first, end, axes, zero});
}

/* Room for one more. */
static bool reserve(Replicas *r) {
  Taken *t = &r->taken;
  if (t->count < t->capacity) return true;
  uint32_t capacity = 2 * t->capacity + 8;
  Extent *grown = realloc(t->at, capacity * sizeof *grown);
  if (grown == NULL) {
    r->failed = true;
    return false;
  }
  t->at = grown, t->capacity = capacity;
  return true;
}

/* Copies what stands in a place, so that it may be overwritten. */
static void take(Replicas *r, const Place *p) {
  r->taken.count = 0;
  if (p->extents == NULL) return;
  const Extent *next = NULL;
  for (uint32_t i = find(p->extents, p->first); (next = extent_at(p->extents, i, p->end)) != NULL;
       i++) {
    Extent extent = *next;
    if (extent.first < p->first) extent.first = p->first;
    if (extent.end > p->end) extent.end = p->end;
    if (!reserve(r)) return;
    r->taken.at[r->taken.count++] = extent;
  }
}

/* ---- judgement */

static void say(const Replicas *r, const char *format, uint32_t axes) {
  const Plan *plan = r->view->plan;
  char names[96] = "";
  size_t used = 0;
  for (uint32_t axis = 0; axis < plan->axes_count && used + 16 < sizeof names; axis++) {
    if ((axes >> axis & 1) == 0) continue;
    const char *name = plan_string(plan, plan->axes[axis].name);
    for (const char *at = name; *at != '\0' && used + 2 < sizeof names; at++)
      names[used++] = *at;
    names[used++] = ' ';
    names[used] = '\0';
  }
  prove_finding(r->view, r->walk, r->record_index, "replicas", "%s%s", format, names);
}

/* Everything summed over `axes` must differ along them. */
static void judge_sum(const Replicas *r, const Place *p, uint32_t axes) {
  axes &= ~r->stage_axes; /* classes are different anyway */
  if (p->extents == NULL) return;
  const Extent *extent = NULL;
  for (uint32_t i = find(p->extents, p->first); (extent = extent_at(p->extents, i, p->end)) != NULL;
       i++) {
    uint32_t common = axes & ~(extent->differs | p->moves);
    if (extent->zero || common == 0) continue;
    say(r, "adds up what ranks have in common along ", common);
    return;
  }
}

static void judge_update(const Replicas *r) {
  Place grad = place_of(r, 0), param = place_of(r, 1);
  bool zero = false;
  uint32_t own = differs_in(&grad, grad.first, grad.end, &zero), held = differs(&param);
  if (own & ~held)
    say(r, "ranks share the parameter and have different gradients along ", own & ~held);
  if (!zero && held & ~own)
    say(r, "ranks have different parts of the parameter and one gradient along ", held & ~own);
}

/* ---- kernels */

static uint32_t attrs_differ(const Replicas *r) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < r->record->varies_count; i++) {
    const PlanVary *vary = &r->view->plan->varies[r->record->varies_first + i];
    if (vary->stride != 0 || vary->values_count > 0) axes |= axes_of(r, vary->by);
  }
  return axes;
}

/* Element by element: cast, and add of operands of one size. What stands where stays apart, so that
 * a block of many parameters does not become as different as any of them. */
static bool element_by_element(Replicas *r, KernelRole role) {
  uint32_t last = r->record->operands_count - 1;
  bool adds = role == ROLE_ADD && last == 2;
  if (!adds && (role != ROLE_CAST || last != 1)) return false;
  Place from = place_of(r, last - 1), to = place_of(r, last), other = place_of(r, 0);
  if (from.extents == NULL || to.extents == NULL ||
      (from.end - from.first) / from.unit != (to.end - to.first) / to.unit)
    return false;
  if (adds && (other.first != to.first || other.end != to.end)) return false;
  take(r, &from);
  for (uint32_t i = 0; i < r->taken.count; i++) {
    Extent extent = r->taken.at[i];
    extent.first = to.first + (extent.first - from.first) / from.unit * to.unit;
    extent.end = to.first + (extent.end - from.first) / from.unit * to.unit;
    bool zero = true;
    uint32_t axes = extent.differs | from.moves;
    if (adds) axes |= differs_in(&other, extent.first, extent.end, &zero);
    set(r, &to, extent.first, extent.end, axes, extent.zero && zero);
  }
  return true;
}

static void run_kernel(Replicas *r) {
  KernelRole role = (KernelRole)r->role[r->record->kernel];
  if (role == ROLE_UPDATE) judge_update(r);
  if (element_by_element(r, role)) return;
  bool clears = role == ROLE_FILL && r->record->attrs_count > 0 &&
                r->view->plan->reals[r->record->attrs_first] == 0;
  uint32_t axes = attrs_differ(r);
  if (role == ROLE_DROPOUT) /* masks are the samples' */
    axes |= r->sample_axes;
  for (uint32_t i = 0; i < r->record->operands_count; i++) {
    Place p = place_of(r, i);
    if (p.access != ACCESS_WRITE) axes |= differs(&p);
  }
  for (uint32_t i = 0; i < r->record->operands_count; i++) {
    Place p = place_of(r, i);
    if (p.access != ACCESS_READ && !(role == ROLE_UPDATE && p.access == ACCESS_UPDATE))
      set(r, &p, p.first, p.end, axes | p.moves, clears);
  }
}

/* ---- communication */

static void reduce(Replicas *r, uint32_t axes) {
  Place from = place_of(r, 0), to = place_of(r, r->record->operands_count - 1);
  judge_sum(r, &from, axes);
  take(r, &from);
  for (uint32_t i = 0; i < r->taken.count; i++) {
    Extent extent = r->taken.at[i];
    uint64_t first = to.first + (extent.first - from.first);
    set(r, &to, first, first + (extent.end - extent.first),
        ((extent.differs | from.moves) & ~axes) | to.moves, extent.zero);
  }
}

/* Gathers and scatters, run of pieces by run: a run is one parameter, or rows of one value. */
static void gather_or_scatter(Replicas *r, uint32_t axes) {
  const int64_t *pair = r->view->plan->ints + r->record->dims_first;
  uint64_t members = plan_comm_size(r->view->plan, r->record->comm);
  bool in_place = r->record->operands_count == 1, gathers = r->record->kind == RECORD_ALL_GATHER;
  Place from = place_of(r, 0), to = place_of(r, r->record->operands_count - 1);
  uint64_t share = gathers ? from.first : to.first, whole = gathers ? to.first : from.first;
  if (!gathers) judge_sum(r, &from, axes);
  for (uint32_t i = 0; i + 1 < r->record->dims_count; i += 2) {
    uint64_t bytes = (uint64_t)pair[i] * (uint64_t)pair[i + 1] * from.unit;
    uint64_t first = gathers && !in_place ? share : whole;
    uint64_t end = first + (gathers && !in_place ? bytes : bytes * members);
    /* In place, what goes in is the own piece: of the first rank, the first one. */
    if (gathers && in_place && pair[i] == 1) end = first + bytes;
    bool zero = false;
    uint32_t now = differs_in(&from, first, end, &zero);
    now = gathers ? now & ~axes : now | axes;
    if (gathers)
      set(r, &to, whole, whole + bytes * members, now, zero);
    else
      set(r, &to, in_place ? whole : share, (in_place ? whole : share) + bytes, now, zero);
    share += bytes;
    whole += bytes * members;
  }
}

static int compare_target(const Link *link, uint32_t class, uint32_t record, uint32_t operand) {
  if (link->to_class != class) return link->to_class < class ? -1 : 1;
  if (link->to_record != record) return link->to_record < record ? -1 : 1;
  return link->to_operand < operand ? -1 : link->to_operand > operand;
}

/* What other classes sent to this operand, whenever they did. */
static uint32_t received(const Replicas *r, uint32_t operand) {
  uint32_t class = (uint32_t)(r->view->class - r->view->plan->classes), axes = 0;
  uint32_t record = (uint32_t)(r->record - r->view->plan->records), low = 0, high = r->links->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (compare_target(&r->links->link[middle], class, record, operand) >= 0)
      high = middle;
    else
      low = middle + 1;
  }
  for (; low < r->links->count && compare_target(&r->links->link[low], class, record, operand) == 0;
       low++)
    axes |= r->links->link[low].differs;
  return axes;
}

static void send(Replicas *r, uint32_t operand, uint32_t axes) {
  uint32_t class = (uint32_t)(r->view->class - r->view->plan->classes);
  uint32_t record = (uint32_t)(r->record - r->view->plan->records);
  for (uint32_t i = 0; i < r->links->count; i++) {
    Link *link = &r->links->link[i];
    if (link->from_class != class || link->from_record != record || link->from_operand != operand ||
        (link->differs | axes) == link->differs)
      continue;
    link->differs |= axes;
    r->changed = r->changed || (r->back ? link->to_class >= class : link->to_class <= class);
  }
}

static void exchange(Replicas *r) {
  const Plan *plan = r->view->plan;
  uint32_t self = (uint32_t)(r->view->class - plan->classes), within = 0;
  for (uint32_t i = 0; i < r->record->operands_count; i++) {
    Place p = place_of(r, i);
    int64_t distance = plan->ints[r->record->dims_first + i];
    if (p.access != ACCESS_READ) continue;
    if (class_at_distance(plan, self, r->record->comm, distance) == self)
      within |= differs(&p);
    else
      send(r, i, differs(&p));
  }
  for (uint32_t i = 0; i < r->record->operands_count; i++) {
    Place p = place_of(r, i);
    int64_t distance = plan->ints[r->record->dims_first + i];
    if (p.access == ACCESS_READ) continue;
    bool inside = class_at_distance(plan, self, r->record->comm, distance) == self;
    set(r, &p, p.first, p.end, inside ? within : received(r, i), false);
  }
}

static bool is_control(const Replicas *r, const Place *p) {
  uint64_t first = r->view->plan->jobs[0].control_offset;
  return p->first >= first && p->end <= first + sizeof(Control);
}

static void communicate(Replicas *r) {
  Place from = place_of(r, 0), to = place_of(r, r->record->operands_count - 1);
  uint32_t axes = axes_of(r, r->record->comm);
  switch ((RecordKind)r->record->kind) {
  case RECORD_ALL_REDUCE:
    if (!is_control(r, &from)) reduce(r, axes);
    return;
  case RECORD_ALL_GATHER:
  case RECORD_REDUCE_SCATTER: gather_or_scatter(r, axes); return;
  case RECORD_EXCHANGE: exchange(r); return;
  default: set(r, &to, to.first, to.end, differs(&from) | axes, false); return;
  }
}

/* ---- programs */

static void run_program(Replicas *r, ProgramKind kind) {
  const PlanProgram *program = view_program(r->view, kind);
  if (program == NULL) return;
  r->walk_now = walk_begin(r->view, program);
  r->walk = &r->walk_now;
  while (walk_next(&r->walk_now)) {
    if (kind == PROGRAM_TRAIN_STEP && r->view->repeats.again[r->walk->position]) continue;
    for (r->record_index = 0; r->record_index < r->walk->segment->records_count;
         r->record_index++) {
      r->record = walk_record(r->walk, r->record_index);
      if (!walk_runs(r->walk, r->record)) continue;
      if (r->record->kind == RECORD_KERNEL) run_kernel(r);
      if (record_is_communication(r->record)) communicate(r);
      for (uint32_t i = 0; r->record->kind == RECORD_LOAD && i < r->record->operands_count; i++) {
        Place p = place_of(r, i);
        set(r, &p, p.first, p.end, r->sample_axes, false);
      }
    }
  }
}

static void find_axes(Replicas *r) {
  const Plan *plan = r->view->plan;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    const PlanBound *bound = &plan->bounds[r->view->class->bounds_first + i];
    if (plan->axes[i].size == 1) continue;
    r->used_axes |= 1u << i;
    if (plan->axes[i].divides == DIVIDES_SAMPLES)
      r->sample_axes |= 1u << i;
    else if (bound->end - bound->first < plan->axes[i].size)
      r->stage_axes |= 1u << i;
  }
}

bool prove_replicas(const View *view, Links *links, bool back) {
  Replicas r = {.view = view, .links = links, .back = back};
  r.extents = prove_array(view, view->class->buffers_count, sizeof *r.extents);
  r.role = prove_roles(view);
  if (r.extents != NULL && r.role != NULL) {
    find_axes(&r);
    run_program(&r, PROGRAM_INIT);
    run_program(&r, PROGRAM_TRAIN_STEP);
    if (r.failed) prove_finding(view, NULL, -1, "replicas", "out of memory while proving");
    for (uint32_t i = 0; i < view->class->buffers_count; i++)
      sorted_free(&r.extents[i]);
  }
  free(r.extents), free(r.role), free(r.taken.at);
  return r.changed;
}
