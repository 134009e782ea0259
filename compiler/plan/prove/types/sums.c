/* sums.c -- sums that are built up part by part: over micro-batches (gradients, to which several
 * nodes may add, and losses), and over the blocks of a ring. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"

static bool comes_before(const TypeUse *a, const TypeUse *b) {
  if (a->end != b->end) return a->end < b->end;
  if (a->runs != b->runs) return a->runs < b->runs;
  return a->of != b->of ? a->of < b->of : a->first < b->first;
}

/* Nodes that have added the same micro-batches share one entry. False: there is no room. */
static bool insert_use(Type *sum, TypeUse use) {
  uint32_t i = 0;
  while (i < sum->use_count && comes_before(&sum->use[i], &use))
    i++;
  if (use.nodes == 0) return true;
  if (i < sum->use_count && !comes_before(&use, &sum->use[i])) {
    sum->use[i].nodes |= use.nodes;
    return true;
  }
  if (sum->use_count == TYPE_USES_MAX) return false;
  memmove(sum->use + i + 1, sum->use + i, (sum->use_count - i) * sizeof *sum->use);
  sum->use[i] = use;
  sum->use_count++;
  return true;
}

/* Where some micro-batches begin: at run `run` of `of` of the first one's tokens; 0, 0: at all of
 * them. */
typedef struct SumStart {
  uint32_t run, of;
} SumStart;

/* Joins the micro-batches of some nodes; for each node they must be adjacent. */
static bool join_use(Type *sum, TypeUse use, SumStart from) {
  const Type was = *sum;
  bool fits = true;
  memset(sum->use, 0, sizeof sum->use);
  sum->use_count = 0;
  for (uint32_t i = 0; i < was.use_count && fits; i++) {
    const TypeUse *at = &was.use[i];
    uint64_t met = at->nodes & use.nodes;
    fits = (met == 0 || (at->end == use.first && at->runs == from.run && at->of == from.of)) &&
           insert_use(sum, (TypeUse){at->nodes & ~met, at->first, at->end, at->runs, at->of}) &&
           insert_use(sum, (TypeUse){met, at->first, use.end, use.runs, use.of});
    use.nodes &= ~met;
  }
  return fits && (use.nodes == 0 || from.run == 0) && insert_use(sum, use);
}

/* Joins two adjacent runs of ranks. */
static bool join_rings(const Typing *t, Ring *ring, const Ring *other) {
  const uint32_t axes = axes_dividing(t, DIVIDES_TOKENS);
  const uint32_t ranks = axes == 0 ? 1 : t->plan->axes[__builtin_ctz(axes)].size;
  const uint32_t count = (uint32_t)ring->count + other->count;
  if (ring->turn != other->turn || ring->count == 0 || other->count == 0 || count > ranks)
    return false;
  bool after = (ring->first + ring->count) % ranks == other->first;
  bool before = (other->first + other->count) % ranks == ring->first;
  if (!after && !before) return false;
  ring->first = count == ranks ? 0 : after ? ring->first : other->first;
  ring->count = count == ranks ? 0 : (uint16_t)count;
  return true;
}

/* True if both are of one tensor or value with the same layout; which summands they have may
 * differ. */
static bool same_whole(Type a, Type b) {
  memset(a.use, 0, sizeof a.use);
  memset(b.use, 0, sizeof b.use);
  a.use_count = b.use_count = 0;
  a.ring = b.ring = (Ring){0};
  return memcmp(&a, &b, sizeof a) == 0;
}

bool join_parts(const Typing *t, Type *sum, const Type *other) {
  bool joins = same_whole(*sum, *other);
  if (sum->kind == TYPE_VALUE) return joins && join_rings(t, &sum->ring, &other->ring);
  for (uint32_t i = 0; i < other->use_count && joins; i++)
    joins = join_use(sum, other->use[i], (SumStart){0, 0});
  return joins && sum->kind == TYPE_SUM;
}

/* Uses in one region must be added in the order of its nodes, micro-batch by micro-batch, so that
 * sums always round the same way. */
static bool in_order(const Type *sum, Making making) {
  for (uint32_t i = 0; i < sum->use_count; i++)
    if ((sum->use[i].nodes & making.later) != 0 && (sum->use[i].end > 0 || sum->use[i].runs > 0))
      return false;
  return true;
}

void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node) {
  bool is_first = (t->call.walk.call->flags & CALL_FIRST_MICROBATCH) != 0;
  const Making making = making_of(&t->proof.meaning, sum->ref, node);
  const uint32_t part = t->call.at->part, parts = t->call.at->parts;
  const SumStart from = {part, part > 0 ? parts : 0};
  bool is_last = part + 1 >= parts;
  if (t->plan->values[sum->ref].kind == VALUE_LOSS && (t->class.made & MADE_TOTALS) != 0)
    REFUSE(t, "losses have been summed over ranks already");
  const TypeUse use = {making.bit, is_first && part == 0 ? USE_FROM_START : 0, is_last,
                       is_last ? 0 : part + 1, is_last ? 0 : parts};
  const Type found = t->call.at->accumulate ? read_type(t, operand) : zeros(DTYPE_F32);
  sum->microbatch = TYPE_ANY;
  bool fits = found.kind == TYPE_ZERO || same_whole(found, *sum);
  Type wanted = {.kind = TYPE_SUM,
                 .dtype = sum->dtype,
                 .ref = sum->ref,
                 .layer = sum->layer,
                 .use_count = 1,
                 .use = {{use.nodes, USE_FROM_START, 0, from.run, from.of}}};
  memcpy(wanted.place, sum->place, sizeof wanted.place);
  if (found.kind == TYPE_SUM) *sum = found;
  if (fits && use.nodes != 0 && in_order(sum, making) && join_use(sum, use, from))
    write_type(t, operand, sum);
  else
    refuse_operand(t, operand, &found, &wanted);
}

bool is_whole_step(const Typing *t, const Type *sum) {
  return sum->use_count == 1 && sum->use[0].first == USE_FROM_START && sum->use[0].runs == 0 &&
         (int64_t)sum->use[0].end + t->call.walk.microbatch == t->class.microbatches;
}

bool sum_is_complete(const Typing *t, const Type *sum) {
  return is_whole_step(t, sum) && sum->use[0].nodes == all_uses(&t->proof.meaning, sum->ref);
}
