#include "tests/mutants/strategies.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mutants/trial.h"

enum { PATH_BYTES = 128 };

/* Small parameters are divided, too, where all are. */
#define FOUR_LAYERS                                                                                \
  "model = { \"gpt2\", layers = 4, width = 32, heads = 4, vocab = 64, positions = 32 }, "
#define WIDE /* matrices of 4,096 elements and more: their moments are codes */                    \
  "model = { \"gpt2\", layers = 2, width = 64, heads = 4, vocab = 64, positions = 32 }, "
#define BLOCKS /* of 128 x 128 */                                                                  \
  "model = { \"gpt2\", layers = 1, width = 128, heads = 2, vocab = 64, positions = 128 }, "        \
  "train = { batch = \"2 sequences\", microbatch = 1, steps = 2 }, "
#define BF16      "precision = { \"bf16\", reduce = \"bf16\" }, "
#define RECOMPUTE "memory = { recompute = \"block\" }, "
#define OFFLOAD   "offload = \"cpu\", "
#define GPUS      "cluster = \"dgx-h100\", " /* collectives of many pieces are gathered */
const Strategy strategies[] = {
    {"zero0", "gpt2", 2, "zero = 0", ""},
    {"zero1", "gpt2", 2, "zero = 1", ""},
    {"zero2", "llama", 2, "zero = 2", ""},
    {"zero3", "gpt2", 2, "zero = 3, zero_keep = \"1KiB\"", ""},
    {"hybrid", "llama", 4, "zero = 3, zero_keep = \"1KiB\", zero_group = 2", ""},
    {"tp", "gpt2", 2, "tp = 2, sequence = false", ""},
    {"tp+sequence", "llama", 2, "tp = 2, sequence = true", ""},
    {"ring", "llama", 2, "cp = 2, cp_kind = \"ring\"", ""},
    {"ulysses", "gpt2", 2, "cp = 2, cp_kind = \"ulysses\"", ""},
    {"gpipe", "gpt2", 2, "pp = 2, pipeline = \"gpipe\"", ""},
    {"1f1b", "llama", 2, "pp = 2, pipeline = \"1f1b\"", ""},
    {"interleaved", "gpt2", 2, "pp = 2, pipeline = { \"interleaved\", chunks = 2 }", FOUR_LAYERS},
    {"zb-h1", "gpt2", 2, "pp = 2, pipeline = \"zb-h1\"", ""},
    {"zb-v", "gpt2", 2, "pp = 2, pipeline = \"zb-v\"", FOUR_LAYERS},
    {"mix", "gpt2", 16, "dp = 2, tp = 2, cp = 2, cp_kind = \"ring\", pp = 2, zero = 2", ""},
    {"zero3+tp", "llama", 4, "dp = 2, tp = 2, zero = 3, zero_keep = \"0B\"", ""},
    {"zero3, per step", "gpt2", 2, "zero = 3, zero_reshard = \"step\", zero_reduce = \"step\"", ""},
    {"ulysses+tp", "gpt2", 4, "tp = 2, cp = 2, cp_kind = \"ulysses\"", ""},
    {"ring, bf16", "gpt2", 2, "cp = 2, cp_kind = \"ring\", zero = 3, zero_keep = \"0B\"", BF16},
    {"zero 1, fp16", "gpt2", 2, "zero = 1", "precision = \"fp16\", "},
    {"fp8, bf16 moments", "gpt2", 2, "tp = 2",
     "precision = { \"bf16\", master = \"split\", moments = \"bf16\", linear = \"fp8\" }, "},
    {"moments in codes", "gpt2", 2, "zero = 3, zero_keep = \"0B\"",
     WIDE "precision = { \"bf16\", update = \"kahan\", moments = \"int8\" }, "},
    {"fp8 by block", "gpt2", 1, "zero = 0",
     BLOCKS "precision = { \"bf16\", linear = { \"fp8\", scaling = \"block\" } }, "},
    {"tp, recompute", "gpt2", 2, "tp = 2, sequence = true, regather = true", RECOMPUTE},
    {"interleaved+zero2", "llama", 4,
     "dp = 2, pp = 2, zero = 2, pipeline = { \"interleaved\", chunks = 2 }",
     "model = { \"llama\", layers = 4, width = 32, heads = 4, kv_heads = 2, ffn = 64, vocab = 64 "
     "}, "},
    {"zb-h1+tp", "llama", 4, "tp = 2, pp = 2, pipeline = \"zb-h1\"", RECOMPUTE},
    {"zero 1, recompute what is light", "llama", 2, "zero = 1",
     "memory = { recompute = \"selective\" }, "},
    {"tp, loss in chunks", "gpt2", 4, "tp = 2, pp = 2", "memory = { loss_chunks = 4 }, "},
    {"offload", "llama", 2, "zero = 1", BF16 OFFLOAD},
    {"offload, activations", "gpt2", 1, "",
     "memory = { recompute = 'none' }, offload = { activations = 'cpu', prefetch = 0 }, "},
    {"offload, grads", "llama", 2, "zero = 2",
     BF16 "offload = { optimizer = 'cpu', grads = 'cpu', prefetch = 1 }, "},
    {"offload, updates here", "llama", 2, "zero = 1",
     BF16 "offload = { optimizer = 'cpu', update = 'device' }, "},
    {"offload, weights", "llama", 2, "zero = 3, zero_keep = \"0B\"",
     BF16 "offload = { optimizer = 'cpu', weights = 'cpu', prefetch = 1 }, "},
    {"offload, files", "gpt2", 1, "", BF16 "offload = { optimizer = 'nvme', path = '/tmp' }, "},
    {"offload, weights in files", "gpt2", 1, "",
     BF16 "offload = { 'nvme', path = '/tmp', prefetch = 1 }, "},
    {"offload, no master", "gpt2", 2, "pp = 2", OFFLOAD},
    {"pieces", "gpt2", 8, "dp = 2, tp = 4, zero = 3, zero_keep = \"0B\", sequence = true", GPUS},
};
const size_t strategies_count = sizeof strategies / sizeof *strategies;

static int replicas_of(const Strategy *s) {
  if (strstr(s->parallel, "dp = ") != NULL) return 2;
  return strncmp(s->parallel, "zero", 4) == 0 ? s->devices : 1;
}

/* A pipeline is more than its ends, and what repeats there is proven once. */
static int microbatches_of(const Strategy *s) {
  return strstr(s->parallel, "pp = ") != NULL ? 6 : 2;
}

/* True if the job's samples are rows of a table. */
static bool has_rows(const char *model) {
  return strcmp(model, "mlp") == 0 || strcmp(model, "classes") == 0 || strcmp(model, "losses") == 0;
}

void strategy_write_job(FILE *out, const Strategy *s) {
  if (s->model == NULL) {
    fprintf(out, "return job { \"%s\" }\n", s->more);
    return;
  }
  fprintf(out, "return job { \"%s/%s.lua\",\n  %s\n", JOBS_FOLDER, s->model, s->more);
  if (strstr(s->more, "train = {") == NULL)
    fprintf(out, "  train = { batch = \"%d %s, steps = %d },\n",
            microbatches_of(s) * replicas_of(s),
            has_rows(s->model) ? "samples\", microbatch = 1"
                               : "sequences\", microbatch = 1, context = 16",
            TRIAL_STEPS);
  fprintf(out, "  parallel = { %s },\n", s->parallel);
  if (strstr(s->more, "cluster") == NULL)
    fprintf(out, "  cluster = { \"here\", devices = %d },\n", s->devices);
  fputs("}\n", out);
}

bool strategy_compile(const Strategy *s, const char *folder, JobCompile *job) {
  char path[PATH_BYTES], plan_path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/job.lua", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/plan", folder);
  FILE *file = fopen(path, "w");
  if (!file) abort();
  strategy_write_job(file, s);
  fclose(file);
  const char *error = "";
  const JobUse use = strcmp(s->name, STRATEGY_SAMPLE) == 0 ? USE_SAMPLE : USE_TRAIN;
  bool compiled = job_compile_use(job, path, plan_path, use, &error);
  if (!compiled) {
    printf("%s does not compile: %s\n", s->name, error);
    diags_print(&job->compile->diags, stdout, false);
  }
  (void)unlink(path);
  (void)unlink(plan_path);
  return compiled;
}

/* Finds a strategy of the table, or makes one of a job file. */
const Strategy *strategy_find(const char *name) {
  static char absolute[PATH_MAX];
  static Strategy job = {.name = "job", .parallel = "", .more = absolute};
  for (size_t i = 0; i < strategies_count; i++)
    if (strcmp(strategies[i].name, name) == 0) return &strategies[i];
  return realpath(name, absolute) != NULL ? &job : NULL;
}
