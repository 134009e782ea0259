/* tokenize.c -- lockstep tokenize: every byte of a text is a token; the end of it is held out for
 * validation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/cli/cli.h"
#include "runtime/tokens/tokens.h"

/* "5%" or "0.05". */
static bool parse_fraction(const char *text, double *fraction) {
  char *end;
  *fraction = strtod(text, &end);
  if (end == text) return false;
  if (strcmp(end, "%") == 0)
    *fraction /= 100;
  else if (*end)
    return false;
  return *fraction >= 0 && *fraction < 1;
}

ExitCode verb_tokenize(const Options *options) {
  if (options->word_count != 1 || !options->out)
    return complain(EXIT_USER, "tokenize wants a text file and -o FOLDER");
  double hold_out = 0.05;
  if (options->hold_out && !parse_fraction(options->hold_out, &hold_out))
    return complain(EXIT_USER, "--hold-out wants a part below 100%% such as 5%%, not '%.40s'",
                    options->hold_out);
  if (access(options->words[0], R_OK) != 0)
    return complain(EXIT_USER, "%s: %s", options->words[0], strerror(errno));
  char why[TOKENS_WHY_BYTES] = "";
  TokensWritten written = {0};
  if (!tokens_write_bytes(options->words[0], options->out, hold_out, &written, why))
    return complain(EXIT_WORLD, "%s", why);
  if (options->quiet) return EXIT_DONE;
  Compile *c = compile_new("");
  printf("wrote    %s/train.u8   %s tokens\n", options->out,
         format_count(c->arena, written.train_tokens));
  if (written.valid_tokens > 0)
    printf("wrote    %s/valid.u8   %s tokens\n", options->out,
           format_count(c->arena, written.valid_tokens));
  puts("         one token a byte: vocab = 256, format = \"u8\"");
  compile_free(c);
  return EXIT_DONE;
}
