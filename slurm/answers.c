/* answers.c -- see answers.h. */
#include "slurm/answers.h"

#include <ctype.h>
#include <string.h>

#include "slurm/options.h"

enum { DIGITS_MOST = 10 }; /* Slurm's job numbers have 32 bits */
static const char digits[] = "0123456789";

/* ---- lines */

/* The next line of *text without blanks at its ends, colors and other control characters. False:
 * the text is over. */
static bool next_line(Arena *arena, const char **text, const char **line) {
  if (!**text) return false;
  size_t width = strcspn(*text, "\n");
  char *plain = arena_alloc(arena, width + 1), *to = plain;
  for (const char *p = *text, *end = p + width; p < end; p++) {
    if (*p == '\033' && p[1] == '[') { /* "\033[1;31m" ends with a letter */
      for (p += 2; p < end && !isalpha((unsigned char)*p);)
        p++;
      continue;
    }
    bool is_blank = *p == ' ' || *p == '\t';
    if ((unsigned char)*p < ' ' && !is_blank) continue;
    if (to > plain || !is_blank) *to++ = *p;
  }
  while (to > plain && (to[-1] == ' ' || to[-1] == '\t'))
    to--;
  *to = 0;
  *text += width + ((*text)[width] == '\n');
  *line = plain;
  return true;
}

static void add_distinct(Arena *arena, TextList *list, const char *text) {
  for (int32_t i = 0; i < list->count; i++)
    if (strcmp(list->at[i], text) == 0) return;
  VEC_PUSH(arena, list, text);
}

/* The number that `text` begins with; NULL: none that a job can have. */
static const char *leading_number(Arena *arena, const char *text) {
  size_t width = strspn(text, digits);
  if (width == 0 || width > DIGITS_MOST || *text == '0') return NULL;
  return arena_copy_n(arena, text, width);
}

/* ---- the number of a job */

static bool is_cluster_name(const char *text) {
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && !strchr("_-.", *text)) return false;
  return true;
}

/* All of a line "123" or "123;cluster". */
static const char *parsable_number(Arena *arena, const char *line) {
  const char *number = leading_number(arena, line);
  const char *rest = number ? line + strlen(number) : "";
  return *rest == 0 || (*rest == ';' && is_cluster_name(rest + 1)) ? number : NULL;
}

/* The number in the line that sbatch prints without --parsable. */
static const char *submitted_number(Arena *arena, const char *line) {
  static const char begin[] = "Submitted batch job ";
  const char *at = strstr(line, begin);
  return at ? leading_number(arena, at + strlen(begin)) : NULL;
}

static void add_numbers(Arena *arena, const char *text, TextList *found,
                        const char *(*read)(Arena *arena, const char *line)) {
  for (const char *line; next_line(arena, &text, &line);) {
    const char *number = read(arena, line);
    if (number) add_distinct(arena, found, number);
  }
}

const char *answer_number(Arena *arena, const char *out, const char *err) {
  TextList found = {0};
  add_numbers(arena, out, &found, parsable_number);
  if (found.count == 0) {
    add_numbers(arena, out, &found, submitted_number);
    add_numbers(arena, err, &found, submitted_number);
  }
  if (found.count == 0) add_numbers(arena, err, &found, parsable_number);
  return found.count == 1 ? found.at[0] : NULL;
}

static bool mentions(const char *text, const char *number) {
  size_t length = strlen(number);
  for (const char *p = text; *(p += strcspn(p, digits)); p += strspn(p, digits))
    if (strspn(p, digits) == length && strncmp(p, number, length) == 0) return true;
  return false;
}

const char *answer_mentioned(Arena *arena, const TextList *jobs, const char *out, const char *err) {
  TextList found = {0};
  for (int32_t i = 0; i < jobs->count; i++)
    if (mentions(out, jobs->at[i]) || mentions(err, jobs->at[i]))
      add_distinct(arena, &found, jobs->at[i]);
  return found.count == 1 ? found.at[0] : NULL;
}

/* ---- rows */

static bool has_text(const TextList *list, const char *text) {
  for (int32_t i = 0; i < list->count; i++)
    if (strcmp(list->at[i], text) == 0) return true;
  return false;
}

AnswerRows answer_rows(Arena *arena, const char *out, const TextList *jobs) {
  AnswerRows rows = {0};
  for (const char *line; next_line(arena, &out, &line);) {
    const char *number = leading_number(arena, line);
    const char *rest = number ? line + strlen(number) : "";
    bool is_row = number && (*rest == 0 || *rest == ' ') && (!jobs || has_text(jobs, number));
    if (is_row) VEC_PUSH(arena, &rows, (AnswerRow){number, rest + strspn(rest, " ")});
  }
  return rows;
}

int32_t answer_version(Arena *arena, const char *out) {
  for (const char *line; next_line(arena, &out, &line);) {
    if (strncmp(line, "slurm", strlen("slurm")) != 0) continue;
    int32_t version = version_read(line);
    if (version > 0) return version;
  }
  return 0;
}
