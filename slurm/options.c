/* options.c -- the table of options of sbatch and srun. */
#include "slurm/options.h"

#include <stdlib.h>
#include <string.h>

typedef enum Who { WHO_sbatch, WHO_srun, WHO_both } Who;

typedef struct Option {
  const char *name;
  int32_t version;
  Who who;
} Option;

#define DERIVED(name, key)
#define PLUGIN(prefix, plugin)
#define OPTION(name, version, who) {name, version, WHO_##who},
static const Option options[] = {
#include "slurm/options.def"
};
#undef OPTION
#undef DERIVED
#undef PLUGIN

#define OPTION(name, version, who)
#define PLUGIN(prefix, plugin)
#define DERIVED(name, key) {name, key},
static const struct {
  const char *name, *key;
} derived[] = {
#include "slurm/options.def"
};
#undef DERIVED
#undef PLUGIN

#define DERIVED(name, key)
#define PLUGIN(prefix, plugin) {prefix, plugin},
static const struct {
  const char *prefix, *plugin;
} plugins[] = {
#include "slurm/options.def"
};
#undef PLUGIN
#undef DERIVED
#undef OPTION

enum { OPTIONS = sizeof options / sizeof *options, DERIVEDS = sizeof derived / sizeof *derived };

const char *option_plugin(const char *name) {
  for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
    if (strncmp(name, plugins[i].prefix, strlen(plugins[i].prefix)) == 0) return plugins[i].plugin;
  return NULL;
}

static const Option *find(const char *name) {
  for (int32_t i = 0; i < OPTIONS; i++)
    if (strcmp(options[i].name, name) == 0) return &options[i];
  return NULL;
}

int32_t option_version(const char *name, const char *value) {
  enum { EXCLUSIVE_TOPO = 2405 };
  bool is_topo = strcmp(name, "exclusive") == 0 && value && strcmp(value, "topo") == 0;
  const Option *option = find(name);
  return is_topo ? EXCLUSIVE_TOPO : option ? option->version : 0;
}

int32_t version_read(const char *text) {
  text += strcspn(text, "0123456789");
  char *end;
  long year = strtol(text, &end, 10);
  if (end == text || *end != '.' || year > 99) return 0;
  long month = strtol(end + 1, &end, 10);
  return month >= 1 && month <= 12 ? (int32_t)(year * 100 + month) : 0;
}

static bool refuse_unknown(Compile *c, const Pair *pair, const char *key) {
  const char *names[OPTIONS];
  for (int32_t i = 0; i < OPTIONS; i++)
    names[i] = options[i].name;
  const char *near = nearest_word(pair->name, names, OPTIONS);
  error_at(c, pair->origin.span, "slurm-option", "%s: Slurm has no option --%s%s%s%s", key,
           pair->name, near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
  return false;
}

bool option_allowed(Compile *c, const Pair *pair, bool is_step) {
  const char *key = is_step ? "slurm.srun" : "slurm.sbatch";
  for (int32_t i = 0; i < DERIVEDS; i++)
    if (strcmp(derived[i].name, pair->name) == 0)
      return error_at(c, pair->origin.span, "slurm-option", "%s: --%s follows from %s", key,
                      pair->name, derived[i].key);
  if (is_step && option_plugin(pair->name)) return true;
  const Option *option = find(pair->name);
  if (!option) return refuse_unknown(c, pair, key);
  if (option->who == WHO_both || (option->who == WHO_srun) == is_step) return true;
  return error_at(c, pair->origin.span, "slurm-option", "%s: --%s is an option of %s: slurm.%s",
                  key, pair->name, is_step ? "sbatch" : "srun", is_step ? "sbatch" : "srun");
}
