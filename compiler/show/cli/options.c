/* options.c -- parses the command line into Options, by the tables of options.def. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"

#define VERB(name, words, least, most, question)                                                   \
  VERB_NAMED(name, #name, words, least, most, question)
#define VERB_NAMED(function, name, words, least, most, question)                                   \
  {name, words, least, most, question, verb_##function},
#define SWITCH(member, names, verbs, doc)
#define VALUE(member, names, value, verbs, doc)
#define INPUT(member, names, value, verbs, doc)
#define OUTPUT(member, names, value, verbs, doc)
#define LIST(member, names, value, verbs, doc)
#define RANK_SWITCH(member, names, verbs, doc)
#define RANK_VALUE(member, names, value, verbs, doc)
const Verb verbs[] = {
#include "compiler/show/cli/options.def"
};
const int32_t verb_count = sizeof verbs / sizeof *verbs;

#undef VERB
#undef VERB_NAMED
#undef SWITCH
#undef VALUE
#undef INPUT
#undef OUTPUT
#undef LIST
#undef RANK_SWITCH
#undef RANK_VALUE
#define AT(member) offsetof(Options, member)
#define VERB(name, words, least, most, question)
#define VERB_NAMED(function, name, words, least, most, question)
#define SWITCH(member, names, verbs, doc)                                                          \
  {FLAG_SWITCH, FILE_NONE, false, names, "", verbs, doc, AT(member)},
#define VALUE(member, names, value, verbs, doc)                                                    \
  {FLAG_VALUE, FILE_NONE, false, names, value, verbs, doc, AT(member)},
#define INPUT(member, names, value, verbs, doc)                                                    \
  {FLAG_VALUE, FILE_READ, false, names, value, verbs, doc, AT(member)},
#define OUTPUT(member, names, value, verbs, doc)                                                   \
  {FLAG_VALUE, FILE_WRITTEN, false, names, value, verbs, doc, AT(member)},
#define LIST(member, names, value, verbs, doc)                                                     \
  {FLAG_LIST, FILE_NONE, false, names, value, verbs, doc, AT(member)},
#define RANK_SWITCH(member, names, verbs, doc)                                                     \
  {FLAG_SWITCH, FILE_NONE, true, names, "", verbs, doc, AT(member)},
#define RANK_VALUE(member, names, value, verbs, doc)                                               \
  {FLAG_VALUE, FILE_NONE, true, names, value, verbs, doc, AT(member)},
const Flag flags[] = {
#include "compiler/show/cli/options.def"
};
const int32_t flag_count = sizeof flags / sizeof *flags;

/* ---- the tables */

/* Is `word` one of the words of `list`, which blanks separate? */
static bool is_listed(const char *list, const char *word, size_t length) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t width = strcspn(at, " ");
    if (width == length && strncmp(at, word, length) == 0) return true;
    at += width;
  }
  return false;
}

bool flag_takes(const Flag *flag, const char *verb) {
  return is_listed(flag->verbs, verb, strlen(verb));
}

const char *flag_first_name(const Flag *flag) {
  const char *last = strrchr(flag->names, ' ');
  return last ? last + 1 : flag->names;
}

const Verb *verb_find(const char *name) {
  for (int32_t i = 0; i < verb_count; i++)
    if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
  return NULL;
}

/* The option of "--name", "--name=value" or "-ovalue", and where its value begins, if the word has
 * one. Several options may share a name: then the one of `verb`, once the verb has been read. */
static const Flag *flag_find(const char *word, const char *verb, const char **value) {
  size_t length = strcspn(word, "=");
  const Flag *found = NULL;
  *value = word[length] ? word + length + 1 : NULL;
  for (int32_t i = 0; i < flag_count; i++)
    if (is_listed(flags[i].names, word, length) &&
        (!found || (verb && flag_takes(&flags[i], verb))))
      found = &flags[i];
  if (found) return found;
  bool is_short = word[0] == '-' && word[1] != '-' && word[1] && word[2];
  for (int32_t i = 0; is_short && i < flag_count; i++)
    if (flags[i].kind != FLAG_SWITCH && is_listed(flags[i].names, word, 2)) {
      *value = word + 2;
      return &flags[i];
    }
  return NULL;
}

/* ---- one word */

static bool keep(Words *list, const char *word) {
  if (list->count == WORDS_MAX) {
    complain(EXIT_USER, "more than %d words", WORDS_MAX);
    return false;
  }
  list->at[list->count++] = word;
  return true;
}

static bool refuse_flag(const char *word) {
  const char *names[sizeof flags / sizeof *flags];
  for (int32_t i = 0; i < flag_count; i++)
    names[i] = flag_first_name(&flags[i]) + 2; /* without the dashes, which all have */
  const char *near = nearest_word(word + strspn(word, "-"), names, flag_count);
  complain(EXIT_USER, "there is no option %.40s%s%s%s", word,
           near ? "; did you mean --" : "; see lockstep help", near ? near : "", near ? "?" : "");
  return false;
}

static bool refuse_of_other(const char *verb, const Flag *flag) {
  complain(EXIT_USER, "%s takes no %s; that is an option of: %s", verb, flag_first_name(flag),
           flag->verbs);
  return false;
}

/* The value is the rest of the word, or the next word unless that is an option. */
static bool set_flag(Options *options, const Flag *flag, const char *value, bool is_in_word) {
  const char *name = flag_first_name(flag);
  void *member = (char *)options + flag->offset;
  if (flag->kind == FLAG_SWITCH) {
    if (is_in_word) complain(EXIT_USER, "%s takes no value", name);
    *(bool *)member = true;
    return !is_in_word;
  }
  bool is_missing = !value || !*value || (!is_in_word && strncmp(value, "--", 2) == 0);
  if (is_missing) {
    /* The value is one of several words: the message says how to ask what each means. */
    bool is_choice = strchr(flag->value, '|') != NULL;
    complain(EXIT_USER, "%s wants a value: %s %s%s%s", name, name, flag->value,
             is_choice ? ": " : "", is_choice ? flag->doc : "");
    return false;
  }
  if (flag->kind == FLAG_LIST) return keep(member, value);
  const char **text = member;
  if (*text && strcmp(*text, value) != 0) {
    complain(EXIT_USER, "%s is given twice: %.40s and %.40s", name, *text, value);
    return false;
  }
  *text = value;
  return true;
}

static bool take_option(Options *options, int count, char **words, int *at) {
  const char *word = words[*at], *value;
  const Flag *flag = flag_find(word, options->verb, &value);
  bool is_of_other =
      flag && options->verb && verb_find(options->verb) && !flag_takes(flag, options->verb);
  bool is_asked =
      options->verb && strcmp(options->verb, "help") == 0; /* help --micro-batch-size=4 */
  if (is_asked && (!flag || is_of_other)) return keep(&options->words, word);
  if (!flag) return refuse_flag(word);
  if (is_of_other) return refuse_of_other(options->verb, flag);
  bool is_in_word = value != NULL;
  bool wants_next = flag->kind != FLAG_SWITCH && !is_in_word && *at + 1 < count;
  if (wants_next) value = words[++*at];
  return set_flag(options, flag, value, is_in_word);
}

/* ---- which options go with which verb */

static const char *other_name(const char *verb) {
  static const char *const others[][2] = {
      {"train", "run"},
      {"launch", "run"},
      {"start", "run"},
      {"build", "compile"},
      {"plan", "compile"},
      {"validate", "check"},
      {"lint", "check"},
      {"test", "check"},
      {"describe", "explain"},
      {"info", "explain"},
      {"memory", "explain"},
      {"why", "explain"},
      {"dump", "show"},
      {"print", "show"},
      {"cat", "show"},
      {"verify", "prove"},
      {"prepare", "tokenize"},
      {"tokens", "tokenize"},
      {"ls", "list"},
      {"evaluate", "eval"},
      {"perplexity", "eval"},
      {"generate", "sample"},
      {"complete", "sample"},
      {"chat", "sample"},
      {"models", "list models"},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i][0], verb) == 0) return others[i][1];
  const char *names[sizeof verbs / sizeof *verbs];
  for (int32_t i = 0; i < verb_count; i++) {
    names[i] = verbs[i].name;
    if (strncmp(verb, names[i], strlen(verb)) == 0) return names[i];
  }
  return nearest_word(verb, names, verb_count);
}

static bool ends_with(const char *word, const char *end) {
  size_t length = strlen(word), width = strlen(end);
  return length > width && strcmp(word + length - width, end) == 0;
}

static void refuse_verb(const char *verb) {
  if (ends_with(verb, ".lua") || ends_with(verb, ".plan")) {
    complain(EXIT_USER, "a verb comes first: lockstep %s %.200s",
             ends_with(verb, ".lua") ? "explain" : "show", verb);
    return;
  }
  const char *near = other_name(verb);
  if (near)
    complain(EXIT_USER, "there is no verb '%.40s'; did you mean '%s'?", verb, near);
  else
    complain(EXIT_USER, "there is no verb '%.40s'; see lockstep help", verb);
}

/* An option that this verb would ignore is refused. */
static bool check_flags(const Options *options, const Verb *verb) {
  for (int32_t i = 0; i < flag_count; i++) {
    const Flag *flag = &flags[i];
    const void *member = (const char *)options + flag->offset;
    bool is_given = flag->kind == FLAG_SWITCH  ? *(const bool *)member
                    : flag->kind == FLAG_VALUE ? *(const char *const *)member != NULL
                                               : ((const Words *)member)->count > 0;
    if (is_given && !flag_takes(flag, verb->name)) return refuse_of_other(verb->name, flag);
  }
  return true;
}

static bool check_words(const Options *options, const Verb *verb) {
  const Words *words = &options->words;
  for (int32_t i = 1; i < words->count && flag_takes(&flags[0], verb->name); i++)
    if (strchr(words->at[i], '=')) {
      complain(EXIT_USER, "'%.60s' has no option before it; did you mean -D %.60s?", words->at[i],
               words->at[i]);
      return false;
    }
  if (words->count >= verb->least && words->count <= verb->most) return true;
  if (words->count > verb->most)
    complain(EXIT_USER, "%s wants %s and no more, not '%.60s'", verb->name,
             *verb->words ? verb->words : "nothing", words->at[verb->most]);
  else
    complain(EXIT_USER, "%s wants %s; see lockstep %s --help", verb->name, verb->words, verb->name);
  return false;
}

static bool set_color(Options *options) {
  const char *word = options->color ? options->color : "auto";
  const char *no_color = getenv("NO_COLOR");
  options->colored = strcmp(word, "always") == 0;
  if (strcmp(word, "auto") == 0)
    options->colored = isatty(STDERR_FILENO) && (!no_color || !*no_color);
  else if (!options->colored && strcmp(word, "never") != 0) {
    complain(EXIT_USER, "--color wants auto, always or never, not '%.40s'", word);
    return false;
  }
  return true;
}

/* --help and --version are answered even if the rest of the command line is wrong. */
static const Verb *take_question(Options *options, const char *word) {
  bool is_help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
  if (!is_help && strcmp(word, "--version") != 0) return NULL;
  Options asked = {.verb = is_help ? "help" : "version"};
  if (is_help && options->verb) keep(&asked.words, options->verb);
  *options = asked;
  return verb_find(asked.verb);
}

static bool take_word(Options *options, const char *word) {
  if (options->verb) return keep(&options->words, word);
  options->verb = word;
  return true;
}

const Verb *options_parse(Options *options, int count, char **words) {
  *options = (Options){.command = (const char *const *)words, .command_count = count};
  bool are_options_over = false;
  for (int i = 1; i < count; i++) {
    bool is_option = !are_options_over && words[i][0] == '-' && words[i][1];
    bool ends_options = is_option && strcmp(words[i], "--") == 0;
    are_options_over |= ends_options;
    if (ends_options) continue;
    const Verb *asked = is_option ? take_question(options, words[i]) : NULL;
    if (asked) return asked;
    if (!(is_option ? take_option(options, count, words, &i) : take_word(options, words[i])))
      return NULL;
  }
  if (!options->verb) options->verb = "help";
  const Verb *verb = verb_find(options->verb);
  if (!verb) refuse_verb(options->verb);
  bool is_good = verb && check_flags(options, verb) && check_words(options, verb);
  return is_good && set_color(options) ? verb : NULL;
}
