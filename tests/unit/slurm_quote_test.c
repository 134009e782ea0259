/* LINK: slurm -- hostile texts in a batch script stay texts: for bash, which reads the script, and
 * for sbatch, which reads its directives. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/base/base.h"
#include "slurm/options.h"
#include "slurm/quote.h"
#include "tests/unit/check.h"

enum { TEXTS = 10000, LONGEST = 24 };

/* Pieces that a shell, or sbatch, would take for more than text. */
static const char *const pieces[] = {"'",
                                     "\"",
                                     "\\",
                                     "$(touch pwned)",
                                     "`touch pwned`",
                                     ";touch pwned;",
                                     "|touch pwned|",
                                     "#",
                                     "# ",
                                     " ",
                                     "$HOME",
                                     "${x:-a}",
                                     "!!",
                                     "*",
                                     "~",
                                     "&",
                                     "(",
                                     ")",
                                     "[",
                                     "<pwned",
                                     ">pwned",
                                     "{a,b}",
                                     "%",
                                     "=",
                                     ",",
                                     "a",
                                     "-",
                                     "--wrap=x",
                                     "\\\\",
                                     "'\\''",
                                     "\xc3\xa9",
                                     "hetjob",
                                     ":",
                                     "\t",
                                     "\\ ",
                                     "$'\\n'"};

static uint64_t seed = 1;

static uint32_t next(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

static const char *random_text(Arena *arena) {
  const char *text = "";
  for (uint32_t count = next(6); count > 0; count--)
    text = arena_printf(arena, "%s%s", text, pieces[next(sizeof pieces / sizeof *pieces)]);
  return text;
}

/* As sbatch takes one argument from a line: quotes group, a backslash takes the next byte as it is,
 * an unquoted # ends the line. Written from its description in sbatch(1) and checked against sbatch
 * itself by tests/slurm/cluster. */
static const char *sbatch_argument(Arena *arena, const char *line) {
  char *out = arena_alloc(arena, strlen(line) + 1), *end = out, quote = 0;
  for (; *line && (quote || (*line != ' ' && *line != '\t')); line++) {
    if (*line == '\\' && line[1])
      *end++ = *++line;
    else if (quote && *line == quote)
      quote = 0;
    else if (!quote && (*line == '"' || *line == '\''))
      quote = *line;
    else if (!quote && *line == '#')
      break;
    else
      *end++ = *line;
  }
  return out;
}

static void check_bash(Arena *arena, const char *folder) {
  const char *path = arena_printf(arena, "%s/script", folder);
  const char *want[TEXTS];
  FILE *script = fopen(path, "w");
  fprintf(script, "cd '%s' || exit 1\n", folder);
  for (int32_t i = 0; i < TEXTS; i++) {
    want[i] = random_text(arena);
    fprintf(script, "x=(a %s b)\nprintf '%%s\\0' \"${#x[@]}\" \"${x[1]}\"\n",
            quote_shell(arena, want[i]));
  }
  fclose(script);
  FILE *bash = popen(arena_printf(arena, "bash %s", path), "r");
  char *got = NULL;
  size_t room = 0;
  int32_t right = 0;
  for (int32_t i = 0; i < TEXTS; i++) {
    bool is_one = getdelim(&got, &room, 0, bash) > 0 && strcmp(got, "3") == 0;
    bool is_same = getdelim(&got, &room, 0, bash) > 0 && strcmp(got, want[i]) == 0;
    if (!is_one || !is_same) printf("text %d: %s\n", i, want[i]);
    right += is_one && is_same;
  }
  free(got);
  CHECK_INT(right, TEXTS);
  CHECK_INT(pclose(bash), 0);
  CHECK_INT(access(arena_printf(arena, "%s/pwned", folder), F_OK), -1);
}

static void check_directives(Arena *arena) {
  for (int32_t i = 0; i < TEXTS; i++) {
    const char *text = random_text(arena);
    const char *line = arena_printf(arena, "%s # why", quote_directive(arena, text));
    CHECK_TEXT(sbatch_argument(arena, line), text);
  }
}

int main(void) {
  Arena *arena = arena_new();
  char folder[] = "/tmp/quote.XXXXXX";
  if (!mkdtemp(folder)) return 77;
  TEST("bash reads what was quoted as one word, and runs nothing of it") check_bash(arena, folder);
  TEST("sbatch reads what was quoted as one argument") check_directives(arena);
  TEST("versions of Slurm") {
    CHECK_INT(version_read("slurm-wlm 22.05.8"), 2205);
    CHECK_INT(version_read("24.11"), 2411);
    CHECK_INT(version_read("newest"), 0);
    CHECK_INT(version_read("24"), 0);
    CHECK_INT(option_version("exclusive", "topo"), 2405);
    CHECK_INT(option_version("exclusive", NULL), 0);
    CHECK(option_plugin("container-image") != NULL);
    CHECK(option_plugin("constraint") == NULL);
  }
  (void)unlink(arena_printf(arena, "%s/script", folder));
  CHECK_INT(rmdir(folder), 0);
  arena_free(arena);
  return check_failures != 0;
}
