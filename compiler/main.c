/* main.c -- lockstep VERB ...: finds the verb and runs it. */
#include <string.h>

#include "compiler/cli/cli.h"

const Verb verbs[] = {
    {"check", "check JOB.lua", "is it right?", verb_check},
    {"compile", "compile JOB.lua [-o FILE]", "what will run? writes NAME.plan", verb_compile},
    {"explain", "explain JOB.lua [KEY | --layouts | --schedule | --map]",
     "why? memory, layouts, or a key's origin", verb_explain},
    {"show", "show PLAN [--segment NAME]", "the plan as text that parses back", verb_show},
    {"prove", "prove PLAN", "does the plan keep its promises?", verb_prove},
    {"run", "run JOB.lua [--steps N] [--resume auto|never|FILE]", "train here", verb_run},
    {"tokenize", "tokenize TEXT -o FOLDER [--hold-out 5%]", "bytes of a text as tokens",
     verb_tokenize},
    {"help", "help [VERB | KEY | DIAGNOSTIC]", "what does this word mean?", verb_help},
    {"version", "version", "which lockstep is this?", verb_version},
};
const int32_t verb_count = sizeof verbs / sizeof *verbs;

int main(int count, char **words) {
  static Options options;
  if (!options_parse(&options, count, words)) return EXIT_USER;
  bool screen = options.layouts || options.schedule || options.map || options.svg != NULL ||
                options.against_count > 0;
  if (screen && strcmp(options.verb, "explain") != 0)
    return complain(EXIT_USER,
                    "--layouts, --schedule, --map, --svg and --against belong to lockstep explain");
  for (int32_t i = 0; i < verb_count; i++)
    if (strcmp(verbs[i].name, options.verb) == 0) return verbs[i].run(&options);
  const char *names[sizeof verbs / sizeof *verbs];
  for (int32_t i = 0; i < verb_count; i++)
    names[i] = verbs[i].name;
  const char *near = nearest_word(options.verb, names, verb_count);
  return complain(EXIT_USER, "there is no verb '%.40s'%s%s%s; see lockstep help", options.verb,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}
