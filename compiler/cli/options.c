/* options.c -- words of the command line into Options. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/cli/cli.h"

static bool keep(const char **list, int32_t *count, const char *word) {
  if (*count == WORDS_MAX) {
    complain(EXIT_USER, "more than %d words", WORDS_MAX);
    return false;
  }
  list[(*count)++] = word;
  return true;
}

static bool set_color(Options *options, const char *word) {
  options->color = strcmp(word, "always") == 0;
  if (strcmp(word, "auto") == 0) {
    const char *no_color = getenv("NO_COLOR");
    options->color = isatty(STDERR_FILENO) && (!no_color || !*no_color);
    return true;
  }
  if (options->color || strcmp(word, "never") == 0) return true;
  complain(EXIT_USER, "--color wants auto, always or never, not '%.40s'", word);
  return false;
}

static bool set_flag(Options *options, const char *word) {
  struct {
    const char *name;
    bool *flag;
  } flags[] = {{"--json", &options->json},
               {"--quiet", &options->quiet},
               {"-q", &options->quiet},
               {"--no-data", &options->no_data},
               {"--values", &options->values},
               {"--reference", &options->reference},
               {"--luacats", &options->luacats},
               {"--layouts", &options->layouts},
               {"--schedule", &options->schedule},
               {"--map", &options->map}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (strcmp(word, flags[i].name) == 0) {
      *flags[i].flag = true;
      return true;
    }
  return false;
}

/* Options with a value: "--name value", "--name=value", for one letter also "-ovalue". */
static const char *value_of(const char *name, int count, char **words, int *at) {
  const char *word = words[*at];
  size_t length = strlen(name);
  if (!word || strncmp(word, name, length) != 0) return NULL;
  if (word[length] == '=' && length > 2) return word + length + 1;
  if (length == 2 && word[length]) return word + length;
  if (word[length]) return NULL;
  return *at + 1 < count ? words[++*at] : "";
}

/* An empty value is none. */
static bool has_value(const char *name, const char *value) {
  if (!*value) complain(EXIT_USER, "%s wants a value", name);
  return *value != 0;
}

static bool take_value(Options *options, int count, char **words, int *at, bool *is_good) {
  struct {
    const char *name;
    const char **value;
  } single[] = {{"-o", &options->out},
                {"--why", &options->why},
                {"--segment", &options->segment},
                {"--svg", &options->svg},
                {"--hold-out", &options->hold_out}};
  static const char *const passed[] = {"--steps", "--resume", "--kernels"};
  const char *value = value_of("-D", count, words, at);
  if (value) {
    *is_good = has_value("-D", value) && keep(options->overrides, &options->override_count, value);
    return true;
  }
  value = value_of("--against", count, words, at);
  if (value) {
    *is_good =
        has_value("--against", value) && keep(options->against, &options->against_count, value);
    return true;
  }
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
    value = value_of(single[i].name, count, words, at);
    if (!value) continue;
    *single[i].value = value;
    *is_good = has_value(single[i].name, value);
    return true;
  }
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
    value = value_of(passed[i], count, words, at);
    if (!value) continue;
    *is_good = has_value(passed[i], value) &&
               keep(options->passed, &options->passed_count, passed[i]) &&
               keep(options->passed, &options->passed_count, value);
    return true;
  }
  value = value_of("--color", count, words, at);
  if (value) *is_good = set_color(options, value);
  return value != NULL;
}

static bool take_word(Options *options, const char *word) {
  if (strcmp(word, "--no-plot") == 0) return keep(options->passed, &options->passed_count, word);
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    if (options->verb) keep(options->words, &options->word_count, options->verb);
    options->verb = "help";
    return true;
  }
  if (strcmp(word, "--version") == 0) {
    options->verb = "version";
    return true;
  }
  if (word[0] == '-' && word[1]) {
    complain(EXIT_USER, "there is no option %.40s; see lockstep help", word);
    return false;
  }
  if (!options->verb) {
    options->verb = word;
    return true;
  }
  return keep(options->words, &options->word_count, word);
}

bool options_parse(Options *options, int count, char **words) {
  *options = (Options){0};
  set_color(options, "auto");
  for (int i = 1; i < count; i++) {
    bool is_good = true;
    if (set_flag(options, words[i])) continue;
    if (take_value(options, count, words, &i, &is_good)) {
      if (!is_good) return false;
      continue;
    }
    if (!take_word(options, words[i])) return false;
  }
  if (!options->verb) options->verb = "help";
  return true;
}
