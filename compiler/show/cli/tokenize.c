/* tokenize.c -- lockstep tokenize: makes every byte of a text a token, and holds its end out for
 * validation. */
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

static void print_file(const char *name, const char *folder, const char *file, uint64_t tokens) {
  printf(", \"%s\": {\"path\": ", name);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  print_json_text(path, stdout);
  printf(", \"tokens\": %llu}", (unsigned long long)tokens);
}

static void print_json(const char *folder, const TokensWritten *written) {
  printf("{\"version\": 1, \"format\": \"u8\", \"vocab\": 256");
  print_file("train", folder, "train.u8", (uint64_t)written->train_tokens);
  if (written->valid_tokens > 0)
    print_file("valid", folder, "valid.u8", (uint64_t)written->valid_tokens);
  puts("}");
}

ExitCode verb_tokenize(const Options *options) {
  const char *text = options->words.at[0];
  if (!options->out) return complain(EXIT_USER, "tokenize needs -o FOLDER, where the tokens go");
  double hold_out = 0.05;
  if (options->hold_out && !parse_fraction(options->hold_out, &hold_out))
    return complain(EXIT_USER, "--hold-out wants a part below 100%% such as 5%%, not '%.40s'",
                    options->hold_out);
  if (access(text, R_OK) != 0) return complain(EXIT_USER, "%s: %s", text, strerror(errno));
  TokensForeign foreign;
  if (tokens_foreign(text, &foreign) && !foreign.is_text)
    return complain(EXIT_USER, "%s is %s, not text: extract the text first", text, foreign.what);
  char why[TOKENS_WHY_BYTES] = "";
  TokensWritten written = {0};
  if (!tokens_write_bytes(text, options->out, hold_out, &written, why))
    return complain(EXIT_WORLD, "%s", why);
  if (options->json) {
    print_json(options->out, &written);
    return EXIT_DONE;
  }
  if (options->quiet) return EXIT_DONE;
  Compile *c = compile_new("");
  const char *folder = text_plain(c->arena, options->out);
  printf("wrote    %s/train.u8   %s token%s\n", folder,
         format_count(c->arena, written.train_tokens), plural(written.train_tokens));
  if (written.valid_tokens > 0)
    printf("wrote    %s/valid.u8   %s token%s\n", folder,
           format_count(c->arena, written.valid_tokens), plural(written.valid_tokens));
  puts("         one token a byte: vocab = 256, format = \"u8\"");
  compile_free(c);
  return EXIT_DONE;
}
