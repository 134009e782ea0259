#include "compiler/emit/emit.h"

#include <string.h>

#include "compiler/cost/cost.h"
#include "compiler/emit/tables.h"

static const BufferKind kind_of_role[BASE_ROLE_COUNT] = {
    [BASE_PARAM] = BUFFER_PARAM,
    [BASE_GRAD] = BUFFER_GRAD,
    [BASE_MASTER] = BUFFER_MASTER,
    [BASE_MOMENT1] = BUFFER_MOMENT1,
    [BASE_MOMENT2] = BUFFER_MOMENT2,
    [BASE_FRAME] = BUFFER_ACTIVATION,
    [BASE_RECOMPUTE_FRAME] = BUFFER_ACTIVATION,
    [BASE_INPUT] = BUFFER_ACTIVATION,
    [BASE_OUTPUT] = BUFFER_ACTIVATION,
    [BASE_D_INPUT] = BUFFER_GRAD_ACTIVATION,
    [BASE_D_OUTPUT] = BUFFER_GRAD_ACTIVATION,
    [BASE_SCRATCH] = BUFFER_WORKSPACE,
    [BASE_DATA] = BUFFER_DATA,
    [BASE_CONTROL] = BUFFER_CONTROL,
    [BASE_PARTIALS] = BUFFER_WORKSPACE,
    [BASE_COMM] = BUFFER_COMM,
};

static const char *const role_names[BASE_ROLE_COUNT] = {
    "parameters", "gradients", "master",          "moment_m", "moment_v", "kept",
    "recomputed", "input",     "output",          "d_input",  "d_output", "scratch",
    "data",       "control",   "sums_of_squares", "wire",
};

/* ---- the job */

static void emit_job(Tables *t, const Draft *d, int64_t parameters) {
  const Job *job = d->job;
  const Derived *derived = &d->derived;
  bool by_steps = job->checkpoint.every.unit == UNIT_STEPS;
  DimId vocab = graph_dim(d->train, "vocab");
  const char *resume = job->checkpoint.resume;
  Resume resume_kind = strcmp(resume, "auto") == 0    ? RESUME_AUTO
                       : strcmp(resume, "never") == 0 ? RESUME_NEVER
                                                      : RESUME_PATH;
  PlanJob record = {
      .seed = (uint64_t)job->train.seed,
      .steps = derived->steps,
      .batch_samples = derived->batch_samples,
      .microbatch_samples = job->train.microbatch,
      .accumulation = derived->accumulation,
      .sample_tokens = derived->sample_tokens,
      .parameters = parameters,
      .flops_per_token = cost_flops_per_token(d),
      .warmup_steps = job->schedule.warmup,
      .decay_steps = d->job->set[FIELD_schedule_over] ? job->schedule.over : derived->steps,
      .validate_every = d->eval != NULL ? derived->validate_every : 0,
      .validate_batches = job->train.validate_steps,
      .log_every = job->log.every,
      .checkpoint_every_steps = by_steps ? (int64_t)job->checkpoint.every.value : 0,
      .checkpoint_every_s = by_steps ? 0 : (int64_t)job->checkpoint.every.value,
      .checkpoint_keep = job->checkpoint.keep,
      .prefetch_batches = job->data.prefetch,
      .control_offset = (uint64_t)d->buffers.at[d->control_buffer].offset,
      .staging_offset = (uint64_t)d->buffers.at[d->staging_buffer].offset,
      .sample_bytes = (uint64_t)d->sample_bytes,
      .lr = job->optimizer.lr,
      .lr_floor = job->schedule.floor,
      .lr_warmup_floor = job->schedule.warmup_floor,
      .schedule = (uint32_t)job->schedule.head,
      .data = (uint32_t)job->data.head,
      .shuffle = job->data.shuffle,
      .threads = (uint32_t)d->cluster->threads,
      .vocab = job->data.head != CHOICE_TABLE && vocab != NO_ID
                   ? (uint32_t)d->train->dims.at[vocab].size
                   : 0,
      .resume = resume_kind,
      .name = table_string(t, job->job.name),
      .model = table_string(t, d->train->model_name),
      .reason = table_string(t, job->job.reason),
      .run_dir = table_string(t, job->log.dir),
      .checkpoint_dir = table_string(t, job->checkpoint.path),
      .resume_path = table_string(t, resume_kind == RESUME_PATH ? resume : ""),
      .loss = table_string(t, d->train->loss_name),
      .precision = table_string(t, job->precision.head == CHOICE_BF16 ? "bf16" : "fp32"),
  };
  TABLE_PUSH(t, jobs, record);
}

static void emit_files(Tables *t, const Draft *d) {
  const Job *job = d->job;
  const TextList *lists[] = {&job->data.train, &job->data.valid};
  if (job->data.head == CHOICE_SYNTHETIC) return;
  /* The words of data.format after "auto" are DataFormat's, in its order. */
  uint32_t format = job->data.head == CHOICE_TABLE ? FORMAT_CSV : (uint32_t)job->data.format - 1;
  for (uint32_t valid = 0; valid < 2; valid++)
    for (int32_t i = 0; i < lists[valid]->count; i++)
      TABLE_PUSH(t, files, (PlanFile){valid, format, table_string(t, lists[valid]->at[i])});
}

static const char *columns_of(Tables *t, const Draft *d, const char *input) {
  for (int32_t i = 0; i < d->job->data.columns.count; i++) {
    const Columns *columns = &d->job->data.columns.at[i];
    if (strcmp(columns->input, input) != 0) continue;
    const char *text = "";
    for (int32_t k = 0; k < columns->names.count; k++)
      text = arena_printf(t->arena, "%s%s%s", text, k > 0 ? "," : "", columns->names.at[k]);
    return text;
  }
  return "";
}

static void emit_inputs(Tables *t, const Draft *d) {
  const Graph *g = d->train;
  for (int32_t i = 0; i < g->inputs.count; i++) {
    const GraphInput *input = &g->inputs.at[i];
    TABLE_PUSH(
        t, inputs,
        (PlanInput){.sample_elements = value_elements(g, input->value) / d->job->train.microbatch,
                    .dtype = graph_value(g, input->value)->dtype,
                    .role = input->role,
                    .name = table_string(t, input->name),
                    .columns = table_string(t, columns_of(t, d, input->name))});
  }
}

/* ---- segments */

static void emit_record(Tables *t, const Draft *d, const Record *record) {
  PlanRecord out = {
      .key = record->random ? hash_text(record->path) : 0,
      .flops = record->flops,
      .bytes = record->bytes,
      .predicted_ns = cost_record_ns(d, record),
      .kind = record->kind,
      .kernel = table_kernel(t, record->kernel),
      .lane = record->lane,
      .when_all = record->when_all,
      .when_none = record->when_none,
      .accumulate = record->accumulate,
      .after0 = -1,
      .after1 = -1,
      .after2 = -1,
      .after3 = -1,
      .operands_first = (uint32_t)t->operands.count,
      .operands_count = (uint32_t)record->operand_count,
      .dims_first = (uint32_t)t->ints.count,
      .dims_count = (uint32_t)record->dim_count,
      .attrs_first = (uint32_t)t->reals.count,
      .attrs_count = (uint32_t)record->attr_count,
      .comm = record->meaning != NULL ? 0 : PLAN_NONE,
      .meaning = PLAN_NONE,
      .path = table_string(t, record->path),
  };
  for (int32_t i = 0; i < record->operand_count; i++) {
    const Operand *operand = &record->operands[i];
    TABLE_PUSH(t, operands,
               (PlanOperand){.offset = (uint64_t)operand->offset_bytes,
                             .size_bytes = (uint64_t)operand->size_bytes,
                             .by = PLAN_NONE,
                             .base = (uint32_t)operand->base,
                             .dtype = operand->dtype,
                             .access = operand->access});
  }
  for (int32_t i = 0; i < record->dim_count; i++)
    TABLE_PUSH(t, ints, record->dims[i]);
  for (int32_t i = 0; i < record->attr_count; i++)
    TABLE_PUSH(t, reals, record->attrs[i]);
  if (record->meaning != NULL) {
    out.meaning = (uint32_t)t->meanings.count;
    TABLE_PUSH(t, meanings,
               (PlanMeaning){.reduce = REDUCE_SUM,
                             .direction = record->direction,
                             .value = table_string(t, record->meaning),
                             .before = table_string(t, "Partial(sum)@dp"),
                             .after = table_string(t, "Replicated@dp")});
  }
  TABLE_PUSH(t, records, out);
}

static void emit_segment(Tables *t, const Draft *d, const Segment *segment) {
  TABLE_PUSH(t, segments,
             (PlanSegment){.bases_first = (uint32_t)t->bases.count,
                           .bases_count = (uint32_t)segment->bases.count,
                           .records_first = (uint32_t)t->records.count,
                           .records_count = (uint32_t)segment->records.count,
                           .name = table_string(t, segment->name)});
  for (int32_t i = 0; i < segment->bases.count; i++) {
    const SegmentBase *base = &segment->bases.at[i];
    const char *name = role_names[base->role];
    if (base->region != NO_ID && base->role <= BASE_MOMENT2)
      name = arena_printf(t->arena, "%s.%s", d->train->regions.at[base->region].name, name);
    TABLE_PUSH(t, bases,
               (PlanBase){.size_bytes = (uint64_t)base->size_bytes,
                          .kind = kind_of_role[base->role],
                          .name = table_string(t, name)});
  }
  for (int32_t i = 0; i < segment->records.count; i++)
    emit_record(t, d, &segment->records.at[i]);
}

/* ---- programs */

static int64_t call_ns(const Draft *d, const Call *call) {
  const Segment *segment = &d->segments.at[call->segment];
  int64_t total = 0;
  for (int32_t i = 0; i < segment->records.count; i++) {
    const Record *record = &segment->records.at[i];
    if ((call->flags & record->when_all) == record->when_all &&
        (call->flags & record->when_none) == 0)
      total += cost_record_ns(d, record);
  }
  return total;
}

static int64_t program_ns(const Draft *d, const Program *program) {
  int64_t total = 0;
  for (int32_t i = 0; i < program->calls.count; i++) {
    int64_t times = 1;
    for (int32_t k = 0; k < program->loops.count; k++) {
      const Loop *loop = &program->loops.at[k];
      if (i >= loop->first_call && i < loop->first_call + loop->call_count) times = loop->times;
    }
    total += times * call_ns(d, &program->calls.at[i]);
  }
  return total;
}

static void emit_call(Tables *t, const Draft *d, const Call *call) {
  int32_t bases = d->segments.at[call->segment].bases.count;
  TABLE_PUSH(t, calls,
             (PlanCall){.segment = (uint32_t)call->segment,
                        .layer = call->layer,
                        .microbatch = call->microbatch,
                        .flags = call->flags,
                        .bindings_first = (uint32_t)t->bindings.count,
                        .bindings_count = (uint32_t)bases,
                        .waits_first = (uint32_t)t->waits.count});
  for (int32_t i = 0; i < bases; i++) {
    const BufferBinding *binding = &call->bindings[i];
    TABLE_PUSH(t, bindings,
               (PlanBinding){.offset = (uint64_t)(d->buffers.at[binding->buffer].offset +
                                                  binding->offset_bytes),
                             .by = PLAN_NONE,
                             .tier = TIER_DEVICE});
  }
}

/* Returns by ProgramKind the index of the program's record, for the ledger. */
static void emit_programs(Tables *t, const Draft *d, uint32_t index[ProgramKind_COUNT]) {
  for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++) {
    const Program *program = &d->programs[kind];
    index[kind] = PLAN_NONE;
    if (!program->exists) continue;
    index[kind] = (uint32_t)t->programs.count;
    TABLE_PUSH(t, programs,
               (PlanProgram){.peak_bytes = (uint64_t)program->peak_bytes,
                             .live_bytes = (uint64_t)program->live_bytes,
                             .predicted_ns = program_ns(d, program),
                             .calls_first = (uint32_t)t->calls.count,
                             .calls_count = (uint32_t)program->calls.count,
                             .loops_first = (uint32_t)t->loops.count,
                             .loops_count = (uint32_t)program->loops.count,
                             .kind = (uint32_t)kind});
    for (int32_t i = 0; i < program->calls.count; i++)
      emit_call(t, d, &program->calls.at[i]);
    for (int32_t i = 0; i < program->loops.count; i++) {
      const Loop *loop = &program->loops.at[i];
      TABLE_PUSH(t, loops,
                 (PlanLoop){(uint32_t)loop->first_call, (uint32_t)loop->call_count,
                            (uint32_t)loop->times, 1});
    }
  }
}

/* ---- the ledger */

static void emit_buffers(Tables *t, const Draft *d, const uint32_t index[ProgramKind_COUNT]) {
  for (int32_t i = 0; i < d->buffers.count; i++) {
    const Buffer *buffer = &d->buffers.at[i];
    TABLE_PUSH(t, buffers,
               (PlanBuffer){.offset = (uint64_t)buffer->offset,
                            .size_bytes = (uint64_t)buffer->size_bytes,
                            .program = buffer->program < 0 ? PLAN_NONE : index[buffer->program],
                            .first_call = (uint32_t)buffer->first_call,
                            .last_call = (uint32_t)buffer->last_call,
                            .layer = buffer->layer,
                            .kind = buffer->kind,
                            .tier = TIER_DEVICE,
                            .name = table_string(t, buffer->name)});
  }
}

static void emit_tensor(Tables *t, const Draft *d, ParamId p, BaseRole role) {
  const Param *param = &d->train->params.at[p];
  const RegionState *state = &d->state[param->region];
  const ParamOffsets *at = &d->params[p];
  if (state->buffers[role] == NO_ID) return;
  bool stack = d->train->regions.at[param->region].is_stack;
  DType dtype = role == BASE_PARAM  ? d->train->param_dtype
                : role == BASE_GRAD ? d->train->grad_dtype
                                    : DTYPE_F32;
  int64_t block = role == BASE_PARAM  ? state->param_block_bytes
                  : role == BASE_GRAD ? state->grad_block_bytes
                                      : state->full_block_bytes;
  int64_t offset = role == BASE_PARAM ? at->param : role == BASE_GRAD ? at->grad : at->full;
  TABLE_PUSH(t, tensors,
             (PlanTensor){.offset = (uint64_t)(d->buffers.at[state->buffers[role]].offset + offset),
                          .size_bytes = (uint64_t)(param->elements * dtype_bytes(dtype)),
                          .layer_stride = (uint64_t)block,
                          .elements = param->elements,
                          .layer_first = stack ? 0 : -1,
                          .layer_count = (uint32_t)d->train->regions.at[param->region].repeat,
                          .kind = kind_of_role[role],
                          .dtype = dtype,
                          .decay = param->decay,
                          .dims_first = (uint32_t)t->ints.count,
                          .dims_count = (uint32_t)param->dim_count,
                          .name = table_string(t, param->name)});
  for (int32_t i = 0; i < param->dim_count; i++)
    TABLE_PUSH(t, ints, d->train->dims.at[param->dims[i]].size);
}

static void emit_class(Tables *t, const Draft *d) {
  uint32_t index[ProgramKind_COUNT];
  uint32_t ranks = (uint32_t)d->derived.dp;
  PlanClass class = {.arena_bytes = (uint64_t)d->arena_bytes,
                     .rank_count = ranks,
                     .name = table_string(t, "replica")};
  TABLE_PUSH(t, axes, (PlanAxis){ranks, table_string(t, "dp")});
  TABLE_PUSH(t, comms, (PlanComm){1, table_string(t, "dp")});
  class.bounds_count = 1;
  TABLE_PUSH(t, bounds, (PlanBound){0, ranks});
  emit_programs(t, d, index);
  class.programs_count = (uint32_t)t->programs.count;
  emit_buffers(t, d, index);
  class.buffers_count = (uint32_t)t->buffers.count;
  for (BaseRole role = BASE_PARAM; role <= BASE_MOMENT2; role++)
    for (ParamId p = 0; p < d->train->params.count; p++)
      emit_tensor(t, d, p, role);
  class.tensors_count = (uint32_t)t->tensors.count;
  TABLE_PUSH(t, classes, class);
}

void emit_plan(const Draft *d, int64_t parameters, Plan *plan) {
  Tables *t = ARENA_NEW(d->compile->arena, Tables);
  t->arena = d->compile->arena;
  table_string(t, "");
  emit_job(t, d, parameters);
  emit_inputs(t, d);
  emit_files(t, d);
  for (int32_t i = 0; i < d->segments.count; i++)
    emit_segment(t, d, &d->segments.at[i]);
  emit_class(t, d);
  *plan = (Plan){0};
#define PLAN_T(Type, table)                                                                        \
  plan->table = t->table.at;                                                                       \
  plan->table##_count = (uint32_t)t->table.count;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}
