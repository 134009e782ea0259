/* sbatch.c -- lockstep sbatch: the batch script of a job, on stdout; nothing is submitted. */
#include "compiler/show/cli/elastic.h"
#include "slurm/script.h"

ExitCode verb_sbatch(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  char programs[4096];
  if (!own_folder(programs, sizeof programs)) return complain(EXIT_WORLD, "/proc is not mounted");
  bool is_good = compile_job(c, options, &compiled);
  Launch *launch = is_good ? launch_make(c, &compiled, programs) : NULL;
  if (launch) elastic_plans(c, options, &compiled, launch);
  if (launch && !compile_failed(c))
    script_print(c, launch, command_line(c->arena, options), stdout);
  ExitCode code = report(c, options);
  if (launch) elastic_close(launch);
  compile_free(c);
  return code;
}
