#include "kernels/contract/contract.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_text.h"
#include "tests/mutants/attack_edit.h"

/* ---- which */

/* Which matches an attack means: its words from `index` on. */
typedef struct Which {
  bool every;
  int skip;
  const char *kind, *segment, *path, *purpose;
  int32_t layer, microbatch; /* -2: any */
} Which;

static Which read_which(const Edit *e, int index) {
  Which which = {.segment = "*", .path = "*", .purpose = "*", .layer = -2, .microbatch = -2};
  if (is_word(e, index, "every"))
    which.every = true, index++;
  else if (word(e, index)[0] >= '0' && word(e, index)[0] <= '9')
    which.skip = (int)number(e, index++);
  which.kind = word(e, index++);
  for (; index < e->line->word_count; index += 2) {
    if (is_word(e, index, "in"))
      which.segment = word(e, index + 1);
    else if (is_word(e, index, "of"))
      which.path = word(e, index + 1);
    else if (is_word(e, index, "for"))
      which.purpose = word(e, index + 1);
    else if (is_word(e, index, "layer"))
      which.layer = (int32_t)number(e, index + 1);
    else if (is_word(e, index, "microbatch"))
      which.microbatch = (int32_t)number(e, index + 1);
    else
      wrong(e, "no such condition");
  }
  return which;
}

static const char *name_of(const Edit *e, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? string(e, e->b->kernels[record->kernel].name)
                                       : RecordKind_names[record->kind];
}

static const PlanSegment *segment_of(const Edit *e, uint32_t record) {
  const PlanSegment *segment = e->b->segments;
  while (record - segment->records_first >= segment->records_count)
    segment++;
  return segment;
}

static bool record_is(const Edit *e, uint32_t index, const Which *which) {
  const PlanRecord *record = &e->b->records[index];
  return matches(which->kind, name_of(e, record)) &&
         matches(which->segment, string(e, segment_of(e, index)->name)) &&
         matches(which->path, string(e, record->path)) &&
         matches(which->purpose, Purpose_names[record->purpose]);
}

static bool call_is(const Edit *e, uint32_t index, const Which *which) {
  const PlanCall *call = &e->b->calls[index];
  return matches(which->kind, string(e, e->b->segments[call->segment].name)) &&
         (which->layer == -2 || which->layer == call->layer) &&
         (which->microbatch == -2 || which->microbatch == call->microbatch);
}

typedef bool Is(const Edit *e, uint32_t index, const Which *which);

static void choose(Edit *e, const Which *which, Is *is, uint32_t count) {
  int seen = 0;
  e->taken_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!is(e, i, which) || seen++ < which->skip) continue;
    if (e->taken_count == TAKEN_MAX) wrong(e, "too many");
    e->taken[e->taken_count++] = i;
    if (!which->every) return;
  }
  if (e->taken_count == 0) wrong(e, "nothing in the plan is so");
}

static void take(Edit *e) {
  Which which = read_which(e, 1);
  choose(e, &which, record_is, e->b->records_count);
}

static void take_calls(Edit *e) {
  Which which = read_which(e, 1);
  choose(e, &which, call_is, e->b->calls_count);
}

/* The one that the words from `index` on mean. */
static uint32_t another(const Edit *e, int index, Is *is, uint32_t count) {
  static Edit other;
  other = *e;
  Which which = read_which(e, index);
  choose(&other, &which, is, count);
  return other.taken[0];
}

static const PlanRecord *another_record(const Edit *e, int index) {
  return &e->b->records[another(e, index, record_is, e->b->records_count)];
}

static const PlanCall *another_call(const Edit *e, int index) {
  return &e->b->calls[another(e, index, call_is, e->b->calls_count)];
}

/* ---- records */

static const KernelContract *contract_for(const Edit *e, const PlanRecord *record) {
  const KernelContract *contract = contract_find(name_of(e, record));
  if (contract == NULL) wrong(e, "the record is no kernel");
  return contract;
}

static void set_kernel(Edit *e, PlanRecord *record) {
  if (contract_find(word(e, 1)) == NULL) wrong(e, "no such kernel");
  uint32_t name = build_string(e->b, word(e, 1)), kernel = 0;
  while (kernel < e->b->kernels_count && e->b->kernels[kernel].name != name)
    kernel++;
  if (kernel == e->b->kernels_count) build_kernels(e->b, (PlanKernel){.name = name});
  record->kernel = kernel;
}

static void become(Edit *e, PlanRecord *record) {
  set_kernel(e, record);
  record->kind = RECORD_KERNEL;
  record->comm = record->meaning = PLAN_NONE;
}

static uint32_t index_of(const Edit *e, const KernelNumber *numbers, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (strcmp(numbers[i].name, word(e, 1)) == 0) return (uint32_t)i;
  return (uint32_t)number(e, 1); /* of broadcasts and communications */
}

/* Other records may share the numbers that are changed: this one gets its own. */
static void change_attr(Edit *e, PlanRecord *record) {
  const KernelContract *contract = contract_for(e, record);
  uint32_t attr = index_of(e, contract->attrs, contract_attrs_in(contract, true));
  uint32_t first = e->b->reals_count;
  for (uint32_t i = 0; i < record->attrs_count; i++)
    build_reals(e->b, e->b->reals[record->attrs_first + i]);
  record->attrs_first = first;
  if (attr >= record->attrs_count) wrong(e, "no such attr");
  e->b->reals[first + attr] = changed(e, 2, e->b->reals[first + attr]);
}

static void change_dim(Edit *e, PlanRecord *record) {
  const KernelContract *contract = record->kind == RECORD_KERNEL ? contract_for(e, record) : NULL;
  uint32_t dim = index_of(e, contract ? contract->dims : NULL, contract ? contract->dim_count : 0);
  uint32_t first = e->b->ints_count;
  for (uint32_t i = 0; i < record->dims_count; i++)
    build_ints(e->b, e->b->ints[record->dims_first + i]);
  record->dims_first = first;
  if (dim >= record->dims_count) wrong(e, "no such dim");
  e->b->ints[first + dim] = (int64_t)changed(e, 2, (double)e->b->ints[first + dim]);
}

static void set_attrs(Edit *e, PlanRecord *record) {
  record->attrs_first = e->b->reals_count;
  record->attrs_count = (uint32_t)e->line->word_count - 1;
  for (int i = 1; i < e->line->word_count; i++)
    build_reals(e->b, number(e, i));
}

static void set_dims(Edit *e, PlanRecord *record) {
  record->dims_first = e->b->ints_count;
  record->dims_count = (uint32_t)e->line->word_count - 1;
  for (int i = 1; i < e->line->word_count; i++)
    build_ints(e->b, (int64_t)number(e, i));
}

static uint32_t comm_called(const Edit *e, const char *name) {
  for (uint32_t i = 0; i < e->b->comms_count; i++)
    if (strcmp(string(e, e->b->comms[i].name), name) == 0) return i;
  wrong(e, "no such communicator");
}

/* All varies but the one of this attr, which may be stated anew. */
static void set_vary(Edit *e, PlanRecord *record) {
  const KernelContract *contract = contract_for(e, record);
  uint32_t attr = index_of(e, contract->attrs, contract->attr_count);
  uint32_t first = e->b->varies_count;
  for (uint32_t i = 0; i < record->varies_count; i++)
    if (e->b->varies[record->varies_first + i].attr != attr)
      build_varies(e->b, e->b->varies[record->varies_first + i]);
  if (!is_word(e, 2, "none"))
    build_varies(e->b, (PlanVary){.attr = attr,
                                  .stride = number(e, 2),
                                  .by = comm_called(e, word(e, 3)),
                                  .values_first = e->b->reals_count});
  record->varies_first = first;
  record->varies_count = e->b->varies_count - first;
}

static void set_key(Edit *e, PlanRecord *record) {
  if (is_word(e, 1, "of"))
    record->key = another_record(e, 2)->key;
  else
    record->key += (uint64_t)number(e, 2);
}

static void set_accumulate(Edit *e, PlanRecord *record) {
  const KernelContract *contract = contract_for(e, record);
  record->accumulate = (uint32_t)number(e, 1);
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (contract->operands[i].access == KERNEL_SUM)
      e->b->operands[record->operands_first + i].access =
          record->accumulate ? ACCESS_UPDATE : ACCESS_WRITE;
}

static void set_comm(Edit *e, PlanRecord *record) {
  record->comm = comm_called(e, word(e, 1));
}

static void set_lane(Edit *e, PlanRecord *record) {
  uint32_t lane = 0;
  while (lane < e->b->lanes_count && strcmp(string(e, e->b->lanes[lane].name), word(e, 1)) != 0)
    lane++;
  if (lane == e->b->lanes_count) wrong(e, "no such lane");
  record->lane = lane;
  record->after_count = 0;
}

static void set_reduce(Edit *e, PlanRecord *record) {
  if (record->meaning == PLAN_NONE) wrong(e, "the record reduces nothing");
  PlanMeaning meaning = e->b->meanings[record->meaning];
  meaning.reduce = one_of(e, word(e, 1), ReduceOp_names, ReduceOp_COUNT);
  record->meaning = build_meanings(e->b, meaning);
}

/* A condition that no call meets. */
static uint32_t access_of_slot(const KernelContract *contract, const char *name) {
  for (int32_t i = 0; i < contract->control_count; i++)
    if (strcmp(control_name(contract->controls[i].slot), name) == 0)
      return contract->controls[i].access;
  return ACCESS_READ;
}

static void set_slots(Edit *e, PlanRecord *record) {
  const KernelContract *contract = contract_for(e, record);
  record->controls_first = e->b->controls_count;
  record->controls_count = (uint32_t)e->line->word_count - 1;
  for (int i = 1; i < e->line->word_count; i++) {
    uint32_t slot = 0;
    while (slot < e->b->slots_count && !is_word(e, i, string(e, e->b->slots[slot].name)))
      slot++;
    if (slot == e->b->slots_count) wrong(e, "no such slot");
    build_controls(e->b, (PlanControl){slot, access_of_slot(contract, word(e, i))});
  }
}

static void drop(Edit *e, PlanRecord *record) {
  (void)e;
  record->when_all |= CALL_GROUP_LAST;
  record->when_none |= CALL_GROUP_LAST;
}

static void set_when(Edit *e, PlanRecord *record) {
  record->when_all = record->when_none = 0;
  if (is_word(e, 0, "always")) return;
  uint32_t flag = 1u << one_of(e, word(e, 1), CALL_names, CALL_FLAGS_BITS);
  *(is_word(e, 0, "when") ? &record->when_all : &record->when_none) = flag;
}

static PlanOperand *operand_at(const Edit *e, const PlanRecord *record, double index) {
  if (index < 0 || index >= record->operands_count) wrong(e, "no such operand");
  return &e->b->operands[record->operands_first + (uint32_t)index];
}

static void change_operand(Edit *e, PlanRecord *record) {
  PlanOperand *operand = operand_at(e, record, number(e, 1));
  record->fuses = 0; /* other operands could be refused for that alone */
  if (is_word(e, 2, "+")) {
    operand->offset += (uint64_t)(int64_t)number(e, 3);
  } else if (is_word(e, 2, "size")) {
    operand->size_bytes = (uint64_t)number(e, 3);
    const uint32_t index = segment_of(e, (uint32_t)(record - e->b->records))->bases_first;
    PlanBase *base = &e->b->bases[index + operand->base];
    if (operand->offset + operand->size_bytes > base->size_bytes)
      base->size_bytes = operand->offset + operand->size_bytes;
  } else if (is_word(e, 2, "dtype")) {
    const uint32_t was = operand->dtype;
    operand->dtype = one_of(e, word(e, 3), DType_names, DTYPE_COUNT);
    operand->size_bytes =
        operand->size_bytes / (uint64_t)dtype_bytes(was) * (uint64_t)dtype_bytes(operand->dtype);
  } else if (is_word(e, 2, "stride")) {
    operand->member_stride = (int64_t)number(e, 3);
  } else if (is_word(e, 2, "first") || is_word(e, 2, "row")) {
    const Plan plan = build_view(e->b);
    if (operand->by == PLAN_NONE) wrong(e, "no piece of a row");
    if (is_word(e, 2, "row")) operand->size_bytes *= (uint64_t)plan_comm_size(&plan, operand->by);
    operand->by = PLAN_NONE;
    operand->member_stride = 0;
  } else if (is_word(e, 2, "by")) {
    operand->by = comm_called(e, word(e, 3));
  } else if (is_word(e, 2, "piece")) {
    const Plan plan = build_view(e->b);
    operand->by = comm_called(e, word(e, 3));
    operand->size_bytes /= (uint64_t)plan_comm_size(&plan, operand->by);
    operand->member_stride = (int64_t)operand->size_bytes;
  } else if (is_word(e, 2, "as")) {
    const PlanRecord *from = e->line->word_count > 4 ? another_record(e, 5) : record;
    PlanOperand was = *operand;
    *operand = *operand_at(e, from, number(e, 3));
    operand->access = was.access;
  } else {
    wrong(e, "as, +, size, dtype, stride, first, row, by or piece is meant to be here");
  }
}

static void change_layout(Edit *e, PlanRecord *record) {
  const PlanRecord *from = e->line->word_count > 4 ? another_record(e, 5) : record;
  operand_at(e, record, number(e, 1))->layout = operand_at(e, from, number(e, 3))->layout;
}

static void choose_operands(Edit *e, PlanRecord *record) {
  uint32_t first = e->b->operands_count;
  for (int i = 1; i < e->line->word_count; i++)
    build_operands(e->b, *operand_at(e, record, number(e, i)));
  record->operands_first = first;
  record->operands_count = (uint32_t)e->line->word_count - 1;
}

static void set_purpose(Edit *e, PlanRecord *record) {
  record->purpose = one_of(e, word(e, 1), Purpose_names, Purpose_COUNT);
}

static void set_access(Edit *e, PlanRecord *record) {
  operand_at(e, record, number(e, 1))->access = one_of(e, word(e, 2), Access_names, Access_COUNT);
}

/* It does what another one does, on its own operands. */
static void become_like(Edit *e, PlanRecord *record) {
  PlanRecord was = *record;
  *record = *another_record(e, 1);
  record->operands_first = was.operands_first, record->operands_count = was.operands_count;
  record->after_first = was.after_first, record->after_count = was.after_count;
  record->when_all = was.when_all, record->when_none = was.when_none;
  record->lane = was.lane, record->fuses = 0;
}

static bool is_of_segment(const Edit *e, uint32_t call, const PlanSegment *segment) {
  return &e->b->segments[e->b->calls[call].segment] == segment;
}

/* Renumbers references to later records of the segment. */
static void renumber(const Edit *e, const PlanSegment *segment, uint32_t record) {
  const uint32_t end = segment->records_first + segment->records_count;
  for (uint32_t r = segment->records_first; r < end; r++)
    for (uint32_t i = 0; i < e->b->records[r].after_count; i++)
      e->b->edges[e->b->records[r].after_first + i].record +=
          e->b->edges[e->b->records[r].after_first + i].record > record;
  for (uint32_t p = 0; p < e->b->programs_count; p++) {
    const PlanProgram *program = &e->b->programs[p];
    for (uint32_t c = program->calls_first; c < program->calls_first + program->calls_count; c++)
      for (uint32_t i = 0; i < e->b->calls[c].waits_count; i++) {
        PlanWait *wait = &e->b->waits[e->b->calls[c].waits_first + i];
        const Plan plan = build_view(e->b);
        const PlanProgram *other = plan_awaited(&plan, program, wait);
        if (is_of_segment(e, other->calls_first + wait->call, segment))
          wait->record += wait->record > record;
      }
  }
}

/* A copy right after it, which the next lines do not change. It has its own operands. */
static void run_twice(Edit *e) {
  const uint32_t index = e->taken[0];
  if (e->taken_count != 1) wrong(e, "one record is meant");
  PlanSegment *segment = &e->b->segments[segment_of(e, index) - e->b->segments];
  renumber(e, segment, index - segment->records_first);
  build_records(e->b, e->b->records[index]);
  for (uint32_t i = e->b->records_count - 1; i > index + 1; i--)
    e->b->records[i] = e->b->records[i - 1];
  PlanRecord *copy = &e->b->records[index + 1];
  *copy = e->b->records[index];
  copy->after_count = 0;
  copy->operands_first = e->b->operands_count;
  for (uint32_t i = 0; i < copy->operands_count; i++)
    build_operands(e->b, e->b->operands[e->b->records[index].operands_first + i]);
  for (PlanSegment *at = segment; at < e->b->segments + e->b->segments_count; at++)
    at->records_first += at != segment;
  segment->records_count++;
}

/* ---- calls */

static void change_segment(Edit *e, PlanCall *call) {
  const PlanSegment *was = &e->b->segments[call->segment];
  call->segment = 0;
  while (call->segment < e->b->segments_count &&
         strcmp(string(e, e->b->segments[call->segment].name), word(e, 1)) != 0)
    call->segment++;
  if (call->segment == e->b->segments_count ||
      e->b->segments[call->segment].bases_count != was->bases_count)
    wrong(e, "no segment of that name has as many bases");
}

static PlanBinding *binding_at(const Edit *e, const PlanCall *call, double index) {
  if (index < 0 || index >= call->bindings_count) wrong(e, "no such binding");
  return &e->b->bindings[call->bindings_first + (uint32_t)index];
}

static void change_binding(Edit *e, PlanCall *call) {
  const PlanCall *from = e->line->word_count > 4 ? another_call(e, 5) : call;
  *binding_at(e, call, number(e, 1)) = *binding_at(e, from, number(e, 3));
}

static void change_bindings(Edit *e, PlanCall *call) {
  const PlanCall *from = another_call(e, 2);
  if (from->bindings_count != call->bindings_count) wrong(e, "as many bindings are wanted");
  for (uint32_t i = 0; i < call->bindings_count; i++)
    *binding_at(e, call, i) = *binding_at(e, from, i);
}

/* The two change places, but each place keeps its waits. */
static void change_places(Edit *e, PlanCall *call) {
  PlanCall *other = &e->b->calls[another(e, 2, call_is, e->b->calls_count)], was = *call,
           is = *other;
  *call = is, *other = was;
  call->waits_first = was.waits_first, call->waits_count = was.waits_count;
  other->waits_first = is.waits_first, other->waits_count = is.waits_count;
}

/* It waits for no other call. */
static void drop_waits(Edit *e, PlanCall *call) {
  if (!is_word(e, 1, "none")) wrong(e, "waits none");
  call->waits_count = 0;
}

static void change_layer(Edit *e, PlanCall *call) {
  call->layer = (int32_t)changed(e, 1, call->layer);
}

static void change_microbatch(Edit *e, PlanCall *call) {
  call->microbatch = (int32_t)changed(e, 1, call->microbatch);
}

static void change_post(Edit *e, PlanCall *call) {
  if (number(e, 1) >= call->posts_count) wrong(e, "no such post");
  PlanPost *post = &e->b->posts[call->posts_first + (uint32_t)number(e, 1)];
  *(is_word(e, 2, "depth") ? &post->depth : &post->microbatch) += (uint32_t)number(e, 3);
}

/* ---- lines */

/* One of the three is there. */
typedef struct Word {
  const char *word;
  void (*on_record)(Edit *e, PlanRecord *record);
  void (*on_call)(Edit *e, PlanCall *call);
  void (*on_plan)(Edit *e);
} Word;

static const Word words[] = {
    {"take", NULL, NULL, take},
    {"call", NULL, NULL, take_calls},
    {"divides", NULL, NULL, change_divides},
    {"set", NULL, NULL, change_field},
    {"buffer", NULL, NULL, change_buffer},
    {"file", NULL, NULL, change_file},
    {"input", NULL, NULL, change_input},
    {"dim_of", NULL, NULL, change_dim_of},
    {"node", NULL, NULL, change_node},
    {"parameter", NULL, NULL, change_parameter},
    {"setting", NULL, NULL, change_setting},
    {"tensor", NULL, NULL, change_tensors},
    {"twice", NULL, NULL, run_twice},
    {"as", become_like, NULL, NULL},
    {"access", set_access, NULL, NULL},
    {"purpose", set_purpose, NULL, NULL},
    {"kernel", set_kernel, NULL, NULL},
    {"become", become, NULL, NULL},
    {"attr", change_attr, NULL, NULL},
    {"attrs", set_attrs, NULL, NULL},
    {"slots", set_slots, NULL, NULL},
    {"dim", change_dim, NULL, NULL},
    {"dims", set_dims, NULL, NULL},
    {"vary", set_vary, NULL, NULL},
    {"key", set_key, NULL, NULL},
    {"accumulate", set_accumulate, NULL, NULL},
    {"comm", set_comm, NULL, NULL},
    {"lane", set_lane, NULL, NULL},
    {"reduce", set_reduce, NULL, NULL},
    {"drop", drop, NULL, NULL},
    {"when", set_when, NULL, NULL},
    {"unless", set_when, NULL, NULL},
    {"always", set_when, NULL, NULL},
    {"operand", change_operand, NULL, NULL},
    {"operands", choose_operands, NULL, NULL},
    {"layout", change_layout, NULL, NULL},
    {"binding", NULL, change_binding, NULL},
    {"bindings", NULL, change_bindings, NULL},
    {"swap", NULL, change_places, NULL},
    {"segment", NULL, change_segment, NULL},
    {"waits", NULL, drop_waits, NULL},
    {"layer", NULL, change_layer, NULL},
    {"microbatch", NULL, change_microbatch, NULL},
    {"post", NULL, change_post, NULL},
};

static void apply_line(Edit *e) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const Word *known = &words[i];
    if (!is_word(e, 0, known->word)) continue;
    if (known->on_plan != NULL) known->on_plan(e);
    for (int k = 0; k < e->taken_count && known->on_record != NULL; k++)
      known->on_record(e, &e->b->records[e->taken[k]]);
    for (int k = 0; k < e->taken_count && known->on_call != NULL; k++)
      known->on_call(e, &e->b->calls[e->taken[k]]);
    return;
  }
  wrong(e, "no such word");
}

void attack_apply(const Attack *attack, PlanBuilder *plan) {
  static Edit edit;
  edit = (Edit){.attack = attack, .b = plan};
  for (int i = 0; i < attack->line_count; i++) {
    edit.line = &attack->line[i];
    apply_line(&edit);
  }
}
