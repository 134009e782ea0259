#include "tests/parity/case_job.h"

enum { VALID_BATCHES = 2 };

/* Numbers of a case: sequences in a batch do not depend on how it is divided. */
static int64_t batch_sequences(const Case *c) {
  return case_number(c, FACTOR_DP) * case_number(c, FACTOR_ACCUMULATION) *
         case_number(c, FACTOR_MICROBATCH);
}

/* Without clipping a much larger rate is chaotic: rounding grows from step to step. */
double case_lr(const Case *c) {
  return case_is(c, FACTOR_OPTIMIZER, "sgd") ? 0.01 : 1e-3;
}

static void write_model(FILE *out, const Case *c) {
  bool gpt2 = case_is(c, FACTOR_MODEL, "gpt2");
  int layers = case_is(c, FACTOR_LAYERS, "listed") ? 8 : (int)case_number(c, FACTOR_LAYERS);
  fprintf(out, "  model = { \"%s\", layers = %d, width = 32, heads = 8, vocab = %d",
          gpt2 ? "gpt2" : "llama", layers, CASE_VOCAB);
  if (gpt2) fprintf(out, ", positions = %d", 2 * CASE_CONTEXT);
  if (!gpt2) fprintf(out, ", ffn = 64");
  if (case_is(c, FACTOR_MODEL, "tied")) fprintf(out, ", tied = true");
  if (!case_is(c, FACTOR_KV_HEADS, "-"))
    fprintf(out, ", kv_heads = %d", (int)case_number(c, FACTOR_KV_HEADS));
  if (case_is(c, FACTOR_DROPOUT, "on")) fprintf(out, ", dropout = 0.1");
  fprintf(out, " },\n");
}

/* Eight layers, unevenly. */
static const char *stages_of(const Case *c) {
  bool two = case_is(c, FACTOR_PP, "2");
  if (case_is(c, FACTOR_PIPELINE, "interleaved") || case_is(c, FACTOR_PIPELINE, "zb-v"))
    return two ? "3, 2, 2, 1" : "1, 1, 1, 1, 1, 1, 1, 1";
  return two ? "5, 3" : "1, 3, 2, 2";
}

static void write_zero(FILE *out, const Case *c) {
  static const struct {
    const char *word, *keys;
  } zeros[] = {
      {"0", "zero = 0"},
      {"1", "zero = 1"},
      {"2", "zero = 2"},
      {"3", "zero = 3, zero_keep = \"1KiB\""},
      {"all", "zero = 3, zero_keep = \"0KiB\""},
      {"hybrid1", "zero = 1, zero_group = 2"},
      {"hybrid2", "zero = 2, zero_group = 2"},
      {"hybrid3", "zero = 3, zero_keep = \"1KiB\", zero_group = 2"},
  };
  for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
    if (case_is(c, FACTOR_ZERO, zeros[i].word)) fprintf(out, ", %s", zeros[i].keys);
  if (!case_is(c, FACTOR_PREFETCH, "-"))
    fprintf(out, ", zero_prefetch = %d", (int)case_number(c, FACTOR_PREFETCH));
  if (case_is(c, FACTOR_UNIT, "some")) fprintf(out, ", zero_unit = \"100KiB\"");
  if (case_is(c, FACTOR_RESHARD, "chunk")) fprintf(out, ", zero_reshard = \"chunk\"");
  if (case_is(c, FACTOR_RESHARD, "step")) fprintf(out, ", zero_reshard = \"step\"");
  if (case_is(c, FACTOR_REDUCE, "step")) fprintf(out, ", zero_reduce = \"step\"");
  if (case_is(c, FACTOR_BUCKET, "small")) fprintf(out, ", bucket = \"8KiB\"");
}

static void write_parallel(FILE *out, const Case *c) {
  fprintf(out, "  parallel = { dp = %d, tp = %d, pp = %d", (int)case_number(c, FACTOR_DP),
          (int)case_number(c, FACTOR_TP), (int)case_number(c, FACTOR_PP));
  if (!case_is(c, FACTOR_CP, "1"))
    fprintf(out, ", cp = 2, cp_kind = \"%s\"", case_is(c, FACTOR_CP, "ring") ? "ring" : "ulysses");
  write_zero(out, c);
  static const char *const kinds[] = {"gpipe", "1f1b", "zb-h1", "zb-v"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (case_is(c, FACTOR_PIPELINE, kinds[i])) fprintf(out, ", pipeline = \"%s\"", kinds[i]);
  if (case_is(c, FACTOR_PIPELINE, "interleaved"))
    fprintf(out, ", pipeline = { \"interleaved\", chunks = 2 }");
  if (case_is(c, FACTOR_LAYERS, "listed")) fprintf(out, ", stages = { %s }", stages_of(c));
  if (case_is(c, FACTOR_SEQUENCE, "off")) fprintf(out, ", sequence = false");
  if (case_is(c, FACTOR_SEQUENCE, "on")) fprintf(out, ", sequence = true");
  if (case_is(c, FACTOR_SEQUENCE, "regather")) fprintf(out, ", regather = true");
  fprintf(out, " },\n");
}

static void write_memory(FILE *out, const Case *c) {
  static const struct {
    const char *word, *text;
  } kinds[] = {{"none", "\"none\""},
               {"selective", "\"selective\""},
               {"block", "\"block\""},
               {"sqrt", "\"sqrt\""},
               {"every", "{ \"every\", blocks = 3 }"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (case_is(c, FACTOR_RECOMPUTE, kinds[i].word))
      fprintf(out, "  memory = { recompute = %s, loss_chunks = %lld },\n", kinds[i].text,
              (long long)case_number(c, FACTOR_CHUNKS));
}

/* AdamW moves a number by lr whatever the size of its gradient: where that is nothing but rounding,
 * eps keeps it from being a step. With 1e-5, one number of 2,000 of an embedding, of a token that
 * comes late, was 2 bounds off in one of 400 random cases: its gradient differed by 7e-8, rms 0.04.
 */
static void write_optimizer(FILE *out, const Case *c, double lr) {
  bool sgd = case_is(c, FACTOR_OPTIMIZER, "sgd");
  fprintf(out, "  optimizer = { \"%s\", lr = %.17g, clip = %s%s },\n", sgd ? "sgd" : "adamw",
          lr > 0 ? lr : case_lr(c), case_is(c, FACTOR_CLIP, "on") ? "0.5" : "0",
          sgd ? "" : ", eps = 1e-4");
}

static void write_train(FILE *out, const Case *c, const CaseJob *job) {
  bool validates = case_is(c, FACTOR_VALID, "on");
  fprintf(out, "  data = { \"tokens\", train = \"%s\", format = \"u8\"", job->tokens);
  if (validates) fprintf(out, ", valid = \"%s\"", job->valid);
  fprintf(out, " },\n  train = { batch = \"%lld sequences\", microbatch = %lld, context = %d, ",
          (long long)batch_sequences(c), (long long)case_number(c, FACTOR_MICROBATCH),
          CASE_CONTEXT);
  if (validates) fprintf(out, "validate_every = 1000, validate_steps = %d, ", VALID_BATCHES);
  fprintf(out, "steps = %lld },\n", (long long)job->steps);
}

void case_write(FILE *out, const Case *c, const CaseJob *job) {
  fprintf(out, "return job {\n");
  write_model(out, c);
  write_train(out, c, job);
  write_optimizer(out, c, job->lr);
  fprintf(out, "  precision = { \"%s\", reduce = \"%s\" },\n", job->is_bf16 ? "bf16" : "fp32",
          job->bf16_wire ? "bf16" : "fp32");
  fprintf(out, "  checkpoint = { every = \"1000 steps\", resume = \"never\" },\n");
  if (job->alone) {
    fprintf(out, "  memory = { recompute = \"none\" },\n}\n");
    return;
  }
  write_parallel(out, c);
  write_memory(out, c);
  fprintf(out, "  cluster = { \"here\", devices = %lld },\n}\n", (long long)case_ranks(c));
}
