/* help.c -- lockstep help: verbs, keys, names, diagnostics; also the generated pages. */
#include "compiler/job/hints/help.h"

#include "compiler/show/cli/cli.h"
#include "kernels/contract/contract.h"

static ExitCode help_on_word(Compile *c, const char *word) {
  const Verb *verb = verb_find(word);
  if (verb) usage_print_verb(verb, stdout);
  if (help_word(c, word, stdout) || verb || help_foreign(c, word, stdout)) return EXIT_DONE;
  TextList known = help_words(c);
  for (int32_t i = 0; i < verb_count; i++)
    VEC_PUSH(c->arena, &known, verbs[i].name);
  const char *near = nearest_word(word, known.at, known.count);
  if (near) return complain(EXIT_USER, "nothing is named '%.60s'; did you mean '%s'?", word, near);
  return complain(EXIT_USER, "nothing is named '%.60s'; lockstep help lists verbs and keys", word);
}

static ExitCode print_page(Compile *c, const Options *options) {
  if (options->reference)
    help_reference(c, stdout);
  else if (options->luacats)
    help_luacats(c, stdout);
  else if (options->contract)
    contract_page(stdout);
  else if (options->man)
    man_print(c, stdout);
  else if (!completion_print(c, options->completion, stdout))
    return complain(EXIT_USER, "--completion wants bash or zsh, not '%.40s'", options->completion);
  return EXIT_DONE;
}

ExitCode verb_help(const Options *options) {
  int32_t pages = options->reference + options->luacats + options->contract + options->man +
                  !!options->completion;
  if (pages + options->words.count > 1)
    return complain(EXIT_USER, "help answers one question at a time: a word's or an option's");
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  ExitCode code = EXIT_DONE;
  if (pages > 0) {
    code = print_page(c, options);
  } else if (options->words.count == 1) {
    code = help_on_word(c, options->words.at[0]);
  } else {
    usage_print(stdout);
    fputc('\n', stdout);
    help_sections(stdout);
  }
  compile_free(c);
  return code;
}
