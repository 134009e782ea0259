/* help.c -- lockstep help: verbs, keys, diagnostics; also the generated pages. */
#include "compiler/spec/help.h"

#include <string.h>

#include "compiler/cli/cli.h"

static void print_verbs(void) {
  puts("usage: lockstep VERB ... [-D section.key=value]...\n");
  for (int32_t i = 0; i < verb_count; i++)
    printf("  %-56s %s\n", verbs[i].usage, verbs[i].question);
  puts("\n  -D section.key=value   one key; -D section=NAME a section; later wins\n"
       "                         tables as in a file: -D 'parallel.pipeline={\"interleaved\", "
       "chunks=4}'\n"
       "                         or by key: -D parallel.pipeline.chunks=4\n"
       "  --against key=value    explain: beside this job, the one that -D key=value makes\n"
       "  --json  --quiet  --color auto|always|never\n"
       "  --no-data              check, compile, explain: do not look for the data files\n\n"
       "exit: 0 done, 1 the job or the command must change, 2 a file or the machine failed,\n"
       "      3 a defect of lockstep\n");
}

ExitCode verb_help(const Options *options) {
  Compile *c = open_compile();
  ExitCode code = EXIT_DONE;
  if (options->reference) {
    help_reference(c, stdout);
  } else if (options->luacats) {
    help_luacats(c, stdout);
  } else if (options->word_count == 0) {
    print_verbs();
    help_sections(stdout);
  } else {
    const char *word = options->words[0];
    bool is_verb = false;
    for (int32_t i = 0; i < verb_count; i++)
      if (strcmp(verbs[i].name, word) == 0) {
        printf("lockstep %s\n    %s\n", verbs[i].usage, verbs[i].question);
        is_verb = true;
      }
    if (!help_word(c, word, stdout) && !is_verb)
      code =
          complain(EXIT_USER, "nothing is named '%.60s'; lockstep help lists verbs and keys", word);
  }
  compile_free(c);
  return code;
}
