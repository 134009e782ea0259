#include "tests/parity/models/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bf16.h"
#include "runtime/schedule.h"

static bool say(const Status *status) {
  printf("%s\n", status->text);
  return false;
}

static bool load(void *context, void *const *operand, const int64_t *bytes, int32_t count,
                 Status *status) {
  (void)bytes, (void)status;
  Trainer *trainer = context;
  int64_t rows = trainer->plan->jobs[0].microbatch_samples;
  for (int32_t i = 0; i < count; i++) {
    const PlanInput *input = &trainer->plan->inputs[i];
    int64_t row_bytes = input->sample_elements * dtype_bytes((DType)input->dtype);
    for (int64_t row = 0; row < rows; row++)
      trainer->input(trainer->input_context, trainer->step, trainer->load * rows + row, input,
                     plan_string(trainer->plan, input->name), (char *)operand[i] + row * row_bytes);
  }
  trainer->load++;
  return true;
}

static void set_control(Trainer *trainer) {
  const PlanJob *job = &trainer->plan->jobs[0];
  *trainer->replay.control = (Control){
      .lr = schedule_lr(job, trainer->step),
      .clip_scale = 1.0,
      .step = trainer->step,
      .seed = job->seed,
  };
}

bool trainer_open(Trainer *trainer, const Plan *plan, KernelVariant variant, TrainerInput *input,
                  void *input_context) {
  *trainer = (Trainer){.plan = plan, .input = input, .input_context = input_context};
  Status status = {0};
  if (!mesh_read(&trainer->mesh, plan, &status)) return say(&status);
  const PlanClass *class = mesh_class(&trainer->mesh, plan, 0);
  trainer->threads = threads_new((int32_t)plan->jobs[0].threads, -1);
  trainer->world = local_world_new(plan, &trainer->mesh, (int32_t)plan->jobs[0].threads);
  if (!class || !trainer->threads || !trainer->world) return false;
  if (!arena_open(&trainer->arena, plan_arena_bytes(plan, class, TIER_DEVICE), &status))
    return say(&status);
  ReplaySetup setup = {
      .plan = plan,
      .mesh = &trainer->mesh,
      .arena = {trainer->arena.base},
      .comm = local_comm(trainer->world, 0, trainer->threads),
      .threads = trainer->threads,
      .kernels = {kernels_of(variant)},
      .load = load,
      .load_context = trainer,
  };
  if (!replay_bind(&trainer->replay, &setup, &status)) return say(&status);
  set_control(trainer);
  const PlanProgram *init = replay_program(&trainer->replay, PROGRAM_INIT);
  return replay_run(&trainer->replay, init, &status) || say(&status);
}

void trainer_close(Trainer *trainer) {
  replay_free(&trainer->replay);
  arena_close(&trainer->arena);
  local_world_free(trainer->world);
  threads_free(trainer->threads);
}

bool trainer_step(Trainer *trainer) {
  Status status = {0};
  trainer->step++;
  trainer->load = 0;
  set_control(trainer);
  const PlanProgram *train = replay_program(&trainer->replay, PROGRAM_TRAIN_STEP);
  return replay_run(&trainer->replay, train, &status) || say(&status);
}

double trainer_loss(const Trainer *trainer) {
  const double *reduce = trainer->replay.control->reduce;
  return reduce[REDUCE_LOSS] / reduce[REDUCE_COUNT];
}

double trainer_norm(const Trainer *trainer) {
  return trainer->replay.control->grad_norm;
}

static void name_of_layer(char *out, size_t size, const char *name, uint32_t layer) {
  const char *star = strchr(name, '*');
  if (star)
    (void)snprintf(out, size, "%.*s%u%s", (int)(star - name), name, layer, star + 1);
  else
    (void)snprintf(out, size, "%s", name);
}

static void visit_layer(uint8_t *at, bool is_bf16, int64_t count, const char *name,
                        TrainerVisit *visit, void *context) {
  float *values = malloc((size_t)count * sizeof *values);
  if (!values) abort();
  uint16_t *narrow = (uint16_t *)(void *)at;
  if (is_bf16)
    for (int64_t i = 0; i < count; i++)
      values[i] = bf16_to_float(narrow[i]);
  else
    memcpy(values, at, (size_t)count * sizeof *values);
  visit(context, name, count, values);
  if (is_bf16)
    for (int64_t i = 0; i < count; i++)
      narrow[i] = bf16_from_float(values[i]);
  else
    memcpy(at, values, (size_t)count * sizeof *values);
  free(values);
}

void trainer_each(Trainer *trainer, BufferKind kind, TrainerVisit *visit, void *context) {
  const Plan *plan = trainer->plan;
  const PlanClass *class = trainer->replay.class;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    for (uint32_t layer = 0; tensor->kind == kind && layer < tensor->layer_count; layer++) {
      char name[256];
      name_of_layer(name, sizeof name, plan_string(plan, tensor->name), layer);
      uint8_t *at = trainer->arena.base + tensor->offset + layer * tensor->layer_stride;
      hostile_allow(&trainer->replay.hostile, at, tensor->size_bytes);
      visit_layer(at, tensor->dtype == DTYPE_BF16, tensor->elements, name, visit, context);
      hostile_forbid(&trainer->replay.hostile, at, tensor->size_bytes);
    }
  }
}
