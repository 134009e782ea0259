/* LINK: slurm -- hostile texts in a batch script stay texts: for bash, which reads the script, and
 * for sbatch, which reads its directives. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/base/base.h"
#include "slurm/options.h"
#include "slurm/quote.h"
#include "tests/unit/check.h"
#include "tests/unit/hostile_text.h"

enum { TEXTS = 10000 };

static void check_bash(Arena *arena, const char *folder) {
  const char *path = arena_printf(arena, "%s/script", folder);
  const char *want[TEXTS];
  FILE *script = fopen(path, "w");
  fprintf(script, "cd '%s' || exit 1\n", folder);
  for (int32_t i = 0; i < TEXTS; i++) {
    want[i] = hostile_text(arena);
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
    const char *text = hostile_text(arena);
    const char *line = arena_printf(arena, "%s # why", quote_directive(arena, text));
    CHECK_TEXT(sbatch_argument(arena, line), text);
  }
}

int main(void) {
  Arena *arena = arena_new();
  char folder[] = "/tmp/quote.XXXXXX";
  if (!mkdtemp(folder)) return 77;
  TEST("bash reads quoted text as a single word, and runs nothing of it") check_bash(arena, folder);
  TEST("sbatch reads quoted text as a single argument") check_directives(arena);
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
