/* usage.c -- help texts of the command line, made of its tables. */
#include <string.h>

#include "compiler/show/cli/cli.h"

const char *const exit_meanings[] = {
    "done",
    "the job or the command must change",
    "a file or the machine failed; a retry may help",
    "a defect of lockstep",
    "run: nothing was left to do",
    "run: stopped as asked; saved, unless checkpoint.every is \"never\"",
    "run: ended because another rank did",
    NULL};

enum { DOC_COLUMN = 24, QUESTION_COLUMN = 26 };

/* "  -q, --quiet            nothing but ..." */
static void print_flag(const Flag *flag, FILE *out) {
  int32_t column = fprintf(out, "  ");
  for (const char *at = flag->names; *at; at += strspn(at, " ")) {
    int32_t width = (int32_t)strcspn(at, " ");
    column += fprintf(out, "%.*s%s", width, at, at[width] ? ", " : "");
    at += width;
  }
  if (*flag->value) column += fprintf(out, " %s", flag->value);
  if (column + 1 > DOC_COLUMN) column = fprintf(out, "\n") - 1;
  fprintf(out, "%*s", DOC_COLUMN - column, "");
  print_wrapped(out, flag->doc, DOC_COLUMN, DOC_COLUMN, COLUMNS_MOST);
}

void usage_print_verb(const Verb *verb, FILE *out) {
  bool has_flags = false;
  for (int32_t i = 0; i < flag_count; i++)
    has_flags |= flag_takes(&flags[i], verb->name);
  fprintf(out, "usage: lockstep %s%s%s%s\n    %s\n", verb->name, *verb->words ? " " : "",
          verb->words, has_flags ? " [options]" : "", verb->question);
  if (has_flags) fputc('\n', out);
  for (int32_t i = 0; i < flag_count; i++)
    if (flag_takes(&flags[i], verb->name)) print_flag(&flags[i], out);
}

/* Options that several verbs share; other options are in the help of their verb. */
static bool is_shared(const Flag *flag) {
  return strchr(flag->verbs, ' ') != NULL;
}

void usage_print(FILE *out) {
  fputs("usage: lockstep VERB ... [options]\n\n", out);
  for (int32_t i = 0; i < verb_count; i++) {
    int32_t column = fprintf(out, "  %s %s", verbs[i].name, verbs[i].words);
    fprintf(out, "%*s", QUESTION_COLUMN - column, "");
    print_wrapped(out, verbs[i].question, QUESTION_COLUMN, QUESTION_COLUMN, COLUMNS_MOST);
  }
  fputs("\nlockstep VERB --help lists all options of a verb. Several verbs have:\n\n", out);
  for (int32_t i = 0; i < flag_count; i++)
    if (is_shared(&flags[i])) print_flag(&flags[i], out);
  for (int32_t code = 0; exit_meanings[code]; code++)
    fprintf(out, "%s%d  %s\n", code == 0 ? "\nexit  " : "      ", code, exit_meanings[code]);
}
