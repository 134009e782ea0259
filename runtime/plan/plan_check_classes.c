/* plan_check_classes.c -- the mesh, the job, and per class of ranks: arena, ledger, programs,
 * calls. */
#include <string.h>

#include "runtime/plan/control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"
#include "runtime/plan/plan_text.h"
#include "runtime/plan/plan_why.h"

enum { STAGING_ALIGN_BYTES = 64, BINDING_ALIGN_BYTES = 8 };

static bool add_fits(uint64_t a, uint64_t b, uint64_t limit) {
  return a <= limit && b <= limit - a;
}

static bool check_box(const Plan *plan, uint32_t index, char *why) {
  const PlanClass *class = &plan->classes[index];
  if (class->bounds_count != plan->axes_count)
    return plan_refuse(why, "classes[%u]: %u bounds for %u axes", index, class->bounds_count,
                       plan->axes_count);
  uint64_t ranks = 1; /* no overflow: check_mesh bounded the product of the axes */
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    const PlanBound *bound = &plan->bounds[class->bounds_first + axis];
    if (bound->first >= bound->end || bound->end > plan->axes[axis].size)
      return plan_refuse(why, "classes[%u]: [%u..%u) is no range of axis %s", index, bound->first,
                         bound->end, plan_string(plan, plan->axes[axis].name));
    ranks *= bound->end - bound->first;
  }
  if (ranks != class->rank_count)
    return plan_refuse(why, "classes[%u]: %u ranks, but its box has %llu", index, class->rank_count,
                       (unsigned long long)ranks);
  return true;
}

/* Disjoint boxes whose sizes add up to the mesh tile it: nothing is counted rank by rank. */
bool plan_check_mesh(const Plan *plan, char *why) {
  if (plan->axes_count > AXES_MAX)
    return plan_refuse(why, "axes: %u, at most %d", plan->axes_count, AXES_MAX);
  uint64_t ranks = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    ranks *= plan->axes[i].size;
    if (ranks == 0 || ranks > INT32_MAX)
      return plan_refuse(why, "axes[%u]: the mesh has no or too many ranks", i);
  }
  uint64_t covered = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    if (!check_box(plan, i, why)) return false;
    covered += plan->classes[i].rank_count;
  }
  if (plan->classes_count == 0 || covered != ranks)
    return plan_refuse(why, "classes: cover %llu of %llu ranks", (unsigned long long)covered,
                       (unsigned long long)ranks);
  for (uint32_t i = 0; i < plan->classes_count; i++)
    for (uint32_t j = i + 1; j < plan->classes_count; j++)
      if (plan_classes_meet(plan, &plan->classes[i], &plan->classes[j], UINT32_MAX))
        return plan_refuse(why, "classes[%u] and classes[%u] share ranks", i, j);
  for (uint32_t i = 0; i < plan->comms_count; i++)
    if (((uint64_t)plan->comms[i].axes_mask >> plan->axes_count) != 0)
      return plan_refuse(why, "comms[%u]: axes 0x%x, the mesh has %u", i, plan->comms[i].axes_mask,
                         plan->axes_count);
  uint32_t state_axes = job_state_axes(plan);
  if (((uint64_t)state_axes >> plan->axes_count) != 0)
    return plan_refuse(why, "plan.state_axes: 0x%x, the mesh has %u axes", state_axes,
                       plan->axes_count);
  return true;
}

/* At most one tier of each kind; device memory, where parameters are, is required. */
static bool check_tiers(const Plan *plan, char *why) {
  if (plan_tier(plan, TIER_DEVICE) == PLAN_NONE)
    return plan_refuse(why, "tiers: there is no device memory");
  for (uint32_t i = 0; i < plan->tiers_count; i++) {
    uint64_t unit = plan->tiers[i].alignment_bytes;
    if (plan_tier(plan, (Tier)plan->tiers[i].kind) != i)
      return plan_refuse(why, "tiers[%u]: a second one of kind %s", i,
                         Tier_names[plan->tiers[i].kind]);
    if (unit < PLAN_ALIGN_BYTES || (unit & (unit - 1)) != 0 || plan->tiers[i].shared > 1)
      return plan_refuse(why, "tiers[%u]: alignment %llu, shared %u", i, (unsigned long long)unit,
                         plan->tiers[i].shared);
    if ((plan->tiers[i].kind == TIER_FILE) != (*plan_string(plan, plan->tiers[i].path) != '\0'))
      return plan_refuse(why, "tiers[%u]: files, and they alone, have a directory", i);
  }
  return true;
}

static bool check_lanes(const Plan *plan, char *why) {
  uint32_t main_lanes = 0;
  for (uint32_t i = 0; i < plan->lanes_count; i++) {
    main_lanes += plan->lanes[i].priority == 0;
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(plan_lane_name(plan, i), plan_lane_name(plan, k)) == 0)
        return plan_refuse(why, "lanes[%u]: '%s' is lanes[%u]", i, plan_lane_name(plan, i), k);
  }
  if (plan->lanes_count > PLAN_LANES_MAX)
    return plan_refuse(why, "lanes: %u, at most %d", plan->lanes_count, PLAN_LANES_MAX);
  return main_lanes == 1 || plan_refuse(why, "lanes: %u have priority 0, one must", main_lanes);
}

/* The host writes only into memory that it can access. */
static bool check_staging_tier(const Plan *plan, char *why) {
  bool is_reached = job_staging_tier(plan) == TIER_HOST ||
                    (job_staging_tier(plan) == TIER_DEVICE && job_target(plan) == TARGET_CPU);
  return is_reached ||
         plan_refuse(why, "plan.staging_tier: data are staged in %s memory of %s",
                     Tier_names[job_staging_tier(plan)], Target_names[job_target(plan)]);
}

bool plan_check_job(const Plan *plan, char *why) {
  if (!check_tiers(plan, why) || !check_lanes(plan, why) || !check_staging_tier(plan, why))
    return false;
  uint64_t staged = 0;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    uint64_t bytes = (uint64_t)dtype_bytes((DType)input->dtype);
    if (input->sample_elements < 1 ||
        __builtin_mul_overflow(bytes, (uint64_t)input->sample_elements, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)job_microbatch_samples(plan), &bytes) ||
        !add_fits(bytes, STAGING_ALIGN_BYTES, UINT64_MAX))
      return plan_refuse(why, "inputs[%u]: %lld elements a sample", i,
                         (long long)input->sample_elements);
    bytes = (bytes + STAGING_ALIGN_BYTES - 1) / STAGING_ALIGN_BYTES * STAGING_ALIGN_BYTES;
    if (__builtin_add_overflow(staged, bytes, &staged))
      return plan_refuse(why, "inputs: do not fit in memory");
  }
  if (staged != job_sample_bytes(plan))
    return plan_refuse(why, "plan.sample_bytes: %llu, but the inputs have %llu",
                       (unsigned long long)job_sample_bytes(plan), (unsigned long long)staged);
  return true;
}

/* An offset and its tier fit into one number: plan_address. */
static bool check_arenas(const Plan *plan, uint32_t index, char *why) {
  const PlanClass *class = &plan->classes[index];
  if (class->arenas_count != plan->tiers_count)
    return plan_refuse(why, "classes[%u]: %u arenas in %u tiers", index, class->arenas_count,
                       plan->tiers_count);
  for (uint32_t i = 0; i < class->arenas_count; i++)
    if (plan->arenas[class->arenas_first + i].size_bytes >> PLAN_TIER_SHIFT != 0)
      return plan_refuse(why, "classes[%u]: its %s arena is too large", index,
                         Tier_names[plan->tiers[i].kind]);
  return true;
}

static bool check_staging(const Plan *plan, uint32_t index, char *why) {
  const PlanClass *class = &plan->classes[index];
  uint64_t staged = plan_arena_bytes(plan, class, (Tier)job_staging_tier(plan)), step = 0, ring = 0;
  if (__builtin_mul_overflow(job_sample_bytes(plan), (uint64_t)job_accumulation(plan), &step) ||
      __builtin_mul_overflow(step, (uint64_t)job_prefetch_steps(plan), &ring) ||
      job_staging_offset(plan) % STAGING_ALIGN_BYTES != 0 ||
      !add_fits(job_staging_offset(plan), ring, staged))
    return plan_refuse(why, "classes[%u]: the staging ring does not lie in its arena", index);
  bool apart = job_staging_tier(plan) != TIER_DEVICE;
  if (apart ? job_samples_offset(plan) % STAGING_ALIGN_BYTES != 0 ||
                  !add_fits(job_samples_offset(plan), step,
                            plan_arena_bytes(plan, class, TIER_DEVICE))
            : job_samples_offset(plan) != job_staging_offset(plan))
    return plan_refuse(why, "classes[%u]: the samples of a step do not lie in its arena", index);
  return true;
}

static bool check_fixed_places(const Plan *plan, uint32_t index, char *why) {
  const PlanClass *class = &plan->classes[index];
  uint64_t staged = plan_arena_bytes(plan, class, (Tier)job_staging_tier(plan));
  uint64_t pairs = 0;
  if (job_control_offset(plan) % 8 != 0 ||
      !add_fits(job_control_offset(plan), job_control_bytes(plan),
                plan_arena_bytes(plan, class, TIER_DEVICE)))
    return plan_refuse(why, "classes[%u]: the control block does not lie in its arena", index);
  if (__builtin_mul_overflow(job_control_bytes(plan), 2 * (uint64_t)job_control_depth(plan),
                             &pairs) ||
      job_control_ring_offset(plan) % 8 != 0 ||
      !add_fits(job_control_ring_offset(plan), pairs, staged))
    return plan_refuse(why, "classes[%u]: the ring of control does not lie in its arena", index);
  return check_staging(plan, index, why);
}

static bool check_tensor(const Plan *plan, const PlanClass *class, uint32_t index, char *why) {
  const PlanTensor *tensor = &plan->tensors[index];
  const char *name = plan_string(plan, tensor->name);
  uint64_t arena_bytes = plan_arena_bytes(plan, class, (Tier)tensor->tier), bytes = 0, shift = 0;
  if (tensor->layer_count == 0 || tensor->layer_first < -1 ||
      (tensor->layer_first == -1 && tensor->layer_count != 1) ||
      (int64_t)tensor->layer_first + tensor->layer_count > INT32_MAX)
    return plan_refuse(why, "tensors[%u] %s: layers %d + %u", index, name, tensor->layer_first,
                       tensor->layer_count);
  if (tensor->elements < 1 ||
      __builtin_mul_overflow((uint64_t)tensor->elements,
                             (uint64_t)dtype_bytes((DType)tensor->dtype), &bytes) ||
      bytes > tensor->size_bytes)
    return plan_refuse(why, "tensors[%u] %s: %lld elements in %llu bytes", index, name,
                       (long long)tensor->elements, (unsigned long long)tensor->size_bytes);
  if (__builtin_mul_overflow(tensor->layer_stride, (uint64_t)tensor->layer_count - 1, &shift) ||
      !add_fits(tensor->offset, shift, arena_bytes) ||
      !add_fits(tensor->offset + shift, tensor->size_bytes, arena_bytes))
    return plan_refuse(why, "tensors[%u] %s: outside the arena", index, name);
  if (tensor->layer_count > 1 && tensor->layer_stride < tensor->size_bytes)
    return plan_refuse(why, "tensors[%u] %s: its layers overlap", index, name);
  if (tensor->offset % BINDING_ALIGN_BYTES != 0 || tensor->layer_stride % BINDING_ALIGN_BYTES != 0)
    return plan_refuse(why, "tensors[%u] %s: not aligned to %d bytes", index, name,
                       BINDING_ALIGN_BYTES);
  return true;
}

static bool check_buffer(const Plan *plan, const PlanClass *class, uint32_t index, char *why) {
  const PlanBuffer *buffer = &plan->buffers[index];
  const char *name = plan_string(plan, buffer->name);
  if (!add_fits(buffer->offset, buffer->size_bytes,
                plan_arena_bytes(plan, class, (Tier)buffer->tier)))
    return plan_refuse(why, "buffers[%u] %s: outside the %s arena", index, name,
                       Tier_names[buffer->tier]);
  if (buffer->program == PLAN_NONE) return true;
  if (buffer->program < class->programs_first ||
      buffer->program - class->programs_first >= class->programs_count)
    return plan_refuse(why, "buffers[%u] %s: programs[%u] is of another class", index, name,
                       buffer->program);
  if (buffer->first_call > buffer->last_call ||
      buffer->last_call >= plan->programs[buffer->program].calls_count)
    return plan_refuse(why, "buffers[%u] %s: used from call %u to %u of %u", index, name,
                       buffer->first_call, buffer->last_call,
                       plan->programs[buffer->program].calls_count);
  return true;
}

/* Bindings of all ranks of the class, with the whole base, must lie in the arena. */
static bool check_binding(const Plan *plan, const PlanClass *class, const PlanBinding *binding,
                          uint64_t size_bytes) {
  uint64_t arena_bytes = plan_arena_bytes(plan, class, (Tier)binding->tier);
  if (binding->offset % BINDING_ALIGN_BYTES != 0 ||
      binding->member_stride % BINDING_ALIGN_BYTES != 0)
    return false;
  if (binding->by == PLAN_NONE)
    return binding->member_stride == 0 && add_fits(binding->offset, size_bytes, arena_bytes);
  const uint32_t ends[2] = {0, plan_comm_size(plan, binding->by) - 1};
  for (int i = 0; i < 2; i++) {
    int64_t shift = 0, offset = 0;
    if (binding->offset > INT64_MAX ||
        __builtin_mul_overflow((int64_t)ends[i], binding->member_stride, &shift) ||
        __builtin_add_overflow((int64_t)binding->offset, shift, &offset) || offset < 0 ||
        !add_fits((uint64_t)offset, size_bytes, arena_bytes))
      return false;
  }
  return true;
}

/* The loop that holds a call, or NULL. Loops are few and in order. */
static const PlanLoop *find_loop(const Plan *plan, const PlanProgram *program, uint32_t call) {
  for (uint32_t i = 0; i < program->loops_count; i++) {
    const PlanLoop *loop = &plan->loops[program->loops_first + i];
    if (call >= loop->first_call && call - loop->first_call < loop->call_count) return loop;
  }
  return NULL;
}

/* An edge from an earlier run of a program of the class. */
static bool check_wait_across(const Plan *plan, const PlanClass *class, const PlanProgram *program,
                              uint32_t index, char *why) {
  const PlanWait *wait = &plan->waits[index];
  const PlanProgram *other = plan_program(plan, class, (ProgramKind)wait->program);
  if (wait->run_back != 1 || wait->iteration_back > 0)
    return plan_refuse(why, "waits[%u]: an edge from %s to %s is to its latest run", index,
                       ProgramKind_names[program->kind], ProgramKind_names[wait->program]);
  if (other == NULL || wait->call >= other->calls_count)
    return plan_refuse(why, "waits[%u]: class %s has no call %u of %s", index,
                       plan_string(plan, class->name), wait->call,
                       ProgramKind_names[wait->program]);
  const PlanCall *call = &plan->calls[other->calls_first + wait->call];
  if (wait->record >= plan->segments[call->segment].records_count)
    return plan_refuse(why, "waits[%u]: call %u has no record %u", index, wait->call, wait->record);
  return true;
}

static bool check_wait(const Plan *plan, const PlanClass *class, const PlanProgram *program,
                       uint32_t position, uint32_t index, char *why) {
  const PlanWait *wait = &plan->waits[index];
  bool earlier = wait->call < position;
  if (wait->run_back > 0 || wait->program != program->kind)
    return check_wait_across(plan, class, program, index, why);
  if (wait->iteration_back > 0) {
    const PlanLoop *loop = find_loop(plan, program, position);
    earlier = loop != NULL && wait->iteration_back < loop->times &&
              wait->call >= loop->first_call && wait->call - loop->first_call < loop->call_count;
  }
  if (!earlier)
    return plan_refuse(why, "waits[%u]: call %u is not before call %u", index, wait->call,
                       position);
  const PlanCall *call = &plan->calls[program->calls_first + wait->call];
  if (wait->record >= plan->segments[call->segment].records_count)
    return plan_refuse(why, "waits[%u]: call %u has no record %u", index, wait->call, wait->record);
  return true;
}

/* A transfer is alone in its segment: plan_check_segments. */
static bool check_posts(const Plan *plan, uint32_t index, char *why) {
  const PlanCall *call = &plan->calls[index];
  const PlanSegment *segment = &plan->segments[call->segment];
  const PlanRecord *first = &plan->records[segment->records_first];
  bool transfers_all = segment->records_count == 1 && first->purpose == PURPOSE_TRANSFER;
  uint32_t transfers = transfers_all ? first->operands_count : 0;
  if (call->posts_count != transfers)
    return plan_refuse(why, "calls[%u]: %u posts for the %u operands of its transfers", index,
                       call->posts_count, transfers);
  for (uint32_t i = 0; i < call->posts_count; i++) {
    const PlanPost *post = &plan->posts[call->posts_first + i];
    if (post->kind != BUFFER_ACTIVATION && post->kind != BUFFER_GRAD_ACTIVATION)
      return plan_refuse(why, "posts[%u]: %s do not go between stages", call->posts_first + i,
                         BufferKind_names[post->kind]);
  }
  return true;
}

/* The staging ring holds the micro-batches of a step, or the one of an evaluation; other programs
 * have no samples to load. */
static bool check_loads(const Plan *plan, const PlanProgram *program, uint32_t position,
                        char *why) {
  const uint32_t index = program->calls_first + position;
  const PlanCall *call = &plan->calls[index];
  const PlanSegment *segment = &plan->segments[call->segment];
  const PlanLoop *loop = find_loop(plan, program, position);
  const int64_t grown = loop == NULL ? 0 : (loop->times - 1) * (int64_t)loop->microbatch_stride;
  const bool is_pass = program->kind == PROGRAM_EVAL_STEP || program->kind == PROGRAM_PREFILL ||
                       program->kind == PROGRAM_DECODE;
  const int64_t staged =
      program->kind == PROGRAM_TRAIN_STEP ? job_accumulation(plan) : (int64_t)is_pass;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (record->kind != RECORD_LOAD || !plan_runs(call, record)) continue;
    const int64_t microbatch = call->microbatch < 0 ? 0 : call->microbatch + grown;
    if (microbatch >= staged)
      return plan_refuse(why, "calls[%u]: %s loads micro-batch %lld in %s, which has %lld", index,
                         plan_string(plan, segment->name), (long long)microbatch,
                         ProgramKind_names[program->kind], (long long)staged);
  }
  return true;
}

static bool check_call(const Plan *plan, const PlanClass *class, const PlanProgram *program,
                       uint32_t position, char *why) {
  uint32_t index = program->calls_first + position;
  const PlanCall *call = &plan->calls[index];
  const PlanSegment *segment = &plan->segments[call->segment];
  const char *name = plan_string(plan, segment->name);
  if (call->layer < -1 || call->microbatch < -1)
    return plan_refuse(why, "calls[%u]: layer %d, microbatch %d", index, call->layer,
                       call->microbatch);
  if (call->bindings_count != segment->bases_count)
    return plan_refuse(why, "calls[%u]: binds %u of the %u bases of %s", index,
                       call->bindings_count, segment->bases_count, name);
  for (uint32_t i = 0; i < segment->bases_count; i++) {
    const PlanBase *base = &plan->bases[segment->bases_first + i];
    const PlanBinding *binding = &plan->bindings[call->bindings_first + i];
    if (!check_binding(plan, class, binding, base->size_bytes))
      return plan_refuse(why, "calls[%u]: base %s of %s is bound outside the arena or unaligned",
                         index, plan_string(plan, base->name), name);
  }
  for (uint32_t i = 0; i < call->waits_count; i++)
    if (!check_wait(plan, class, program, position, call->waits_first + i, why)) return false;
  return check_loads(plan, program, position, why) && plan_check_fusions(plan, call, why) &&
         check_posts(plan, index, why) && plan_check_reach(plan, call, why);
}

/* The call's micro-batch and those of its posts, after the loop has added `growth`. */
static bool microbatches_fit(const Plan *plan, const PlanCall *call, int64_t growth) {
  if (call->microbatch > INT32_MAX - growth) return false;
  for (uint32_t i = 0; i < call->posts_count; i++)
    if (plan->posts[call->posts_first + i].microbatch > INT32_MAX - growth) return false;
  return true;
}

static bool check_loops(const Plan *plan, const PlanProgram *program, char *why) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < program->loops_count; i++) {
    uint32_t index = program->loops_first + i;
    const PlanLoop *loop = &plan->loops[index];
    if (loop->first_call < end || loop->call_count == 0 || loop->times == 0 ||
        (uint64_t)loop->first_call + loop->call_count > program->calls_count)
      return plan_refuse(why, "loops[%u]: calls %u + %u, %u times", index, loop->first_call,
                         loop->call_count, loop->times);
    end = loop->first_call + loop->call_count;
    int64_t growth = 0;
    if (__builtin_mul_overflow((int64_t)loop->times, (int64_t)loop->microbatch_stride, &growth) ||
        growth > INT32_MAX)
      return plan_refuse(why, "loops[%u]: micro-batch numbers overflow", index);
    for (uint32_t c = loop->first_call; c < end; c++)
      if (!microbatches_fit(plan, &plan->calls[program->calls_first + c], growth))
        return plan_refuse(why, "loops[%u]: micro-batch numbers overflow", index);
  }
  return true;
}

/* True if two records may be one launch: the kernel's shared arguments are equal. */
static bool are_alike(const Plan *plan, const PlanRecord *a, const PlanRecord *b) {
  if (a->kind != RECORD_KERNEL || a->after_count > 0 || a->kernel != b->kernel ||
      a->lane != b->lane || a->accumulate != b->accumulate ||
      a->operands_count != b->operands_count || a->controls_count != b->controls_count)
    return false;
  for (uint32_t i = 0; i < a->operands_count; i++)
    if (plan->operands[a->operands_first + i].dtype != plan->operands[b->operands_first + i].dtype)
      return false;
  for (uint32_t i = 0; i < a->controls_count; i++)
    if (plan->controls[a->controls_first + i].slot != plan->controls[b->controls_first + i].slot)
      return false;
  return true;
}

/* False: the call waits for one of the launch, or a record of it is unlike the first. `first`: NULL
 * before any. */
static bool check_launched(const Plan *plan, const PlanCall *call, const PlanLaunch *launch,
                           const PlanRecord **first) {
  const PlanSegment *segment = &plan->segments[call->segment];
  for (uint32_t i = 0; i < call->waits_count; i++) {
    const PlanWait *wait = &plan->waits[call->waits_first + i];
    if (wait->run_back == 0 && wait->call >= launch->first_call) return false;
  }
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(call, record)) continue;
    if (*first == NULL) *first = record;
    if (!are_alike(plan, record, *first)) return false;
  }
  return true;
}

static bool check_launches(const Plan *plan, const PlanProgram *program, char *why) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < program->launches_count; i++) {
    uint32_t index = program->launches_first + i;
    const PlanLaunch *launch = &plan->launches[index];
    const PlanRecord *first = NULL;
    if (launch->first_call < end || launch->call_count == 0 ||
        (uint64_t)launch->first_call + launch->call_count > program->calls_count)
      return plan_refuse(why, "launches[%u]: calls %u + %u", index, launch->first_call,
                         launch->call_count);
    end = launch->first_call + launch->call_count;
    for (uint32_t c = launch->first_call; c < end; c++)
      if (find_loop(plan, program, c) != NULL ||
          !check_launched(plan, &plan->calls[program->calls_first + c], launch, &first))
        return plan_refuse(why, "launches[%u]: call %u cannot run with those before it", index, c);
  }
  return true;
}

/* Each at most once, and in sum no more than the whole. */
static bool check_parts(const Plan *plan, const PlanProgram *program, char *why) {
  int64_t left_ns = program->predicted_ns;
  for (uint32_t i = program->parts_first; i < program->parts_first + program->parts_count; i++) {
    const PlanPart *part = &plan->parts[i];
    if (part->predicted_ns < 0 || part->predicted_ns > left_ns)
      return plan_refuse(why, "parts[%u]: %lld ns of %lld that are left", i,
                         (long long)part->predicted_ns, (long long)left_ns);
    if (part->axis != PLAN_NONE && part->kind != PART_EXPOSED)
      return plan_refuse(why, "parts[%u]: %s over an axis", i, PartKind_names[part->kind]);
    for (uint32_t before = program->parts_first; before < i; before++)
      if (plan->parts[before].kind == part->kind && plan->parts[before].axis == part->axis)
        return plan_refuse(why, "parts[%u]: a second one", i);
    left_ns -= part->predicted_ns;
  }
  return true;
}

static bool check_program(const Plan *plan, const PlanClass *class, uint32_t index, char *why) {
  const PlanProgram *program = &plan->programs[index];
  if (program->peaks_count != plan->tiers_count)
    return plan_refuse(why, "programs[%u]: %u peaks in %u tiers", index, program->peaks_count,
                       plan->tiers_count);
  if (!check_parts(plan, program, why) || !check_loops(plan, program, why)) return false;
  for (uint32_t i = 0; i < program->calls_count; i++)
    if (!check_call(plan, class, program, i, why)) return false;
  return check_launches(plan, program, why);
}

bool plan_check_classes(const Plan *plan, char *why) {
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanClass *class = &plan->classes[c];
    if (!check_arenas(plan, c, why) || !check_fixed_places(plan, c, why)) return false;
    for (uint32_t i = 0; i < class->tensors_count; i++)
      if (!check_tensor(plan, class, class->tensors_first + i, why)) return false;
    for (uint32_t i = 0; i < class->buffers_count; i++)
      if (!check_buffer(plan, class, class->buffers_first + i, why)) return false;
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < class->programs_count; i++) {
      uint32_t bit = 1u << plan->programs[class->programs_first + i].kind;
      if (kinds & bit) return plan_refuse(why, "classes[%u]: two programs of one kind", c);
      kinds |= bit;
      if (!check_program(plan, class, class->programs_first + i, why)) return false;
    }
  }
  return true;
}
