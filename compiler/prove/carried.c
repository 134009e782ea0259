/* carried.c -- values and gradients that move without being changed: adjoint.h. */
#include "compiler/prove/adjoint.h"

/* ---- gradients of parameters, in rows of a block */

static bool is_row(const Stand *s) {
  return s->worth.nature == NATURE_GRADIENT && s->worth.tensor != 0;
}

static bool has_rows(const Place *p) {
  if (p->stands == NULL) return false;
  for (uint32_t i = stands_find(p->stands, p->first);
       i < p->stands->count && p->stands->at[i].first < p->end; i++)
    if (is_row(&p->stands->at[i])) return true;
  return false;
}

/* Whose gradient stands at the place already, or should. */
static uint64_t owner_at(const Adjoint *a, const Place *p, uint64_t first) {
  if (p->stands == NULL) return adjoint_tensor(a, first, first + 1);
  uint32_t at = stands_find(p->stands, first);
  if (at == p->stands->count) return 0;
  const Stand *s = &p->stands->at[at];
  return s->first == first && is_row(s) ? s->worth.tensor : 0;
}

static void check_owner(const Adjoint *a, uint64_t owner, const Worth *worth) {
  if (owner != 0 && owner != worth->tensor)
    ADJOINT_FINDING(a, "a gradient comes to stand where that of another tensor belongs");
}

/* A row of a block comes to stand in [first, end) of `to`. */
static void carry_row(Adjoint *a, const Place *to, uint64_t first, uint64_t end, Worth worth) {
  if (to->stands == NULL) {
    check_owner(a, owner_at(a, to, first), &worth);
    return;
  }
  Place row = *to;
  row.first = first, row.end = end;
  row.tile = (Tile){1, end - first, end - first};
  adjoint_write(a, &row, worth);
}

bool carry_rows(Adjoint *a, const Place *from, const Place *to) {
  if (!has_rows(from)) return false;
  if (from->first == to->first) return true;
  adjoint_drop(a, to);
  for (uint64_t at = from->first; at < from->end;) {
    uint32_t i = stands_find(from->stands, at);
    if (i == from->stands->count || from->stands->at[i].first >= from->end) break;
    Stand s = from->stands->at[i];
    at = s.end;
    if (!is_row(&s) || s.first < from->first || s.end > from->end) continue;
    uint64_t first = to->first + (s.first - from->first) / from->unit * to->unit;
    carry_row(a, to, first, first + (s.end - s.first) / from->unit * to->unit, s.worth);
  }
  return true;
}

bool carry_sum(Adjoint *a, const Place *sum, const Place *more) {
  if (!has_rows(more)) return false;
  for (uint32_t i = stands_find(more->stands, more->first);
       i < more->stands->count && more->stands->at[i].first < more->end; i++) {
    const Stand *s = &more->stands->at[i];
    if (!is_row(s) || s->first < more->first) continue;
    uint64_t first = sum->first + (s->first - more->first) / more->unit * sum->unit;
    check_owner(a, owner_at(a, sum, first), &s->worth);
  }
  return true;
}

/* Row k of the whole becomes piece k of the share. False: there are no such rows. */
static bool scatter_rows(Adjoint *a, const Place *from, const Place *to) {
  const Plan *plan = a->view->plan;
  const int64_t *pair = plan->ints + a->record->dims_first;
  uint64_t members = plan_comm_size(plan, a->record->comm), row = from->first, piece = to->first;
  if (!has_rows(from)) return false;
  adjoint_drop(a, to);
  for (uint32_t i = 0; i + 1 < a->record->dims_count; i += 2) {
    uint64_t elements = (uint64_t)pair[i] * (uint64_t)pair[i + 1];
    uint32_t at = stands_find(from->stands, row);
    Stand s = at < from->stands->count ? from->stands->at[at] : (Stand){0};
    if (is_row(&s) && s.first == row) carry_row(a, to, piece, piece + elements * to->unit, s.worth);
    row += elements * members * from->unit, piece += elements * to->unit;
  }
  return true;
}

/* ---- exchanges */

/* What a communication hands on unchanged, however often it does so. */
static void alias_once(Adjoint *a, uint64_t name, uint64_t of, uint64_t factor) {
  if (uses_first(&a->uses, hash_mix(of, 3))) uses_alias(&a->uses, name, of, factor);
}

static bool is_within(const Adjoint *a, uint32_t operand) {
  const Plan *plan = a->view->plan;
  uint32_t self = (uint32_t)(a->view->class - plan->classes);
  return class_at_distance(plan, self, a->record->comm,
                           plan->ints[a->record->dims_first + operand]) == self;
}

/* ---- from class to class */

bool carry_right_sum(Adjoint *a, const Worth *gradient, uint64_t sum) {
  if (!gradient->known || gradient->nature != NATURE_GRADIENT) return false;
  if (gradient->came == 0) return gradient->sum == sum;
  if (gradient->came == CAME_SEVERAL) return true;
  Came *came = &a->came[gradient->came - 1];
  if (came->bound) return gradient->sum + came->use == sum;
  came->use = sum - gradient->sum;
  came->bound = uses_return(&a->uses, came->use);
  return came->bound;
}

uint32_t carry_came(const Worth *a, const Worth *b) {
  if (a->came != 0 && b->came != 0) return CAME_SEVERAL;
  return a->came | b->came;
}

static uint32_t kind_at(const Adjoint *a, const Place *p) {
  return p->buffer == PLAN_NONE ? BufferKind_COUNT : a->view->plan->buffers[p->buffer].kind;
}

/* The gradient of something that came goes back where that came from. */
static void send_gradient(Adjoint *a, const Worth *worth) {
  Guest *unclear = NULL;
  for (size_t i = 0; i < a->guest_count; i++) {
    Guest *guest = &a->guests[i];
    uint64_t sum = 0;
    if (guest->returned) continue;
    if (!uses_sum(&a->uses, guest->name, &sum)) {
      unclear = guest;
    } else if (sum != 0 && carry_right_sum(a, worth, sum)) {
      guest->returned = true;
      return;
    }
  }
  if (unclear != NULL)
    unclear->returned = true;
  else
    ADJOINT_FINDING(a, "sends a gradient that has not one part from each use of what came");
}

static void send(Adjoint *a, uint32_t index, const Worth *worth, bool followed) {
  const Place *p = &a->place[index];
  uint32_t kind = kind_at(a, p);
  bool gradient = worth->nature == NATURE_GRADIENT;
  if (p->stands == NULL || worth->nature == NATURE_UNKNOWN) return; /* of a tensor: tied.c */
  if (gradient ? kind == BUFFER_ACTIVATION : kind == BUFFER_GRAD_ACTIVATION)
    ADJOINT_FINDING(a, "operand %u: gradients are sent for values, or values for gradients", index);
  else if (gradient && kind == BUFFER_GRAD_ACTIVATION)
    send_gradient(a, worth);
  else if (!gradient && followed)
    uses_send(&a->uses, worth->name,
              hash_mix(hash_mix(hash_mix(41, worth->name), a->record_index), index));
  else if (!gradient)
    adjoint_unclear(a, p, worth, false);
}

static void take_guest(Adjoint *a, uint64_t name) {
  if (!make_room((void **)&a->guests, a->guest_count, &a->guest_capacity, sizeof *a->guests))
    a->failed = true;
  else
    a->guests[a->guest_count++] = (Guest){.name = name};
}

static void take_gradient(Adjoint *a, Worth *worth) {
  if (!make_room((void **)&a->came, a->came_count, &a->came_capacity, sizeof *a->came)) {
    a->failed = true;
    return;
  }
  a->came[a->came_count++] = (Came){0};
  worth->known = true;
  worth->came = (uint32_t)a->came_count;
}

/* From another class: of the nature that the place is meant for. */
static Worth take(Adjoint *a, uint32_t index) {
  uint32_t kind = kind_at(a, &a->place[index]);
  Worth came = {.name = hash_mix(hash_mix(a->walk->position, a->record_index), index),
                .nature = kind == BUFFER_ACTIVATION        ? NATURE_VALUE
                          : kind == BUFFER_GRAD_ACTIVATION ? NATURE_GRADIENT
                                                           : NATURE_UNKNOWN};
  came.name = hash_mix(came.name, a->walk->iteration + 13);
  if (came.nature == NATURE_VALUE) take_guest(a, came.name);
  if (came.nature == NATURE_GRADIENT) take_gradient(a, &came);
  return came;
}

/* Of a part that is like another, which is looked at. */
static bool is_again(const Adjoint *a, const Place *p) {
  return p->buffer != PLAN_NONE &&
         a->view->repeats.again_buffer[p->buffer - a->view->class->buffers_first];
}

/* The k-th operand that comes is what another rank's k-th that goes is here. */
void carry_exchange(Adjoint *a) {
  const Plan *plan = a->view->plan;
  Worth sent[KERNEL_OPERANDS_MAX];
  uint32_t count = 0, taken = 0;
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    const Place *p = &a->place[i];
    if (p->access != ACCESS_READ || is_again(a, p)) continue;
    bool followed = false, within = is_within(a, i);
    Worth worth = adjoint_worth(a, p, &followed);
    uint64_t before = worth.name;
    worth.name = hash_mix(before, (uint64_t)plan->ints[a->record->dims_first + i]);
    worth.tensor = 0;
    if (within) {
      sent[count++] = worth;
      if (followed && worth.nature == NATURE_VALUE)
        alias_once(a, before, worth.name, 1);
      else if (worth.nature != NATURE_GRADIENT)
        adjoint_unclear(a, p, &worth, false);
    } else {
      worth.name = before;
      send(a, i, &worth, followed);
    }
  }
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    const Place *p = &a->place[i];
    if (p->access == ACCESS_READ || p->buffer == PLAN_NONE || is_again(a, p)) continue;
    Worth came = is_within(a, i) && taken < count ? sent[taken++] : take(a, i);
    came.input = 0;
    adjoint_write(a, p, came);
  }
}

/* ---- collectives */

/* In place, what goes into a gather is the rank's own pieces. */
static Worth pieces_at(Adjoint *a, const Place *p) {
  Worth all = {.nature = NATURE_VALUE};
  Pieces pieces = pieces_begin(a->walk, a->record, p->first);
  Place piece = *p;
  bool followed = false;
  while (pieces_range(&pieces, &piece.first, &piece.end)) {
    piece.tile = (Tile){1, piece.end - piece.first, piece.end - piece.first};
    Worth worth = adjoint_worth(a, &piece, &followed);
    all.name = hash_mix(all.name, worth.name);
    all.nature = worth.nature;
    adjoint_unclear(a, &piece, &worth, followed);
  }
  return all;
}

/* Shards of tensors become a block of rows: a row is named by its shard, whatever is gathered along
 * with it, and is the tensor that the shard is of. */
static void gather_tensors(Adjoint *a, const Place *from, const Place *to) {
  const Plan *plan = a->view->plan;
  const int64_t *pair = plan->ints + a->record->dims_first;
  uint64_t members = plan_comm_size(plan, a->record->comm);
  uint64_t share = from->first, row = to->first;
  for (uint32_t i = 0; i + 1 < a->record->dims_count; i += 2) {
    uint64_t bytes = (uint64_t)pair[i] * (uint64_t)pair[i + 1] * from->unit;
    Place at = *to;
    at.first = row, at.end = row + bytes * members;
    at.tile = (Tile){1, bytes * members, bytes * members};
    uint64_t name = hash_mix(hash_mix(7, share), share + bytes);
    adjoint_write(a, &at,
                  (Worth){.name = hash_mix(name, plan->comms[a->record->comm].axes_mask),
                          .nature = NATURE_VALUE,
                          .tensor = adjoint_tensor(a, share, share + 1)});
    share += bytes, row = at.end;
  }
}

/* A cut that goes from one dimension to another comes back by the opposite way. */
static uint64_t factor_of_move(const Adjoint *a, bool gradient) {
  const Plan *plan = a->view->plan;
  if (a->record->kind != RECORD_ALL_TO_ALL) return 1;
  bool back = a->record->attrs_count > 0 && plan->reals[a->record->attrs_first] != 0;
  uint64_t factor = hash_mix(31 + (back != gradient), plan->comms[a->record->comm].axes_mask);
  for (uint32_t i = 0; i < a->record->dims_count; i++)
    factor = hash_mix(factor, (uint64_t)plan->ints[a->record->dims_first + i]);
  return factor | 1;
}

static uint64_t name_of_move(const Adjoint *a, uint64_t before) {
  const Plan *plan = a->view->plan;
  uint64_t name =
      hash_mix(hash_mix(before, a->record->kind + 17), plan->comms[a->record->comm].axes_mask);
  for (uint32_t i = 0; i < a->record->dims_count; i++)
    name = hash_mix(name, (uint64_t)plan->ints[a->record->dims_first + i]);
  for (uint32_t i = 0; i < a->record->attrs_count; i++)
    name = hash_mix(name, plan->reals[a->record->attrs_first + i] != 0);
  return name;
}

static bool carries_block(Adjoint *a, const Place *from, const Place *to) {
  switch ((RecordKind)a->record->kind) {
  case RECORD_ALL_GATHER:
    if (a->record->operands_count == 1 || from->stands != NULL || to->stands == NULL) return false;
    gather_tensors(a, from, to);
    return true;
  case RECORD_REDUCE_SCATTER:
    return a->record->operands_count == 1 ? has_rows(from) : scatter_rows(a, from, to);
  case RECORD_ALL_REDUCE: return carry_rows(a, from, to);
  default: return false;
  }
}

void carry_collective(Adjoint *a) {
  const Place *from = &a->place[0], *to = &a->place[a->record->operands_count - 1];
  bool followed = false,
       gathers = a->record->kind == RECORD_ALL_GATHER && record_in_place(a->record);
  if (gathers && from->stands == NULL) return; /* tensors stay what they are */
  if (carries_block(a, from, to)) return;
  if (gathers && !pieces_are_few(a->walk, a->record_index)) return;
  Worth worth = gathers ? pieces_at(a, from) : adjoint_worth(a, from, &followed);
  uint64_t before = worth.name;
  bool gradient = worth.nature == NATURE_GRADIENT;
  uint64_t factor = factor_of_move(a, gradient);
  worth.name = name_of_move(a, before);
  worth.whole = worth.tensor = 0;
  worth.sum *= factor;
  if (worth.came != 0 && factor != 1) worth.came = CAME_SEVERAL;
  if (worth.nature == NATURE_VALUE && followed)
    alias_once(a, before, worth.name, factor);
  else if (!gradient && !gathers)
    adjoint_unclear(a, from, &worth, false);
  adjoint_write(a, to, worth);
}
