/* help.c -- lockstep help: verbs, keys, names, diagnostics; also the generated pages. */
#include "compiler/job/hints/help.h"

#include <string.h>

#include "compiler/show/cli/cli.h"
#include "kernels/contract/contract.h"

/* An option of this program: "--layouts". */
static bool help_option(Compile *c, const char *word, FILE *out) {
  bool is_found = false;
  for (int32_t i = 0; i < flag_count && *word == '-'; i++) {
    const Flag *flag = &flags[i];
    for (const char *at = flag->names; *at; at += strspn(at, " ")) {
      size_t width = strcspn(at, " ");
      bool is_it = strlen(word) == width && strncmp(at, word, width) == 0;
      at += width;
      if (!is_it) continue;
      fprintf(out, "%s%s%s, an option of %s\n    ", word, flag->value ? " " : "",
              flag->value ? flag->value : "", flag->is_of_rank ? "run" : flag->verbs);
      print_wrapped(out, arena_printf(c->arena, "%s", flag->doc), 4, 4, COLUMNS_MOST);
      is_found = true;
    }
  }
  return is_found;
}

static ExitCode help_on_word(Compile *c, const char *word) {
  const Verb *verb = verb_find(word);
  if (verb) usage_print_verb(verb, stdout);
  bool is_ours = help_option(c, word, stdout) || help_word(c, word, stdout) || verb ||
                 help_choice(c, word, stdout);
  if (help_foreign(c, word, is_ours, stdout) || is_ours) return EXIT_DONE;
  TextList known = help_words(c);
  for (int32_t i = 0; i < verb_count; i++)
    VEC_PUSH(c->arena, &known, verbs[i].name);
  const char *near = help_nearest(c, word, &known);
  if (*near) return complain(EXIT_USER, "nothing is named '%.60s'; did you mean %s?", word, near);
  return complain(EXIT_USER, "nothing is named '%.60s'; lockstep help lists verbs and keys", word);
}

/* help --words [TOOL] */
static ExitCode list_words(Compile *c, const Options *options) {
  const char *tool = options->words.count > 0 ? options->words.at[0] : NULL;
  if (options->json ? help_word_list_json(c, tool, stdout) : help_word_list(c, tool, stdout))
    return EXIT_DONE;
  return complain(EXIT_USER,
                  "no tool is named '%.40s': deepspeed, accelerate, trainer, megatron, "
                  "torchtitan, torch, calls, nanogpt, llmc, variables, launch, systems, "
                  "nccl, any",
                  tool);
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
  if (pages + options->words.count > 1 || (pages > 0 && (options->json || options->all_words)))
    return complain(EXIT_USER, "help answers one question at a time: a word's or an option's");
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  ExitCode code = EXIT_DONE;
  if (options->json && !options->all_words && options->words.count == 0) {
    code = complain(EXIT_USER, "help --json wants a word, or --words");
  } else if (options->all_words) {
    code = list_words(c, options);
  } else if (options->json) {
    code = help_json(c, options->words.at[0], stdout) ? EXIT_DONE : EXIT_USER;
  } else if (pages > 0) {
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
