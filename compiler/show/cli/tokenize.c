/* tokenize.c -- lockstep tokenize: makes every byte of a text a token, or token files of documents
 * whose ids are given, and holds the end out for validation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"
#include "runtime/tokens/tokens.h"

/* "5%" or "0.05". strtod would also read 0x1p-3. */
static bool parse_fraction(const char *text, double *fraction) {
  char *end;
  if (text[strspn(text, "0123456789.")] != 0 && text[strspn(text, "0123456789.")] != '%')
    return false;
  *fraction = strtod(text, &end);
  if (end == text) return false;
  if (strcmp(end, "%") == 0)
    *fraction /= 100;
  else if (*end)
    return false;
  return *fraction >= 0 && *fraction < 1;
}

/* The files that were written, their format and vocabulary. */
typedef struct Report {
  const char *folder;
  const char *format; /* also the end of the files' names */
  uint32_t vocab;
  int64_t documents; /* 0: of a text, which has none */
  int64_t targets;   /* ids that are targets; those of all documents */
  TokensWritten written;
} Report;

static void print_file(const Report *r, const char *name, int64_t tokens) {
  char path[4096];
  printf(", \"%s\": {\"path\": ", name);
  snprintf(path, sizeof path, "%s/%s.%s", r->folder, name, r->format);
  print_json_text(path, stdout);
  printf(", \"tokens\": %lld}", (long long)tokens);
}

static void print_json(const Report *r) {
  printf("{\"version\": 1, \"format\": \"%s\", \"vocab\": %u", r->format, r->vocab);
  if (r->documents > 0)
    printf(", \"documents\": %lld, \"targets\": %lld", (long long)r->documents,
           (long long)r->targets);
  print_file(r, "train", r->written.train_tokens);
  if (r->written.valid_tokens > 0) print_file(r, "valid", r->written.valid_tokens);
  puts("}");
}

static void print_text(Compile *c, const Report *r) {
  const char *folder = text_plain(c->arena, r->folder);
  const struct {
    const char *name;
    int64_t tokens;
  } file[] = {{"train", r->written.train_tokens}, {"valid", r->written.valid_tokens}};
  for (int i = 0; i < 2 && file[i].tokens > 0; i++)
    printf("wrote    %s/%s.%s   %s token%s\n", folder, file[i].name, r->format,
           format_count(c->arena, file[i].tokens), plural(file[i].tokens));
  if (r->documents == 0)
    puts("         one token a byte: vocab = 256, format = \"u8\"");
  else
    printf("         %s document%s, %s of the tokens are targets; ids are below %u\n",
           format_count(c->arena, r->documents), plural(r->documents),
           format_count(c->arena, r->targets), r->vocab);
}

/* ---- the two kinds of input */

static ExitCode write_text(const char *text, double hold_out, Report *report) {
  TokensForeign foreign;
  char why[TOKENS_WHY_BYTES] = "";
  if (tokens_foreign(text, &foreign) && !foreign.is_text)
    return complain(EXIT_USER, "%s is %s, not text: extract the text first", text, foreign.what);
  report->format = "u8";
  report->vocab = 256;
  if (tokens_write_bytes(text, report->folder, hold_out, &report->written, why)) return EXIT_DONE;
  return complain(EXIT_WORLD, "%s", why);
}

static ExitCode write_documents(const char *lines, double hold_out, Report *report) {
  TokDocuments all;
  char why[TOKENS_WHY_BYTES] = "";
  if (!tokens_read_documents(lines, &all, why)) return complain(EXIT_USER, "%s", why);
  report->format = "tok";
  report->vocab = all.vocab;
  report->documents = all.count;
  for (int64_t i = 0; i < all.start[all.count]; i++)
    report->targets += all.is_target == NULL || all.is_target[i];
  bool is_written = tokens_write_documents(&all, report->folder, hold_out, &report->written, why);
  tokens_free_documents(&all);
  return is_written ? EXIT_DONE : complain(EXIT_WORLD, "%s", why);
}

static bool is_json_lines(const char *path) {
  size_t length = strlen(path);
  return (length > 6 && strcmp(path + length - 6, ".jsonl") == 0) ||
         (length > 7 && strcmp(path + length - 7, ".ndjson") == 0);
}

ExitCode verb_tokenize(const Options *options) {
  const char *text = options->words.at[0];
  if (!options->out) return complain(EXIT_USER, "tokenize needs -o FOLDER, where the tokens go");
  double hold_out = 0.05;
  if (options->hold_out && !parse_fraction(options->hold_out, &hold_out))
    return complain(EXIT_USER, "--hold-out wants a part below 100%% such as 5%%, not '%.40s'",
                    options->hold_out);
  if (access(text, R_OK) != 0) return complain(EXIT_USER, "%s: %s", text, strerror(errno));
  Report report = {.folder = options->out};
  ExitCode code = is_json_lines(text) ? write_documents(text, hold_out, &report)
                                      : write_text(text, hold_out, &report);
  if (code != EXIT_DONE) return code;
  if (options->json) {
    print_json(&report);
  } else if (!options->quiet) {
    Compile *c = compile_new("");
    print_text(c, &report);
    compile_free(c);
  }
  return EXIT_DONE;
}
