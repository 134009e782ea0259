/* export.c -- see export.h: what the tools' files share, and what they leave untold. */
#include "compiler/job/import/export.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/settings.h"

const char *const export_tools = "deepspeed accelerate trainer torchtitan megatron";

/* ---- entries */

void entry_put(Config *x, const char *key, const char *value) {
  ConfigEntry entry = {key, value};
  VEC_PUSH(x->arena, &x->entries, entry);
}

void entry_word(Config *x, const char *key, const char *text) {
  char *quoted = NULL;
  size_t size;
  FILE *out = open_memstream(&quoted, &size);
  if (out == NULL) return;
  print_json_text(text, out);
  fclose(out);
  entry_put(x, key, arena_copy(x->arena, quoted));
  free(quoted);
}

void entry_number(Config *x, const char *key, double number) {
  entry_put(x, key, lua_number(x->arena, number));
}

void entry_says(Config *x, const char *ours) {
  VEC_PUSH(x->arena, &x->told.list, ours);
}

static bool is_told(const Config *x, const char *ours) {
  for (int32_t i = 0; i < x->told.list.count; i++)
    if (strcmp(x->told.list.at[i], ours) == 0) return true;
  for (int32_t i = 0; i < x->untold.count; i++)
    if (strcmp(x->untold.at[i].key, ours) == 0) return true;
  return false;
}

void entry_ours(Config *x, const char *ours, double number) {
  entry_number(x, pair_key(x->tool, ours), number);
  entry_says(x, ours);
}

bool entry_ours_word(Config *x, const char *ours, const char *value) {
  const char *key = pair_key(x->tool, ours), *word = pair_word(x->tool, key, value);
  if (!word) return false;
  entry_word(x, key, word);
  entry_says(x, ours);
  return true;
}

bool job_says(const Config *x, int32_t field) {
  return field_is_said(x->job, field);
}

/* ---- what has no entry */

void untold_of(Config *x, const char *ours, const char *value, const char *why) {
  Untold row = {ours, value, why};
  if (!is_told(x, ours)) VEC_PUSH(x->arena, &x->untold, row);
}

/* The value as the record of a run has it. */
static const char *value_text(const Config *x, const ResolvedKey *setting) {
  switch (setting->kind) {
  case SETTING_COUNT:
    return arena_printf(x->arena, "%lld%s%s", (long long)setting->count, *setting->text ? " " : "",
                        setting->text);
  case SETTING_REAL:
    return arena_printf(x->arena, "%s%s%s", lua_number(x->arena, setting->real),
                        *setting->text ? " " : "", setting->text);
  case SETTING_FLAG: return setting->count ? "true" : "false";
  case SETTING_TEXT: return setting->text;
  default: return NULL;
  }
}

void untold(Config *x, const char *ours, const char *why) {
  SettingList all = spec_settings(x->arena, x->job, x->derived);
  const char *value = NULL;
  for (int32_t i = 0; i < all.count; i++)
    if (strcmp(all.at[i].key, ours) == 0) value = value_text(x, &all.at[i]);
  untold_of(x, ours, value, why);
}

/* Why a key has no entry. The longest path that the key begins with; tool "": every tool. */
static const struct {
  const char *tool, *path, *why;
} reasons[] = {
    {"", "model", "the model is the script's"},
    {"", "data", "the script reads its own data"},
    {"", "train.batch", "the script's data loader sets the batch"},
    {"", "train.microbatch", "the script's data loader sets the batch"},
    {"", "train.context", "the length of sequences is that of the script's data"},
    {"", "train.steps", "the script ends the loop"},
    {"", "train.seed", "the script seeds itself"},
    {"", "train.deterministic", "the script asks for deterministic kernels, or not"},
    {"", "train.validate", "the script validates when it does"},
    {"", "optimizer", "the script makes the optimizer"},
    {"", "schedule", "the script sets the rate"},
    {"deepspeed", "schedule", "it has no such schedule: the rate is what the script sets"},
    {"", "precision", "it has no such setting, and its own default holds"},
    {"", "precision.param", "weights are fp32, and are rounded for each use"},
    {"", "precision.master", "the optimizer has the weights in fp32"},
    {"", "precision.update", "updates of fp32 weights round to nearest"},
    {"", "precision.moments", "moments are fp32"},
    {"", "precision.linear", "linear layers multiply what the activations are"},
    {"", "precision.grad", "gradients are what its own settings make them"},
    {"", "precision.loss_scale", "its own scaler moves the scale"},
    {"", "parallel.tp", "every rank has whole matrices"},
    {"", "parallel.cp", "every rank has whole sequences"},
    {"", "parallel.pp", "every rank has all layers"},
    {"", "parallel.sequence", "norms and residuals are whole on every rank"},
    {"", "parallel.pipeline", "micro-batches go through stages in its own order"},
    {"", "parallel.zero_group", "all ranks of dp share states"},
    {"", "parallel.zero_prefetch", "it gathers ahead as it decides"},
    {"", "parallel.zero_unit", "it gathers what the script wraps"},
    {"", "parallel.zero_reduce", "gradients leave a rank when it decides"},
    {"", "parallel.zero_keep", "small parameters are sharded as it decides"},
    {"", "parallel.bucket", "its buckets have their own size"},
    {"", "parallel.order", "ranks are neighbours in its own order"},
    {"", "parallel.stages", "it divides layers over stages by itself"},
    {"", "parallel", "it has no such setting, and its own default holds"},
    {"", "memory.recompute", "the script wraps the layers that it recomputes"},
    {"", "memory", "its allocator takes what it needs"},
    {"", "offload", "it keeps that in device memory"},
    {"", "checkpoint", "the script saves when it does"},
    {"", "log", "the script writes what it does"},
};

static const char *reason_for(const Config *x, const char *path) {
  const char *why = "it has no such setting";
  size_t longest = 0;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    size_t length = strlen(reasons[i].path);
    bool is_for = !*reasons[i].tool || strcmp(reasons[i].tool, x->tool) == 0;
    if (!is_for || length < longest || strncmp(path, reasons[i].path, length) != 0) continue;
    longest = length;
    why = reasons[i].why;
  }
  return why;
}

/* Keys that change what is trained, or how ranks share it: told whether the job says them or not.
 */
static const int32_t core[] = {FIELD_train_batch,  FIELD_train_microbatch, FIELD_train_context,
                               FIELD_train_steps,  FIELD_train_seed,       FIELD_parallel_tp,
                               FIELD_parallel_cp,  FIELD_parallel_pp,      FIELD_parallel_zero,
                               FIELD_optimizer_lr, FIELD_optimizer_clip};

static bool is_default_degree(const Config *x, int32_t field) {
  return (field == FIELD_parallel_tp && x->derived->tp == 1) ||
         (field == FIELD_parallel_cp && x->derived->cp == 1) ||
         (field == FIELD_parallel_pp && x->derived->pp == 1) ||
         (field == FIELD_parallel_zero && x->derived->zero == 0);
}

static void tell_rest(Config *x) {
  static const SectionId silent[] = {SECTION_job, SECTION_cluster, SECTION_slurm};
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const FieldInfo *info = &spec_fields[i];
    bool is_silent = i == FIELD_parallel_dp || i == FIELD_parallel_shard;
    for (size_t k = 0; k < sizeof silent / sizeof *silent; k++)
      is_silent = is_silent || info->section == silent[k];
    bool is_core = false;
    for (size_t k = 0; k < sizeof core / sizeof *core; k++)
      is_core = is_core || core[k] == i;
    const char *name = field_name(x->arena, i);
    if (is_silent || is_default_degree(x, i) || !(is_core || job_says(x, i))) continue;
    if (info->section == SECTION_data) name = "data";
    if (!is_told(x, name)) untold(x, name, reason_for(x, name));
  }
  if (!is_told(x, "model")) untold(x, "model", reason_for(x, "model"));
  if (!is_told(x, "schedule") && x->job->schedule.head != CHOICE_CONSTANT)
    untold(x, "schedule", reason_for(x, "schedule"));
  if (!is_told(x, "optimizer")) untold(x, "optimizer", reason_for(x, "optimizer"));
  double decay = x->job->optimizer.weight_decay;
  if (is_told(x, "optimizer.weight_decay") && decay > 0 && strcmp(x->tool, "megatron") != 0 &&
      strcmp(x->tool, "trainer") != 0)
    untold_of(x, "biases and norms", NULL,
              "weight_decay is 0 for them here, and there for what the script's groups say");
}

/* ---- what several tools write */

double schedule_over(const Config *x) {
  return x->job->set[FIELD_schedule_over] && x->job->schedule.over > 0
             ? (double)x->job->schedule.over
             : (double)x->derived->steps;
}

const char *schedule_value(const Config *x) {
  return lua_text(x->arena,
                  word_at(x->arena, spec_sections[SECTION_schedule].head, x->job->schedule.head));
}

void entry_adamw(Config *x) {
  const Job *job = x->job;
  entry_ours(x, "optimizer.lr", job->optimizer.lr);
  if (job->optimizer.head == OPTIMIZER_SGD) {
    if (pair_key(x->tool, "optimizer.momentum"))
      entry_ours(x, "optimizer.momentum", job->optimizer.momentum);
    else if (job->optimizer.momentum > 0)
      untold(x, "optimizer.momentum", "its SGD has none");
  } else if (pair_key(x->tool, "optimizer.beta1")) {
    const bool is_lion = strcmp(x->tool, "megatron") == 0 && job->optimizer.head == OPTIMIZER_LION;
    entry_number(x, is_lion ? "lion_beta1" : pair_key(x->tool, "optimizer.beta1"),
                 job->optimizer.beta1);
    entry_number(x, is_lion ? "lion_beta2" : pair_key(x->tool, "optimizer.beta2"),
                 job->optimizer.beta2);
    entry_says(x, "optimizer.beta1"), entry_says(x, "optimizer.beta2");
  }
  if (job->optimizer.head == OPTIMIZER_ADAMW) entry_ours(x, "optimizer.eps", job->optimizer.eps);
  entry_ours(x, "optimizer.weight_decay", job->optimizer.weight_decay);
  if (job->optimizer.head == OPTIMIZER_SGD && job->optimizer.weight_decay > 0)
    untold_of(x, "decay of sgd", NULL,
              "decay is added to gradients there, and passes through the momentum");
}

void entry_training(Config *x) {
  entry_ours(x, "train.steps", (double)x->derived->steps);
  entry_ours(x, "train.seed", (double)x->job->train.seed);
  entry_ours_word(x, "optimizer", lua_text(x->arena, optimizer_rows[x->job->optimizer.head].name));
  entry_adamw(x);
  entry_ours(x, "optimizer.clip", x->job->optimizer.clip);
}

/* ---- the whole */

bool export_takes(const char *tool) {
  return word_index(export_tools, tool) >= 0;
}

Config *export_config(Arena *arena, const ExportAsk *ask, const char *tool) {
  static void (*const makers[])(Config *) = {export_deepspeed, export_accelerate, export_trainer,
                                             export_torchtitan, export_megatron};
  int32_t index = word_index(export_tools, tool);
  if (index < 0) return NULL;
  Config *x = ARENA_NEW(arena, Config);
  *x = (Config){.arena = arena,
                .ask = ask,
                .job = ask->job,
                .derived = ask->derived,
                .tool = word_at(arena, export_tools, index),
                .title = word_tools[word_tool_find(tool)].title};
  makers[index](x);
  tell_rest(x);
  return x;
}

static void tell_rates(const Config *x, FILE *out) {
  const Job *job = x->job;
  Texts lines = {0};
  if (!x->formula || job->schedule.head > CHOICE_COSINE) return;
  if (job->schedule.head == CHOICE_CONSTANT && job->schedule.warmup.value == 0) return;
  const RateCurve curve = {
      .schedule = word_at(x->arena, spec_sections[SECTION_schedule].head, job->schedule.head),
      .lr = job->optimizer.lr,
      .warmup = job->schedule.warmup.value,
      .over = schedule_over(x),
      .start = job->schedule.warmup_floor,
      .floor = job->schedule.floor,
  };
  const char *blank = strrchr(x->title, ' '); /* "Hugging Face Trainer" makes lines too long */
  rates_lines(x->arena, blank ? blank + 1 : x->title, x->formula, &curve, &lines);
  for (int32_t i = 0; i < lines.list.count; i++)
    fprintf(out, "%s\n", lines.list.at[i]);
}

enum { COLUMNS = 80 };

void export_tell(const Config *x, FILE *out) {
  int32_t count = x->untold.count;
  if (count > 0)
    fprintf(out, "%d thing%s that the file of %s cannot say:\n", (int)count, plural(count),
            x->title);
  for (int32_t i = 0; i < count; i++) {
    const Untold *row = &x->untold.at[i];
    const char *text = arena_printf(x->arena, "%s%s%s: %s", row->key, row->value ? " = " : "",
                                    row->value ? row->value : "", row->why);
    fputs("  ", out);
    print_wrapped(out, text_plain(x->arena, text), 2, 4, COLUMNS);
  }
  tell_rates(x, out);
  if (x->launch) fprintf(out, "start: %s\n", x->launch);
}
