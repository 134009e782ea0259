/* use_settings.c -- the job of a checkpoint, for a use of its weights: the keys that the job set
 * and that say what the model is, what it reads and how ranks divide it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/saved.h"
#include "compiler/show/cli/use.h"
#include "runtime/plan/plan_job.h"

/* Sections and keys, sections first: a section replaces the keys that were set before. */
static const char *const taken[] = {"model",
                                    "data",
                                    "precision",
                                    "cluster",
                                    "data.valid",
                                    "data.format",
                                    "data.columns",
                                    "data.documents",
                                    "data.fill",
                                    "train.context",
                                    "train.microbatch",
                                    "train.seed",
                                    "precision.param",
                                    "precision.compute",
                                    "precision.master",
                                    "precision.linear",
                                    "parallel.tp",
                                    "parallel.cp",
                                    "parallel.pp",
                                    "parallel.order",
                                    "parallel.sequence",
                                    "parallel.tp_across",
                                    "parallel.cp_kind",
                                    "parallel.stages",
                                    "parallel.pipeline",
                                    "memory.budget",
                                    "memory.loss_chunks",
                                    "sample.batch",
                                    "sample.context",
                                    "sample.chunk",
                                    "sample.cache",
                                    "model.ignore",
                                    "model.vocab_multiple"};

/* The key was in a file or on the command line. */
static bool is_said(const Plan *plan, const PlanSetting *setting) {
  static const char *const kinds[] = {"job", "base", "-D"};
  const char *origin = plan_string(plan, setting->origin);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strncmp(origin, kinds[i], strlen(kinds[i])) == 0) return true;
  return false;
}

static bool is_path(const char *text) {
  return *text == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
}

/* The checkpoint keeps the Lua files that its plan was made of. */
static const char *kept_file(Arena *arena, const char *checkpoint, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *kept = arena_printf(arena, "%s/source/%s", checkpoint, slash ? slash + 1 : path);
  const char *found = access(kept, R_OK) == 0 ? kept : path;
  return is_path(found) ? found : arena_printf(arena, "./%s", found);
}

/* ---- lists, as settings.c writes them */

/* Returns the next name, in quotes or without, and moves *at past it. */
static const char *next_name(Arena *arena, const char **at) {
  const char *from = *at;
  if (*from != '"') {
    size_t length = strcspn(from, " ;:");
    *at = from + length;
    return arena_copy_n(arena, from, length);
  }
  char *name = arena_copy(arena, from + 1), *to = name;
  for (from++; *from != '\0'; from++) {
    if (from[0] == '"' && from[1] != '"') break;
    from += *from == '"';
    *to++ = *from;
  }
  *to = '\0';
  *at = *from == '"' ? from + 1 : from;
  return name;
}

static const char *quoted(Arena *arena, const char *name) {
  const char *text = "\"";
  for (; *name != '\0'; name++)
    text = arena_printf(arena, "%s%s%c", text, strchr("\"\\", *name) ? "\\" : "", *name);
  return arena_printf(arena, "%s\"", text);
}

/* { "a", "b" } of names up to `end`; *at goes there. */
static const char *names_table(Arena *arena, const char **at, char end) {
  const char *text = "{ ";
  for (*at += strspn(*at, " "); **at != '\0' && **at != end; *at += strspn(*at, " "))
    text = arena_printf(arena, "%s%s, ", text, quoted(arena, next_name(arena, at)));
  return arena_printf(arena, "%s}", text);
}

/* x: a b; y: c */
static const char *columns_table(Arena *arena, const char *at) {
  const char *text = "{ ";
  while (*at != '\0') {
    const char *input = next_name(arena, &at);
    at += *at == ':';
    text = arena_printf(arena, "%s[%s] = %s, ", text, quoted(arena, input),
                        names_table(arena, &at, ';'));
    at += strspn(at, "; ");
  }
  return arena_printf(arena, "%s}", text);
}

/* A list of more than three names is cut: NULL. */
static const char *list_table(Arena *arena, const char *text) {
  return strstr(text, " ... (") != NULL ? NULL : names_table(arena, &text, '\0');
}

/* NULL: the setting does not have all of the value. */
static const char *value_of(Arena *arena, const Plan *plan, const PlanSetting *setting,
                            const char *checkpoint, const char *model) {
  const char *key = plan_string(plan, setting->key);
  char number[SETTING_NUMBER_BYTES];
  const char *text = arena_copy(arena, plan_setting_text(plan, setting, number));
  const bool is_list = strcmp(key, "data.valid") == 0 || strcmp(key, "model.ignore") == 0;
  const size_t length = strlen(text);
  if (is_list) return list_table(arena, text);
  if (strcmp(key, "data.columns") == 0) return columns_table(arena, text);
  if (strcmp(key, "parallel.stages") == 0) return arena_printf(arena, "{ %s }", text);
  if (strcmp(key, "parallel.pipeline") == 0 || strcmp(key, "precision.linear") == 0) {
    const char *comma = strchr(text, ',');
    if (comma == NULL) return text;
    const char *value = strstr(comma, "= ") + 2;
    const bool is_word = *value < '0' || *value > '9';
    return arena_printf(arena, "{ \"%.*s\"%.*s= %s%s%s }", (int)(comma - text), text,
                        (int)(value - 2 - comma), comma, is_word ? "\"" : "", value,
                        is_word ? "\"" : "");
  }
  if (strchr(key, '.') != NULL || !is_path(text)) return text;
  if (length > 4 && strcmp(text + length - 4, ".lua") == 0)
    return kept_file(arena, checkpoint, text);
  return model;
}

static void take(Arena *arena, const Plan *plan, const PlanSetting *setting, const char *checkpoint,
                 const char *model, TextList *settings) {
  if (setting == NULL || setting->kind == SETTING_NONE || !is_said(plan, setting)) return;
  const char *value = value_of(arena, plan, setting, checkpoint, model);
  if (value == NULL) return;
  VEC_PUSH(arena, settings, arena_printf(arena, "%s=%s", plan_string(plan, setting->key), value));
}

/* Sizes are keys of the model file's own. */
static bool is_size(const Plan *plan, const PlanSetting *setting) {
  const char *key = plan_string(plan, setting->key);
  return setting->effect == SETTING_MODEL && strncmp(key, "model.", 6) == 0;
}

static bool is_cluster(const Plan *plan, const PlanSetting *setting) {
  return strncmp(plan_string(plan, setting->key), "cluster.", 8) == 0;
}

/* Sampling reads no data, predicting the columns of another file; and ranks share nothing but the
 * model. */
static bool is_for(JobUse use, const char *key) {
  static const char *const others[] = {"data", "cluster", "train.", "parallel.cp", "memory."};
  const bool is_table = strcmp(key, "data") == 0 || strcmp(key, "data.columns") == 0;
  if (strncmp(key, "sample.", 7) == 0) return use == USE_SAMPLE;
  if (use == USE_SAMPLE && strcmp(key, "parallel.sequence") == 0) return false;
  if (use == USE_EVAL || (use == USE_PREDICT && is_table)) return true;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(key, others[i], strlen(others[i])) == 0) return false;
  return true;
}

/* A manifest keeps numbers as text. */
static int64_t count_of(const Plan *plan, const char *key) {
  const char *text = saved_setting(plan, key);
  return text != NULL ? strtoll(text, NULL, 10) : 1;
}

void use_settings(Arena *arena, const Plan *plan, JobUse use, const char *checkpoint,
                  const char *model, TextList *settings) {
  const bool is_alone = use != USE_EVAL;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (is_for(use, taken[i]))
      take(arena, plan, plan_setting(plan, taken[i]), checkpoint, model, settings);
  for (uint32_t i = 0; i < plan->settings_count; i++)
    if (is_size(plan, &plan->settings[i]) || (!is_alone && is_cluster(plan, &plan->settings[i])))
      take(arena, plan, &plan->settings[i], checkpoint, model, settings);
  const bool divides_weights = !is_alone && count_of(plan, "parallel.zero") == 3;
  VEC_PUSH(arena, settings, divides_weights ? "parallel.zero=3" : "parallel.zero=0");
  const int64_t ranks = count_of(plan, "parallel.tp") * count_of(plan, "parallel.pp");
  if (is_alone)
    VEC_PUSH(arena, settings,
             arena_printf(arena, "cluster={\"here\", devices=%lld}", (long long)ranks));
  VEC_PUSH(arena, settings, arena_printf(arena, "model.weights=%s", checkpoint));
}
