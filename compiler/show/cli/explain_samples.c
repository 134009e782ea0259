/* explain_samples.c -- lockstep explain JOB --samples A..B: which samples these steps read, from
 * which file and document, and the text they begin with. The order is the runtime's own
 * (samples.h). */
#include <stdlib.h>
#include <string.h>

#include "compiler/show/cli/cli.h"
#include "runtime/data/samples.h"
#include "runtime/plan/plan_job.h"
#include "runtime/tokenizer/tokenizer.h"

enum { TOKENS_SHOWN = 24, TEXT_SHOWN = 60, STEPS_MOST = 1000 };

typedef struct SamplesShowing {
  Compile *c;
  Samples samples;
  Tokenizer *tokenizer; /* NULL: none is beside the data or in the model's folder */
  bool is_json;
} SamplesShowing;

/* The tokenizer.json that tokenize has copied beside the files, else the model's. */
static Tokenizer *find_tokenizer(const Plan *plan, const Samples *samples) {
  char why[TOKENIZER_WHY_BYTES], folder[4096];
  const SampleFile *file = samples->file_count > 0 ? samples->file : NULL;
  const TokenFile *first = file != NULL ? &file->tokens : NULL;
  if (first && first->format == FORMAT_TOK && first->tokenizer == 0) return NULL; /* given ids */
  const char *path = file != NULL ? file->path : "";
  const char *slash = strrchr(path, '/');
  (void)snprintf(folder, sizeof folder, "%.*s/tokenizer.json", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
  Tokenizer *found = tokenizer_open(folder, why);
  if (!found && *job_model_folder(plan)) found = tokenizer_open(job_model_folder(plan), why);
  if (found && first && first->tokenizer != 0 && first->tokenizer != tokenizer_hash(found)) {
    tokenizer_free(found);
    return NULL;
  }
  return found;
}

/* The first ids as text, or as numbers where nothing decodes them. Not plain yet. */
static const char *text_of(const SamplesShowing *s, const SampleFile *file, int64_t at,
                           int64_t most) {
  uint32_t ids[TOKENS_SHOWN];
  int64_t count = file->tokens.count - at < TOKENS_SHOWN ? file->tokens.count - at : TOKENS_SHOWN;
  if (count > most) count = most;
  Arena *arena = s->c->arena;
  char bytes[TOKENS_SHOWN + 1] = "";
  const char *numbers = "";
  for (int64_t i = 0; i < count; i++) {
    ids[i] = tokens_id(&file->tokens, at + i);
    bytes[i] = (char)(ids[i] > 0 ? ids[i] : '?');
    numbers = arena_printf(arena, "%s%s%u", numbers, i > 0 ? " " : "", ids[i]);
  }
  bytes[count] = '\0';
  if (file->tokens.id_bytes == 1) return arena_copy(arena, bytes);
  size_t size = 0;
  char *text = s->tokenizer ? tokenizer_decode(s->tokenizer, ids, count, false, &size) : NULL;
  const char *shown = text ? arena_copy(arena, text) : numbers;
  free(text);
  return shown;
}

/* As much of a text as a line shows, in whole characters. */
static const char *beginning(Arena *arena, const char *text) {
  size_t count = strlen(text);
  if (count > TEXT_SHOWN)
    for (count = TEXT_SHOWN; count > 0 && ((unsigned char)text[count] & 0xc0) == 0x80;)
      count--;
  return text_plain(arena, arena_copy_n(arena, text, count));
}

static void print_sample(const SamplesShowing *s, int64_t number, bool is_first) {
  const SampleSource source = samples_source(&s->samples, number);
  const SampleFile *file = &s->samples.file[source.file];
  Arena *arena = s->c->arena;
  if (s->is_json) {
    printf("%s{\"source\": %d, \"sample\": %lld, \"document\": ", is_first ? "" : ", ",
           source.source, (long long)source.sample);
    if (source.document >= 0)
      printf("%lld", (long long)source.document);
    else
      fputs("null", stdout);
    printf(", \"token\": %lld, \"text\": ", (long long)source.token);
    print_json_text(text_of(s, file, source.token, source.count), stdout);
    putchar('}');
    return;
  }
  const char *document = source.document >= 0 ? arena_printf(arena, ", document %s",
                                                             format_count(arena, source.document))
                                              : "";
  printf("  sample %s of %s: token %s%s\n    %s\n", format_count(arena, source.sample),
         text_plain(arena, file->path), format_count(arena, source.token), document,
         beginning(arena, text_of(s, file, source.token, source.count)));
}

static void print_steps(const SamplesShowing *s, int64_t first, int64_t last) {
  const int64_t batch = job_batch_samples(s->samples.plan);
  if (s->is_json) fputs("{\"version\": 1, \"steps\": [", stdout);
  for (int64_t step = first; step <= last; step++) {
    if (s->is_json)
      printf("%s{\"step\": %lld, \"samples\": [", step > first ? ", " : "", (long long)step);
    else
      printf("step %lld\n", (long long)step);
    for (int64_t i = 0; i < batch; i++)
      print_sample(s, samples_at(&s->samples, (step - 1) * batch + i), i == 0);
    if (s->is_json) fputs("]}", stdout);
  }
  if (s->is_json) puts("]}");
}

/* "3..5", or "3". */
static bool parse_steps(const char *text, int64_t *first, int64_t *last) {
  char *end;
  *first = *last = strtoll(text, &end, 10);
  if (end == text) return false;
  if (strncmp(end, "..", 2) != 0) return *end == '\0';
  text = end + 2;
  *last = strtoll(text, &end, 10);
  return end != text && *end == '\0';
}

ExitCode explain_samples(Compile *c, const Options *options, const Plan *plan) {
  int64_t first, last;
  Status status;
  if (!parse_steps(options->samples_of, &first, &last) || first < 1 || last < first ||
      last > job_steps(plan) || last - first >= STEPS_MOST)
    return complain(EXIT_USER, "--samples wants steps A..B from 1 to %lld, at most %d, not '%.40s'",
                    (long long)job_steps(plan), STEPS_MOST, options->samples_of);
  if (job_data(plan) != DATA_TOKENS)
    return complain(EXIT_USER, "--samples is about files of tokens");
  if (options->no_data) return complain(EXIT_USER, "--samples reads the data: leave out --no-data");
  SamplesShowing s = {.c = c, .is_json = options->json};
  if (!samples_open(&s.samples, plan, false, &status))
    return complain(EXIT_USER, "%s", status.text);
  s.tokenizer = find_tokenizer(plan, &s.samples);
  print_steps(&s, first, last);
  tokenizer_free(s.tokenizer);
  samples_close(&s.samples);
  return EXIT_DONE;
}
