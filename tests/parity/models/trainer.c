#include "tests/parity/models/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/math/bf16.h"
#include "runtime/data/samples.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"

static bool say(const Status *status) {
  printf("%s\n", status->text);
  return false;
}

/* A micro-batch, as it is staged; counts the targets of each loss. */
static void fill(const Trainer *trainer, int64_t load, char *staged, LossTargets *targets) {
  const Samples samples = {.plan = trainer->plan,
                           .may_lack_targets = plan_slot(trainer->plan, CONTROL_targets) != NULL,
                           .losses = plan_losses(trainer->plan)};
  int64_t rows = job_microbatch_samples(trainer->plan);
  for (uint32_t i = 0; i < trainer->plan->inputs_count; i++) {
    const PlanInput *input = &trainer->plan->inputs[i];
    int64_t row_bytes = input->sample_elements * dtype_bytes((DType)input->dtype);
    char *at = staged + samples_input_offset(trainer->plan, i);
    for (int64_t row = 0; row < rows; row++)
      trainer->input(trainer->input_context, trainer->step, load * rows + row, input,
                     plan_string(trainer->plan, input->name), at + row * row_bytes);
  }
  for (int64_t row = 0; row < rows; row++)
    samples_targets(&samples, (const uint8_t *)staged, row, targets->of);
}

static bool run(Trainer *trainer, ProgramKind kind) {
  Control in = {.lr = schedule_lr(trainer->plan, trainer->step),
                .step = trainer->step,
                .seed = job_seed(trainer->plan)};
  char *samples = calloc((size_t)job_accumulation(trainer->plan), job_sample_bytes(trainer->plan));
  LossTargets targets = {0};
  if (!samples) return false;
  for (int64_t load = 0; kind == PROGRAM_TRAIN_STEP && load < job_accumulation(trainer->plan);
       load++)
    fill(trainer, load, samples + load * (int64_t)job_sample_bytes(trainer->plan), &targets);
  loss_targets_set(&in, &targets, plan_losses(trainer->plan).count);
  Status status = {0};
  bool ran = replay_run(&trainer->replay, replay_program(&trainer->replay, kind), &in, samples,
                        &trainer->left, &status);
  free(samples);
  return ran || say(&status);
}

bool trainer_open(Trainer *trainer, const Plan *plan, KernelVariant variant, TrainerInput *input,
                  void *input_context) {
  *trainer = (Trainer){.plan = plan, .input = input, .input_context = input_context};
  Status status = {0};
  if (!mesh_read(&trainer->mesh, plan, &status)) return say(&status);
  const PlanClass *class = mesh_class(&trainer->mesh, plan, 0);
  trainer->threads = threads_new((int32_t)job_threads(plan), NULL);
  trainer->world = local_world_new(plan, &trainer->mesh, (int32_t)job_threads(plan));
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
  };
  if (!replay_bind(&trainer->replay, &setup, &status)) return say(&status);
  return run(trainer, PROGRAM_INIT);
}

void trainer_close(Trainer *trainer) {
  replay_free(&trainer->replay);
  arena_close(&trainer->arena);
  local_world_free(trainer->world);
  threads_free(trainer->threads);
}

bool trainer_step(Trainer *trainer) {
  trainer->step++;
  return run(trainer, PROGRAM_TRAIN_STEP);
}

double trainer_loss(const Trainer *trainer) {
  const PlanLosses losses = plan_losses(trainer->plan);
  LossSums sums = {0};
  loss_sums_add(&sums, &trainer->left.control, losses.count);
  return loss_total(&losses, &sums);
}

double trainer_norm(const Trainer *trainer) {
  return trainer->left.control.grad_norm;
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
