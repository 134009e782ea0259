/* rehearse.c -- lockstep rehearse: becomes slurm/rehearse of the library, which brings up a Slurm
 * on this machine and sends the job through it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"

ExitCode verb_rehearse(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  char folder[4096];
  if (!own_folder(folder, sizeof folder)) return complain(EXIT_WORLD, "/proc is not mounted");
  const char *words[2 * WORDS_MAX + 8];
  int32_t count = 0;
  const char *script = arena_printf(c->arena, "%s/../slurm/rehearse", c->specs_dir);
  words[count++] = script;
  words[count++] = arena_printf(c->arena, "%s/lockstep", folder);
  words[count++] = options->words.at[0];
  for (int32_t i = 0; i < options->overrides.count; i++) {
    words[count++] = "-D";
    words[count++] = options->overrides.at[i];
  }
  words[count] = NULL;
  fflush(stdout);
  execv(script, (char *const *)words);
  return complain(EXIT_WORLD, "%s: %s", script, strerror(errno));
}
