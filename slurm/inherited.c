/* inherited.c -- see inherited.h. The script clears those that reach it nevertheless, when it is
 * given to sbatch by hand: clear_inherited of batch.bash. */
#include "slurm/inherited.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *const prefixes[] = {"SLURM_",
                                       "SLURMD_",
                                       "SRUN_",
                                       "SBATCH_",
                                       "SALLOC_",
                                       "OMPI_",
                                       "PMIX_",
                                       "PRTE_",
                                       "PMI_",
                                       "PMI2_",
                                       "OMP_",
                                       "GOMP_",
                                       "KMP_",
                                       "CUDA_VISIBLE_DEVICES=",
                                       "ROCR_VISIBLE_DEVICES=",
                                       "HIP_VISIBLE_DEVICES=",
                                       "ZE_AFFINITY_MASK="};
static const char *const kept[] = {
    "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT=", "SLURM_CLUSTERS="};

static bool begins_with(const char *text, const char *begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

static bool is_kept(const char *variable) {
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (begins_with(variable, kept[i])) return true;
  return false;
}

/* The first "NAME=value" of the environment that begins so; NULL: none. */
static const char *find(const char *prefix) {
  for (char **variable = environ; *variable; variable++)
    if (begins_with(*variable, prefix) && !is_kept(*variable)) return *variable;
  return NULL;
}

const char *inherited_clear(Arena *arena) {
  const char *text = "";
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    const char *variable, *last = "";
    int32_t count = 0;
    while ((variable = find(prefixes[i])) != NULL) {
      last = arena_copy_n(arena, variable, strcspn(variable, "="));
      if (unsetenv(last) != 0) break;
      count++;
    }
    if (count == 0) continue;
    if (count > 1) last = arena_printf(arena, "%s* (%d)", prefixes[i], count);
    text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", last);
  }
  return text;
}
