/* checkpoint.c -- lockstep checkpoint VERB WHERE: which of the verbs below it, and what each takes.
 */
#include <string.h>

#include "compiler/show/cli/saved.h"

/* A verb below `checkpoint`. Words: the verb, and what follows it. `answers`: its exit code 1 is an
 * answer about checkpoints. */
typedef struct SavedVerb {
  const char *name, *words;
  int32_t least, most;
  bool wants_out, wants_job, may_job, answers;
  ExitCode (*run)(Compile *c, const Options *options);
} SavedVerb;

static const SavedVerb saved_verbs[] = {
    {"list", "WHERE", 2, 2, false, false, false, false, saved_verb_list},
    {"show", "CHECKPOINT [TENSOR]", 2, 3, false, false, false, false, saved_verb_show},
    {"verify", "CHECKPOINT [--for JOB.lua]", 2, 2, false, false, true, true, saved_verb_verify},
    {"diff", "A B", 3, 3, false, false, false, true, saved_verb_diff},
    {"merge", "CHECKPOINT -o FILE.safetensors", 2, 2, true, false, false, false, saved_verb_merge},
    {"convert", "CHECKPOINT -o FOLDER --for JOB.lua, or --to dcp", 2, 2, true, true, true, false,
     saved_verb_convert},
};
enum { SAVED_VERBS = sizeof saved_verbs / sizeof *saved_verbs };

ExitCode where_code(const Options *options) {
  if (strcmp(options->verb, "checkpoint") != 0) return EXIT_USER;
  for (int32_t i = 0; i < SAVED_VERBS; i++)
    if (strcmp(saved_verbs[i].name, options->words.at[0]) == 0 && saved_verbs[i].answers)
      return EXIT_WORLD;
  return EXIT_USER;
}

static const SavedVerb *find_verb(const char *word) {
  const char *names[SAVED_VERBS];
  for (int32_t i = 0; i < SAVED_VERBS; i++) {
    names[i] = saved_verbs[i].name;
    if (strcmp(names[i], word) == 0) return &saved_verbs[i];
  }
  const char *near = nearest_word(word, names, SAVED_VERBS);
  complain(EXIT_USER, "checkpoint has no verb '%.40s'%s%s%s", word,
           near ? "; did you mean " : ": list, show, verify, diff, merge and convert are its verbs",
           near ? near : "", near ? "?" : "");
  return NULL;
}

static bool check_words(const SavedVerb *verb, const Options *options) {
  int32_t count = options->words.count;
  bool is_right = count >= verb->least && count <= verb->most &&
                  verb->wants_out == (options->out != NULL) &&
                  (options->job ? verb->may_job : !verb->wants_job || options->to);
  if (!is_right) complain(EXIT_USER, "it is: lockstep checkpoint %s %s", verb->name, verb->words);
  if (!is_right) return false;
  if (options->weights && verb->run != saved_verb_merge)
    return complain(EXIT_USER, "--weights belongs to checkpoint merge") == EXIT_DONE;
  bool is_from = options->from || options->step || options->samples || options->names;
  if (is_from && (verb->run != saved_verb_convert || !options->from || options->to))
    return complain(EXIT_USER, "--from, --names, --step and --samples belong to checkpoint convert "
                               "FOLDER --from dcp -o OUT --for JOB.lua") == EXIT_DONE;
  if (options->from && strcmp(options->from, "dcp") != 0)
    return complain(EXIT_USER, "--from takes dcp, not '%.40s'", options->from) == EXIT_DONE;
  if (options->to && verb->run != saved_verb_convert)
    return complain(EXIT_USER, "--to belongs to checkpoint convert") == EXIT_DONE;
  if (options->to && strcmp(options->to, "dcp") != 0)
    return complain(EXIT_USER, "--to takes dcp, not '%.40s'", options->to) == EXIT_DONE;
  if (options->to && options->job)
    return complain(EXIT_USER, "--to dcp needs no job, because its reader takes any degrees: leave "
                               "--for out") == EXIT_DONE;
  if (options->json && verb->wants_out)
    return complain(EXIT_USER, "checkpoint %s writes files, and has no answer as JSON",
                    verb->name) == EXIT_DONE;
  return true;
}

ExitCode verb_checkpoint(const Options *options) {
  const SavedVerb *verb = find_verb(options->words.at[0]);
  if (!verb || !check_words(verb, options)) return EXIT_USER;
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  ExitCode code = verb->run(c, options);
  compile_free(c);
  return code;
}
